"""The documentation site, `make docs`: the repository's Markdown, as a code host shows it, too.

`docs/README.md` is its first page. Each heading there is a section of the site, and the links below
it are the pages of that section, in order.
"""

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any, get_type_hints

from docs.schema import schema

FIRST = "docs/README"
ROOT = Path(__file__).parents[1]

project = "Curta"
author = "The Curta authors"
html_title = "Curta"
html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_theme_options = {"navigation_with_keys": True}

root_doc = FIRST
include_patterns = ["*.md", "docs/*.md", "docs/*.rst", "benchmarks/*.md", "notebooks/*.ipynb"]
exclude_patterns = [".*", "build", "dist", "runs", "src", "tests"]
extensions = [
    "myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_click",
]  # fmt: skip

nb_execution_mode = "off"  # tests run the notebooks
myst_heading_anchors = 4
highlight_language = "text"
default_role = "code"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 80
python_display_short_literal_types = True


def sections(text: str) -> dict[str, dict[str, str]]:
    """Return the titles of the pages below each heading of the first page, by their paths.

    >>> sections("## Concepts\\n- [Terms](glossary.md): words\\n- [All](../README.md)")
    {'Concepts': {'docs/glossary': 'Terms', 'README': 'All'}}
    """
    titles = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        links = re.findall(r"^- \[(.*?)\]\((.*?)\.(?:md|rst|ipynb)\)", part, re.MULTILINE)
        paths = {(ROOT / "docs" / link).resolve(): title for title, link in links}
        heading = part.partition("\n")[0]
        titles[heading] = {path.relative_to(ROOT).as_posix(): paths[path] for path in paths}
    return titles


def add_sections(app: Any, page: str, source: list[str]) -> None:
    """Give the first page a hidden table of contents for each of its sections."""
    if page == FIRST:
        for heading, titles in sections(source[0]).items():
            entries = "\n".join(f"{title} </{path}>" for path, title in titles.items())
            source[0] += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{entries}\n```\n"


def escape(app: Any, context: Any, lines: list[str]) -> None:
    """Keep the stars of a command's help, which would begin emphasis."""
    lines[:] = [line.replace("*", r"\*") for line in lines]


def plain(app: Any, kind: Any, name: Any, thing: Any, options: Any, call: Any, result: Any) -> Any:
    """Return a signature that is valid Python, with arrays by their short name.

    Fields of a class are shown without what pydantic checks of them.
    """
    if kind == "class":
        with suppress(NameError):  # types that are imported for type checkers only
            thing.__annotations__ = get_type_hints(thing)
    texts = (text and text.replace("<factory>", "...") for text in (call, result))
    return tuple(text and text.replace("jaxlib._jax.Array", "Array") for text in texts)


def add_files(app: Any, error: Exception | None) -> None:
    """Write what is no page: the schema of recipes, and the address at which the site begins."""
    if error is None:
        folder = Path(app.outdir)
        (folder / "recipe.schema.json").write_text(json.dumps(schema(), indent=2), "utf-8")
        refresh = f'<meta http-equiv="refresh" content="0; url={FIRST}.html">'
        (folder / "index.html").write_text(f"<!doctype html><title>Curta</title>{refresh}", "utf-8")


def setup(app: Any) -> None:
    """Connect the above."""
    app.connect("source-read", add_sections)
    app.connect("autodoc-process-signature", plain)
    app.connect("sphinx-click-process-description", escape)
    app.connect("build-finished", add_files)


smartquotes = False  # commands keep their quotes and dashes
