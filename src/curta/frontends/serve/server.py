"""The server: trainings that pages begin, which address is which page, and who may ask.

Trainings are a queue of child processes of the command line, one at a time. Nothing of a run is
executed here. A child is `python -m curta train ...` in a session of its own, so that Ctrl-C
reaches this process alone, which then stops the child: what it has learned is saved.
"""

import asyncio
import contextlib
import logging
import mimetypes
import os
import re
import secrets
import shlex
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pydantic
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from curta.config.errors import UserError, refuse_if
from curta.config.recipe import grouped
from curta.frontends import api, listing
from curta.frontends.serve import live, playground
from curta.report.rendering import render
from curta.runs import folders

PATIENCE = 20.0
"""Seconds that a stopped child may take to save what it has learned, once the server ends."""


@dataclass
class QueuedTraining:
    """A training of the run of that name, waiting, running or ended, and what it complained of."""

    run: str
    words: Sequence[str]
    state: Literal["waiting", "running", "ended"] = "waiting"
    error: str = ""
    process: subprocess.Popen[str] | None = None


class Trainings:
    """The queue of one server; pages that know its `token` may begin and stop trainings."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe()
        self.jobs: dict[str, QueuedTraining] = {}
        self._queue = ThreadPoolExecutor(1)
        self._lock = threading.Lock()

    def submit(self, run: str, words: Sequence[str]) -> None:
        """Let `curta WORDS` train that run once all before it have ended.

        Raises UserError if it waits or runs already.
        """
        with self._lock:
            refuse_if(self.state(run) != "ended", f"run {run!r} is being trained already")
            self.jobs[run] = QueuedTraining(run, words)
            self._queue.submit(self._train, self.jobs[run])

    def state(self, run: str) -> str:
        """Return whether a run waits or runs here; "ended" for any other."""
        return self.jobs[run].state if run in self.jobs else "ended"

    def ahead(self, run: str) -> int:
        """Count the trainings that end before this one begins."""
        names = [job.run for job in self.jobs.values() if job.state != "ended"]
        return names.index(run) if run in names else 0

    def stop(self, run: str) -> None:
        """Interrupt a training, which saves it, or take it from the queue; else do nothing."""
        with self._lock:
            job = self.jobs.get(run)
            if job is None or job.state == "ended":
                return
            if job.process is None:
                job.state = "ended"
            else:
                job.process.terminate()

    def end(self) -> None:
        """Stop all of them, and wait until they are saved."""
        for job in list(self.jobs.values()):
            self.stop(job.run)
            if job.process is not None:
                with suppress(subprocess.TimeoutExpired):
                    job.process.wait(PATIENCE)

    def _train(self, job: QueuedTraining) -> None:
        with self._lock:
            if job.state == "ended":
                return
            job.state, job.process = "running", subprocess.Popen(
                [sys.executable, "-m", "curta", *job.words],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
        _, complaints = job.process.communicate()
        lines = complaints.strip().splitlines()
        # 1 is a verdict, 130 and 143 an interrupt: neither is a failure of the command
        if lines and job.process.returncode not in (0, 1, 130, 143, -15):
            job.error = lines[-1].removeprefix("curta: ")
        job.state = "ended"


# Which address is which page.

_FOLDER = Path(__file__).parent
_REPORT = _FOLDER.parents[1] / "report"

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
        compared=listing.comparisons(query.get("find", "")),
        trainings=request.app.state.trainings,
        address=address,
        place=_place,
        orders=listing.ORDERS,
        query=query,
    )
    return HTMLResponse(page)


def new_run(request: Request) -> Response:
    """Return the playground's form for the recipe and changes in the address."""
    settings = dict(request.query_params)
    form = playground.form(settings.pop("recipe", "addition"), settings)
    token = request.app.state.trainings.token
    return HTMLResponse(render("serve/playground.html", form=form, groups=grouped(), token=token))


def overlay(request: Request) -> Response:
    """Return the curves of several runs in one plot."""
    return HTMLResponse(render("serve/overlay.html", runs=_chosen(request), place=_place))


def together(request: Request) -> Response:
    """Return the report of several runs side by side."""
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
    """Return the live page of a run, even of one still in the queue."""
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
    """Return a run's new metrics, or the length of the queue if it has not started."""
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
        named = ["--run", order.run] if order.run else []
        return {"errors": errors, "command": shlex.join(["curta", *order.words, *named])}
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
    """Return the folder of the requested run; raise HTTPException if no run has that name."""
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
    Mount("/", StaticFiles(directory=_FOLDER / "static")),
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


# Who may ask: this machine, under its own name.

HERE = "127.0.0.1"
NAMES = [HERE, "localhost"]
"""What this machine is called by a browser on it; any other name is another site's."""

BACKLOG = 1024
"""Connections that may wait to be answered."""


async def set_headers(request: Request, answer: RequestResponseEndpoint) -> Response:
    """Middleware: an answer that says nothing else of a header has that of `HEADERS`."""
    response = await answer(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    return response


APP = Starlette(
    routes=ROUTES,
    middleware=[
        Middleware(BaseHTTPMiddleware, dispatch=set_headers),
        Middleware(TrustedHostMiddleware, allowed_hosts=NAMES),
    ],
    exception_handlers=REFUSALS,
)
APP.state.trainings = Trainings()


def serve(port: int) -> int:
    """Serve the runs folder until Ctrl-C; UserError if the port cannot be had."""
    with listening(port) as opened:
        address = f"http://{HERE}:{opened.getsockname()[1]}/"
        print(f"The runs in {str(folders.root())!r}: {address} (Ctrl-C ends it)", flush=True)
        with running(opened) as thread, contextlib.suppress(KeyboardInterrupt):
            thread.join()
    APP.state.trainings.end()
    print("Ended.")
    return 0


def listening(port: int) -> socket.socket:
    """Return a socket at that port, any free one for 0; UserError if it cannot be had."""
    try:
        return socket.create_server((HERE, port), backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno or 0).lower()
        raise UserError(f"port {port}: {reason}; --port 0 takes any that is free") from None


@contextlib.contextmanager
def running(opened: socket.socket) -> Iterator[threading.Thread]:
    """Yield the thread that answers at a socket; a page being made does not hold up the end.

    Threads of a daemon are daemons: they end with the program.
    """
    # h11 and asyncio are what every machine has
    server = uvicorn.Server(uvicorn.Config(
        APP, http="h11", loop="asyncio", ws="none", lifespan="off", proxy_headers=False,
        server_header=False, log_config=None, log_level="error",
    ))  # fmt: skip

    def answer() -> None:
        try:
            server.run([opened])
        except ValueError:  # at the end the socket may be gone before it has said goodbye
            if not server.should_exit:
                raise

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    try:
        yield thread
    finally:
        server.should_exit = True
        thread.join(1)


logging.getLogger("uvicorn.error").addFilter(  # a page that Ctrl-C cuts off is no error
    lambda record: not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))
)
