"""Which address is which page."""

import re
from collections.abc import Callable
from functools import partial
from importlib import resources
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote

from curta.config.errors import UserError
from curta.frontends.serve import known, live, made, pages
from curta.frontends.serve.answer import Answer, as_json, lone, moved

TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
FILES = ("site.css", "index.js", "live.js", "curves.js", "chart.js")


def answer(target: str) -> Answer:
    """The answer to a request for this path and query."""
    path, _, query = target.partition("?")
    words = [unquote(word) for word in path.removeprefix("/").split("/")]
    try:
        page = _page(words, parse_qs(query))
        return page() if page else _missing("There is no such page.")
    except UserError as error:
        return _missing(f"{error}")


def _page(words: list[str], query: dict[str, list[str]]) -> Callable[[], Answer] | None:
    """What makes the answer, if the address is known."""
    if words == [""]:
        return _index
    if len(words) == 1 and words[0] in FILES:
        return partial(_file, words[0])
    if words[0] != "runs" or len(words) < 3:
        return None
    *name, leaf = words[1:]
    return _of_run(tuple(name), leaf, query) or _of_comparison(tuple(name), leaf)


def _of_run(
    name: known.Name, leaf: str, query: dict[str, list[str]]
) -> Callable[[], Answer] | None:
    folder = known.run_folders().get(name)
    if folder is None:
        return None
    if member := re.fullmatch(r"page-(0|[1-9][0-9]{0,5})\.html", leaf):
        return lambda: lone(made.page(folder, int(member[1])))
    return {
        "": lambda: moved(pages.address(known.row(name, folder))),
        "live.html": lambda: _watched(known.row(name, folder)),
        "report.html": lambda: lone(made.report(folder)),
        "metrics.json": lambda: as_json(live.since(folder, query.get("after", [""])[0])),
    }.get(leaf)


def _of_comparison(name: known.Name, leaf: str) -> Callable[[], Answer] | None:
    folder = known.comparison_folders().get(name)
    if folder is None:
        return None
    return {
        "": lambda: moved(f"/runs/{quote(name[0], safe='')}/report.html"),
        "report.html": lambda: lone(made.compared(folder)),
    }.get(leaf)


def _index() -> Answer:
    return Answer(200, pages.index(known.rows(), known.comparisons()).encode())


def _watched(row: known.Row) -> Answer:
    if row.error:
        raise UserError(row.error)
    return Answer(200, pages.watched(row).encode())


def _missing(reason: str) -> Answer:
    return Answer(404, pages.refusal("Nothing here", reason).encode())


def _file(name: str) -> Answer:
    """A file of this package; the stylesheet goes on from that of reports."""
    text = _read("curta.frontends.serve", name)
    if name == "site.css":
        text = _read("curta.report", "style.css") + text
    return Answer(200, text.encode(), TYPES[Path(name).suffix[1:]])


def _read(package: str, name: str) -> str:
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
