"""A server on a port of its own, a small trained run, and a browser."""

import http.client
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from curta.frontends.api import begin
from curta.frontends.serve.server import APP, HERE, listening, running
from tests import tiny
from tests.export.html.tabs import browser, complaints, first_tab, tab
from tests.made_once import Shared

__all__ = ["browser", "complaints", "first_tab", "tab"]

Asks = Callable[..., tuple[http.client.HTTPResponse, bytes]]

client = TestClient(APP, f"http://{HERE}", follow_redirects=False)
"""Asks the application itself; the fixture `ask` sends requests to a server."""


@dataclass(frozen=True)
class Served:
    """Where the server of the tests is."""

    port: int

    @property
    def address(self) -> str:
        return f"http://{HERE}:{self.port}/"


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory, shared_runs: Shared) -> Path:
    """A runs folder with one run of two members, examined, and a page of it."""
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder))
        shared_runs.finished("small")
        assert client.get("/runs/small/page-0.html").status_code == 200
    return folder


@pytest.fixture
def small(made: Path, runs_folder: Path) -> Path:
    """That run in a runs folder of the test's own."""
    shutil.copytree(made, runs_folder)
    return runs_folder / "small"


@pytest.fixture
def young(runs_folder: Path) -> Path:
    """A run of which nothing is trained yet."""
    return begin("addition", 2, "young", tiny.overrides()).folder.path


@pytest.fixture(scope="package")
def server() -> Iterator[Served]:
    """The server; it looks for the runs folder anew at each request."""
    with listening(0) as opened, running(opened):
        yield Served(opened.getsockname()[1])


@pytest.fixture
def ask(server: Served, runs_folder: Path) -> Asks:
    """One request as it is written, path and headers untouched."""

    def send(
        path: str, method: str = "GET", hosts: tuple[str, ...] | None = None, body: bytes = b""
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection(HERE, server.port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        for host in (f"{HERE}:{server.port}",) if hosts is None else hosts:
            connection.putheader("Host", host)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply, content

    return send
