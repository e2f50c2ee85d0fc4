"""The sections of a report around its results: what was run, how it learned, examples."""

from collections.abc import Iterator
from itertools import groupby

from .markup import Markup, cells, details, element, figure, heading_cells, join, table
from .results import headline
from .run_folder import Example, Metric, Run
from .summary import MISSING, counted, duration, listed, minute, percent, span

DESCRIPTIONS = {
    "learning": "Loss on a logarithmic axis and exact match against training step: "
    "one thin line per member and the median as a thick line.",
    "lengths": "Exact match against operand length on a logarithmic axis, one panel per "
    "category: every member and the median. The table above holds the same values.",
    "grid": "Heat map of the median exact match for every pair of operand lengths.",
}
"""What each figure shows, for readers who cannot see it."""

_NOTES = {
    "training": "Training had not finished when this page was written.",
    "interrupted": "Training was interrupted before its last step.",
}

_SHOWN_EXAMPLES = 24
_SHOWN_DIGITS = 48


def header(run: Run) -> Markup:
    """Name, status, what is to be known first, and the facts of the run."""
    status = run.info.get("status", "unknown")
    notes = [element("p", text, class_="note", role="note") for text in _notes(run, status)]
    return element(
        "header",
        element("p", "Training report", class_="kind"),
        element("h1", run.name, " ", element("span", status, class_="status")),
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
        "A median covers the members that were still training at that step."
    )
    return element(
        "section",
        title,
        figure(plot, caption, "learning.png"),
        details("Every member at its last record", _members_table(run)),
    )


def examples(run: Run) -> Markup:
    """Problems with answers, wrong ones first."""
    found = run.evaluation.get("examples", [])
    if not found:
        return Markup()
    wrong = sum(one["answer"] != one["truth"] for one in found)
    ordered = sorted(found, key=lambda one: one["answer"] == one["truth"])[:_SHOWN_EXAMPLES]
    caption = (
        f"{len(ordered)} of the {counted(len(found), 'example')} kept by the evaluation, "
        f"{wrong} of them wrong; wrong answers first"
    )
    head = element("tr", heading_cells("Problem", "Truth", "Answer", "Verdict", "Member"))
    body = map(_example, ordered)
    return element("section", element("h2", "Examples"), table(caption, [head], body))


def recipe(run: Run) -> Markup:
    """The recipe with every value that was used, as it can be run again."""
    if not run.recipe:
        return Markup()
    shown = element("pre", element("code", run.recipe))
    return element("section", element("h2", "Recipe"), details("recipe.toml", shown))


def footer() -> Markup:
    """Where the numbers come from."""
    text = "Written by Curta from run.json, recipe.toml, metrics.jsonl and evaluation.json."
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
        yield "Trained on", span(run.trained)
    if "seeds" in info:
        yield "Members (seeds)", f"{len(info['seeds'])} ({listed(info['seeds'])})"
    if "parameters" in info:
        yield "Parameters", f"{info['parameters']:,}"
    if "steps" in info:
        yield "Training steps", f"{info['steps']:,}"
    yield from _circumstances(run)


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
    if "versions" in info:
        yield "Versions", ", ".join(map(" ".join, info["versions"].items()))


def _members_table(run: Run) -> Markup:
    head = element(
        "tr", heading_cells("Member", "Seed", "Step", "Loss", "Exact match, %", "Stopped at")
    )
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
    )


def _example(one: Example) -> Markup:
    answer, truth = one["answer"], one["truth"]
    shown = _digits(answer, _marked(answer, truth)) if answer else "no answer"
    return element(
        "tr",
        _number(_digits(one["problem"], one["problem"])),
        _number(_digits(truth, truth)),
        _number(shown),
        cells(_verdict(answer, truth), f"{one['member']}"),
    )


def _number(shown: str) -> Markup:
    return element("td", shown, class_="number")


def _digits(text: str, shown: str) -> str:
    """Short numbers as they are; long ones behind their first and last digits."""
    if len(text) <= _SHOWN_DIGITS:
        return shown
    return details(f"{text[:8]}…{text[-8:]}", shown)


def _marked(answer: str, truth: str) -> Markup:
    """The answer with its wrong digits marked; places are counted from the ones."""
    runs = groupby(_compared(answer, truth), key=lambda place: place[1])
    parts = (("".join(digit for digit, _ in run), right) for right, run in runs)
    return join(text if right else element("mark", text) for text, right in parts)


def _compared(answer: str, truth: str) -> list[tuple[str, bool]]:
    """Every digit of the answer and whether it stands in its place in the truth."""
    padded = truth.rjust(len(answer))
    expected = padded[len(padded) - len(answer) :]
    return [(digit, digit == right) for digit, right in zip(answer, expected, strict=True)]


def _verdict(answer: str | None, truth: str) -> str:
    if not answer:
        return "wrong"
    if answer == truth:
        return "right"
    width = max(len(answer), len(truth))
    pairs = zip(answer.rjust(width), truth.rjust(width), strict=True)
    return f"{counted(sum(a != b for a, b in pairs), 'digit')} wrong"
