"""What is sent back, and the policy under which a browser may show it."""

import base64
import hashlib
import html.parser
import json
from dataclasses import dataclass
from typing import Any

OWN = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""For the pages of the server itself: files of its own, and nothing written into a page."""

LONE = (
    "default-src 'none'; {inline}img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox allow-scripts allow-forms allow-downloads"
)
"""For files of a run folder: their own blocks, and no way to anything else of the server."""

HTML = "text/html; charset=utf-8"


@dataclass(frozen=True)
class Answer:
    """Status, content and its type; `location` is where else to ask."""

    status: int
    body: bytes = b""
    kind: str = HTML
    policy: str = OWN
    location: str | None = None


def as_json(content: Any) -> Answer:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False)
    return Answer(200, text.encode(), "application/json")


def moved(location: str) -> Answer:
    return Answer(303, location=location)


def lone(body: bytes) -> Answer:
    """A page that needs nothing but itself, whoever has put it into a run folder."""
    return Answer(200, body, policy=LONE.format(inline=_inline(body.decode())))


def _inline(page: str) -> str:
    """Sources for just the scripts and the styles that stand in a page, by their hashes."""
    blocks = _Blocks()
    blocks.feed(page)
    hashes = {name: " ".join(map(_hash, texts)) for name, texts in blocks.found.items() if texts}
    return "".join(f"{name}-src {sources}; " for name, sources in hashes.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


class _Blocks(html.parser.HTMLParser):
    """Collects what stands in script and style elements, but for data."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {"script": [], "style": []}
        self._open: list[str] | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        runs = dict(attributes).get("type") in (None, "", "module", "text/javascript")
        if tag in self.found and runs:
            self._open = self.found[tag]
            self._open.append("")

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open[-1] += data.replace("\r\n", "\n")

    def handle_endtag(self, tag: str) -> None:
        self._open = None
