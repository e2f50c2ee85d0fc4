"""Who may ask: this machine, under its own name, to read."""

import errno
import sys
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from curta.config.errors import UserError
from curta.frontends.serve import pages, site
from curta.frontends.serve.answer import Answer
from curta.runs import folders

HERE = "127.0.0.1"
NAMES = (HERE, "localhost")
"""What this machine is called by a browser on it; any other name is another site's."""

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Handler(BaseHTTPRequestHandler):
    """One request. Every answer has its policy, whatever is asked."""

    server: "Server"
    server_version, sys_version = "Curta", ""
    timeout = 30

    def __getattr__(self, name: str) -> Callable[[], None]:
        """What is done for a method that is not told of here."""
        if name.startswith("do_"):
            return lambda: self._send(_refused(405, "Only reading", "Pages here are only read."))
        raise AttributeError(name)

    def do_GET(self) -> None:
        self._send(self._answer())

    do_HEAD = do_GET  # noqa: N815

    def _answer(self) -> Answer:
        if self.headers.get_all("Host") not in self.server.hosts:
            return _refused(421, "Not this site", f"This is {self.server.address} only.")
        try:
            return site.answer(self.path)
        except Exception:
            self._send(_refused(500, "A defect", "The terminal says more."))
            raise

    def _send(self, answer: Answer) -> None:
        self.request_version = self.protocol_version  # headers, though HTTP/0.9 expects none
        self.send_response(answer.status)
        for name, value in (ALWAYS | _told(answer)).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What is no HTTP at all."""
        self.close_connection = True
        self._send(_refused(code, "No request", message or ""))

    def log_message(self, format: str, *values: Any) -> None:
        """Nothing: the terminal is for what goes wrong."""


class Server(ThreadingHTTPServer):
    """The pages of the runs folder at a port of this machine; any free one for 0."""

    daemon_threads = True
    allow_reuse_port = False

    def __init__(self, port: int) -> None:
        super().__init__((HERE, port), Handler)
        self.address = f"http://{HERE}:{self.server_port}/"
        bare = [[name] for name in NAMES] if self.server_port == 80 else []
        self.hosts = [[f"{name}:{self.server_port}"] for name in NAMES] + bare

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away is no defect."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)


def serve(port: int, say: Callable[[str], object] = print) -> int:
    """Serves the runs folder until Ctrl-C."""
    with opened(port) as server:
        say(f"The runs in {str(folders.root())!r}: {server.address} (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            say("Ended.")
    return 0


def opened(port: int) -> Server:
    """A server at that port; UserError if it cannot be had, with one that can."""
    if not 0 <= port < 1 << 16:
        raise UserError(f"--port must be 0 to 65535, not {port}")
    try:
        return Server(port)
    except OSError as error:
        if error.errno not in (errno.EADDRINUSE, errno.EACCES):
            raise
        why = "in use" if error.errno == errno.EADDRINUSE else "not allowed"
    with Server(0) as free:
        raise UserError(f"port {port} is {why}: try --port {free.server_port}") from None


def _told(answer: Answer) -> dict[str, str]:
    """The headers of this answer alone."""
    told = {
        "Content-Type": answer.kind,
        "Content-Length": str(len(answer.body)),
        "Content-Security-Policy": answer.policy,
    }
    told |= {"Allow": "GET, HEAD"} if answer.status == 405 else {}
    return told | ({"Location": answer.location} if answer.location else {})


def _refused(status: int, title: str, reason: str) -> Answer:
    return Answer(status, pages.refusal(title, reason).encode())
