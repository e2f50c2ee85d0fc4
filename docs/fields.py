"""Writes the tables of docs/recipes.md, from the text below each field: `python docs/fields.py`."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from shared import markdown, write_tables

from curta.config import described

PAGE = Path(__file__).parent / "recipes.md"
ADDITION = Path(described.__file__).parent / "recipes" / "addition.toml"

HEADS = ("field", "default", "what it is")


def main() -> None:
    write_tables(PAGE, tables())


def tables() -> dict[str, Iterable[str]]:
    """The lines between each pair of marks on the page."""
    fields = described.described()
    sections = dict.fromkeys(field.path.partition(".")[0] for field in fields if "." in field.path)
    found = {one: markdown(HEADS, _rows(fields, one)) for one in ("", *sections)}
    return {"example": _example(), "recipe": found.pop("")} | found


def _example() -> Iterator[str]:
    yield from ("```toml", ADDITION.read_text("utf-8").rstrip(), "```")


def _rows(fields: Iterable[described.Described], section: str) -> Iterator[list[str]]:
    """A row for each field of a section; of none, for the fields of the recipe itself."""
    for path, text, default, names in fields:
        of, _, field = path.rpartition(".")
        if of == section:
            whose = f" ({', '.join(f'`{name}`' for name in names)})" if names else ""
            yield [f"`{field}`", f"`{described.stated(default)}`", f"{text}{whose}"]


if __name__ == "__main__":
    main()
