"""All benchmarks: prints their tables and keeps them for RESULTS.md (`make bench`).

They are measured anew each time. `--quick` only shows that everything runs: few steps, and nothing
is kept.
"""

import argparse
import subprocess
import sys
from functools import partial
from typing import Any

from curta.config import typed
from docs.evidence import RESULTS

from . import accuracy, exports, pages, steps, throughput

MODULES = (steps, accuracy, throughput, exports, pages)
"""Only the last three start JAX here."""

SEEDS = range(8)
"""Of the models that are trained; most benchmarks have one of seed 0."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run; keeps nothing")
    quick = parser.parse_args().quick
    subprocess.run([sys.executable, "-m", "benchmarks.check"], check=True)
    if quick:
        measured(quick)
    else:
        again = argparse.Namespace(again=True)
        RESULTS.keep("benchmarks", "all", partial(measured, quick), SEEDS, {}, again)


def measured(quick: bool) -> list[Any]:
    """Every table, as JSON; each is printed when it is there."""
    printed = []
    for module in MODULES:
        for table in module.tables(quick):
            print(table, flush=True)
            printed.append(typed.as_json(table))
    return printed


if __name__ == "__main__":
    main()
