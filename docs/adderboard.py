"""Trains the smallest adders and proves what they add: `make results-adderboard`.

Models of recipe `adderboard`, smaller and smaller, all seeds of each, none left out, in
docs/results/adderboard.json. Of every seed: the board's measure (ten edge cases and 10,000 random
pairs of numbers below ten to the tenth), and whether it is proved for all pairs. The exported file
of every proved seed is asked the board's sums too.
"""

import importlib.util
import random
from collections.abc import Iterable, Iterator
from functools import partial
from statistics import median
from typing import Any

from curta.config.table import decimal
from docs.evidence import RESULTS, Results, arguments
from docs.shared import markdown, recipe_fields, scratch_runs

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

HEADS = (
    "model", "parameters", "seeds", "proved", "wrong", "open", "exact match, board's sums", "margin"
)  # fmt: skip


def main() -> None:
    options = arguments(__doc__, MODELS)
    for name in options.names:
        seeds, measure = MODELS[name][0], partial(measured, name)
        RESULTS.keep("adderboard", name, measure, seeds, settings(name), options)


def settings(name: str) -> dict[str, Any]:
    return {"recipe": recipe_fields("adderboard", MODELS[name][1])}


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read("adderboard")
    rows = {name: known[name] for name in MODELS if name in known}
    models = markdown(HEADS, map(_row, rows.items()))
    return {
        "adderboard models": models,
        "adderboard seeds": _seeds(rows),
        "adderboard before": markdown(AGAIN, _again(known)),
    }


AGAIN = (
    "model",
    "seeds",
    "proved",
    "proved before",
    "exact match, board's sums",
    "exact match before",
)


def _again(known: dict[str, Any]) -> Iterator[list[str]]:
    """How many seeds came out so, and how many when they were trained before."""
    for name in MODELS:
        if (before := known.get(BEFORE + name)) and name in known:
            both = [known[name]["seeds"], before["seeds"]]
            proved = [sum(one["grade"] == "proved" for one in seeds) for seeds in both]
            right = [sum(one["exact_match"] >= 0.99 for one in seeds) for seeds in both]
            yield [f"`{name}`", str(len(before["seeds"])), *map(str, (*proved, *right))]


def measured(name: str) -> dict[str, Any]:
    """All seeds of a model, trained, asked and proved."""
    from curta.frontends import api

    seeds, changes = MODELS[name]
    with scratch_runs():
        run = api.begin("adderboard", list(seeds), None, changes)
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
    from curta.evaluation.adder_proof import every_sum
    from curta.evaluation.scoring import exact_match
    from curta.problems.problem import Problem

    problems = [Problem("+", pair) for pair in board()]
    proof = every_sum(run.model(number))
    found = {
        "seed": run.seeds[number],
        "exact_match": float(exact_match(run.load_models().only(number), problems).mean()),
        "grade": proof.grade,
        "margin": proof.margin if proof.grade == "proved" else None,
        "cases": proof.cases,
    }
    if proof.grade == "proved":
        found["file"] = _asked(run, number)
    if proof.problem:
        found |= {"problem": proof.problem, "written": run.ask(proof.problem, number)}
    print(run.name, found, flush=True)
    return found


def board() -> list[tuple[int, int]]:
    """Edge cases, and random pairs, as the board's checker draws them with its seed 2025."""
    drawn = random.Random(2025)
    return EDGES + [(drawn.randint(0, LARGEST), drawn.randint(0, LARGEST)) for _ in range(10_000)]


def _asked(run: Any, number: int) -> dict[str, Any]:
    """The exported file on the board's sums: how many are right, and parameters as it counts."""
    from curta.export import write

    path = write(run, "adderboard", None, number)
    spec = importlib.util.spec_from_file_location("adder", path)
    assert spec is not None
    assert spec.loader is not None
    adder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(adder)
    model, about = adder.build_model()
    right = sum(adder.add(model, a, b) == a + b for a, b in board())
    return {"right": right, "of": len(board()), "parameters": about["params"]}


def _is_wrong(one: dict[str, Any]) -> bool:
    """Whether the seed was asked the sum that the proof found, and wrote another."""
    problem = one.get("problem")
    return problem is not None and one["written"] != sum(map(int, problem.split("+")))


def grade(one: dict[str, Any]) -> str:
    """What a seed is: proved, wrong, or open."""
    found: str = "wrong" if _is_wrong(one) else one["grade"]
    return found


def _row(named: tuple[str, dict[str, Any]]) -> list[str]:
    name, found = named
    seeds = found["seeds"]
    proved = [one for one in seeds if one["grade"] == "proved"]
    wrong = [one for one in seeds if _is_wrong(one)]
    shares = [one["exact_match"] for one in seeds]
    margins = [one["margin"] for one in proved]
    return [
        f"`{name}`",
        str(found["parameters"]),
        str(len(seeds)),
        *map(str, (len(proved), len(wrong), len(seeds) - len(proved) - len(wrong))),
        f"{decimal(median(shares), 4)} ({decimal(min(shares), 4)} to {decimal(max(shares), 4)})",
        f"{min(margins):.2f} to {max(margins):.2f}" if margins else "",
    ]


def _seeds(rows: dict[str, Any]) -> Iterator[str]:
    """A line for every seed of every model."""
    heads = (
        "model",
        "seed",
        "exact match, board's sums",
        "grade",
        "margin",
        "cases",
        "example of a wrong sum",
    )
    lines = []
    for name, found in rows.items():
        for one in found["seeds"]:
            proved = one["grade"] == "proved"
            lines.append(
                [
                    f"`{name}`",
                    str(one["seed"]),
                    decimal(one["exact_match"], 4),
                    grade(one),
                    f"{one['margin']:.3f}" if proved else "",
                    f"{one['cases']:,}" if proved else "",
                    f"`{one['problem']}` = {one['written']}" if _is_wrong(one) else "",
                ]
            )
    return markdown(heads, lines)


if __name__ == "__main__":
    main()
