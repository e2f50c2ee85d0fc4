"""Makes the tables of all pages from files of results: `make tables`.

A table stands between `<!-- table: NAME -->` and `<!-- /table -->`. Every module in `SHOWN` says
in `tables` which ones it makes, of the results that it is given and of nothing else.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path

from curta.config import files
from docs import ELSEWHERE, STUDIES
from docs.evidence import RESULTS, ROOT, Results

# The table of `programs` has the results of `certified`.
SHOWN = (*(study for study in STUDIES if study != "certified"), *ELSEWHERE, "counted")
"""The modules that make tables."""

MARKED = re.compile(
    r"(<!-- table: ([^\n]+?) -->\n)((?:(?!<!-- table: ).)*?)(<!-- /table -->)", re.DOTALL
)

Tables = dict[str, Iterable[str]]
"""The lines of each table, by its name."""


def main() -> None:
    texts = tables(RESULTS)
    for page in pages(ROOT):
        before = page.read_text("utf-8")
        after = filled(before, texts)
        if after != before:
            files.write(page, after)
            print(page.relative_to(ROOT))


def pages(root: Path) -> list[Path]:
    """All that may have tables."""
    paths = [root / "README.md", root / "benchmarks" / "RESULTS.md", *(root / "docs").glob("*.md")]
    return sorted(paths)


def tables(results: Results, modules: Iterable[str] = SHOWN) -> dict[str, str]:
    """The text of every table, by its name; ValueError if two modules make one name."""
    texts: dict[str, str] = {}
    for module in modules:
        make: Callable[[Results], Tables] = import_module(f"docs.{module}").tables
        for name, lines in make(results).items():
            if name in texts:
                raise ValueError(f"table {name!r} of docs/{module}.py is made by another module")
            texts[name] = "".join(f"{line}\n" for line in lines)
    return texts


def filled(text: str, texts: dict[str, str]) -> str:
    """A page with its tables as they are made; ValueError for a name that nothing makes."""

    def fill(match: re.Match[str]) -> str:
        begin, name, _, end = match.groups()
        if name not in texts:
            raise ValueError(f"no module of docs makes table {name!r}")
        return f"{begin}{texts[name]}{end}"

    return MARKED.sub(fill, text)


def names(text: str) -> Iterator[str]:
    """The tables of a page."""
    return (match[2] for match in MARKED.finditer(text))


if __name__ == "__main__":
    main()
