"""Tables of what no study measures: recipes' fields and splits, faults, benchmarks."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from benchmarks.spread import Table
from curta.config import descriptions, typed
from curta.frontends import api
from curta.problems import tasks
from docs.evidence import Json, Results
from docs.shared import markdown

RECIPES = Path(descriptions.__file__).parent / "recipes"

SPLITS = ("recipes", "problems", "held out", "mirrored pair in training")
FAULTS = ("campaign", "cases", "failures", "seconds")


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return a table for each section of a recipe, and the others by their names."""
    fields = descriptions.field_descriptions()
    sections = dict.fromkeys(field.path.rpartition(".")[0].partition(".")[0] for field in fields)
    faults = (
        [
            f"`{name}`",
            f"{of['cases']:,}",
            f"{len(of['failures']):,}",
            f"{of['seconds']:,}",
        ]
        for name, of in results.read("faults").items()
    )
    example = (RECIPES / "addition.toml").read_text("utf-8").rstrip()
    return {
        "recipe example": ["```toml", example, "```"],
        # the fields of the recipe itself have no section
        **{f"recipe {section}".rstrip(): _fields(fields, section) for section in ("", *sections)},
        "splits": markdown(SPLITS, _splits()),
        "faults": markdown(FAULTS, faults),
        "benchmarks": _benchmarks(results.records("benchmarks")["all"]),
    }


def _fields(fields: Iterable[descriptions.FieldDescription], section: str) -> Iterator[str]:
    """Yield an item for each field of a section, from the text below it in the source.

    A list, since some texts are too long for a cell of a table.
    """
    for path, text, default, names in fields:
        of, _, field = path.rpartition(".")
        if of == section:
            whose = f" ({', '.join(f'`{name}`' for name in names)})" if names else ""
            value = descriptions.format_value(default)
            yield f"- `{field}` (`{value}`): {text}{whose}"


@cache
def _splits() -> list[list[str]]:
    """Return a row for recipes and operators whose tables of problems are divided alike.

    Without the operators that have no mirrored pairs.
    """
    alike: dict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
    for path in sorted(RECIPES.rglob("*.toml")):
        name = path.relative_to(RECIPES).with_suffix("").as_posix()
        # rungs of the ladder and variants of a design have one name
        family = name.removeprefix("sources/")
        for prefix in ("five-operations", "ladder"):
            if family.startswith(prefix):
                family = f"{prefix}…"
        splits: dict[tuple[int, ...], list[str]] = defaultdict(list)
        for task in api.resolve(name, {}).tasks:
            if task.held_out:
                split = tasks.split(task)
                if not split.mirrored:
                    continue
                counts = split.held_out, split.mirrored
                splits[counts].append(f"`{split.operator}`")
        for key, operators in splits.items():
            counted = ", ".join(operators), *(f"{count:,}" for count in key)
            alike[counted][f"`{family}`"] = None
    return [[", ".join(names), *row] for row, names in alike.items()]


def _benchmarks(record: Json) -> Iterator[str]:
    """Yield what `make bench` has measured: tables with titles and texts, below where it was."""
    header = record["header"]
    where, versions = header["machine"], header["versions"]
    yield f"- date: {header['date'].partition('T')[0]}"
    yield f"- machine: {where['cpu']}, {where['cores']} cores, {where['memory']}, {where['system']}"
    yield f"- versions: {', '.join(f'{name} {version}' for name, version in versions.items())}"
    yield f"- commit: {header['commit']}"
    for table in record["numbers"]:
        text = str(typed.parse(Table, json.dumps(table), "docs", "benchmarks.json"))
        yield from ("", *text.splitlines())
