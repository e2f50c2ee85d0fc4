"""The sections of a report around its results: what was run, and how it learned."""

from collections.abc import Iterator
from itertools import groupby

from curta.report.markup import Markup, cells, details, element, figure, heading_cells, join, table
from curta.report.results import headline
from curta.report.run_folder import Run
from curta.report.summary import MISSING, duration, listed, minute, percent, trained_on
from curta.runs.results import Metric

DESCRIPTIONS = {
    "learning": "Loss on a logarithmic axis and exact match against training step: "
    "one thin line per member and the median as a thick line; validation dashed.",
    "lengths": "Exact match against operand length on a logarithmic axis, one panel per "
    "operator: every member in its hardest slice and the median over members. "
    "The table above holds the values of every slice.",
    "grid": "Heat map of the median exact match for every pair of operand lengths.",
    "certificate": "Distinct windows found against recorded tokens, on a logarithmic axis.",
}
"""What each figure shows, for readers who cannot see it."""

NONE = Markup()

_NOTES = {
    "training": "Training had not finished when this page was written.",
    "interrupted": "Training was interrupted before its last step.",
}


def header(run: Run, certified: Markup = NONE) -> Markup:
    """Name, status, what is to be known first, and the facts of the run."""
    status = run.info.status
    notes = [element("p", text, class_="note", role="note") for text in _notes(run, status)]
    return element(
        "header",
        element("p", "Training report", class_="kind"),
        element("h1", run.name, " ", element("span", status, class_="status")),
        certified,
        headline(run),
        join(notes),
        _structure(run),
        element("dl", *(_fact(name, value) for name, value in _facts(run))),
    )


def learning(run: Run, plot: Markup | None) -> Markup:
    """The curves of training, and where every member stands."""
    title = element("h2", "Learning curves")
    if plot is None:
        return element("section", title, element("p", "No training step is recorded yet."))
    caption = (
        "Every member and their median on the problems drawn during training. "
        "A median covers the members that were still training at that step. "
        "Point at a line to see whose it is."
    )
    if _validated(run):
        caption += " Green: the validation problems, every member thin and their median dashed."
    return element(
        "section",
        title,
        figure(plot, caption, "learning.png, learning.svg"),
        details("Every member at its last record", _members_table(run)),
    )


def recipe(run: Run) -> Markup:
    """The recipe with every value that was used, as it can be run again."""
    if not run.recipe:
        return Markup()
    shown = element("pre", element("code", run.recipe))
    return element("section", element("h2", "Recipe"), details("recipe.toml", shown))


def footer() -> Markup:
    """Where the numbers come from."""
    text = (
        "Written by Curta from run.json, recipe.toml, metrics.jsonl, evaluation.json, "
        "certificate.json and probes."
    )
    return element("footer", element("p", text))


def _notes(run: Run, status: str) -> Iterator[str]:
    """What limits the report, before any number is read."""
    if status in _NOTES:
        yield _NOTES[status]
    if not run.evaluation.lengths:
        yield "This run has no evaluation yet: only its learning curves are shown."
    for member, step in run.info.stopped.items():
        yield f"Member {member} stopped at step {step:,}: its loss was no longer finite."


def _structure(run: Run) -> Markup:
    return element("p", element("strong", "Structure given to the model: "), run.info.structure)


def _fact(name: str, value: str) -> Markup:
    return element("div", element("dt", name), element("dd", value))


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    """Name and value of whatever the run already knows of itself."""
    info = run.info
    yield "Recipe", info.recipe
    yield "Operators", " ".join(info.operators)
    if run.trained:
        yield "Trained on", _trained(run)
    yield "Members (seeds)", f"{len(info.seeds)} ({listed(info.seeds)})"
    if info.parameters is not None:
        yield "Parameters", f"{info.parameters:,}"
    yield "Training steps", f"{info.steps:,}"
    yield from _circumstances(run)


def _trained(run: Run) -> str:
    """Operators with the lengths they were trained on; those alike are named together."""
    lengths: dict[str, list[str]] = {}
    for operator, trained in run.trained.items():
        lengths.setdefault(trained_on(trained), []).append(operator)
    if len(lengths) == 1:
        return next(iter(lengths))
    return "; ".join(f"{' '.join(same)} {text}" for text, same in lengths.items())


def _circumstances(run: Run) -> Iterator[tuple[str, str]]:
    """Where and when the run took place, and how long it took."""
    info = run.info
    if info.training_seconds is not None:
        yield "Training time", duration(info.training_seconds)
    if info.compile_seconds is not None:
        yield "Compile time", duration(info.compile_seconds)
    yield "Device", info.device
    yield "Created", minute(info.created)
    if run.evaluation.lengths:
        yield "Evaluation seed", f"{run.evaluation.seed}"
    if run.evaluation.num_recurrences is not None:
        yield "Recurrences in the evaluation", f"{run.evaluation.num_recurrences}"
    yield "Versions", ", ".join(map(" ".join, info.versions.items()))


def _members_table(run: Run) -> Markup:
    names = ["Member", "Seed", "Step", "Loss", "Exact match, %", "Stopped at"]
    names += ["Validated at", "Validation loss", "Validation, %"] if _validated(run) else []
    head = element("tr", heading_cells(*names))
    ordered = sorted(run.metrics, key=lambda line: (line.member, line.step))
    last = (list(lines)[-1] for _, lines in groupby(ordered, key=lambda line: line.member))
    caption = "Mean over the last recorded steps of training, by member"
    return table(caption, [head], (_member_row(run, line) for line in last))


def _member_row(run: Run, line: Metric) -> Markup:
    member, loss, exact_match = line.member, line.loss, line.exact_match
    seeds = dict(enumerate(run.info.seeds))
    stopped = run.info.stopped.get(member)
    return element(
        "tr",
        element("th", f"{member}", scope="row"),
        cells(
            str(seeds.get(member, MISSING)),
            f"{line.step:,}",
            MISSING if loss is None else f"{loss:.3g}",
            MISSING if exact_match is None else percent(exact_match),
            MISSING if stopped is None else f"{stopped:,}",
        ),
        _validation_cells(run, member),
    )


def _validated(run: Run) -> bool:
    """Whether any validation is recorded."""
    return any(line.validation_loss is not None for line in run.metrics)


def _validation_cells(run: Run, member: int) -> Markup:
    """Step, loss and exact match of the member's last validation; none where nobody has one."""
    if not _validated(run):
        return Markup()
    mine = [line for line in run.metrics if line.member == member]
    known = [
        (line.step, line.validation_loss, line.validation_exact_match)
        for line in mine
        if line.validation_loss is not None and line.validation_exact_match is not None
    ]
    if not known:
        return cells(MISSING, MISSING, MISSING)
    step, loss, exact_match = known[-1]
    return cells(f"{step:,}", f"{loss:.3g}", percent(exact_match))
