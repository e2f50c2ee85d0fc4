"""An encoder that writes all digits at once, as its source has it: `make results-encoder`.

Three epochs of 200,000 fixed problems, of each seed in a run of its own: token accuracy on the
source's 800 test problems after each epoch, on the training set scored again, and the source's
probes. Test problems are drawn independently of training, so some of them are in the training set:
how many is counted. Runs are trained in the runs folder, or gone on with.
"""

from collections.abc import Iterable
from typing import Any

from curta.evaluation.scoring import scores
from curta.frontends import api
from curta.problems import tasks
from docs.evidence import EARLIER, Results, study
from docs.shared import markdown, of_each_seed, recipe_fields, shares_right, spread, sums_of

NAME = "encoder"
SEEDS = range(3)
RECIPES = (
    "digit-encoder", "digit-encoder-post-norm", "digit-encoder-multiplication",
    "digit-encoder-sorting-small",
)  # fmt: skip
AGAIN = 20_000
"""Problems of the training set that are scored again."""
SIZES = {"3 numbers of 3 digits": "3x3, random"}
"""Sizes and slices of the table, by their names in it."""

NEVER = ("20, random", "21, random", "25, random", "30, random", "5x5, random")
"""Sizes and slices of which no problem is solved."""


def main() -> None:
    settings = lambda name: {"recipe": recipe_fields(f"sources/{name}", {}), "again": AGAIN}
    study(__doc__, NAME, RECIPES, SEEDS, settings, measured)


def measured(name: str) -> dict[str, Any]:
    figures: dict[str, Any] = of_each_seed(f"{NAME}-{name}", f"sources/{name}", SEEDS, {}, of_run)
    return figures


def of_run(run: Any) -> dict[str, Any]:
    """What a trained run has learned, by member."""
    models, (task,), info = run.load_models(), run.recipe.tasks, run.folder.read_info()
    again = scores(models, tasks.trained_problems(task, AGAIN))
    split = tasks.set_split(task, tasks.validation(task, run.recipe.training.validation))
    probes = dict[str, Any]()
    if task.operator == "+":
        digits = [{"members": row["members"]} for row in api.probe(run, "single-digits")]
        probes = {"single-digits": digits, "patterns": patterns(run)}
    return {
        "parameters": info.parameters,
        "seconds of training": [info.training_seconds],
        "test problems": split.held_out,
        "test problems in training": split.overlap,
        "epochs": _epochs(run),
        "training set again": again.token_accuracy.round(4).tolist(),
        "probes": probes,
        "sizes": {
            f"{row.size}, {row.slice_name}": row.exact_match
            for row in run.evaluate(report=False, all_sizes=True).lengths
        },
    }


def _epochs(run: Any) -> list[dict[str, Any]]:
    """Return the figures of every member at each validation."""
    rows = [row for row in run.folder.read_metrics() if row.validation_loss is not None]
    return [
        {
            "step": step,
            "token accuracy": [row.validation_token_accuracy for row in rows if row.step == step],
            "exact match": [row.validation_exact_match for row in rows if row.step == step],
        }
        for step in sorted({row.step for row in rows})
    ]


def patterns(run: Any) -> list[dict[str, Any]]:
    """Return each named problem of the probe `patterns`, and whether each seed answers it."""
    return [
        {
            "problem": row["problem"],
            "verdicts": [float(answer == row["truth"]) for answer in row["answers"]],
        }
        for row in api.probe(run, "patterns")
    ]


def both_orders(models: Any) -> list[float]:
    """Return the share right of the 110 sums of two single digits in both orders, doubles twice."""
    pairs = [(a, b) for a in range(10) for b in range(a, 10)]
    return shares_right(models, sums_of(pair[::order] for pair in pairs for order in (1, -1)), 4)


def right_of_patterns(rows: Iterable[dict[str, Any]]) -> list[float]:
    """Return the share of the named problems that each seed answers; rows are of `patterns`."""
    verdicts = [row["verdicts"] for row in rows]
    return [sum(column) / len(verdicts) for column in zip(*verdicts, strict=True)]


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return one table with a column for each recipe."""
    numbers, earlier = results.read(NAME), results.superseded(NAME)
    names = [name for name in RECIPES if name in numbers]
    head = ["", *(f"`{name}`{EARLIER * (name in earlier)}" for name in names)]
    columns = [_column(numbers[name]) for name in names]
    rows = [
        [row, *(spread(shares) if (shares := column[row]) else "" for column in columns)]
        for row in columns[0]
    ]
    return {NAME: markdown(head, rows)}


def _column(figures: dict[str, Any]) -> dict[str, list[float] | None]:
    """Return the shares of every seed by row; None where a recipe has none."""
    epochs, probes, sizes = figures["epochs"], figures["probes"], figures["sizes"]
    # The page says this of all recipes.
    assert not any(max(sizes[name]) for name in NEVER if name in sizes)
    return {
        "test tokens at the end": epochs[-1]["token accuracy"],
        "test problems at the end": epochs[-1]["exact match"],
        "100 single-digit sums": probes["single-digits"][0]["members"] if probes else None,
        "five named patterns": right_of_patterns(probes["patterns"]) if probes else None,
        **{row: sizes.get(name) for row, name in SIZES.items()},
    }


if __name__ == "__main__":
    main()
