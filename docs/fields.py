"""The tables of docs/recipes.md, from the text below each field in the source."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from curta.config import descriptions
from docs.evidence import Results
from docs.shared import markdown

ADDITION = Path(descriptions.__file__).parent / "recipes" / "addition.toml"

HEADS = ("field (default)", "meaning")


def tables(_: Results) -> dict[str, Iterable[str]]:
    """A table for each section of a recipe, and one for the fields of the recipe itself."""
    fields = descriptions.field_descriptions()
    sections = dict.fromkeys(field.path.partition(".")[0] for field in fields if "." in field.path)
    by_section = {
        f"recipe {section}": markdown(HEADS, _rows(fields, section)) for section in sections
    }
    return {
        "recipe example": _example(),
        "recipe": markdown(HEADS, _rows(fields, "")),
        **by_section,
    }


def _example() -> Iterator[str]:
    yield from ("```toml", ADDITION.read_text("utf-8").rstrip(), "```")


def _rows(fields: Iterable[descriptions.FieldDescription], section: str) -> Iterator[list[str]]:
    """A row for each field of a section; of none, for the fields of the recipe itself."""
    for path, text, default, names in fields:
        of, _, field = path.rpartition(".")
        if of == section:
            whose = f" ({', '.join(f'`{name}`' for name in names)})" if names else ""
            value = descriptions.format_value(default)
            yield [f"`{field}` (`{value}`)", f"{text}{whose}"]
