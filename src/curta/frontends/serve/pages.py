"""The server's own pages: what there is, a run that is watched, a refusal."""

from collections.abc import Sequence
from urllib.parse import quote

from curta.frontends.serve.known import Compared, Name, Row
from curta.report.rendering import render


def index(rows: Sequence[Row], compared: Sequence[Compared]) -> str:
    """All runs and comparisons."""
    return render("serve/index.html", rows=rows, compared=compared, address=address, place=_place)


def watched(row: Row) -> str:
    """A run in training; its figures and curves come as it writes them."""
    return render("serve/watched.html", row=row)


def refusal(title: str, reason: str) -> str:
    """Why there is nothing to be seen."""
    return render("serve/refusal.html", title=title, reason=reason)


def address(row: Row) -> str:
    """The page of a run: its curves while it trains, else its report."""
    return _place(row.name) + ("live.html" if row.running else "report.html")


def _place(name: Name) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in ("runs", *name)) + "/"
