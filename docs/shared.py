"""What scripts of docs and benchmarks share: runs to be thrown away, kept results, tables."""

import argparse
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def scratch_runs() -> Iterator[None]:
    """Runs lie in a new folder from here on, which is removed afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CURTA_RUNS"] = folder
        yield


def arguments(about: str | None, what: str) -> argparse.ArgumentParser:
    """A script's command line: names of what it measures anew, or just its tables."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("names", nargs="*", help=f"which {what} (all)")
    parser.add_argument("--tables", action="store_true", help="only write the tables anew")
    return parser


def read(path: Path) -> dict[str, Any]:
    """The results in a JSON file, by name; none where there is no file."""
    found: dict[str, Any] = json.loads(path.read_text("utf-8")) if path.exists() else {}
    return found


def write(path: Path, results: dict[str, Any]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


def keep(path: Path, name: str, found: dict[str, Any]) -> None:
    """Enters one result, the others left as they are."""
    write(path, read(path) | {name: found})


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield _line(head)
    yield "|" + "---|" * len(head)
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def write_tables(page: Path, tables: dict[str, Iterable[str]]) -> None:
    """Fills everything between `<!-- table: NAME -->` and `<!-- /table -->` with the lines."""
    text = page.read_text("utf-8") if page.exists() else ""
    for name, lines in tables.items():
        begin, end = f"<!-- table: {name} -->", "<!-- /table -->"
        head, mark, rest = text.partition(begin)
        if mark:
            text = f"{head}{begin}\n" + "\n".join(lines) + f"\n{end}{rest.partition(end)[2]}"
    if text:
        page.write_text(text, "utf-8")


def prepared(
    recipe: Any, layout: Any, seeds: Sequence[int], change: Callable[[Any], Any] = lambda data: data
) -> tuple[Any, Any, Any]:
    """A recipe's compiled chunk of steps, its first state and its data, which may be changed."""
    import jax.numpy as jnp

    from curta.training import records, trainer

    data, bounds = records.recorded(recipe, layout, seeds)
    mesh = trainer.training_mesh(recipe, len(seeds))
    state = trainer.shard(trainer.init(recipe, layout, jnp.asarray(seeds)), mesh)
    call = trainer.compiled(recipe, trainer.Written(layout, bounds), mesh)
    return call, state, trainer.placed(change(data), mesh)
