"""What the instruments say of three of our own models: `make results-findings`.

Each model has three seeds. A claim says what is to be seen in it, by which figure, and from which
value on it holds; those that are refuted stay. Every claim is a result of its own in
docs/results/findings.json, with the figure of each seed.

window     `addition`: one layer under a window, trained on sums of at most ten digits
coupled    the same lengths, one layer with Position Coupling, trained until 0.99 is right
memoriser  500 of the sums up to 99 + 99, four layers, shown until they are known by heart

`python -m docs.findings window` measures the claims of one model, `window-carry` a single one.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from curta.evaluation.results import operator_and_curve
from curta.frontends import api
from curta.probes.base import read_probes
from curta.problems import tasks
from docs import ladder
from docs.evidence import RESULTS, Results, arguments
from docs.shared import (
    by_member,
    finished,
    markdown,
    random_problems,
    recipe_fields,
    shares_right,
    spread,
)

Shares = Sequence[float]
"""A figure of each seed."""

FILE, SEEDS = "findings", 3

COUPLED, CHANGES = ladder.changed("Position Coupling", 0.002, 8000)
MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "window": ("addition", {}),
    "coupled": (COUPLED, CHANGES | {"training.stop_at": ladder.ENOUGH}),
    "memoriser": ("sources/announced", {
        "task.held_out": 9500, "task.twins_together": True, "model.dropout": 0.0,
        "training.steps": 1000, "training.batch": 64, "training.validate_every": 100,
        "training.evaluate_every": 100, "training.validation": 1000, "evaluation.held_out": 1000,
    }),
}  # fmt: skip
"""Recipe and changes of each."""


@dataclass(frozen=True)
class Claim:
    """What is said of a model, and the figure that confirms or refutes it."""

    words: str
    figure: str
    """What is measured, as the table says it."""
    measure: Callable[[Any], Shares]
    """The figure of each seed of a run."""
    least: float | None = None
    most: float | None = None

    def holds(self, value: float) -> bool:
        """Whether a seed's figure confirms it."""
        return value >= self.least if self.least is not None else value <= (self.most or 0.0)

    @property
    def bound(self) -> str:
        return f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"


def main() -> None:
    options = arguments(__doc__, [*MODELS, *CLAIMS])
    chosen = [name for name in CLAIMS if {name, name.partition("-")[0]} & {*options.names}]
    for name in chosen:
        claim, model = CLAIMS[name], name.partition("-")[0]
        settings = {"recipe": recipe_fields(*MODELS[model])}
        asked = {"bound": claim.bound, "figure": claim.figure, "count": COUNT}
        measure = partial(measured, name)
        RESULTS.keep(FILE, name, measure, range(SEEDS), settings | asked, options)
    for model in {name.partition("-")[0] for name in chosen}:
        settings, curves = {"recipe": recipe_fields(*MODELS[model])}, partial(curves_of, model)
        RESULTS.keep(FILE, f"{model}: curves", curves, range(SEEDS), settings, options)


def measured(name: str) -> dict[str, Any]:
    run = run_of(name.partition("-")[0])
    return {"seeds": [round(float(share), 5) for share in CLAIMS[name].measure(run)]}


def run_of(model: str) -> Any:
    return finished(f"findings-{model}", MODELS[model][0], SEEDS, MODELS[model][1])


# Figures of a run's members, one of each seed. Rows are those of the probes; what no probe asks, as
# whether digits far beyond training are right and what is looked at there, is from activations.

COUNT = 1000
"""Sums of a length that are evaluated."""
LOOKED, TOGETHER = 300, 100
"""Sums of which the attention is looked at, and how many at once."""
NEAR = 100
"""Problems whose answers are written out."""
FAR = 30
"""Digits of the sums on which a model is looked at beyond its training."""


def gap(run: Any) -> Shares:
    """Exact match on trained problems less that on others."""
    (row,) = run.folder.read_evaluation().gaps
    return list(row.gap)


def at_digits(size: int, run: Any) -> Shares:
    """Exact match of random sums of two numbers that long."""
    return shares_right(run.load_models(), random_problems("+", (size, size), COUNT))


def probed(run: Any, probe: str, **fields: Any) -> list[dict[str, Any]]:
    """The rows of a probe that have these values."""
    result = read_probes(run.folder).get(probe)
    rows = result.rows if result is not None else api.probe(run, probe)
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]


def over(rows: Iterable[dict[str, Any]], together: Callable[[Any], float]) -> Shares:
    """Of each seed its figures in all rows, put together: the least, the most, the mean."""
    return [together(column) for column in zip(*(row["members"] for row in rows), strict=True)]


def without(part: str, run: Any) -> Shares:
    """Right digits without a part, the mean of the ten digits that every sum has."""
    return over((r for r in probed(run, "ablation", without=part) if r["digit"] < 10), np.mean)


def costliest(run: Any, part: str) -> Shares:
    """Right digits without the one of all such parts that costs most."""
    names = {r["without"] for r in probed(run, "ablation") if part in r["without"]}
    each = [without(name, run) for name in sorted(names)]
    return [min(values) for values in zip(*each, strict=True)]


def carry(state: str, together: Callable[[Any], float], run: Any) -> Shares:
    """Accuracy of the carry's linear probe at a state, the digits put together."""
    return over(probed(run, "linear", state=state), together)


def best_carry(run: Any) -> Shares:
    """Accuracy of the carry's linear probe at the state where it is read best, of each seed."""
    return over(probed(run, "linear"), max)


def over_control(run: Any) -> Shares:
    """Its mean accuracy at the state amid the first layer, less that of the control tasks."""
    rows = probed(run, "linear", state=AMID)
    each = ([share - row["control"] for share in row["members"]] for row in rows)
    return [float(np.mean(column)) for column in zip(*each, strict=True)]


def explained(by: str, run: Any) -> Shares:
    """What explains each seed's costliest neuron, as a share of its variance."""
    return [row["share"] for row in probed(run, "neuron", **{"explained by": by})]


def places(run: Any, size: int = FAR) -> dict[str, np.ndarray]:
    """Predict each digit of the answer after the true ones before it, in one pass.

    Returns by seed and place of the answer, units first, what is `right`, and what is `looked` at:
    the share of attention on the place's two digits, of the head that has most.
    """
    sums, right, looked = random_problems("+", (size, size), LOOKED), [], []
    for start in range(0, LOOKED, TOGETHER):
        problems = list(map(str, sums[start : start + TOGETHER]))
        values = run.activations(problems, "*.attention.weights")
        text = values.about.positions[0]
        first = next(n for n, token in enumerate(text) if token.after is not None)
        hits = (values.likeliest == values.goals)[:, :, first : first + size]
        right.append(hits.mean(axis=1))
        weights = np.concatenate([values[site] for site in values], axis=2)
        on_digits = []
        for place in range(size):
            at = list(text[first + 1 + place].at)
            key = [
                n
                for n, token in enumerate(text)
                if token.role in ("first", "second") and list(token.at) == at
            ]
            share = weights[:, :, :, first + place, key].sum(axis=3)
            on_digits.append(share.mean(axis=1))
        looked.append(np.stack(on_digits))  # places members heads
    return {"right": np.mean(right, axis=0), "looked": np.mean(looked, axis=0).max(axis=2).T}


def loss_of_places(name: str, run: Any) -> Shares:
    """Return how much less of a figure of `places` the last ten places have than the first."""
    shares = places(run)[name]
    return list(shares[:, :10].mean(axis=1) - shares[:, -10:].mean(axis=1))


def mean_of(name: str, low: int, high: int, run: Any) -> Shares:
    """Return the mean of a figure of `places` over places from `low` to before `high`."""
    return list(places(run)[name][:, low:high].mean(axis=1))


def worst(run: Any) -> Shares:
    """Return the share of all wrong digits that stand at the three places with most of them."""
    wrong = np.sort(1 - places(run)["right"], axis=1)
    return list(wrong[:, -3:].sum(axis=1) / np.maximum(wrong.sum(axis=1), 1e-9))


def growth(run: Any) -> Shares:
    """Return validation loss at the end, by the least that it ever was."""
    return [losses[-1] / min(losses) for losses in by_member(run, "validation_loss")]


def near(run: Any) -> Shares:
    """Of sums that were not trained on, how many answers are within ten of the right one."""
    (task,) = run.recipe.tasks
    shares = []
    for seed in range(len(run.seeds)):
        problems = tasks.held_out(task, range(2000, 2000 + NEAR))
        answers = [(run.ask(problem, seed), problem.truth) for problem in problems]
        close = [answer is not None and abs(answer - truth) <= 10 for answer, truth in answers]
        shares.append(float(np.mean(close)))
    return shares


AMID, EMBEDDING = "state amid layer 0", "embedding"

CLAIMS: dict[str, Claim] = {
    "window-gap": Claim(
        "Unseen problems are answered like trained ones.",
        "exact match, trained less held out", gap, most=0.01,
    ),
    "window-far": Claim(
        "It solves sums twenty times longer than in training.",
        "exact match at 200 digits", partial(at_digits, 200), least=0.99,
    ),
    "window-digits": Claim(
        "It needs the first operand's next digit.",
        "right digits without it", partial(without, "neighbour a place+1"), most=0.25,
    ),
    "window-before": Claim(
        "That operand's digit here serves the carry alone.",
        "right digits without it", partial(without, "neighbour a"), least=0.5,
    ),
    "window-itself": Claim(
        "It must look at the token just written, for the carry.",
        "right digits without attention to it", partial(without, "neighbour itself"), most=0.9,
    ),
    "window-mlp": Claim(
        "Without the MLP digits are guessed.",
        "right digits without it", partial(without, "layer 0 MLP"), most=0.2,
    ),
    "window-carry": Claim(
        "Before the MLP one plane separates carry from no carry.",
        "carry read after attention, the worst digit", partial(carry, AMID, min), least=0.99,
    ),
    "window-token": Claim(
        "The token just written alone does not give the carry.",
        "carry read from the embedding, the best digit", partial(carry, EMBEDDING, max), most=0.9,
    ),
    "window-neuron": Claim(
        "The costliest neuron is a function of x + y + carry.",
        "share of its variance explained so", partial(explained, "x + y + carry"), least=0.9,
    ),
    "window-lookup": Claim(
        "It depends on the two digits and the carry alone.",
        "share of its variance explained so",
        partial(explained, "a place+1, b place+1, carry"), least=0.95,
    ),
    "coupled-within": Claim(
        "It solves its training lengths.",
        "exact match at 10 digits", partial(at_digits, 10), least=0.9,
    ),
    "coupled-beyond": Claim(
        "It solves some sums twice as long.",
        "exact match at 20 digits", partial(at_digits, 20), least=0.01,
    ),
    "coupled-far": Claim(
        "It does not generalise far.",
        "exact match at 30 digits", partial(at_digits, FAR), most=0.5,
    ),
    "coupled-carry": Claim(
        "Its attention has the carry, as in the window model.",
        "carry read after attention, the worst digit", partial(carry, AMID, min), least=0.99,
    ),
    "coupled-heads": Claim(
        "One head is vital.",
        "right digits without the costliest head", partial(costliest, part="head"), most=0.5,
    ),
    "coupled-low": Claim(
        "The ten lowest of 30 digits stay correct.",
        "right digits, places 0 to 9", partial(mean_of, "right", 0, 10), least=0.95,
    ),
    "coupled-high": Claim(
        "Places beyond the ten of training go wrong.",
        "right digits, places 0 to 9 less places 20 to 29", partial(loss_of_places, "right"),
        least=0.05,
    ),
    "coupled-looks": Claim(
        "At far places no head finds the two digits.",
        "attention on them, the best head, places 20 to 29",
        partial(mean_of, "looked", 20, FAR), most=0.5,
    ),
    "coupled-places": Claim(
        "Errors sit at a few places.",
        "share of wrong digits at the worst three of 30 places", worst, least=0.4,
    ),
    "memoriser-gap": Claim(
        "It knows its problems and hardly others.",
        "exact match, trained less held out", gap, least=0.9,
    ),
    "memoriser-near": Claim(
        "Its wrong answers are near.",
        "answers within ten of the right one", near, least=0.5,
    ),
    "memoriser-growth": Claim(
        "More training makes it surer of wrong answers.",
        "validation loss at the end, by its least", growth, least=1.5,
    ),
    "memoriser-carry": Claim(
        "No linear probe finds a carry in it.",
        "carry read from the best state", best_carry, most=0.6,
    ),
    "memoriser-control": Claim(
        "A probe reads any function of the digits as well.",
        "carry read after the first attention, less its control tasks", over_control, most=0.05,
    ),
    "memoriser-deeper": Claim(
        "Its layers lose the carry on the way.",
        "carry read after the last layer", partial(carry, "state after layer 3", max), most=0.8,
    ),
}  # fmt: skip
"""By name, which begins with the model's."""

HEAD = ("claim", "holds if", "measured")


def curves_of(model: str) -> dict[str, Any]:
    """Return what the picture of a model is drawn from, of every seed.

    `window` has the right digits without each part, in the mean over digits, `coupled` its places,
    and `memoriser` exact match of what was watched, by step.
    """
    run = run_of(model)
    if model == "window":
        names = dict.fromkeys(row["without"] for row in probed(run, "ablation"))
        return {name: list(without(name, run)) for name in names}
    if model == "coupled":
        return {name: shares.round(4).tolist() for name, shares in places(run).items()}
    steps = sorted({row.step for row in run.folder.read_metrics() if row.evaluated})
    watched, curves = by_member(run, "evaluated"), dict[str, Any]()
    for name in watched[0][0]:
        if name.endswith(("trained", "held out")):
            curve = operator_and_curve(name)[1]
            curves[curve] = [[shares[name] for shares in seed] for seed in watched]
    return {"steps": steps, **curves}


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return the claims of each model, with their figures."""
    numbers, rows = results.read(FILE), dict[str, list[list[str]]]()
    for name, claim in CLAIMS.items():
        figures = numbers[name]["seeds"]
        condition = f"{claim.figure} {claim.bound}"
        measured_words = f"{spread(figures, 2)}{verdict(claim, figures)}"
        rows.setdefault(name.partition("-")[0], []).append([claim.words, condition, measured_words])
    return {f"{FILE}, {model}": markdown(HEAD, claims) for model, claims in rows.items()}


def verdict(claim: Claim, figures: Shares) -> str:
    """Return words for a claim that is refuted, or holds in some seeds; nothing if in all.

    >>> claim = Claim("", "", list, least=0.5)
    >>> verdict(claim, [0.5, 0.9]), verdict(claim, [0.1, 0.9]), verdict(claim, [0.1, 0.2])
    ('', ', holds in 1 of 2', ', **refuted**')
    """
    count = sum(map(claim.holds, figures))
    some = f", holds in {count} of {len(figures)}"
    return {len(figures): "", 0: ", **refuted**"}.get(count, some)


if __name__ == "__main__":
    main()
