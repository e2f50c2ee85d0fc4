"""Who may ask: this machine, under its own name."""

import asyncio
import contextlib
import logging
import os
import socket
import threading
from collections.abc import Iterator

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response

from curta.config.errors import UserError
from curta.frontends.serve import site
from curta.frontends.serve.trainings import Trainings
from curta.runs import folders

HERE = "127.0.0.1"
NAMES = [HERE, "localhost"]
"""What this machine is called by a browser on it; any other name is another site's."""

BACKLOG = 1024
"""Connections that may wait to be answered."""


async def set_headers(request: Request, answer: RequestResponseEndpoint) -> Response:
    """Middleware: an answer that says nothing else of a header has that of `site.HEADERS`."""
    response = await answer(request)
    for name, value in site.HEADERS.items():
        response.headers.setdefault(name, value)
    return response


APP = Starlette(
    routes=site.ROUTES,
    middleware=[
        Middleware(BaseHTTPMiddleware, dispatch=set_headers),
        Middleware(TrustedHostMiddleware, allowed_hosts=NAMES),
    ],
    exception_handlers=site.REFUSALS,
)
APP.state.trainings = Trainings()


def serve(port: int) -> int:
    """Serve the runs folder until Ctrl-C; UserError if the port cannot be had."""
    with listening(port) as opened:
        address = f"http://{HERE}:{opened.getsockname()[1]}/"
        print(f"The runs in {str(folders.root())!r}: {address} (Ctrl-C ends it)")
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
