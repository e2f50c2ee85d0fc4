"""The headers under which a browser may show what is sent."""

import html.parser

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curta.report.rendering import digest

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

ISOLATED = (
    "default-src 'none'; {inline}img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox allow-scripts allow-forms allow-downloads"
)
"""For files of a run folder: their own blocks, and no way to anything else of the server."""


class StrictHeaders:
    """Middleware: an answer that says nothing else of a header has that of `HEADERS`."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def strict(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, strict)


def isolated(page: str) -> dict[str, str]:
    """The header for a page that needs nothing but itself, whoever put it into a run folder."""
    return {"Content-Security-Policy": ISOLATED.format(inline=_inline(page))}


def _inline(page: str) -> str:
    """Sources for just the scripts and the styles that stand in a page, by their hashes."""
    blocks = _Blocks()
    blocks.feed(page)
    hashes = {name: " ".join(map(digest, texts)) for name, texts in blocks.found.items() if texts}
    return "".join(f"{name}-src {sources}; " for name, sources in hashes.items())


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
