"""A real browser without a window, driven over a pipe by the DevTools protocol."""

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--disable-background-networking", "--no-first-run", "--remote-debugging-pipe",
)  # fmt: skip


class Tab:
    """One open page: `value` asks JavaScript, `call` any method of the protocol."""

    def __init__(self, send: int, receive: int) -> None:
        self._send, self._receive = send, receive
        self._numbers, self._buffer = itertools.count(1), b""
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while (reply := self._read()).get("id") != number:
            self.events.append(reply)
        assert "error" not in reply, reply
        result: dict[str, Any] = reply["result"]
        return result

    def open(self, page: Path | str) -> None:
        """Opens a file or an address, and waits until it is loaded."""
        self.events.clear()
        url = page if isinstance(page, str) else page.resolve().as_uri()
        self.call("Page.navigate", url=url)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.events.append(self._read())

    def value(self, expression: str) -> Any:
        """What a JavaScript expression comes to; a promise is awaited."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Waits until a JavaScript condition holds, at most twenty seconds."""
        poll = "new Promise(done => { const until = Date.now() + 20000; const look = () => {"
        poll += f"if ({condition}) done(true); else if (Date.now() > until) done(false);"
        assert self.value(poll + "else setTimeout(look, 10); }; look(); })"), condition

    def press(self, *keys: str) -> None:
        """Presses keys as a person does: names such as Enter, or single characters."""
        for key in keys:
            text = {"text": "\r"} if key == "Enter" else {"text": key} if len(key) == 1 else {}
            code = {"Enter": 13, "Tab": 9, " ": 32}.get(key, 0)
            for kind in ("keyDown", "keyUp"):
                self.call(
                    "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code,
                    **(text if kind == "keyDown" else {}),
                )  # fmt: skip

    def picture(self, path: Path) -> None:
        """Saves what the page looks like, as PNG."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    @property
    def complaints(self) -> list[str]:
        """What the browser has complained of: exceptions, and what the policy did not allow."""
        self.value("0")
        wanted = ("Runtime.exceptionThrown", "Log.entryAdded")
        return [json.dumps(event) for event in self.events if event["method"] in wanted]

    @property
    def requests(self) -> list[str]:
        """Addresses that the page has asked for."""
        sent = (e for e in self.events if e["method"] == "Network.requestWillBeSent")
        return [event["params"]["request"]["url"] for event in sent]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            part = os.read(self._receive, 1 << 16)
            assert part, "the browser has ended"
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def tab(profile: Path) -> Iterator[Tab]:
    """A browser with one tab; the browser reads its descriptor 3 and writes to 4."""
    assert CHROMIUM, "Chromium is missing: apt-get install chromium"
    (theirs_in, ours_out), (ours_in, theirs_out) = _pipe(), _pipe()
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"]
    shell = ["bash", "-c", f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}', "bash", *command]
    process = subprocess.Popen(
        shell, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(theirs_in)
    os.close(theirs_out)
    try:
        yield Tab(ours_out, ours_in)
    finally:
        os.close(ours_out)
        process.terminate()
        process.wait(20)
        os.close(ours_in)


def _pipe() -> tuple[int, int]:
    """A pipe whose numbers are beyond those that the browser's own are to have."""
    low = os.pipe()
    reading, writing = (fcntl.fcntl(number, fcntl.F_DUPFD, 10) for number in low)
    for number in low:
        os.close(number)
    return reading, writing
