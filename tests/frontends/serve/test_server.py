"""Who may ask, and for what: real requests to a real server."""

import html
import http.client
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from curta.frontends.cli import main
from curta.frontends.serve.server import listening

from .conftest import Asks, Served

ALL = ("/", "/site.css", "/style.css", "/live.js", "/runs/small/report.html",
       "/runs/small/live.html", "/runs/small/metrics.json", "/runs/small/page-0.html",
       "/nothing")  # fmt: skip


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_only_this_machine_can_connect(server: Served) -> None:
    with listening(0) as opened:
        assert opened.getsockname()[0] == "127.0.0.1"
    with socket.socket() as other:
        assert other.connect_ex(("127.0.0.2", server.port)) != 0


@pytest.mark.parametrize("path", ALL)
def test_every_answer_has_a_strict_policy(ask: Asks, small: Path, path: str) -> None:
    reply, body = ask(path)
    assert reply.status == (404 if path == "/nothing" else 200)
    policy = reply.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "frame-ancestors 'none'" in policy
    of_a_run = bool(re.search(r"report|page-", path))
    assert ("sandbox" in policy, "unsafe" in policy) == (of_a_run, of_a_run)
    assert "allow-same-origin" not in policy
    assert not of_a_run or b"script-src 'sha256-" in html.unescape(body.decode()).encode()
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert reply.headers.get_all("Content-Length") == [str(len(body))]


@pytest.mark.parametrize(
    ("hosts", "status"),
    [(("localhost:{port}",), 200), (("127.0.0.1",), 200), (("localhost:9000",), 200),
     (("evil.example:{port}",), 400), ((), 400), (("www.localhost",), 400),
     (("127.0.0.1.evil.example:{port}",), 400), (("127.0.0.1:{port}", "evil.example"), 400)],
)  # fmt: skip
def test_only_the_names_of_this_machine_are_answered(
    ask: Asks, server: Served, small: Path, hosts: tuple[str, ...], status: int
) -> None:
    """A name of another site may lead to 127.0.0.1: its pages would read ours.

    At any port: that of an SSH tunnel may be another than the server's.
    """
    reply, body = ask("/", hosts=tuple(host.format(port=server.port) for host in hosts))
    assert reply.status == status
    invalid = (b"Invalid host header", b"Invalid HTTP request received.")
    assert (body in invalid) == (status == 400)


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "WIPE"])
def test_there_is_only_reading(ask: Asks, small: Path, method: str) -> None:
    before = contents(small)
    reply, _ = ask("/runs/small/metrics.json", method, body=b"{}" if method == "PUT" else b"")
    assert (reply.status, reply.headers["Allow"]) == (405, "GET, HEAD")
    assert contents(small) == before


@pytest.mark.parametrize(
    "path",
    ["/../secret", "/runs/small/../../secret", "//etc/passwd", "/runs/secret/report.html",
     "/runs/..%2f..%2fsecret/report.html", "/runs/small/%2e%2e/%2e%2e/secret",
     "/runs/small/run.json", "/runs/small%00/", "/runs/small/page--1.html", "/%2e%2e/server.py",
     "/%2e%2e/" * 9 + "etc/passwd", "/runs/small/page-00.html", "/x" * 2000,
     "/runs/small/page-" + "9" * 5000 + ".html", "/runs/%ff/report.html",
     "/playground.html?recipe=nothing"],
    ids=lambda path: path[:40],
)  # fmt: skip
def test_nothing_else_can_be_reached(ask: Asks, small: Path, path: str) -> None:
    for place in (small.parent.parent / "secret", small.parent / "secret"):
        place.mkdir()
        (place / "report.html").write_text("hidden")
    reply, body = ask(path)
    assert reply.status == 404
    assert b"hidden" not in body
    assert b"root:" not in body


def test_a_defect_is_told_in_the_terminal_alone(
    ask: Asks, small: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("curta.frontends.serve.server.make", lambda *of: {}["secret"])
    reply, body = ask("/runs/small/report.html")
    assert reply.status == 500
    assert b"The terminal says more." in body
    assert b"secret" not in body
    assert reply.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
    assert reply.headers["X-Frame-Options"] == "DENY"
    assert ask("/")[0].status == 200
    assert "KeyError: 'secret'" in caplog.text


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with listening(0) as opened:
        port = opened.getsockname()[1]
        assert main(["serve", "--port", str(port)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == f"curta: port {port}: address already in use; --port 0 takes any that is free\n"


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_without_its_libraries_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    assert main(["serve"]) == 2
    line = f"curta: {library} is not installed: pip install 'curta[serve]'\n"
    assert capsys.readouterr() == ("", line)


SERVE = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from curta.frontends.cli import main
from curta.frontends.serve import server
server.make = lambda *of: time.sleep(600)
sys.exit(main(["serve", "--port", "0"]))
"""


@pytest.mark.parametrize(
    "path", [pytest.param("/", marks=pytest.mark.slow), "/runs/small/report.html"]
)
def test_ctrl_c_ends_it_with_one_line(small: Path, path: str) -> None:
    """With a browser that stays connected, and with one that waits for a page being made.

    Also where the tests run in the background: a shell lets its jobs ignore Ctrl-C there.
    """
    command, pipe = [sys.executable, "-u", "-c", SERVE], subprocess.PIPE
    run = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)
    try:
        assert run.stdout
        line = run.stdout.readline()
        address = re.search(r"http://(127\.0\.0\.1:\d+)/", line)
        assert address, line
        browser = http.client.HTTPConnection(address[1], timeout=60)
        browser.request("GET", "/")
        assert b"small" in browser.getresponse().read()
        browser.request("GET", path)
        time.sleep(0.5)
        run.send_signal(signal.SIGINT)
        assert run.communicate(timeout=60) == ("Ended.\n", "")
        assert run.returncode == 0
        browser.close()
    finally:
        run.kill()
        run.communicate()
