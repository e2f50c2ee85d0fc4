"""Studies that measure, and what makes the pages' tables and pictures of what they found."""

STUDIES = (
    "programs", "certified", "rare", "teaching", "controls", "adderboard", "phases", "exhaustive",
    "scaling", "ladder", "findings", "grokking", "price", "looped", "encoder", "spaced",
    "components", "announced", "sizes", "profiling", "operations", "better", "install",
)  # fmt: skip
"""The modules that `make results` runs, in this order; `make results-NAME` runs one."""

ELSEWHERE = ("gpu",)
"""Those that need another machine, and are run by hand there: `python -m docs.NAME`."""
