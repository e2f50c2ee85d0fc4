"""A server on a port of its own, a small trained run, and a browser."""

import http.client
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from curta.frontends.api import begin, train
from curta.frontends.serve import Server
from curta.frontends.serve.site import answer
from tests import tiny
from tests.export.html.browser import Tab, tab

Asks = Callable[..., tuple[http.client.HTTPResponse, bytes]]


@pytest.fixture(scope="package")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with tab(tmp_path_factory.mktemp("chromium")) as found:
        yield found


@pytest.fixture(scope="package")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runs folder with one run of two members, examined, and a page of it."""
    folder = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder))
        train("addition", 2, "small", tiny.overrides())
        assert answer("/runs/small/page-0.html").status == 200
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


@pytest.fixture
def server(runs_folder: Path) -> Iterator[Server]:
    """The runs folder, served."""
    with Server(0) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def ask(server: Server) -> Asks:
    """One request as it is written, path and headers untouched."""

    def asked(
        path: str, method: str = "GET", hosts: tuple[str, ...] | None = None, body: bytes = b""
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        for host in (f"127.0.0.1:{server.server_port}",) if hosts is None else hosts:
            connection.putheader("Host", host)
        if body:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body or None)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply, content

    return asked
