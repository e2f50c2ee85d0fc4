"""What all templates share: they escape what they are given, and know all names that they use."""

import json
from typing import Any

import pytest
from jinja2 import DictLoader, UndefinedError
from markupsafe import Markup

from curta.report.rendering import environment, render, render_text

from .parsed import Page

EVIL = "<script>alert(1)</script>"


def test_text_is_escaped_and_what_is_rendered_is_not() -> None:
    for given, shown in ((EVIL, "&lt;script&gt;"), (Markup("<b>x</b>"), "<b>x</b>")):
        found = render("serve/refusal.html", title="No", reason=given)
        assert isinstance(found, Markup)
        assert f"<p>{shown}" in found
    assert environment().autoescape is True


def test_a_text_is_neither_escaped_nor_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model card or a dataset's README, which ends with a line break."""
    loader = DictLoader({"card.md": "{{ name }}\n"})
    monkeypatch.setattr(environment(), "loader", loader)
    assert render_text("card.md", name=EVIL) == f"{EVIL}\n"


def test_a_name_that_a_template_does_not_know_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="reason"):
        render("serve/refusal.html", title="No")


def test_data_of_a_script_cannot_end_it() -> None:
    template = environment().from_string("<script>{{ value|tojson }}</script>")
    text = template.render(value={"é": [EVIL, 1, None]})
    assert text.count("<") == 2
    assert "é" in text
    assert json.loads(text.removeprefix("<script>").removesuffix("</script>")) == {
        "é": [EVIL, 1, None]
    }


def test_the_name_of_a_program_is_text_in_a_page_that_calculates() -> None:
    operation = {"name": EVIL, "trained": [1, 4]}
    design: dict[str, Any] = {"parameters": 1, "structure": EVIL, "operations": {EVIL: operation}}
    designs = [{"run": EVIL, "design": design, "names": [EVIL]}]
    found = Page(
        render(
            "export/part.html", causal=True, designs=designs, weights=["AAAA"], members=1,
            refused={EVIL: EVIL}, several=True, pages=[],
        )
    )  # fmt: skip
    assert EVIL not in found.source
    assert {script["type"] for script in found.all("script")} == {"application/json", "text/plain"}
