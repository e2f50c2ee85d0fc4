"""HTML from the templates beside this module, which escape all that is not HTML already.

A module computes what a page shows and hands it to a template. `Markup` is for parts that are
rendered and for the package's own scripts and stylesheets, never for text of a user.
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from statistics import median
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from curta.config import table
from curta.probes.tokens import PLANES
from curta.programs.machine import drawing
from curta.report import summary
from curta.report.descriptions import DESCRIPTIONS, SLICES
from curta.report.figures import BANDS

if TYPE_CHECKING:
    from jinja2 import Environment


@cache
def environment() -> Environment:
    """Return the environment of all templates; a name that one does not know is an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    from curta.report.sections import headlines, marked, verdict
    from curta.report.tables.evaluation import left_out
    from curta.report.watched import generalisation

    jinja = Environment(
        loader=PackageLoader("curta.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    jinja.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}
    filters = (
        digest, drawing.ruled, generalisation, headlines, left_out, marked, median,
        summary.by_operator, summary.by_size, summary.cell, summary.checkout, summary.counted,
        summary.duration, summary.listed, summary.minute, summary.number, summary.percent,
        summary.perplexity, summary.setting, summary.significant, summary.trained_on,
        summary.trained_tasks, table.sized, table.spanned, verdict,
    )  # fmt: skip
    jinja.filters |= {one.__name__: one for one in filters}
    jinja.globals |= {
        "BANDS": BANDS,
        "DESCRIPTIONS": DESCRIPTIONS,
        "GAP": drawing.GAP,
        "MISSING": summary.MISSING,
        "NONE": drawing.NONE,
        "PLANES": PLANES,
        "SLICES": SLICES,
    }
    return jinja


def render(template: str, /, **values: Any) -> Markup:
    """Render a template with these values, as HTML that another template takes as it is."""
    return Markup(environment().get_template(template).render(values))


def render_text(template: str, /, **values: Any) -> str:
    """Render a template that is no HTML, with these values as they are."""
    plain = environment().overlay(autoescape=False, keep_trailing_newline=True)
    return plain.get_template(template).render(values)


def digest(text: str) -> str:
    """Return the hash by which a security policy names a script or a stylesheet of the page."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
