"""The sections of a report around its results: what was run, and how it learned."""

from collections.abc import Iterator
from itertools import groupby

from curta.report.markup import Markup, cells, details, element, figure, heading_cells, join, table
from curta.report.results import headline
from curta.report.run_folder import Metric, Run
from curta.report.summary import MISSING, duration, listed, minute, percent, trained_on

DESCRIPTIONS = {
    "learning": "Loss on a logarithmic axis and exact match against training step: "
    "one thin line per member and the median as a thick line; validation dashed.",
    "lengths": "Exact match against operand length on a logarithmic axis, one panel per "
    "operator: every member in its hardest category and the median over members. "
    "The table above holds the values of every category.",
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
    status = run.info.get("status", "unknown")
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
    if not run.evaluation["lengths"]:
        yield "This run has no evaluation yet: only its learning curves are shown."
    for member, step in run.stopped.items():
        yield f"Member {member} stopped at step {step:,}: its loss was no longer finite."


def _structure(run: Run) -> Markup:
    sentence = run.info.get("structure")
    if sentence is None:
        return Markup()
    return element("p", element("strong", "Structure given to the model: "), sentence)


def _fact(name: str, value: str) -> Markup:
    return element("div", element("dt", name), element("dd", value))


def _facts(run: Run) -> Iterator[tuple[str, str]]:
    """Name and value of whatever the run already knows of itself."""
    info = run.info
    if "recipe" in info:
        yield "Recipe", info["recipe"]
    if "operators" in info:
        yield "Operators", " ".join(info["operators"])
    if run.trained:
        yield "Trained on", _trained(run)
    if "seeds" in info:
        yield "Members (seeds)", f"{len(info['seeds'])} ({listed(info['seeds'])})"
    if "parameters" in info:
        yield "Parameters", f"{info['parameters']:,}"
    if "steps" in info:
        yield "Training steps", f"{info['steps']:,}"
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
    if "training_seconds" in info:
        yield "Training time", duration(info["training_seconds"])
    if "compile_seconds" in info:
        yield "Compile time", duration(info["compile_seconds"])
    if "device" in info:
        yield "Device", info["device"]
    if "created" in info:
        yield "Created", minute(info["created"])
    if "seed" in run.evaluation:
        yield "Evaluation seed", f"{run.evaluation['seed']}"
    if "num_recurrences" in run.evaluation:
        yield "Recurrences in the evaluation", f"{run.evaluation['num_recurrences']}"
    if "versions" in info:
        yield "Versions", ", ".join(map(" ".join, info["versions"].items()))


def _members_table(run: Run) -> Markup:
    names = ["Member", "Seed", "Step", "Loss", "Exact match, %", "Stopped at"]
    names += ["Validated at", "Validation loss", "Validation, %"] if _validated(run) else []
    head = element("tr", heading_cells(*names))
    ordered = sorted(run.metrics, key=lambda line: (line["member"], line["step"]))
    last = (list(lines)[-1] for _, lines in groupby(ordered, key=lambda line: line["member"]))
    caption = "Mean over the last recorded steps of training, by member"
    return table(caption, [head], (_member_row(run, line) for line in last))


def _member_row(run: Run, line: Metric) -> Markup:
    member, loss, exact = line["member"], line["loss"], line["exact"]
    seeds = dict(enumerate(run.info.get("seeds", [])))
    stopped = run.stopped.get(member)
    return element(
        "tr",
        element("th", f"{member}", scope="row"),
        cells(
            str(seeds.get(member, MISSING)),
            f"{line['step']:,}",
            MISSING if loss is None else f"{loss:.3g}",
            MISSING if exact is None else percent(exact),
            MISSING if stopped is None else f"{stopped:,}",
        ),
        _validation_cells(run, member),
    )


def _validated(run: Run) -> bool:
    """Whether any validation is recorded."""
    return any("validation_loss" in line for line in run.metrics)


def _validation_cells(run: Run, member: int) -> Markup:
    """Step, loss and exact match of the member's last validation; none where nobody has one."""
    if not _validated(run):
        return Markup()
    mine = [line for line in run.metrics if line["member"] == member and "validation_loss" in line]
    if not mine:
        return cells(MISSING, MISSING, MISSING)
    last = mine[-1]
    return cells(
        f"{last['step']:,}", f"{last['validation_loss']:.3g}", percent(last["validation_exact"])
    )
