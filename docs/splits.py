"""A table of how recipes divide tables of problems, counted; no model is trained for it."""

from collections import defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from curta.config import descriptions
from docs.evidence import Results
from docs.shared import markdown

RECIPES = Path(descriptions.__file__).parent / "recipes"

HEADS = ("recipes", "problems", "training", "held out", "mirrored pair in training")


def tables(_: Results) -> dict[str, Iterable[str]]:
    return {"splits": markdown(HEADS, _rows())}


@cache
def _rows() -> list[list[str]]:
    """Return a row for recipes and operators that are split alike."""
    from curta.frontends import api
    from curta.problems import tasks

    alike: dict[tuple[str, ...], dict[str, None]] = defaultdict(dict)
    for path in sorted(RECIPES.rglob("*.toml")):
        name = path.relative_to(RECIPES).with_suffix("").as_posix()
        splits: dict[tuple[int, ...], list[str]] = defaultdict(list)
        for task in api.resolve(name, {}).tasks:
            if task.held_out:
                split = tasks.split(task)
                counts = split.training, split.held_out, split.mirrored
                splits[counts].append(f"`{split.operator}`")
        for key, operators in splits.items():
            alike[", ".join(operators), *(f"{count:,}" for count in key)][_family(name)] = None
    return [[", ".join(names), *row] for row, names in alike.items()]


def _family(name: str) -> str:
    """Return a recipe's name without its folder, of the ladder's rungs and variants one name."""
    name = name.removeprefix("sources/")
    for family in ("five-operations", "ladder"):
        if name.startswith(family):
            return f"`{family}…`"
    return f"`{name}`"
