"""The tables of fields have every field."""

from pathlib import Path

from curta.config.recipe import field_paths

PAGE = Path(__file__).parents[2] / "docs" / "recipes.md"


def test_the_page_has_every_field() -> None:
    text = PAGE.read_text("utf-8")
    assert [path for path in field_paths() if f"| `{path.rpartition('.')[2]}` (" not in text] == []
