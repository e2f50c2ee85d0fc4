"""Which address is which page."""

import mimetypes
import re
import secrets
import shlex
import tempfile
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pydantic
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from curta.config.errors import UserError, refuse_if
from curta.config.recipe import grouped
from curta.frontends import api, listing
from curta.frontends.serve import live, playground
from curta.frontends.serve.trainings import Trainings
from curta.report.rendering import render
from curta.runs import folders

_HERE = Path(__file__).parent
_REPORT = _HERE.parents[1] / "report"

mimetypes.add_type("text/javascript", ".js")  # Windows may know another, and no browser runs that


HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""For the pages of the server itself: files of its own, and nothing written into a page."""

ISOLATED = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "sandbox allow-scripts allow-forms allow-downloads"
    )
}
"""For reports and pages of runs, which may come from anyone: they reach nothing of the server.

Each names its scripts by their hashes in a policy of its own, which holds as well.
"""

MOST_CHOSEN = 12
"""Runs that are shown together."""


def index(request: Request) -> Response:
    query = request.query_params
    page = render(
        "serve/index.html",
        rows=listing.sorted_rows(query.get("find", ""), query.get("sort", "")),
        compared=listing.comparisons(),
        trainings=request.app.state.trainings,
        address=address,
        place=_place,
        orders=listing.ORDERS,
        query=query,
    )
    return HTMLResponse(page)


def new_run(request: Request) -> Response:
    """The playground's form, of the recipe and with the changes that the address names."""
    settings = dict(request.query_params)
    form = playground.form(settings.pop("recipe", "addition"), settings)
    token = request.app.state.trainings.token
    return HTMLResponse(render("serve/playground.html", form=form, groups=grouped(), token=token))


def overlay(request: Request) -> Response:
    """The curves of several runs in one plot."""
    return HTMLResponse(render("serve/overlay.html", runs=_chosen(request), place=_place))


def together(request: Request) -> Response:
    """The report of several runs side by side."""
    paths = listing.run_folders()
    return _isolated(*(paths[name] for name in _chosen(request)))


def _chosen(request: Request) -> list[listing.Name]:
    """Return the runs that an address names; HTTPException unless all are known, two or more."""
    names = [tuple(text.split("/")) for text in request.query_params.getlist("run")]
    if not 2 <= len(names) <= MOST_CHOSEN or not listing.run_folders().keys() >= {*names}:
        raise HTTPException(404)
    return names


def home(request: Request) -> Response:
    """Lead to the page of a run, or to the report of a comparison."""
    name = _name(request)
    if name in listing.comparison_folders():
        return RedirectResponse(f"{_place(name)}report.html", 303)
    return RedirectResponse(address(listing.row(name, _folder(request))), 303)


def watched(request: Request) -> Response:
    """A run as it trains; one that waits in the queue has a page already."""
    name, trainings = _name(request), request.app.state.trainings
    row = listing.RunListing(name, None)
    if "/".join(name) not in trainings.jobs or name in listing.run_folders():
        row = listing.row(name, _folder(request))
        refuse_if(row.error, row.error)
    return HTMLResponse(render("serve/watched.html", row=row, token=trainings.token))


def report(request: Request) -> Response:
    compared = listing.comparison_folders().get(_name(request))
    return _isolated(compared or _folder(request))


def page(request: Request) -> Response:
    member = request.path_params["member"]
    if not re.fullmatch("0|[1-9][0-9]{0,5}", member):
        raise HTTPException(404)
    return _isolated(_folder(request), member=int(member))


def metrics(request: Request) -> Response:
    """What is new of a run; of one that only waits to be begun, how long the queue is."""
    trainings, name = request.app.state.trainings, "/".join(_name(request))
    job = {"job": trainings.state(name), "ahead": trainings.ahead(name)}
    if _name(request) not in listing.run_folders() and name in trainings.jobs:
        return JSONResponse(job | {"error": trainings.jobs[name].error})
    news = live.since(_folder(request), request.query_params.get("after", ""))
    return JSONResponse(news | job)


def windows(request: Request) -> Response:
    return JSONResponse(live.windows(_folder(request)))


async def act(request: Request) -> Response:
    """Check an order, begin a training, stop one, or go on with one: for the server's own pages.

    A foreign page cannot read the token, and a browser says where a request comes from.
    """
    origin, token = request.headers.get("Origin", ""), request.headers.get("X-Curta-Token", "")
    here = f"http://{request.headers.get('Host', '')}"
    trainings: Trainings = request.app.state.trainings
    if origin != here or not secrets.compare_digest(token.encode(), trainings.token.encode()):
        return JSONResponse({"error": "this page is not of this server: load it again"}, 403)
    action, body = request.path_params["action"], await request.body()
    if action not in ("check", "train", "stop", "resume"):
        raise HTTPException(405)
    try:
        return JSONResponse(await run_in_threadpool(_act, trainings, action, body))
    except (UserError, pydantic.ValidationError) as error:
        return JSONResponse({"error": str(error).splitlines()[0]}, 400)


def _act(trainings: Trainings, action: str, body: bytes) -> dict[str, Any]:
    if action in ("stop", "resume"):
        name = _Named.model_validate_json(body).run
        if action == "stop":
            trainings.stop(name)
        elif (name,) not in listing.run_folders():
            raise UserError(f"no run is named {name!r}")
        else:
            trainings.submit(name, ["train", "--resume", str(folders.root() / name)])
        return {}
    order = playground.Order.model_validate_json(body)
    errors = playground.errors(order)
    if errors or action == "check":
        return {"errors": errors, "command": shlex.join(["curta", *order.words])}
    names = folders.numbered(order.run or order.recipe.rpartition("/")[2])
    taken = listing.run_folders()
    run = next(name for name in names if (name,) not in taken and trainings.state(name) == "ended")
    trainings.submit(run, [*order.words, "--run", run])
    return {"page": _place((run,)) + "live.html"}


class _Named(pydantic.BaseModel, extra="forbid"):
    """What a page sends of a run that is there."""

    run: str = pydantic.Field(max_length=200)


def address(row: listing.RunListing) -> str:
    """Return the page of a run: its curves while it trains, else its report."""
    return _place(row.name) + ("live.html" if row.running else "report.html")


def _place(name: listing.Name) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in ("runs", *name)) + "/"


def _name(request: Request) -> listing.Name:
    return tuple(request.path_params["run"].split("/"))


def _folder(request: Request) -> Path:
    """Return the folder of the run that is asked for; HTTPException where none has that name."""
    folder = listing.run_folders().get(_name(request))
    if folder is None:
        raise HTTPException(404)
    return folder


def _isolated(*paths: Path, member: int | None = None) -> Response:
    """Return the page of a member, or a report, with links that the file itself lacks.

    They are made one at a time, and kept in memory until a file of the run is another.
    """
    state = listing.file_versions(sorted(file for path in paths for file in path.rglob("*")))
    with _LOCK:
        content = make(paths, member, state)
    links = '<p class="row"><a href="/">All runs</a> <a href="/playground.html">New run</a></p>'
    page = re.sub("<body[^>]*>", lambda body: body[0] + links, content, count=1)
    return HTMLResponse(page, headers=ISOLATED)


_LOCK = threading.Lock()


@lru_cache(32)
def make(paths: tuple[Path, ...], member: int | None, state: tuple[object, ...]) -> str:
    """Return the page of a member; without one the report of a run, a comparison or several runs.

    `state` tells changed files from those before.
    """
    names = [str(path) for path in paths]
    with tempfile.TemporaryDirectory() as name:
        out = Path(name)
        if member is not None:
            return api.load(names[0]).write_page(member, out / "page.html").read_text("utf-8")
        return api.report(names[0] if len(names) == 1 else names, out).read_text("utf-8")


OF_RUNS = {
    "": home,
    "live.html": watched,
    "report.html": report,
    "metrics.json": metrics,
    "windows.json": windows,
    "page-{member}.html": page,
}
ROUTES = [
    Route("/", index),
    Route("/playground.html", new_run),
    Route("/overlay.html", overlay),
    Route("/together.html", together),
    Route("/trainings/{action}", act, methods=["POST"]),
    *(Route(f"/runs/{{run:path}}/{leaf}", endpoint) for leaf, endpoint in OF_RUNS.items()),
    *(
        Route(f"/{name}", lambda request: FileResponse(_REPORT / request.url.path[1:]))
        for name in ("style.css", "elements.js")
    ),
    Mount("/", StaticFiles(directory=_HERE / "static")),
]


def _refusal(title: str, reason: str, status: int, headers: Any = None) -> Any:
    """Return what answers an error: a page with the reason, that of a UserError by default."""

    def refuse(request: Request, error: Exception) -> Response:
        page = render("serve/refusal.html", title=title, reason=reason or str(error))
        return HTMLResponse(page, status, headers)

    return refuse


REFUSALS = {
    UserError: _refusal("Nothing here", "", 404),
    404: _refusal("Nothing here", "There is no such page.", 404),
    405: _refusal("Only reading", "Pages here are only read.", 405, {"Allow": "GET, HEAD"}),
    # Starlette sends it past all middleware, so it has its headers from here.
    500: _refusal("A defect", "The terminal says more.", 500, HEADERS),
}
