"""The command `probe`: what a trained run has learned, and what it calculates on the way."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curta.config import limits
from curta.config.errors import UserError, quoted, unknown
from curta.config.table import Column, Table
from curta.frontends.cli import arguments
from curta.frontends.cli.display import Status, notice, show
from curta.problems.problem import answer_text, parse

if TYPE_CHECKING:
    from curta.probes.inside.interventions import Intervention


ACTIVATIONS = "activations"


class _Probe(click.Command):
    """The command `probe`, whose help for one probe lists the options of that probe."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        names, _ = arguments.split(ctx.meta.get("curta.words", [])[1:])
        name = names[1] if len(names) > 1 else ""
        if not name or name.startswith("-") or name == ACTIVATIONS:
            return
        rows = [(f"{option}={default}", text) for option, text, _, default in probe_options(name)]
        if rows:
            with formatter.section(f"Options of {name}"):
                formatter.write_dl(rows)


def probe_options(name: str) -> list[tuple[str, str, type, Any]]:
    """Return name, text, type and default of a probe's options; UserError for an unknown one."""
    from curta.probes import PROBES, options

    if not name.endswith(".py"):
        PROBES.check(name)
    return options(name)


@click.command(cls=_Probe)
@arguments.words("RUN [PROBE] [PROBLEM]... [OPTION=VALUE]...")
@arguments.trust
@click.option("--member", type=arguments.MEMBER, metavar="M", help="One member only (all).")
@arguments.recurrences
@click.option("--out", type=arguments.PATH, metavar="FILE", help="Of activations: write an .npz.")
@arguments.as_json
def probe(
    words: tuple[str, ...],
    trust: bool,
    member: int | None,
    recurrences: int | None,
    out: Path | None,
) -> int:
    """Look into what a trained run has learned.

    PROBE is one of Curta's, or a file with one; without it, they are listed. `curta probe RUN
    PROBE --help` lists its options, which are given as count=500.

    \b
    The probe `activations` records what members calculate for each PROBLEM:
      sites=layer.0.*       which values, by name or pattern
      zero=SITE             and what the answers are with zeros in their place,
      mean=SITE             the mean over all tokens of the same role,
      resample=SITE         the values in another of the problems (seed=S),
      patch=SITE=PROBLEM    or those in a problem of your choice
    A SITE may select, and several are separated by semicolons:
      zero='layer.0.attention.heads:head=2,role=sum;final'
    """
    names, texts = arguments.split(words)
    if not names:
        raise UserError("which run? curta probe RUN [PROBE]; `curta runs` lists all")
    name, problems = names[0], names[2:]
    if len(names) == 1:
        if texts or set(arguments.on_command_line()) - {"--trust"}:
            raise UserError("--member, --json and options need a probe: leave them out for a list")
        return list_probes(name, trust)
    if names[1] == ACTIVATIONS:
        return activations(name, problems, texts, trust, member, recurrences, out)
    if problems:
        raise UserError(f"probe {names[1]!r} draws its problems itself: leave out {problems[0]!r}")
    if out is not None or recurrences is not None:
        raise UserError("--out and --recurrences are for the probe 'activations'")
    options = {option: kind for option, _, kind, _ in probe_options(names[1])}
    values: dict[str, Any] = {}
    for option, text in texts.items():
        if option not in options:
            raise unknown(f"option of probe {names[1]!r}", option, options)
        kind = options[option]
        try:
            convert = arguments.SIGNED if kind is int else kind
            values[option] = convert(text)
        except click.BadParameter as error:
            raise UserError(f"{option}: {error.message}") from None
        except ValueError:
            raise UserError(f"{option} must be a {kind.__name__} (got {quoted(text)})") from None
    from curta.frontends.api import examine, load
    from curta.report.tables import probe_table

    run = load(name, trust=trust)
    with Status() as status:
        status.say(names[1])
        table = examine(run, names[1], None if member is None else [member], **values)
    show(table, probe_table)
    notice(f"Report: {run.folder.report}")
    return 0


def list_probes(name: str, trust: bool) -> int:
    """Print every probe in a line, with the operations of the run that it applies to."""
    from curta.probes import PROBES, tasks_for
    from curta.runs.folders import find

    folder = find(name)
    if trust:
        folder.trust()
    recipe, rows = folder.state_recipe(), []
    for name, probe in PROBES.items():
        operators = " ".join(task.operator for task in tasks_for(probe, recipe))
        rows.append([name, operators or "nothing here", probe.summary])
    rows.append([ACTIVATIONS, "all", "what members calculate on the way, and with changes of it"])
    heads = (("probe", False), ("applies to", False), ("what it examines", True))
    notice(Table("", [Column(name, words=True, fold=fold) for name, fold in heads], rows))
    return 0


def activations(
    name: str,
    problems: list[str],
    texts: dict[str, str],
    trust: bool,
    member: int | None,
    recurrences: int | None,
    out: Path | None,
) -> int:
    """Record what members calculate over the true texts of problems, and with other values."""
    if not problems:
        raise UserError("activations of which problem? curta probe RUN activations 12+34")
    texts = dict(texts)
    sites, seed = texts.pop("sites", "*"), arguments.values({"seed": texts.pop("seed", "0")})
    interventions = read_interventions(texts, seed["seed"])
    from curta.config.typed import as_json
    from curta.frontends.api import load

    run = load(name, recurrences, trust)
    members = None if member is None else [member]
    recorded = run.activations(problems, sites.split(","), interventions, members)
    answers: list[dict[str, Any]] = []
    if interventions:
        changed = run.intervene(problems, interventions, recorded.about.members)
        for number, problem in enumerate(map(parse, problems)):
            for place, who in enumerate(recorded.about.members):
                pair = run.ask(problem, who), changed[place][number]
                before, after = (
                    None if answer is None else answer_text(answer, problem.answer_base)
                    for answer in pair
                )
                answers.append({
                    "problem": str(problem), "member": who, "answer": before, "changed": after,
                    "right": pair[1] == problem.truth,
                })  # fmt: skip
    path = None if out is None else recorded.save(out)
    if arguments.form():
        shapes = {site: list(recorded[site].shape) for site in recorded}
        about = as_json(recorded.about)
        print(json.dumps({"about": about, "shapes": shapes, "answers": answers}))
        return 0
    rows = []
    for site, axes in recorded.about.axes.items():
        sizes = zip(axes, recorded[site].shape, strict=True)
        rows.append([site, ", ".join(f"{axis} {size:,}" for axis, size in sizes)])
    notice(Table("", [Column("site", words=True), Column("axes", words=True)], rows))
    if answers:
        columns = [
            Column("problem", words=True), Column("member"),
            Column("answer", text=lambda answer: answer or "invalid"),
            Column("with changes", text=lambda answer: answer or "invalid"),
            Column("", "right", lambda right: "right" if right else "WRONG", words=True,
                   style=lambda right, row: "green" if right else "bold red"),
        ]  # fmt: skip
        notice("")
        notice(Table("", columns, [list(row.values()) for row in answers]))
    if path is not None:
        notice(f"Arrays: {path}")
    return 0


def read_interventions(texts: dict[str, str], seed: Any) -> "list[Intervention]":
    """Return the changes that settings such as `zero=final` ask for, in order of kind."""
    from curta.probes.inside.interventions import parsed

    if not isinstance(seed, int) or not 0 <= seed <= limits.INT32:
        raise UserError(f"seed must be 0 to {limits.INT32:,} (got {quoted(seed)})")
    for field in texts:
        if field not in arguments.CHANGES:
            raise unknown("option of activations", field, ["sites", "seed", *arguments.CHANGES])
    interventions = []
    for kind in arguments.CHANGES:
        for text in filter(None, texts.get(kind, "").split(";")):
            if kind != "patch":
                interventions.append(parsed(text, kind, seed=seed))
                continue
            site, equals, problem = text.rpartition("=")
            if not (site and equals and problem):
                raise UserError(f"patch={quoted(text)}: write SITE=PROBLEM, such as final=12+35")
            interventions.append(parsed(site, "patch", problem))
    return interventions
