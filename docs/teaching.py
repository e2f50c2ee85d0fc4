"""The least teaching set: how many problems give a certificate? `make results-teaching`.

A member trains on the windows of a few problems instead of all listed ones. The problems are drawn
as the recipe draws them, each member its own, or chosen: the same for all members, each one the
problem with most windows that those before it lack, among `CANDIDATES` drawn ones. A seed is
certified if no listed window is wrong: after the last step, and again after at most ten rounds of
repair, which show wrong windows. Numbers, sizes and recipes were fixed before the first run.

The runs lie in the runs folder under `teaching-PROGRAM-KIND-COUNT`.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import product
from statistics import median
from typing import Any

import numpy as np

from curta.evaluation import certificate
from curta.programs.machine.recording import Recording, recorded_windows
from curta.training import records
from curta.training import windows as window_files
from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, own_run, recipe_fields

RECIPES = ("addition", "subtraction", "comparison", "carried", "luhn", "binary")
COUNTS = (20, 100, 500, 2500)
KINDS = ("random", "chosen")
SEEDS = range(101, 109)
CANDIDATES = 4_000
CHANGES = {"training.problems": CANDIDATES, "training.held_out_windows": 0.0}


def main() -> None:
    options = arguments(__doc__, RECIPES)
    for recipe, kind, count in product(options.names, KINDS, COUNTS):
        name, measure = f"{recipe}, {count} {kind}", partial(measured, recipe, kind, count)
        settings = {"recipe": recipe_fields(recipe, CHANGES), "count": count}
        RESULTS.keep("teaching", name, measure, SEEDS, settings, options)


def measured(recipe: str, kind: str, count: int) -> dict[str, Any]:
    """Train on the windows of so many problems; count wrong windows before and after repair."""
    run = own_run(f"teaching-{recipe}-{kind}-{count}", recipe, list(SEEDS), CHANGES)
    if window_files.read(run.folder.path) is None:
        window_files.save(run.folder.path, teaching_windows(run, kind, count))
    run.complete()
    verdict = run.certify(report=False)
    windows = window_files.read(run.folder.path)
    assert windows is not None
    members = range(len(SEEDS))
    wrong_after = [member.wrong for member in verdict.members]
    return {
        "grade": verdict.grade,
        "windows": verdict.windows,
        "shown": (windows.since == 0).sum(axis=1).tolist(),
        "by repair": (windows.since > 0).sum(axis=1).tolist(),
        "wrong after training": [
            (windows.rounds(member) or [wrong_after[member]])[0] for member in members
        ],
        "wrong after repair": wrong_after,
        "rounds": [len(windows.rounds(member)) for member in members],
    }


def teaching_windows(run: Any, kind: str, count: int) -> Any:
    """Return the list of a run's windows, of which members are shown those of a few problems."""
    recipe, layout = run.recipe, run.layout
    listed = certificate.prepare(recipe, layout)[:2]
    windows = records.training_windows(recipe, layout, run.seeds, listed)
    windows.since[:] = window_files.NEVER
    if kind == "chosen":
        of_problem = windows_of_problems(recipe, layout, 0)
        rows = np.concatenate([of_problem[problem] for problem in greedy(of_problem, count)])
        windows.since[:, windows.index.find(rows)] = 0
        return windows
    for member, seed in enumerate(run.seeds):
        rows = np.concatenate(windows_of_problems(recipe, layout, seed)[:count])
        windows.since[member, windows.index.find(rows)] = 0
    return windows


def windows_of_problems(recipe: Any, layout: Any, seed: int) -> Sequence[np.ndarray]:
    """Return the windows of each candidate, drawn with this seed."""
    by_task = [
        [
            layout.recorder.record(task.operator, operands)
            for operands in records.problems(recipe, layout, task, seed)
        ]
        for task in recipe.tasks
    ]
    # operators take turns, so that few problems are of all of them
    texts = [text for turn in zip(*by_task, strict=True) for text in turn]
    seen = recorded_windows(layout.machine, Recording.of(texts), layout.windows)
    ends = np.cumsum(np.bincount(seen.text, minlength=len(texts)))[:-1]
    return np.split(seen.rows, ends)


def greedy(of_problem: Sequence[np.ndarray], count: int) -> list[int]:
    """Return the problems that bring most new windows, one after the other, at most `count`."""
    _, number = np.unique(np.concatenate(of_problem), axis=0, return_inverse=True)
    ends = np.cumsum([len(rows) for rows in of_problem])[:-1]
    windows = [set(part.tolist()) for part in np.split(number.ravel(), ends)]
    covered: set[int] = set()
    order: list[int] = []
    while len(order) < count:
        best = max(range(len(windows)), key=lambda problem: len(windows[problem] - covered))
        if not windows[best] - covered:
            break
        covered |= windows[best]
        order.append(best)
    return order


def tables(results: Results) -> dict[str, Iterable[str]]:
    numbers = results.read("teaching")
    heads = ["recipe", "problems"]
    for kind in KINDS:
        heads += [f"{kind}: windows shown", "seeds certified"]
    rows = list[list[str]]()
    for recipe, count in product(RECIPES, COUNTS[1:-1]):
        row = [f"`{recipe}`", f"{count:,}"]
        for kind in KINDS:
            figures = numbers[f"{recipe}, {count} {kind}"]
            row.append(f"{median(figures['shown']) / figures['windows']:.1%}")
            row.append(str(figures["wrong after training"].count(0)))
        rows.append(row)
    return {"teaching": markdown(heads, rows)}


if __name__ == "__main__":
    main()
