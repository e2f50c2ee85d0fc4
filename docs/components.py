"""One component after the other, as their source has it: `make results-components`.

The rungs are those of the comparison `ladder`: three seeds of each, 300 epochs; where there is
RoPE, as the source writes it (over heads, without effect) and as it is meant. Then the last rung is
trained on operands below 50 or up to 50, and asked larger ones and the source's fourteen sums with
50, those that it was trained on apart; both readings of RoPE. `python -m docs.components SGD`
measures one rung.

Every rung and training is a result of its own in docs/results/components.json; runs lie in the runs
folder, where a training that was broken off goes on.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from docs.announced import asked, cell, final_losses
from docs.evidence import RESULTS, Results, arguments
from docs.shared import finished, markdown, recipe_fields, spread

NAME, SEEDS, LAST = "components", 3, "sources/range"
RANGES: dict[str, dict[str, Any]] = {
    f"operands {words}, RoPE {reading}": {"task.values": [0, high], "positions.over": over}
    for words, high in (("below 50", 49), ("up to 50", 50))
    for reading, over in (("as written", "heads"), ("as meant", "tokens"))
}
LIMIT = 50
"""The number that the source asks."""

HEAD = (
    "rung", "training loss", "loss on held-out texts", "loss on their answers", "exact match",
)  # fmt: skip


def main() -> None:
    options = arguments(__doc__, [*rungs(), *RANGES])
    for name in options.names:
        recipe, changes = (rungs() | _ranges())[name]
        settings = {"recipe": recipe_fields(recipe, changes)}
        measure = partial(_of_range if name in RANGES else _of_rung, name, recipe, changes)
        RESULTS.keep(NAME, name, measure, range(SEEDS), settings, options)


@cache
def rungs() -> dict[str, tuple[str, dict[str, Any]]]:
    """Recipe and changes of every entry of the comparison."""
    from curta.runs import comparison_spec

    draft = comparison_spec.draft(["ladder"])
    spec = comparison_spec.resolve(draft, {}, None)
    common = {
        f"{section}.{field}": value
        for section, fields in draft.common.items()
        for field, value in fields.items()
    }
    return {row.name: (row.source, {**common, **row.changes}) for row in spec.rows}


def _ranges() -> dict[str, tuple[str, dict[str, Any]]]:
    return {name: (LAST, changes) for name, changes in RANGES.items()}


def tables(results: Results) -> dict[str, Iterable[str]]:
    known = results.read(NAME)
    ladder = {name: found for name, found in known.items() if name not in RANGES}
    ranges = {name: known[name] for name in RANGES if name in known}
    found: dict[str, Iterable[str]] = {}
    if ladder:
        found["components"] = markdown(HEAD, [_rung(name, ladder[name]) for name in ladder])
    if ranges:
        head = ["trained on", *FOURTEEN, *next(iter(ranges.values()))["shares"]]
        found["range"] = markdown(head, (_range(name, of) for name, of in ranges.items()))
    return found


FOURTEEN = (
    "of the fourteen sums, trained on either way round", "right of these", "right of the others",
)  # fmt: skip


def _range(name: str, of: dict[str, Any]) -> list[str]:
    fourteen = [cell(of[part], part) for part in ("trained on", "right of these", "of the others")]
    return [name, *fourteen, *map(spread, of["shares"].values())]


def _of_rung(name: str, recipe: str, changes: dict[str, Any]) -> dict[str, Any]:
    """By member: losses at the end, of held-out texts and of their answers alone, exact match."""
    from curta.evaluation.scoring import scores

    run = finished(_slug(name), recipe, SEEDS, changes)
    models, problems = run.load_models(), asked(run)
    found = scores(models, problems, run.layout.bounds_of(problems))
    return {
        "parameters": run.folder.read_info().parameters,
        "training loss": final_losses(run),
        "held-out loss, whole text": _short(whole_loss(models, problems)),
        "held-out loss": _short(found.loss),
        "exact match": found.exact_match.mean(axis=1).round(5).tolist(),
        "problems": len(problems),
        "curve": [
            [line.step, line.member, line.loss, line.validation_loss]
            for line in run.folder.read_metrics()
            if line.validation_loss is not None
        ],
    }


def _short(losses: Iterable[float]) -> list[float]:
    return [float(f"{loss:.3g}") for loss in losses]


def whole_loss(models: Any, problems: Sequence[Any]) -> np.ndarray:
    """Cross entropy of every token but the first, padding aside: a mean for each member."""
    import jax

    from curta.probes.inside.question import Question

    question = Question(models, problems)
    logits = np.asarray(question.values(question.whole, ["logits"])["logits"])
    following = np.full(logits.shape[1:3], -1)
    for row, (tokens, _) in zip(following, question.written, strict=True):
        row[: len(tokens) - 1] = tokens[1:]
    chances = np.asarray(jax.nn.log_softmax(logits))
    right = np.take_along_axis(chances, np.maximum(following, 0)[None, ..., None], axis=3)
    return -right[..., 0][:, following >= 0].mean(axis=1)


def _of_range(name: str, recipe: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Exact match by member: held out, at 50, and beyond."""
    from curta.frontends import api

    run = finished(_slug(name), recipe, SEEDS, changes)
    rows = api.probe(run, "operand-range", limit=LIMIT)
    shares = {f"{row['range']}, {row['beyond']} beyond": row["members"] for row in rows}
    lengths = run.folder.read_evaluation().lengths
    (held_out,) = (one.exact_match for one in lengths if one.slice_name == "held out")
    return fourteen(run) | {"shares": {"held out": held_out, **shares}}


def fourteen(run: Any) -> dict[str, Any]:
    """How many of the sums with 50 are trained on, either way round, and what is right of both."""
    from curta.evaluation.scoring import scores
    from curta.probes.values import edge
    from curta.problems import tasks

    (task,), models = run.recipe.tasks, run.load_models()
    sums = edge(task, (LIMIT, LIMIT))
    trained = tasks.trained_problems(task, tasks.trained_count(task))
    known = {either for one in trained for either in (one.operands, one.operands[::-1])}
    right = scores(models, sums, run.layout.bounds_of(sums)).exact_match
    met = np.array([one.operands in known for one in sums])
    parts = (right[:, of] for of in (met, ~met))
    shares = [part.mean(axis=1).tolist() if part.size else [None] * len(right) for part in parts]
    return {"trained on": int(met.sum()), "right of these": shares[0], "of the others": shares[1]}


def _slug(name: str) -> str:
    return "-".join(["components", *re.findall("[a-z0-9]+", name.lower())])


def _rung(name: str, of: dict[str, Any]) -> list[str]:
    measures = ("training loss", "held-out loss, whole text", "held-out loss")
    return [name, *(cell(of[measure], "loss") for measure in measures), spread(of["exact match"])]


if __name__ == "__main__":
    main()
