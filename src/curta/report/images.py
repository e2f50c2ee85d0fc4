"""A figure as the bytes of a PNG or SVG file, or as part of an HTML page."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary
from xml.etree import ElementTree

from markupsafe import Markup

from curta.report.figures import TOLD

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SAVING: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "curta",
    "axes.formatter.min_exponent": 3,
}
_WHITE = b'<rect width="100%" height="100%" fill="white"/>\n '
_DRAWN: WeakKeyDictionary[Figure, bytes] = WeakKeyDictionary()
_DROPPED = {"metadata", "style"}
"""Elements without use in a page: the stylesheet of the page serves all figures."""


def png(figure: Figure) -> bytes:
    """The figure on white, sharp enough for a printed page."""
    return _saved(figure, format="png", dpi=200)


def svg(figure: Figure) -> bytes:
    """The figure on white as a file of its own, its text as text."""
    return _transparent(figure).replace(b"<defs>", _WHITE + b"<defs>", 1)


def inline_svg(figure: Figure, name: str, label: str) -> Markup:
    """The figure as an `svg` element that fits a page with a strict security policy.

    Style attributes become presentation attributes, which need no permission to
    apply and which the page's stylesheet may override; ids are prefixed with
    `name`, since the ids of two figures are the same.
    """
    root = ElementTree.fromstring(_transparent(figure))
    for parent in root.iter():
        for child in [child for child in parent if _local(child.tag) in _DROPPED]:
            parent.remove(child)
    for node in list(root.iter()):
        _tell(node)
        _simplify(node, name)
    _name_once(root)
    for size in ("width", "height", "version"):
        del root.attrib[size]
    root.attrib |= {"class": "plot", "role": "img", "aria-label": label}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _transparent(figure: Figure) -> bytes:
    """The figure as SVG without a background; drawn once, for a page and a file."""
    if figure not in _DRAWN:
        _DRAWN[figure] = _saved(figure, format="svg", transparent=True, metadata={"Date": None})
    return _DRAWN[figure]


def _saved(figure: Figure, **options: Any) -> bytes:
    """Matplotlib's file: the same bytes each time, and text kept as text."""
    import matplotlib

    buffer = io.BytesIO()
    with matplotlib.rc_context(_SAVING):
        figure.savefig(buffer, **options)
    figure.set_layout_engine("none")  # it has its layout now, which is half of the work
    return buffer.getvalue()


def _simplify(node: ElementTree.Element, name: str) -> None:
    """Turns an XML node into one for HTML: no namespaces, no style, no idle blanks."""
    node.tag = _local(node.tag)
    node.text = (node.text or "").strip()
    node.tail = None
    styles = _declarations(node.attrib.pop("style", ""))
    named = {_local(key): _own(value, name) for key, value in node.attrib.items()}
    if "id" in named:
        named["id"] = f"{name}-{named['id']}"
    node.attrib = {**named, **styles}


def _tell(node: ElementTree.Element) -> None:
    """Gives what is to be told a title instead of its id."""
    if node.attrib.get("id", "").startswith(TOLD):
        title = ElementTree.Element("title")
        title.text = node.attrib.pop("id").removeprefix(TOLD)
        node.insert(0, title)
        node.set("class", "told-of")


def _name_once(root: ElementTree.Element) -> None:
    """Takes the id from elements that repeat one: images alike to the dot have the same."""
    seen: set[str] = set()
    for node in root.iter():
        name = node.attrib.get("id")
        if name in seen:
            del node.attrib["id"]
        elif name is not None:
            seen.add(name)


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _declarations(style: str) -> dict[str, str]:
    """The properties of a style attribute, but for the font, which is the page's."""
    pairs = (item.partition(":") for item in style.split(";") if item.strip())
    found = {key.strip(): value.strip() for key, _, value in pairs}
    found.pop("font-family", None)
    return found


def _own(value: str, name: str) -> str:
    """The value with its references led to this figure's ids and its lines joined."""
    value = re.sub(r"^(url\()?#", rf"\g<1>#{name}-", value)
    return " ".join(value.split())
