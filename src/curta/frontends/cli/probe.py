"""The command `probe`: what a trained run has learned, and what it calculates on the way."""

import json
from pathlib import Path
from typing import Annotated, Any

import click

from curta.config import limits
from curta.config.errors import UserError, quoted, refuse_if, unknown
from curta.config.table import Column, Table
from curta.config.typed import as_json
from curta.frontends import api
from curta.frontends.cli import arguments
from curta.frontends.cli.arguments import command, option
from curta.frontends.cli.display import Status, notice, show
from curta.probes import PROBES, options, tasks_for
from curta.probes.inside.interventions import HOWS, Intervention, parsed
from curta.problems.problem import answer_text, parse
from curta.report.tables import probe_table

ACTIVATIONS = "activations"
USAGE = "RUN [PROBE] [PROBLEM]... [OPTION=VALUE]..."


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
    if not name.endswith(".py"):
        PROBES.check(name)
    return options(name)


@command("json", kind=_Probe)
def probe(
    words: Annotated[tuple[str, ...], arguments.words(USAGE)],
    trust: arguments.Trust,
    member: Annotated[int | None, option("One member only (all).", "M")],
    recurrences: arguments.Recurrences,
    out: Annotated[Path | None, option("Of activations: write an .npz.", "FILE")],
) -> None:
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
    refuse_if(not names, "which run? curta probe RUN [PROBE]; `curta runs` lists all")
    if len(names) == 1:
        if texts or set(arguments.on_command_line()) - {"--trust"}:
            raise UserError("--member, --json and options need a probe: leave them out for a list")
        recipe, rows = arguments.find_run(names[0], trust).state_recipe(), []
        for name, subject in PROBES.items():
            operators = " ".join(task.operator for task in tasks_for(subject, recipe))
            rows.append([name, operators or "nothing here", subject.summary])
        about = "what members calculate on the way, and with changes of it"
        heads = (("probe", False), ("applies to", False), ("what it examines", True))
        columns = [Column(name, words=True, fold=fold) for name, fold in heads]
        notice(Table("", columns, [*rows, [ACTIVATIONS, "all", about]]))
        return
    run_name, name, *problems = names
    if name == ACTIVATIONS:
        activations(run_name, problems, texts, trust, member, recurrences, out)
        return
    if problems:
        raise UserError(f"probe {name!r} draws its problems itself: leave out {problems[0]!r}")
    if out is not None or recurrences is not None:
        raise UserError("--out and --recurrences are for the probe 'activations'")
    kinds = {field: kind for field, _, kind, _ in probe_options(name)}
    values: dict[str, Any] = {}
    for field, text in texts.items():
        if field not in kinds:
            raise UserError(f"probe {name!r}: {unknown('option', field, kinds)}")
        kind = kinds[field]
        try:
            values[field] = (arguments.SIGNED if kind is int else kind)(text)
        except click.BadParameter as error:
            raise UserError(f"{field}: {error.message}") from None
        except ValueError:
            raise UserError(f"{field} must be a {kind.__name__} (got {quoted(text)})") from None
    run = api.load(run_name, trust=trust)
    with Status() as status:
        status.say(name)
        table = api.examine(run, name, None if member is None else [member], **values)
    show(table, probe_table)
    notice(f"Report: {run.folder.report}")


def activations(
    name: str,
    problems: list[str],
    texts: dict[str, str],
    trust: bool,
    member: int | None,
    recurrences: int | None,
    out: Path | None,
) -> None:
    """Record what members calculate over the true texts of problems, and with other values."""
    refuse_if(not problems, "activations of which problem? curta probe RUN activations 12+34")
    interventions = read_interventions(texts)
    run, sites = api.load(name, recurrences, trust), texts.get("sites", "*").split(",")
    recorded = run.activations(problems, sites, interventions, None if member is None else [member])
    rows = []
    if interventions:
        changed = run.intervene(problems, interventions, recorded.about.members)
        for number, problem in enumerate(map(parse, problems)):
            for place, who in enumerate(recorded.about.members):
                answers = (run.ask(problem, who), changed[place][number])
                texts_of = [
                    None if answer is None else answer_text(answer, problem.answer_base)
                    for answer in answers
                ]
                rows.append([str(problem), who, *texts_of, answers[1] == problem.truth])
    columns = [
        Column("problem", words=True),
        Column("member"),
        Column("answer", text=lambda text: text or "invalid"),
        Column("with changes", "changed", lambda text: text or "invalid"),
        Column("", "right", lambda right: "right" if right else "WRONG", words=True,
               style=lambda right, row: "green" if right else "bold red"),
    ]  # fmt: skip
    answer_table = Table("", columns, rows)
    path = None if out is None else recorded.save(out)
    if arguments.form():
        shapes = {site: list(recorded[site].shape) for site in recorded}
        about, answers_of_all = as_json(recorded.about), answer_table.records()
        print(json.dumps({"about": about, "shapes": shapes, "answers": answers_of_all}))
        return
    sizes = []
    for site, axes in recorded.about.axes.items():
        lengths = zip(axes, recorded[site].shape, strict=True)
        sizes.append([site, ", ".join(f"{axis} {length:,}" for axis, length in lengths)])
    notice(Table("", [Column("site", words=True), Column("axes", words=True)], sizes))
    if rows:
        notice("")
        notice(answer_table)
    if path is not None:
        notice(f"Arrays: {path}")


def read_interventions(texts: dict[str, str]) -> list[Intervention]:
    """Return the changes that settings such as `zero=final` ask for, in order of kind."""
    seed = arguments.values({"seed": texts.get("seed", "0")})["seed"]
    if not isinstance(seed, int) or not 0 <= seed <= limits.INT32:
        raise UserError(f"seed must be 0 to {limits.INT32:,} (got {quoted(seed)})")
    options = ("sites", "seed", *HOWS)
    for field in texts:
        if field not in options:
            raise unknown("option of activations", field, options)
    interventions = []
    for how in HOWS:
        for text in filter(None, texts.get(how, "").split(";")):
            if how != "patch":
                interventions.append(parsed(text, how, seed=seed))
                continue
            site, equals, problem = text.rpartition("=")
            if not (site and equals and problem):
                raise UserError(f"patch={quoted(text)}: write SITE=PROBLEM, such as final=12+35")
            interventions.append(parsed(site, how, problem))
    return interventions
