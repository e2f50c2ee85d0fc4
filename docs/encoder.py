"""An encoder that writes all digits at once, as its source has it: `make results-encoder`.

Three seeds of each recipe, three epochs of 200,000 fixed problems, of products and of sorting nine:
token accuracy on 1,000 test problems after each epoch, on the training set scored again, and the
source's probes. Runs are trained in the runs folder, or gone on with.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread

NAME, SEEDS = "encoder", 3
RECIPES = (
    "digit-encoder",
    "digit-encoder-post-norm",
    "digit-encoder-multiplication",
    "digit-encoder-sorting-small",
)
LONGER: dict[str, dict[str, Any]] = {
    name: {"training.steps": 9 * 6250}
    for name in ("digit-encoder-multiplication", "digit-encoder-sorting-small")
}
"""What three epochs say nothing of."""
AGAIN = 20_000
"""Problems of the training set that are scored again."""
SHOWN = {
    "20 digits": "20, random",
    "20 digits, one operand 0": "20, zero",
    "20 digits, one operand 1": "20, one",
    "21 digits": "21, random",
    "25 digits": "25, random",
    "30 digits": "30, random",
    "3 numbers of 3 digits": "3x3, random",
    "5 numbers of 5 digits": "5x5, random",
    "6 numbers of 5 digits": "6x5, random",
    "5 numbers of 6 digits": "5x6, random",
}
"""Sizes and slices that the table has, by their names in it."""


def main() -> None:
    options = arguments(__doc__, RECIPES)
    for name in options.names:
        fields = recipe_fields(f"sources/{name}", LONGER.get(name, {}))
        settings = {"recipe": fields, "again": AGAIN}
        RESULTS.keep(NAME, name, partial(measured, name), range(SEEDS), settings, options)


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(NAME)
    if not known:
        return {}
    told = [name for name in RECIPES if name in known]
    head = ["", *(f"`{name}`" for name in told)]
    return {"encoder": markdown(head, _rows([known[name] for name in told]))}


def measured(name: str) -> dict[str, Any]:
    from curta.evaluation.scoring import scores
    from curta.problems import tasks

    run = finished(f"{NAME}-{name}", f"sources/{name}", SEEDS, LONGER.get(name))
    models, (task,), info = run.load_models(), run.recipe.tasks, run.folder.read_info()
    again = scores(models, tasks.trained_problems(task, AGAIN))
    probed = ("single-digits", "patterns", "longer") if task.operator == "+" else ()
    return {
        "parameters": info.parameters,
        "seconds of training": info.training_seconds,
        "epochs": _epochs(run),
        "training set again": again.token_accuracy.round(4).tolist(),
        "probes": {name: _probe(run, name) for name in probed},
        "both orders": both_orders(models) if probed else None,
        "sizes": {
            f"{row.size}, {row.slice_name}": row.exact_match
            for row in run.evaluate(report=False, all_sizes=True).lengths
        },
    }


def _epochs(run: Any) -> list[dict[str, Any]]:
    """What each validation found, of every member."""
    lines = [one for one in run.folder.read_metrics() if one.validation_loss is not None]
    return [
        {
            "step": step,
            "token accuracy": [o.validation_token_accuracy for o in lines if o.step == step],
            "exact match": [o.validation_exact_match for o in lines if o.step == step],
        }
        for step in sorted({one.step for one in lines})
    ]


def _probe(run: Any, name: str) -> list[dict[str, Any]]:
    from curta.frontends import api

    return [dict(row) for row in api.probe(run, name)]


def both_orders(models: Any) -> list[float]:
    """The share right of the 110 sums of two single digits in both orders, doubles twice."""
    from curta.evaluation.scoring import exact_match
    from curta.problems.problem import Problem

    pairs = [(a, b) for a in range(10) for b in range(a, 10)]
    asked = [Problem("+", pair[::order]) for pair in pairs for order in (1, -1)]
    found: list[float] = exact_match(models, asked).mean(axis=1).round(4).tolist()
    return found


def _rows(known: list[dict[str, Any]]) -> Iterator[list[str]]:
    yield ["parameters", *(f"{of['parameters']:,}" for of in known)]
    for number in range(3):
        shares = [spread(of["epochs"][number]["token accuracy"]) for of in known]
        yield [f"token accuracy on test problems, epoch {number + 1}", *shares]
    yield ["epochs", *(str(len(of["epochs"])) for of in known)]
    last = (spread(of["epochs"][-1]["token accuracy"]) for of in known)
    yield ["token accuracy after the last", *last]
    yield ["exact match after the last", *(spread(of["epochs"][-1]["exact match"]) for of in known)]
    yield [
        f"token accuracy, {AGAIN:,} problems of the training set again",
        *(spread(of["training set again"]) for of in known),
    ]
    yield ["all 100 single-digit sums", *(_or_none(_singles(of["probes"])) for of in known)]
    yield ["single-digit pairs in both orders", *(_or_none(of["both orders"]) for of in known)]
    yield ["the five named patterns", *(_or_none(_patterns(of["probes"])) for of in known)]
    for shown, name in SHOWN.items():
        yield [f"exact match, {shown}", *(_or_none(of["sizes"].get(name)) for of in known)]
    yield ["seconds of training a seed", *(_each(of["seconds of training"]) for of in known)]


def _singles(probes: dict[str, Any]) -> list[float] | None:
    """Of every seed, from what the probe `single-digits` found."""
    if not probes:
        return None
    found: list[float] = probes["single-digits"][0]["members"]
    return found


def right_of_patterns(rows: Iterable[dict[str, Any]]) -> list[float]:
    """The share of the named problems that each seed answers, of rows of the probe `patterns`."""
    verdicts = [row["verdicts"] for row in rows]
    return [sum(column) / len(verdicts) for column in zip(*verdicts, strict=True)]


def _patterns(probes: dict[str, Any]) -> list[float] | None:
    return right_of_patterns(probes["patterns"]) if probes else None


def _or_none(values: list[float] | None) -> str:
    return "" if values is None else spread(values)


def _each(seconds: float) -> str:
    return f"{seconds / SEEDS:,.0f}"


if __name__ == "__main__":
    main()
