"""Which address is which page."""

import mimetypes
import re
from pathlib import Path
from urllib.parse import quote

from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from curta.config.errors import UserError
from curta.config.typed import as_json
from curta.frontends.serve import cached_pages, listing, live, policy
from curta.report.rendering import render

_HERE = Path(__file__).parent

mimetypes.add_type("text/javascript", ".js")  # Windows may know another, and no browser runs that


class _Member(IntegerConvertor):
    """A member's number, in the one way to write it."""

    regex = "0|[1-9][0-9]{0,5}"


register_url_convertor("member", _Member())


def index(request: Request) -> Response:
    page = render(
        "serve/index.html", rows=listing.rows(), compared=listing.comparisons(), address=address,
        place=_place,
    )  # fmt: skip
    return HTMLResponse(page)


def home(request: Request) -> Response:
    """Leads to the page of a run, or to the report of a comparison."""
    name = _name(request)
    if name in listing.comparison_folders():
        return RedirectResponse(f"/runs/{quote(name[0], safe='')}/report.html", 303)
    return RedirectResponse(address(listing.row(name, _folder(request))), 303)


def watched(request: Request) -> Response:
    row = listing.row(_name(request), _folder(request))
    if row.error:
        raise UserError(row.error)
    return HTMLResponse(render("serve/watched.html", row=row))


def report(request: Request) -> Response:
    compared = listing.comparison_folders().get(_name(request))
    return _isolated(
        cached_pages.compared(compared) if compared else cached_pages.report(_folder(request))
    )


def page(request: Request) -> Response:
    return _isolated(cached_pages.page(_folder(request), request.path_params["member"]))


def metrics(request: Request) -> Response:
    return JSONResponse(
        as_json(live.since(_folder(request), request.query_params.get("after", "")))
    )


def report_style(request: Request) -> Response:
    return FileResponse(_HERE.parents[1] / "report" / "style.css")


def missing(request: Request, error: Exception) -> Response:
    reason = f"{error}" if isinstance(error, UserError) else "There is no such page."
    return HTMLResponse(_refusal("Nothing here", reason), 404)


def only_read(request: Request, error: Exception) -> Response:
    refusal = _refusal("Only reading", "Pages here are only read.")
    return HTMLResponse(refusal, 405, {"Allow": "GET, HEAD"})


def defect(request: Request, error: Exception) -> Response:
    """What Starlette sends past all middleware: it has its headers from here."""
    return HTMLResponse(_refusal("A defect", "The terminal says more."), 500, policy.HEADERS)


def _refusal(title: str, reason: str) -> str:
    return render("serve/refusal.html", title=title, reason=reason)


def address(row: listing.Row) -> str:
    """The page of a run: its curves while it trains, else its report."""
    return _place(row.name) + ("live.html" if row.running else "report.html")


def _place(name: listing.Name) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in ("runs", *name)) + "/"


def _name(request: Request) -> listing.Name:
    found = request.path_params
    return tuple(found[part] for part in ("comparison", "run") if part in found)


def _folder(request: Request) -> Path:
    """The folder of the run that is asked for; HTTPException where none has that name."""
    folder = listing.run_folders().get(_name(request))
    if folder is None:
        raise HTTPException(404)
    return folder


def _isolated(content: bytes) -> Response:
    """A page from a run's folder, with a link back to all runs that the file itself lacks."""
    back = '<p><a href="/">All runs</a></p>'
    page = re.sub("<body[^>]*>", lambda body: body[0] + back, content.decode(), count=1)
    return HTMLResponse(page, headers=policy.isolated(page))


ROUTES = [
    Route("/", index),
    Route("/style.css", report_style),
    *(
        Route(f"/runs/{name}/{leaf}", endpoint)
        for name in ("{run}", "{comparison}/{run}")
        for leaf, endpoint in {
            "": home,
            "live.html": watched,
            "report.html": report,
            "metrics.json": metrics,
            "page-{member:member}.html": page,
        }.items()
    ),
    Mount("/", StaticFiles(directory=_HERE / "static")),
]

REFUSALS = {UserError: missing, 404: missing, 405: only_read, 500: defect}
