"""Figures of a run's members, one of each seed, and the curves that `docs/findings.py` draws.

Rows are those of the probes; what no probe asks, as whether digits far beyond training are right
and what is looked at there, is taken from activations.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

Shares = Sequence[float]
"""A figure of each seed."""

COUNT = 1000
"""Sums that are asked of a length."""
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
    from curta.evaluation import scoring

    return list(scoring.exact_match(run.load_models(), random_sums(size)).mean(axis=1))


def random_sums(size: int, count: int = COUNT) -> list[Any]:
    """Random sums of two numbers of that many digits, always the same."""
    from curta.problems import tasks

    return tasks.problems("+", tasks.RANDOM, (size, size), count, 1)


Row = dict[str, Any]


def probed(run: Any, probe: str, **fields: Any) -> list[Row]:
    """The rows of a probe that have these values."""
    from curta.frontends import api
    from curta.probes.base import read_probes

    result = read_probes(run.folder).get(probe)
    rows = result.rows if result is not None else api.probe(run, probe)
    return [row for row in rows if all(row[name] == value for name, value in fields.items())]


def over(rows: Iterable[Row], together: Callable[[Any], float]) -> Shares:
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
    rows = probed(run, "linear", state="state amid layer 0")
    return [
        float(np.mean([row["members"][seed] - row["control"] for row in rows]))
        for seed in range(len(run.seeds))
    ]


def explained(by: str, run: Any) -> Shares:
    """What explains each seed's costliest neuron, as a share of its variance."""
    return [row["share"] for row in probed(run, "neuron", **{"explained by": by})]


class Places(NamedTuple):
    """Figures of sums of one length, by seed and place of the answer, units first."""

    right: np.ndarray
    looked: np.ndarray
    """The share of attention on the place's two digits, of the head that has most."""


def places(run: Any, size: int = FAR) -> Places:
    """Predict each digit of the answer after the true ones before it, in one pass."""
    sums = random_sums(size, LOOKED)
    chunks = [_places(run, sums[n : n + TOGETHER], size) for n in range(0, LOOKED, TOGETHER)]
    right, looked = (np.mean(each, axis=0) for each in zip(*chunks, strict=True))
    return Places(right, looked.max(axis=2).T)


def _places(run: Any, problems: Sequence[Any], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what is right (members, places) and looked at (places, members, heads)."""
    values = run.activations(list(map(str, problems)), "*.attention.weights")
    text = values.about.positions[0]
    first = next(n for n, token in enumerate(text) if token.after is not None)
    right = (values.likeliest == values.goals)[:, :, first : first + size].mean(axis=1)
    weights = np.concatenate([values[site] for site in values], axis=2)
    looked = []
    for place in range(size):
        at = list(text[first + 1 + place].at)
        operands = ("first", "second")
        key = [n for n, token in enumerate(text) if token.role in operands and list(token.at) == at]
        looked.append(weights[:, :, :, first + place, key].sum(axis=3).mean(axis=1))
    return right, np.stack(looked)


def loss_of_places(name: str, run: Any) -> Shares:
    """Return how much less of a figure of `Places` the last ten places have than the first."""
    shares: np.ndarray = getattr(places(run), name)
    return list(shares[:, :10].mean(axis=1) - shares[:, -10:].mean(axis=1))


def mean_of(name: str, low: int, high: int, run: Any) -> Shares:
    """Return the mean of a figure of `Places` over places from `low` to before `high`."""
    shares: np.ndarray = getattr(places(run), name)
    return list(shares[:, low:high].mean(axis=1))


def worst(run: Any) -> Shares:
    """Return the share of all wrong digits that stand at the three places with most of them."""
    wrong = np.sort(1 - places(run).right, axis=1)
    return list(wrong[:, -3:].sum(axis=1) / np.maximum(wrong.sum(axis=1), 1e-9))


def growth(run: Any) -> Shares:
    """Return validation loss at the end, by the least that it ever was."""
    rows = [row for row in run.folder.read_metrics() if row.validation_loss is not None]
    members = range(len(run.seeds))
    losses = [[row.validation_loss for row in rows if row.member == member] for member in members]
    return [of_member[-1] / min(of_member) for of_member in losses]


def near(run: Any) -> Shares:
    """Of sums that were not trained on, how many answers are within ten of the right one."""
    from curta.problems import tasks

    (task,) = run.recipe.tasks
    problems = tasks.held_out(task, range(2000, 2000 + NEAR))

    def is_near(problem: Any, seed: int) -> bool:
        answer = run.ask(problem, seed)
        return answer is not None and abs(answer - problem.truth) <= 10

    seeds = range(len(run.seeds))
    return [float(np.mean([is_near(problem, seed) for problem in problems])) for seed in seeds]


def curves_of_parts(run: Any) -> dict[str, Any]:
    """Right digits without each part, in the mean over digits, of every seed."""
    names = dict.fromkeys(row["without"] for row in probed(run, "ablation"))
    return {name: list(without(name, run)) for name in names}


def curves_of_places(run: Any) -> dict[str, Any]:
    return {name: shares.round(4).tolist() for name, shares in places(run)._asdict().items()}


def curves_of_training(run: Any) -> dict[str, Any]:
    """Exact match of what was watched, by step, of every seed."""
    from curta.evaluation.results import operator_and_curve

    rows = [row for row in run.folder.read_metrics() if row.evaluated]
    names = [name for name in rows[0].evaluated if name.endswith(("trained", "held out"))]
    return {
        "steps": sorted({row.step for row in rows}),
        **{
            operator_and_curve(name)[1]: [
                [row.evaluated[name] for row in rows if row.member == seed]
                for seed in range(len(run.seeds))
            ]
            for name in names
        },
    }
