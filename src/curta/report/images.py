"""A figure as an `svg` element of a page, and the same element as a file."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from markupsafe import Markup

from curta.report.figures import LINE_ID

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAVING: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "curta",
    "axes.formatter.min_exponent": 3,
}
"""Matplotlib's settings: the same bytes each time, and text kept as text."""


def svg_element(figure: Figure, name: str, label: str) -> Markup:
    """Draw a figure as an `svg` element that fits a page with a strict security policy.

    Style attributes become presentation attributes, which need no permission and which the page's
    stylesheet may override; ids are prefixed with `name`, since the ids of two figures are the
    same. `label` says what the figure shows.
    """
    import matplotlib

    buffer, ids = io.BytesIO(), set[str]()
    with matplotlib.rc_context(SAVING):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for node in list(root.iter()):
        for child in list(node):
            if child.tag.endswith(("}metadata", "}style")):
                node.remove(child)
        node.tag = node.tag.rpartition("}")[2]
        node.text, node.tail = (node.text or "").strip(), None
        styles = [one.partition(":") for one in node.attrib.pop("style", "").split(";") if one]
        attributes = {key.rpartition("}")[2]: value for key, value in node.attrib.items()}
        if attributes.get("id", "").startswith(LINE_ID):
            # a line that says what it is when a reader points at it
            title = ElementTree.Element("title")
            title.text = attributes.pop("id").removeprefix(LINE_ID)
            node.insert(0, title)
            attributes["class"] = "told-of"
        elif "id" in attributes:
            attributes["id"] = f"{name}-{attributes['id']}"
            if attributes["id"] in ids:  # images alike to the dot have the same one
                del attributes["id"]
            ids.add(attributes.get("id", ""))
        node.attrib = {
            key: " ".join(re.sub(r"^(url\()?#", rf"\g<1>#{name}-", value).split())
            for key, value in attributes.items()
        } | {key.strip(): value.strip() for key, _, value in styles if "font-family" not in key}
    for size in ("width", "height", "version"):
        del root.attrib[size]
    root.attrib |= {"class": "plot", "role": "img", "aria-label": label}
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def svg_file(element: Markup) -> bytes:
    """Return an `svg` element of a page as a file of its own, on white."""
    start, content = element.strip().split(">", 1)
    fonts = 'xmlns="http://www.w3.org/2000/svg" font-family="DejaVu Sans, sans-serif"'
    white = '<rect width="100%" height="100%" fill="white" />'
    return f"{start} {fonts}>{white}{content}".encode()
