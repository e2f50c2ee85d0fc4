"""Trains the smallest adders and proves what they add: `make results-adderboard`.

Models of recipe `adderboard`, smaller and smaller, all seeds of each, none left out, in
docs/results/adderboard.json. Of every seed: the board's measure (ten edge cases and 10,000 random
pairs of numbers below ten to the tenth), and whether it is proved for all pairs. The exported file
of every proved seed is tested on the board's sums too.
"""

import random
import runpy
from collections.abc import Iterable
from functools import partial
from typing import Any

from curta.frontends import api
from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, recipe_fields, scratch_runs, shares_right, spread, sums_of

NAME = "adderboard"
ALL = ["key-query", "value-key", "out-value"]
PLAIN = {"task.digits": [1, 10], "task.special": 0.25, "task.special_until": 0}

EIGHT, OTHERS = range(8), range(8, 24)
"""Seeds that were looked at when the recipe was made, and seeds that were not."""

MODELS: dict[str, tuple[range, dict[str, Any]]] = {
    "mlp_ratio 4": (EIGHT, {}),
    "mlp_ratio 2": (EIGHT, {"model.mlp_ratio": 2}),
    "mlp_ratio 4, values are keys": (EIGHT, {"model.weight_sharing": ALL}),
    "mlp_ratio 1": (EIGHT, {"model.mlp_ratio": 1}),
    "mlp_ratio 8": (EIGHT, {"model.mlp_ratio": 8}),
    "mlp_ratio 4, own way out": (EIGHT, {"model.weight_sharing": ["key-query"]}),
    "mlp_ratio 4, nothing shared": (EIGHT, {"model.weight_sharing": []}),
    "mlp_ratio 4, no fading": (EIGHT, PLAIN),
    "mlp_ratio 4, neither": (EIGHT, {"model.weight_sharing": [], **PLAIN}),
    "mlp_ratio 4, other seeds": (OTHERS, {}),
    "mlp_ratio 4, neither, other seeds": (OTHERS, {"model.weight_sharing": [], **PLAIN}),
}
"""Seeds of each model, and what it changes in the recipe."""
BEFORE = "before: "
"""Begins the names of results that were measured earlier, on another processor."""

LARGEST = 10**10 - 1
EDGES = [
    (0, 0), (0, 1), (1, LARGEST), (LARGEST, 0), (LARGEST, 1), (LARGEST, LARGEST),
    (5 * 10**9, 5 * 10**9), (1_111_111_111, 8_888_888_889), (1_234_567_890, 9_876_543_210),
    (9_090_909_090, 909_090_910),
]  # fmt: skip

HEADS = ("model", "parameters", "seeds", "proved", "open", "proved before", "board's sums")


def main() -> None:
    options = arguments(__doc__, MODELS)
    for name in options.names:
        seeds, changes = MODELS[name]
        settings = {"recipe": recipe_fields(NAME, changes)}
        RESULTS.keep(NAME, name, partial(measured, name), seeds, settings, options)


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return one table with a row for each model; its seeds are in the file."""
    numbers = results.read(NAME)
    rows = (_row(name, numbers[name], numbers.get(BEFORE + name)) for name in MODELS)
    return {NAME: markdown(HEADS, rows)}


def _row(name: str, figures: dict[str, Any], before: dict[str, Any] | None) -> list[str]:
    seeds = figures["seeds"]
    grades = [grade(seed) for seed in seeds]
    return [
        f"`{name}`",
        str(figures["parameters"]),
        str(len(seeds)),
        *(str(grades.count(kind)) for kind in ("proved", "open")),
        str([grade(seed) for seed in before["seeds"]].count("proved")) if before else "",
        spread((seed["exact_match"] for seed in seeds), 4),
    ]


def grade(seed: dict[str, Any]) -> str:
    """Return proved, wrong (it wrote the sum that the proof doubted wrongly), or open."""
    problem = seed.get("problem")
    wrong = problem is not None and seed["written"] != sum(map(int, problem.split("+")))
    return "wrong" if wrong else str(seed["grade"])


def measured(name: str) -> dict[str, Any]:
    """All seeds of a model, trained, tested and proved."""
    seeds, changes = MODELS[name]
    with scratch_runs():
        run = api.begin(NAME, list(seeds), None, changes)
        run.train()
        info = run.folder.read_info()
        return {
            "parameters": info.parameters,
            "steps": run.recipe.training.steps,
            "batch": run.recipe.training.batch,
            "seeds": [_seed(run, number) for number in range(len(seeds))],
        }


def _seed(run: Any, number: int) -> dict[str, Any]:
    """What one seed makes of the board's sums, and the proof."""
    from curta.export import write
    from docs.adderboard_proof import every_sum

    proof = every_sum(run.model(number))
    (share,) = shares_right(run.load_models().only(number), sums_of(board()))
    figures = {
        "seed": run.seeds[number],
        "exact_match": share,
        "grade": proof.grade,
        "margin": proof.margin if proof.grade == "proved" else None,
        "cases": proof.cases,
    }
    if proof.grade == "proved":
        # the exported file is tested on the board's sums too
        adder = runpy.run_path(str(write(run, NAME, None, number)))
        model, about = adder["build_model"]()
        right = sum(adder["add"](model, a, b) == a + b for a, b in board())
        figures["file"] = {"right": right, "of": len(board()), "parameters": about["params"]}
    if proof.problem:
        figures |= {"problem": proof.problem, "written": run.ask(proof.problem, number)}
    print(run.name, figures, flush=True)
    return figures


def board() -> list[tuple[int, int]]:
    """Edge cases, and random pairs, as the board's checker draws them with its seed 2025."""
    drawn = random.Random(2025)
    return EDGES + [(drawn.randint(0, LARGEST), drawn.randint(0, LARGEST)) for _ in range(10_000)]


if __name__ == "__main__":
    main()
