"""A whole HTML page that stands on its own, under a policy that allows what is in it alone."""

import base64
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Any

from curta.report.markup import Markup, element, join

_POLICY = "default-src 'none'; {}style-src {}; img-src data:; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True)
class Part:
    """HTML, and the stylesheet and the script without which it does nothing."""

    body: Markup = Markup()
    style: str = ""
    script: str = ""


def document(title: str, parts: Iterable[Part]) -> str:
    """The page as text: its parts below each other, each script once and a module of its own."""
    parts = list(parts)
    scripts = [script for script in dict.fromkeys(part.script for part in parts) if script]
    style = own("style.css") + "".join(dict.fromkeys(part.style for part in parts))
    allowed = f"script-src {' '.join(map(_hash, scripts))}; " if scripts else ""
    return Template(own("page.html")).substitute(
        title=element("title", title),
        policy=_POLICY.format(allowed, _hash(style)),
        style=style,
        body=join(part.body for part in parts),
        scripts="".join(f'<script type="module">{script}</script>\n' for script in scripts),
    )


def data(value: Any, **attributes: str) -> Markup:
    """A value as JSON that a script of the page reads."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return element("script", Markup(text), type="application/json", **attributes)


def own(name: str) -> str:
    """A file of this package; text, so that line ends are those a browser hashes."""
    return resources.files("curta.report").joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
