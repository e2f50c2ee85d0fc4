"""A table of how recipes divide tables of problems, counted; no model is trained for it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from curta.config import descriptions
from docs.evidence import Results
from docs.shared import markdown

RECIPES = Path(descriptions.__file__).parent / "recipes"

HEADS = (
    "recipes", "problems", "training", "held out", "of these, mirrored pair in training",
    "steps", "batch",
)  # fmt: skip


def tables(_: Results) -> dict[str, Iterable[str]]:
    return {"splits": markdown(HEADS, _rows())}


@cache
def _rows() -> list[list[str]]:
    """A row for recipes that have everything in common, of operators that are split alike."""
    alike: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path in sorted(RECIPES.rglob("*.toml")):
        name = path.relative_to(RECIPES).with_suffix("").as_posix()
        for row in _splits(name):
            alike[row].append(f"`{name}`")
    return [[", ".join(names), *row] for row, names in alike.items()]


def _splits(name: str) -> Iterator[tuple[str, ...]]:
    """Operators of a recipe's tables, and their numbers."""
    from curta.frontends import api
    from curta.problems import tasks

    recipe, alike = api.resolve(name, {}), defaultdict(list)
    for one in (tasks.split(task) for task in recipe.tasks if task.held_out):
        alike[one.training, one.held_out, one.mirrored].append(f"`{one.operator}`")
    for counts, operators in alike.items():
        steps = (recipe.training.steps, recipe.training.batch)
        yield ", ".join(operators), *(f"{count:,}" for count in (*counts, *steps))
