"""What `probe` finds: what a trained run has learned, and what it calculates on the way."""

import json
from pathlib import Path
from typing import Any

import click

from curta.config import limits
from curta.config.errors import UserError, quoted, refuse_if, unknown
from curta.config.table import Column, Table
from curta.config.typed import as_json
from curta.frontends import api
from curta.frontends.cli import arguments
from curta.frontends.cli.commands import ACTIVATIONS
from curta.frontends.cli.display import Status, notice, show
from curta.probes import PROBES, options, tasks_for
from curta.probes.inside.interventions import HOWS, Intervention, parsed
from curta.problems.problem import answer_text, parse
from curta.report.tables import probe_table
from curta.runs import folders


def list_probes(name: str, trust: bool) -> None:
    """Print all probes, and which tasks of a run each applies to."""
    recipe, rows = folders.find(name, trust).state_recipe(), []
    for probe, subject in PROBES.items():
        operators = " ".join(task.operator for task in tasks_for(subject, recipe))
        rows.append([probe, operators or "nothing here", subject.summary])
    about = "what members calculate on the way, and with changes of it"
    heads = (("probe", False), ("applies to", False), ("what it examines", True))
    columns = [Column(name, words=True, fold=fold) for name, fold in heads]
    notice(Table("", columns, [*rows, [ACTIVATIONS, "all", about]]))


def examine(
    run_name: str, name: str, texts: dict[str, str], trust: bool, member: int | None
) -> None:
    """Put a probe to a run, with the texts of its options, and print its table."""
    kinds = {field: kind for field, _, kind, _ in options(name)}
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
