"""`curta activations`: what members calculate on the way, and what follows if it is changed."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curta.config.errors import UserError, quoted
from curta.config.table import Column, Table
from curta.frontends.cli import options
from curta.probes.inside.interventions import Intervention, parsed

if TYPE_CHECKING:
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
@options.tables
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
    from curta.frontends.cli.display import notice

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
    notice(_sites_table(made))
    if rows:
        notice("")
        notice(_answers_table(rows))
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


def _sites_table(made: "Activations") -> Table:
    """A site a line, with the axes of its array."""
    rows = []
    for site, axes in made.about.axes.items():
        sizes = zip(axes, made[site].shape, strict=True)
        rows.append([site, ", ".join(f"{axis} {size:,}" for axis, size in sizes)])
    return Table("", [Column("site", words=True), Column("axes", words=True)], rows)


def _answers_table(rows: Sequence[dict[str, Any]]) -> Table:
    columns = [
        Column("problem", words=True), Column("member"), Column("answer", text=_written),
        Column("with interventions", text=_written),
        Column("", "right", _verdict, words=True, style=lambda right, row: _STYLE[right]),
    ]  # fmt: skip
    return Table("", columns, [list(row.values()) for row in rows])


_STYLE = {True: "green", False: "bold red"}


def _written(answer: str | None) -> str:
    return answer or "invalid"


def _verdict(right: bool) -> str:
    return "right" if right else "WRONG"
