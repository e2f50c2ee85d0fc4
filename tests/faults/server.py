"""The server under many connections at once, malformed requests, and names of every kind."""

import os
import random
import re
import socket
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from curta.frontends import api
from tests.faults import places
from tests.faults.kills import SOURCE
from tests.faults.outcome import Outcome

AT_ONCE = 300

SECRET = "known to nobody"

NUMBERS = (
    "0", "-1", "1", "9" * 30, "9" * 5_000, "٣", "²", "1e9", "0x1", "", "%00", "1%00", "%ff", "+1",
    "%0d%0aX-Other: 1", "nan", "1-1", "1-" + "9" * 40, "-", "--", "1-٣", "{inode}-5", "{inode}-%00",
)  # fmt: skip

NAMES = (
    "run", "run ", "RUN", "r%75n", "..", "%2e%2e", "..%2f..%2fsecret", ".lock", ".hidden", "secret",
    "x" * 3_000, "%00", "run%00", "%ff", "%F0%9F%92%A5", "<script>", "%3Cb%3E", "'", '%22', "~",
    "run/checkpoints", "run/../../secret", "run;x", "run%5c..%5cx", "%252e%252e", "other ü",
)  # fmt: skip

LEAVES = (
    "", "live.html", "report.html", "metrics.json", "page-0.html", "page-{n}.html", "run.json",
    "recipe.toml", "metrics.json?after={n}", "metrics.json?after={n}&after={n}", "metrics.json?{n}",
    "secret", "../secret", "checkpoints/00000040.json", "%2e%2e/secret/note", "live.html/..",
)  # fmt: skip


def run(count: int, seed: int) -> Outcome:
    """Many connections at once, then `count` requests, well made and not."""
    with places.workplace() as folder:
        runs, found = folder / "runs", Outcome()
        with places.runs_at(runs):
            api.train(places.recipe(folder), 2, "run", **{"evaluation.certificate": 0})
            for name in (".hidden", "other ü", "damaged"):
                places.copy(runs / "run", runs, name)
        (runs / "damaged" / "metrics.jsonl").write_bytes(b"\xff\0{")
        for place in (folder / "secret", runs / "secret"):
            place.mkdir()
            (place / "note").write_text(SECRET)
        before = places.digest(runs / "run" / "run.json")
        with served(runs, folder / "err") as port:
            _at_once(found, seed, port, min(AT_ONCE, count))
            for case, draw in places.chosen(count, seed):
                _one(found, f"{case}", seed, port, request(draw, runs))
            _one(
                found,
                "the last",
                seed,
                port,
                b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n",
                "200",
            )
        text = (folder / "err").read_text()
        if "Traceback" in text:
            found.failed("stderr", seed, text[-1_500:])
        if before != places.digest(runs / "run" / "run.json"):
            found.failed("files", seed, "run.json was written")
        return found


@contextmanager
def served(runs: Path, err: Path) -> Iterator[int]:
    """A real server in a process of its own; its port."""
    known = os.environ.get("PYTHONPATH", "")
    given = {"CURTA_RUNS": str(runs), "PYTHONPATH": f"{SOURCE}{os.pathsep}{known}"}
    with err.open("w") as file, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()
        words = [sys.executable, "-m", "curta", "serve", "--port", str(port)]
        process = subprocess.Popen(
            words, env=os.environ | given, stdout=subprocess.DEVNULL, stderr=file
        )
    try:
        _wait(port)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _wait(port: int) -> None:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TimeoutError("the server does not answer")


def _at_once(found: Outcome, seed: int, port: int, count: int) -> None:
    """So many connections that are all open before the first of them asks."""
    opened = [socket.create_connection(("127.0.0.1", port), 60) for _ in range(count)]
    asked = b"GET /runs/run/metrics.json HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"

    def talk(connection: socket.socket) -> bytes:
        with connection:
            connection.sendall(asked)
            return connection.makefile("rb").read()

    with ThreadPoolExecutor(count) as pool:
        replies = list(pool.map(talk, opened))
    wrong = [reply[:80] for reply in replies if not reply.startswith(b"HTTP/1.1 200")]
    found.cases += count
    found.ended["200"] += count - len(wrong)
    if wrong:
        found.failed("at once", seed, f"{len(wrong)} of {count} were answered by {wrong[0]!r}")


def _one(found: Outcome, case: str, seed: int, port: int, sent: bytes, wanted: str = "") -> None:
    """One request; an answer below 500, or none to what is no HTTP, and nothing secret in it."""
    found.cases += 1
    try:
        reply = raw(port, sent)
    except OSError as error:
        found.failed(case, seed, f"{sent[:100]!r}: {error!r}")
        return
    status = (re.match(rb"HTTP/1\.1 (\d+)", reply) or [b"", b"none"])[1].decode()
    found.ended[status] += 1
    bad = status.startswith("5") or (wanted and status != wanted) or SECRET.encode() in reply
    if bad or b"\nX-Other" in reply:
        found.failed(case, seed, f"{sent[:200]!r} was answered by {reply[:200]!r}")


def raw(port: int, sent: bytes) -> bytes:
    """All that is said to that, until the connection ends, or waits for more of a request."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        try:
            connection.sendall(sent)
            while part := connection.recv(1 << 16):
                found += part
                connection.settimeout(1)
        except (ConnectionResetError, BrokenPipeError, TimeoutError):
            return found
    return found


def request(draw: random.Random, runs: Path) -> bytes:
    """A request, half of them with something wrong besides its path."""
    inode = str((runs / "run" / "metrics.jsonl").stat().st_ino)
    name, leaf = draw.choice([*NAMES, *["run"] * 9, "damaged"]), draw.choice(LEAVES)
    number = draw.choice(NUMBERS).replace("{inode}", inode)
    path = f"/runs/{name}/{leaf.replace('{n}', number)}"
    method = draw.choice(["GET"] * 12 + ["HEAD", "POST", "PUT", "G\0T", "x" * 300, ""])
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    if draw.random() < 0.3:
        lines.insert(draw.randrange(1, 4), draw.choice(HEADERS))
    sent = "\r\n".join([*lines, "", ""]).encode()
    return _noised(sent, draw) if draw.random() < 0.15 else sent


HEADERS = (
    "Content-Length: -1", "Content-Length: 9999999", "Transfer-Encoding: chunked", "Host: evil",
    "Range: bytes=0-99999999999", "Range: bytes=x", "If-Modified-Since: x", "X: " + "y" * 70_000,
    "Expect: 100-continue", "Upgrade: websocket", "no colon", ": empty", "X: \0", "Cookie: =",
)  # fmt: skip


def _noised(sent: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(sent))
    bad = draw.choice([b"\0", b"\n\n", b"\xff\xfe", draw.choice(string.printable).encode() * 9])
    return sent[:at] + bad + sent[at + draw.randint(0, 3) :]
