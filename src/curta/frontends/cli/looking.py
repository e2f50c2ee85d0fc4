"""`curta activations`: what members calculate on the way, and what follows if it is changed."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curta.config.errors import UserError, quoted
from curta.frontends.cli import options
from curta.probes.inside.interventions import Intervention, parsed

if TYPE_CHECKING:
    from rich.table import Table

    from curta.frontends.run import Run
    from curta.probes.inside.activations import Activations


def _changed(name: str, says: str, what: str = "SITE") -> Callable[[Any], Any]:
    """An option that puts other values in the place of a site's; it may be given several times."""
    return click.option(f"--{name}", multiple=True, metavar=what, help=says)


@click.command()
@options.run
@click.argument("problems", nargs=-1, required=True, metavar="PROBLEM...")
@options.trust
@click.option("--sites", metavar="S,T", default="*", help="Names or patterns, such as layer.0.*.")
@_changed("zero", "Zeros in place of its values.")
@_changed("mean", "The mean over all tokens of the same role.")
@_changed("resample", "The values in another of the problems.")
@_changed("patch", "The values in a problem of your choice.", "SITE=PROBLEM")
@click.option("--seed", type=options.SEED, default=0, metavar="S", help="Of --resample.")
@click.option("--member", type=options.MEMBER, metavar="M", help="One member only (all).")
@options.recurrences
@click.option("--out", type=options.PATH, metavar="FILE", help="Write the arrays as .npz.")
@options.as_json
def activations(
    run: str,
    problems: tuple[str, ...],
    trust: bool,
    sites: str,
    seed: int,
    member: int | None,
    recurrences: int | None,
    out: Path | None,
    as_json: bool,
    **changed: tuple[str, ...],
) -> int:
    """Record what members calculate, by name, and put other values in its place.

    PROBLEM is such as 12+34, one or several; their true texts are gone through. SITE is a name or a
    pattern, such as layer.0.mlp.output, and may select: layer.0.attention.heads:head=2,role=sum.
    """
    from curta.config.typed import as_json as to_json
    from curta.frontends.api import load
    from curta.frontends.cli.display import notice, whole

    interventions = _interventions(seed, **changed)
    found = load(run, recurrences, trust)
    members = None if member is None else [member]
    made = found.activations(problems, sites.split(","), interventions, members)
    rows = _answers(found, problems, interventions, made) if interventions else []
    path = None if out is None else made.save(out)
    if as_json:
        shapes = {site: list(made[site].shape) for site in made}
        print(json.dumps({"about": to_json(made.about), "shapes": shapes, "answers": rows}))
        return 0
    whole(_sites_table(made))
    if rows:
        notice("")
        whole(_answers_table(rows))
    if path is not None:
        notice(f"Arrays: {path}")
    return 0


def _interventions(
    seed: int,
    zero: Sequence[str],
    mean: Sequence[str],
    resample: Sequence[str],
    patch: Sequence[str],
) -> list[Intervention]:
    """What the options say, in this order."""
    plain = {"zero": zero, "mean": mean, "resample": resample}
    found = [parsed(text, how, seed=seed) for how, texts in plain.items() for text in texts]
    for text in patch:
        site, equals, source = text.rpartition("=")
        if not (site and equals and source):
            raise UserError(f"--patch {quoted(text)}: write SITE=PROBLEM, such as final=12+35")
        found.append(parsed(site, "patch", source))
    return found


def _answers(
    run: "Run",
    problems: Sequence[str],
    interventions: Sequence[Intervention],
    made: "Activations",
) -> list[dict[str, Any]]:
    """Of each problem and member the answer, with the interventions and without."""
    from curta.problems.problem import answer_text, parse

    changed = run.intervene(problems, interventions, made.about.members)
    rows: list[dict[str, Any]] = []
    for number, problem in enumerate(map(parse, problems)):
        for place, member in enumerate(made.about.members):
            pair = run.ask(problem, member), changed[place][number]
            before, after = (
                None if one is None else answer_text(one, problem.answer_base) for one in pair
            )
            rows.append(
                {"problem": str(problem), "member": member, "answer": before, "changed": after}
                | {"right": pair[1] == problem.truth}
            )
    return rows


def _sites_table(made: "Activations") -> "Table":
    """A site a line, with the axes of its array."""
    from rich import box
    from rich.table import Table

    axes = {
        site: ", ".join(f"{a} {n:,}" for a, n in zip(names, made[site].shape, strict=True))
        for site, names in made.about.axes.items()
    }
    view = Table(box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for name, texts in (("site", axes.keys()), ("axes", axes.values())):
        view.add_column(name, min_width=max(map(len, texts)))
    for row in axes.items():
        view.add_row(*row)
    return view


def _answers_table(rows: Sequence[dict[str, Any]]) -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    heads = ("problem", "member", "answer", "with interventions", "")
    view = Table(*heads, box=box.SIMPLE_HEAD, padding=(0, 1), show_edge=False)
    for row in rows:
        texts = [row[name] or "invalid" for name in ("answer", "changed")]
        verdict = Text("right", "green") if row["right"] else Text("WRONG", "bold red")
        view.add_row(row["problem"], str(row["member"]), *texts, verdict)
    return view
