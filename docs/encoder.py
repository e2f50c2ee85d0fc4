"""An encoder that writes all digits at once, as its source has it: `make results-encoder`.

Three epochs of 200,000 fixed problems, of each seed in a run of its own: token accuracy on the
source's 800 test problems after each epoch, on the training set scored again, and the source's
probes. Test problems are drawn independently of training, so some of them are in the training set:
how many is counted. Runs are trained in the runs folder, or gone on with.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished_seeds, markdown, recipe_fields, side_by_side, spread

NAME = "encoder"
RECIPES = {
    "digit-encoder": 1,
    "digit-encoder-post-norm": 3,
    "digit-encoder-multiplication": 3,
    "digit-encoder-sorting-small": 3,
}
"""The recipes, and how many seeds of each are trained."""
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
        seeds = range(RECIPES[name])
        settings = {"recipe": recipe_fields(f"sources/{name}", {}), "again": AGAIN}
        RESULTS.keep(NAME, name, partial(measured, name, seeds), seeds, settings, options)


def tables(results: Results) -> dict[str, Iterable[str]]:
    known, earlier = results.read(NAME), results.superseded(NAME)
    if not known:
        return {}
    told = [name for name in RECIPES if name in known]
    head = ["", *(f"`{name}`{', earlier recipe' * (name in earlier)}" for name in told)]
    return {"encoder": markdown(head, _rows([known[name] for name in told]))}


def measured(name: str, seeds: Iterable[int]) -> dict[str, Any]:
    runs = finished_seeds(f"{NAME}-{name}", f"sources/{name}", seeds)
    found: dict[str, Any] = side_by_side([of_run(run) for run in runs])
    return found


def of_run(run: Any) -> dict[str, Any]:
    """What a trained run has learned, by member."""
    from curta.evaluation.scoring import scores
    from curta.problems import tasks

    models, (task,), info = run.load_models(), run.recipe.tasks, run.folder.read_info()
    again = scores(models, tasks.trained_problems(task, AGAIN))
    split = tasks.set_split(task, tasks.validation(task, run.recipe.training.validation))
    probed = ("single-digits", "patterns", "longer") if task.operator == "+" else ()
    return {
        "parameters": info.parameters,
        "seconds of training": [info.training_seconds],
        "test problems": split.held_out,
        "test problems in training": split.overlap,
        "epochs": _epochs(run),
        "training set again": again.token_accuracy.round(4).tolist(),
        "probes": {name: _probe(run, name) for name in probed},
        "sums of 1 to 9": sums_of_digits(models, range(1, 10)) if probed else None,
        "both orders": both_orders(models) if probed else None,
        "sizes": {
            f"{row.size}, {row.slice_name}": row.exact_match
            for row in run.evaluate(report=False, all_sizes=True).lengths
        },
    }


def _epochs(run: Any) -> list[dict[str, Any]]:
    """What each validation found, of every member, and the loss of the ten steps before it."""
    lines = [one for one in run.folder.read_metrics() if one.validation_loss is not None]
    return [
        {
            "step": step,
            "training loss": [o.loss for o in lines if o.step == step],
            "test loss": [o.validation_loss for o in lines if o.step == step],
            "token accuracy": [o.validation_token_accuracy for o in lines if o.step == step],
            "exact match": [o.validation_exact_match for o in lines if o.step == step],
        }
        for step in sorted({one.step for one in lines})
    ]


KEPT = ("operator", "digits", "problem", "problems", "members", "verdicts")
"""What is kept of a probe's rows: problems, and what members make of them."""


def _probe(run: Any, name: str) -> list[dict[str, Any]]:
    from curta.frontends import api

    rows = api.probe(run, name)
    return [{key: row[key] for key in KEPT if key in row} for row in rows]


def sums_of_digits(models: Any, digits: Iterable[int]) -> list[float]:
    """The share right of all sums of two of these digits."""
    from curta.evaluation.scoring import exact_match
    from curta.problems.problem import Problem

    digits = [*digits]
    asked = [Problem("+", (a, b)) for a in digits for b in digits]
    found: list[float] = exact_match(models, asked).mean(axis=1).round(4).tolist()
    return found


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
    yield ["seeds", *(str(len(of["training set again"])) for of in known)]
    yield ["test problems", *(f"{of.get('test problems', 1000):,}" for of in known)]
    overlap = (str(of.get("test problems in training", 0)) for of in known)
    yield ["of these in the training set", *overlap]
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
    yield ["the 81 of them without a 0", *(_or_none(of.get("sums of 1 to 9")) for of in known)]
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


def _each(seconds: list[float] | float) -> str:
    """The mean; an earlier result has the sum of three seeds."""
    return f"{sum(seconds) / len(seconds) if isinstance(seconds, list) else seconds / 3:,.0f}"


if __name__ == "__main__":
    main()
