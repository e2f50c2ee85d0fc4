"""What a browser makes of the pages: `python -m benchmarks.pages`.

Headless Chromium, on files. A model of the default recipe writes sums of two equally long
numbers in its page, token by token, with the cache and the script that a reader has. A
report of eight members, with all their weights and a grid of 40 x 40, is loaded anew each
time, in a tab that has loaded it once; its time is the browser's own, up to the end of `load`.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .spread import Row, Spread, Table, explained, main
from .throughput import trained

if TYPE_CHECKING:
    from playwright.sync_api import Page

LENGTHS = (10, 100)
WRITE = "(() => {{ const begun = performance.now(), text = curta.write({problem!r}, {most});"
WRITE += " return [text.length, (performance.now() - begun) / 1000]; }})()"
LOADED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def tables(quick: bool) -> Iterator[Table]:
    from tests.export.html.browser import chromium

    seeds, repeats = (1, 2) if quick else (8, 7)
    with trained(600 if quick else 0, seeds) as run, tempfile.TemporaryDirectory() as folder:
        run.evaluate(digits=(20,), count=20, grid=2 if quick else 40)
        page = run.write_page(0, Path(folder) / "page.html")
        with chromium() as browser:
            tab = browser.new_page()
            rows = [*_writes(tab, page, repeats), *_loads(tab, run.folder.report, repeats)]
    yield Table("Pages in a browser", explained(__doc__), ["", "figure"], rows)


def _writes(tab: "Page", page: Path, repeats: int) -> Iterator[Row]:
    tab.goto(page.as_uri())
    for digits in LENGTHS:
        script = WRITE.format(problem=f"{'7' * digits}+{'6' * digits}", most=digits + 2)
        figures = [tab.evaluate(script) for _ in range(1 + repeats)][1:]
        rate = Spread.of([tokens / seconds for tokens, seconds in figures])
        yield [f"tokens a second, {digits} digits", rate]


def _loads(tab: "Page", report: Path, repeats: int) -> Iterator[Row]:
    figures = []
    for _ in range(1 + repeats):
        tab.goto(report.as_uri())
        tab.wait_for_function(f"{LOADED} > 0")
        figures.append(tab.evaluate(LOADED))
    yield ["report, MB", f"{report.stat().st_size / 1e6:.2f}"]
    yield ["report, milliseconds to load", Spread.of(figures[1:])]


if __name__ == "__main__":
    main(tables)
