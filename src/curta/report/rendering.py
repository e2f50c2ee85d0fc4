"""HTML from the templates beside this module, which escape everything that is not HTML already.

A module computes what a page shows and hands it to a template. `Markup` is for rendered parts and
for the package's own scripts and stylesheets, never for text of a user.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from inspect import isfunction
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from curta.config import table
from curta.evaluation.results import SliceSummary, UnevaluatedSize
from curta.evaluation.statistics import Range
from curta.probes.tokens import PLANES
from curta.programs.machine import drawing
from curta.report import sections, summary
from curta.report.figures import BANDS, DESCRIPTIONS
from curta.report.tables import left_out

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class PagePart:
    """HTML, and the stylesheet and script that it needs."""

    body: Markup = Markup()
    style: str = ""
    script: str = ""


def document(title: str, content: Iterable[PagePart]) -> str:
    """Return a whole HTML page that stands on its own.

    Its security policy allows only what is in it. Each script appears once, as a module.
    """
    content = list(content)
    scripts = list(map(Markup, filter(None, dict.fromkeys(piece.script for piece in content))))
    style = package_text("style.css") + "".join(dict.fromkeys(piece.style for piece in content))
    body = Markup().join(piece.body for piece in content)
    return render("document.html", title=title, style=Markup(style), body=body, scripts=scripts)


def package_text(name: str, package: str = "curta.report") -> str:
    """Return a file of a package, with the line ends that a browser hashes."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def modules_text(names: Iterable[str], package: str = "curta.report") -> str:
    """Return JavaScript modules as one script, each after those that it imports."""
    script = "\n".join(package_text(f"{name}.js", package) for name in names)
    script = re.sub(r"^import [^;]*;\n", "", script, flags=re.MULTILINE)
    return re.sub(r"^export ", "", script, flags=re.MULTILINE)


@cache
def environment() -> Environment:
    """Return the environment of all templates; an undefined name in a template is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    jinja = Environment(
        loader=PackageLoader("curta.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    jinja.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    functions: list[Any] = [digest, drawing.ruled, left_out, median]
    for module in (sections, summary, table):
        functions_here = (value for value in vars(module).values() if isfunction(value))
        functions += [
            function for function in functions_here if function.__module__.startswith("curta")
        ]
    jinja.filters |= {function.__name__: function for function in functions}
    jinja.globals |= {
        "BANDS": BANDS,
        "DESCRIPTIONS": DESCRIPTIONS,
        "GAP": drawing.GAP,
        "MISSING": table.MISSING,
        "NONE": drawing.NONE,
        "PLANES": PLANES,
    }
    return jinja


def render(template: str, /, **values: Any) -> Markup:
    """Render a template as HTML, which another template includes without escaping it."""
    return Markup(environment().get_template(template).render(values))


def render_text(template: str, /, **values: Any) -> str:
    """Render a template that is not HTML, without escaping."""
    plain = environment().overlay(autoescape=False, keep_trailing_newline=True)
    return plain.get_template(template).render(values)


def digest(text: str) -> str:
    """Return the hash by which a security policy names a script or a stylesheet of the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


# For notebooks: pictures, and rows as tables.


@dataclass(frozen=True)
class PictureFile:
    """A picture of a report, which a notebook draws."""

    path: Path
    """The path of the SVG file."""

    def _repr_svg_(self) -> str:
        return self.path.read_text("utf-8")


class Rows(list[dict[str, Any]]):
    """A list of dictionaries with the same keys, which a notebook draws as a table."""

    def _repr_html_(self, about: str = "") -> str:
        """Return the table as HTML, below a line `about` it."""
        return render("notebook.html", rows=self, about=about)


def find_pictures(folder: Path) -> dict[str, PictureFile]:
    """Return the pictures of a report by name, those of probes as `probes/NAME`."""
    paths = sorted([*folder.glob("*.svg"), *folder.glob("probes/*.svg")])
    return {
        path.relative_to(folder).with_suffix("").as_posix(): PictureFile(path) for path in paths
    }


def slice_row(row: SliceSummary | UnevaluatedSize) -> dict[str, Any]:
    """Return operator, size, slice, count and exact match; None for a size that was left out."""
    place = {"operator": row.operator, "size": row.size, "slice": "not evaluated"}
    if isinstance(row, UnevaluatedSize):
        return place | dict.fromkeys(("count", *Range._fields))
    ends = {name: getattr(row.exact_match, name) for name in Range._fields}
    return place | {"slice": row.slice_name, "count": row.count} | ends
