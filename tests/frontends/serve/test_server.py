"""Who may ask, and for what: real requests to a real server."""

import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from curta.frontends.cli import main
from curta.frontends.serve import Server

from .conftest import Asks

ALL = ("/", "/site.css", "/live.js", "/runs/small/report.html", "/runs/small/live.html",
       "/runs/small/metrics.json", "/runs/small/page-0.html", "/nothing")  # fmt: skip


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_this_machine_can_connect(server: Server) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.2", server.server_port)) != 0


@pytest.mark.parametrize("path", ALL)
def test_every_answer_has_a_strict_policy(ask: Asks, small: Path, path: str) -> None:
    reply, body = ask(path)
    assert reply.status == (404 if path == "/nothing" else 200)
    policy = reply.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert ("sandbox" in policy) == bool(re.search(r"report|page-", path))
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert reply.headers.get_all("Content-Length") == [str(len(body))]


@pytest.mark.parametrize(
    "hosts",
    [("evil.example",), ("evil.example:{port}",), ("127.0.0.1:1",), ("",), (),
     ("127.0.0.1.evil.example:{port}",), ("127.0.0.1:{port}", "evil.example")],
)  # fmt: skip
def test_another_host_than_this_machine_is_refused(
    ask: Asks, server: Server, small: Path, hosts: tuple[str, ...]
) -> None:
    """A name of another site may lead to 127.0.0.1: its pages would read ours."""
    named = tuple(host.format(port=server.server_port) for host in hosts)
    reply, body = ask("/", hosts=named)
    assert reply.status == 421
    assert b"small" not in body
    assert ask("/", hosts=(f"localhost:{server.server_port}",))[0].status == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "WIPE"])
def test_there_is_only_reading(ask: Asks, small: Path, method: str) -> None:
    before = contents(small)
    reply, _ = ask("/runs/small/metrics.json", method, body=b"{}" if method == "PUT" else b"")
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")
    assert contents(small) == before


@pytest.mark.parametrize("path", ALL)
def test_head_tells_what_get_would(ask: Asks, small: Path, path: str) -> None:
    ask(path)  # made now, if it is to be made
    (got, _), (told, body) = ask(path), ask(path, "HEAD")
    assert body == b""
    assert (told.status, told.headers["Content-Type"]) == (got.status, got.headers["Content-Type"])
    if "metrics" not in path:  # it tells how long ago
        assert told.headers["Content-Length"] == got.headers["Content-Length"]


@pytest.mark.parametrize(
    "path",
    ["/../secret", "/runs/../secret", "/runs/small/../../secret", "//etc/passwd",
     "/runs/..%2f..%2fsecret/report.html", "/runs/small/%2e%2e/%2e%2e/secret", "/runs//etc/passwd",
     "/runs/%2e%2e/secret", "/runs/small/run.json", "/runs/small/recipe.toml", "/runs/small%00/",
     "/runs/small/checkpoints/", "/runs/small/page--1.html", "/runs/small/page-0.html/",
     "/runs/.././small/report.html", "/runs", "/server.py", "/..%5c..%5csecret",
     "/runs/%ff/report.html", "/runs/secret/report.html", "http://127.0.0.1/../secret"],
)  # fmt: skip
def test_nothing_else_can_be_reached(ask: Asks, small: Path, path: str) -> None:
    for place in (small.parent.parent / "secret", small.parent / "secret"):
        place.mkdir()
        (place / "report.html").write_text("hidden")
    reply, body = ask(path)
    assert reply.status == 404
    assert b"hidden" not in body
    assert b"root:" not in body


def test_what_is_no_http_is_refused_under_the_same_policy(server: Server) -> None:
    with socket.create_connection(("127.0.0.1", server.server_port), 20) as raw:
        raw.sendall(b"GET / HTTP/a.b\r\n\r\n")
        reply = raw.makefile("rb").read()
    assert b" 400 " in reply.splitlines()[0]
    assert b"Content-Security-Policy: default-src 'none'" in reply


def test_a_port_in_use_is_one_line_with_another(capsys: pytest.CaptureFixture[str]) -> None:
    with Server(0) as server:
        assert main(["serve", "--port", str(server.server_port)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    found = re.fullmatch(rf"curta: port {server.server_port} is in use: try --port (\d+)\n", err)
    assert found
    with Server(int(found[1])):
        pass


@pytest.mark.parametrize("port", ["-1", "65536", "x"])
def test_what_is_no_port_is_refused(capsys: pytest.CaptureFixture[str], port: str) -> None:
    assert main(["serve", f"--port={port}"]) == 2
    assert "--port" in capsys.readouterr().err


def test_ctrl_c_ends_it_with_one_line(runs_folder: Path) -> None:
    """Also where the tests run in the background: a shell lets its jobs ignore Ctrl-C there."""
    heed = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler);"
    call = "from curta.frontends.cli import main; sys.exit(main(['serve', '--port', '0']))"
    command, pipe = [sys.executable, "-u", "-c", heed + call], subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    try:
        assert run.stdout
        line = run.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\d+/", line)
        assert address, line
        with urllib.request.urlopen(address[0], timeout=60) as page:
            assert b"No runs yet" in page.read()
        run.send_signal(signal.SIGINT)
        assert run.communicate(timeout=60) == ("Ended.\n", "")
        assert run.returncode == 0
    finally:
        run.kill()
        run.communicate()
