"""HTML from Python values, escaped unless it is already HTML."""

import html
import re
from collections.abc import Iterable


class Markup(str):
    """Text that is already HTML. Any other string is escaped where it enters a page."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Markup:
    """An element: `element("p", "a < b", class_="note")` is `<p class="note">a &lt; b</p>`."""
    return Markup(f"<{name}{_written(attributes)}>{join(children)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """The parts one after the other."""
    return Markup("".join(_escaped(part) for part in parts))


def table(caption: str, head: Iterable[str], body: Iterable[str]) -> Markup:
    """A table of rows, in a box that scrolls sideways where the screen is too narrow."""
    inner = element(
        "table",
        element("caption", caption),
        element("thead", *head),
        element("tbody", *body),
    )
    return element("div", inner, class_="scroll", role="region", aria_label=caption, tabindex="0")


def heading_cells(*names: str) -> Markup:
    """Column headings."""
    return join(element("th", name, scope="col") for name in names)


def cells(*values: str) -> Markup:
    """Cells of a row."""
    return join(element("td", value) for value in values)


def details(summary: str, *children: str) -> Markup:
    """Content that opens when its summary is clicked."""
    return element("details", element("summary", summary), *children)


def figure(plot: Markup, caption: str, file: str) -> Markup:
    """A figure with its caption, which names the files that hold it as a picture."""
    return element("figure", plot, element("figcaption", caption, saved(file)))


def saved(file: str) -> Markup:
    """Which files hold a figure as a picture."""
    return element("span", " Also saved as ", element("code", file), ".", class_="saved")


def demoted(text: Markup) -> Markup:
    """Headings one level lower, for what becomes part of something else."""
    lower = {str(level): str(level + 1) for level in range(1, 6)}
    return Markup(re.sub(r"<(/?)h([1-5])\b", lambda found: f"<{found[1]}h{lower[found[2]]}", text))


def _escaped(text: str) -> str:
    return text if isinstance(text, Markup) else html.escape(text)


def _written(attributes: dict[str, str]) -> str:
    """Attributes named as Python allows: `class_` is class, `aria_label` is aria-label."""
    pairs = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items())
    return "".join(f' {key}="{html.escape(value)}"' for key, value in pairs)
