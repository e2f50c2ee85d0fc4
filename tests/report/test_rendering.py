"""What all templates share: they escape what they are given, and know all names that they use."""

import json
from typing import Any

import pytest
from jinja2 import DictLoader, UndefinedError

from curta.report.rendering import environment, render, render_text

from .parsed import Page

EVIL = "<script>alert(1)</script>"


def test_a_text_is_neither_escaped_nor_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model card or a dataset's README, which ends with a line break."""
    monkeypatch.setattr(environment(), "loader", DictLoader({"card.md": "{{ name }}\n"}))
    assert render_text("card.md", name=EVIL) == f"{EVIL}\n"


def test_a_name_that_a_template_does_not_know_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="reason"):
        render("serve/refusal.html", title="No")


def test_data_of_a_script_cannot_end_it() -> None:
    template = environment().from_string("<script>{{ value|tojson }}</script>")
    text = template.render(value={"é": [EVIL, 1, None]})
    assert text.count("<") == 2
    assert "é" in text
    content = text.removeprefix("<script>").removesuffix("</script>")
    assert json.loads(content) == {"é": [EVIL, 1, None]}


def test_the_name_of_a_program_is_text_in_a_page_that_calculates() -> None:
    operations = {EVIL: {"name": EVIL, "trained": [1, 4]}}
    design: dict[str, Any] = {"parameters": 1, "structure": EVIL, "operations": operations}
    values = {
        "designs": [{"run": EVIL, "design": design, "names": [EVIL]}],
        "refused": {EVIL: EVIL},
    }
    values |= {"causal": True, "weights": ["AAAA"], "members": 1, "several": True, "pages": []}
    page = Page(render("export/part.html", **values))
    assert EVIL not in page.source
    assert {script["type"] for script in page.all("script")} == {"application/json", "text/plain"}
