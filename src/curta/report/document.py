"""A whole HTML page that stands on its own, under a policy that allows what is in it alone."""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources

from markupsafe import Markup

from curta.report.rendering import render


@dataclass(frozen=True)
class Part:
    """HTML, and the stylesheet and the script without which it does nothing."""

    body: Markup = Markup()
    style: str = ""
    script: str = ""


def document(title: str, parts: Iterable[Part]) -> str:
    """The page as text: its parts below each other, each script once and a module of its own."""
    parts = list(parts)
    scripts = [Markup(script) for script in dict.fromkeys(part.script for part in parts) if script]
    style = own("style.css") + "".join(dict.fromkeys(part.style for part in parts))
    body = Markup().join(part.body for part in parts)
    return render("document.html", title=title, style=Markup(style), body=body, scripts=scripts)


def own(name: str, package: str = "curta.report") -> str:
    """A file of a package; text, so that line ends are those a browser hashes."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")
