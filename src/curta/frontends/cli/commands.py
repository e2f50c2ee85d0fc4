"""What each command does: a few calls, and something printed."""

import gc
import json
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from curta.config.errors import UserError
from curta.frontends.cli.comparing import resume_comparison
from curta.frontends.cli.options import given, seeds

if TYPE_CHECKING:
    from curta.frontends.run import Run
    from curta.report.certified import Content

SUMS = ("7+8", "999999999999999999999999+1", "31415926535897932384+27182818284590452353")


def version(options: Namespace) -> int:
    from importlib.metadata import version

    print(version("curta"))
    return 0


def train(options: Namespace) -> int:
    from curta.config.recipe import parse_value
    from curta.frontends.api import begin

    overrides = {path: parse_value(text) for path, text in given(options).items()}
    run = begin(options.recipe, seeds(options), options.run, overrides, options.track or ())
    return _train_on(run, not options.no_exam)


def resume(options: Namespace) -> int:
    from curta.frontends.api import load
    from curta.runs.comparison import is_comparison

    if is_comparison(options.run):
        return resume_comparison(options.run)
    run = load(options.run, trust=options.trust)
    if run.folder.info["status"] == "finished":
        print(f"{run.name} is finished: {run.recipe.training.steps:,} steps")
        return 0
    return _train_on(run, exam=True)


DEMO = {"evaluation.digits": (20, 1000), "evaluation.count": 100}
"""An evaluation that takes a second."""


def demo(options: Namespace) -> int:
    from curta.frontends.api import begin
    from curta.frontends.cli.display import answer_line, console

    run = begin("addition", 1, None, DEMO)
    code = _train_on(run, exam=True)
    if code:
        return code
    from curta.problems.problem import parse

    hard = ("9" * 1000 + "+1", *SUMS)
    for text, written in zip(hard, run.write(hard), strict=True):
        problem = parse(text)
        console().print(answer_line(problem, run.layout.answer(problem, written)))
    console().print(f'\nAsk it yourself: [bold]{sys.argv[0]} ask {run.name} "12+34"[/bold]')
    return 0


def ask(options: Namespace) -> int:
    from curta.frontends.api import load

    if (options.problem is None) == (options.file is None):
        raise UserError("give one problem, such as 12+34, or --file F")
    lines = [options.problem] if options.file is None else _lines(options.file)
    run = load(options.run, options.loops, options.trust)
    plain = None if options.trace else run.answers("\n".join(lines), options.member)
    if plain is not None:
        print("\n".join(plain))
        return 0
    gc.freeze()  # 20,000 lists make a collection walk all of JAX: 0.2 s of 0.6
    problems = _each(lines, options.file, _parsed)
    try:
        run.accept(problems)
    except UserError:  # which line it is about
        _each(problems, options.file, lambda problem: run.accept([problem]))
    for problem, text in zip(problems, run.write(problems, options.member), strict=True):
        print(_answer(run, problem, text, options.trace))
    return 0


def evaluate(options: Namespace) -> int:
    from curta.frontends.api import load
    from curta.frontends.cli.display import Status, notice

    run = load(options.run, options.loops, options.trust)
    changes = {
        "digits": _sizes(options.digits),
        "grid": options.grid,
        "table": options.table,
        "count": options.count,
        "seed": options.seed,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    for name in ("grid", "count", "table"):
        if changes.get(name, 1) < 1:
            raise UserError(f"--{name} must be at least 1, not {changes[name]}")
    with Status() as status:
        table = run.evaluate(status.say, options.member, **changes)
    if options.json:
        print(json.dumps(table))
        return 0 if _agrees(table) else 1
    _show_exam(table, run.seeds if options.member is None else [run.seeds[options.member]])
    if not run.code_known:
        notice("These are problems that the run has kept: its program's code was not run (--trust)")
    if options.member is None:
        notice(f"Report: {run.report}")
    return 0 if _agrees(table) else 1


def probe(options: Namespace) -> int:
    from rich.text import Text

    from curta.frontends.api import examine, load
    from curta.frontends.cli.display import Status, notice, probe_table, probes_list, whole

    run = load(options.run, trust=options.trust)
    if options.probe is None:
        notice(probes_list(run))
        return 0
    members = None if options.member is None else [options.member]
    with Status() as status:
        status.say(options.probe)
        table = examine(run, options.probe, members, **given(options))
    if options.json:
        print(json.dumps(table))
        return 0
    notice(Text(f"{table['probe']}: {table['summary']}"))
    whole(probe_table(table))
    for note in table["notes"]:
        notice(Text(note))
    notice(f"Report: {run.report}")
    return 0


def show(options: Namespace) -> int:
    from curta.frontends.cli.display import console
    from curta.frontends.cli.layers import layers_view
    from curta.model import recipes

    if options.steps and options.problem is None:
        raise UserError("--steps needs a problem, such as 12+34")
    if not (options.problem or options.layers or options.window):
        raise UserError("give a problem, such as 12+34, or --window, or --layers")
    _make_known(options.recipe, options.trust)
    problem = None if options.problem is None else _parsed(options.problem)
    if options.layers:
        console().print(layers_view(recipes.load(options.recipe), problem))
        return 0
    console().print(_paper(options, problem))
    return 0


def _paper(options: Namespace, problem: Any) -> Any:
    """What `show` prints of texts: the windows of a program, a problem as it is written."""
    from curta.frontends.cli.paper import step_by_step, windows_view, written
    from curta.layouts.program import ProgramLayout

    layout = _layout(options.recipe)
    if problem is not None:
        layout.accept(problem.operator, len(problem.operands))
    if isinstance(layout, ProgramLayout) and options.window:
        return windows_view(layout)
    if options.window:
        raise UserError(f"--window is of programs; {options.recipe!r} has layout {layout.name!r}")
    if isinstance(layout, ProgramLayout) and options.steps:
        return step_by_step(layout, problem)
    return written(layout, problem)


def _make_known(name: str, trust: bool) -> None:
    """Reads a recipe, or else a run, so that its operators can be read."""
    from curta.model import recipes
    from curta.programs.user import userfiles
    from curta.runs import folders as store

    if not _is_run(name):
        recipes.load(name)
        return
    folder = store.find(name)
    if trust:
        userfiles.trust(folder.path, folder.info.get("files", []))
    assert folder.recipe


def _is_run(name: str) -> bool:
    from curta.config.recipe import shipped_names
    from curta.runs import folders as store

    whole = Path(name, "run.json").exists()
    return whole or (name in store.existing() and name not in shipped_names())


def _layout(name: str) -> Any:
    """How a recipe, or else a run, writes problems."""
    from curta.layouts.texts import layout_of
    from curta.model import recipes
    from curta.runs import folders as store

    if _is_run(name):
        return store.layout_in(store.find(name))
    return layout_of(recipes.load(name))


def runs(options: Namespace) -> int:
    from curta.frontends.cli.display import notice, runs_table
    from curta.runs import comparison
    from curta.runs import folders as store

    found, compared = store.existing(), comparison.existing()
    if not (found or compared):
        print(f"no runs in {str(store.root())!r} yet: train one with `curta train`")
    notice(runs_table(found) if found else None)
    notice(f"comparisons: {', '.join(compared)}" if compared else None)
    return 0


def recipes(options: Namespace) -> int:
    from curta.config.recipe import shipped, shipped_names

    widest = max(map(len, shipped_names()))
    for name in shipped_names():
        print(f"{name:{widest}} {shipped(name).get('summary', '')}")
    return 0


def _train_on(run: "Run", exam: bool) -> int:
    """Trains, examines, and says where the report lies; 1 if there is nothing to examine."""
    from curta.frontends.cli.display import Learning, Status, certificate, notice, opening

    notice(opening(run))
    if exam:
        run.prepare()
    with Learning(run.seeds) as learning:
        run.train(learning.show)
    info = run.folder.info
    for member, step in info["stopped"].items():
        notice(f"seed {run.seeds[int(member)]} stopped: its loss was not finite at step {step}")
    if info["status"] == "interrupted":
        notice(f"Interrupted; saved. Go on with: curta resume {run.name}")
        return 130
    if info["status"] == "stopped":
        raise UserError(
            f"no member of run {run.name!r} is left: try a lower optimizer.learning_rate"
        )
    if not exam:
        return 0
    with Status() as status:
        table = run.evaluate(status.say, report=not run.to_certify)
    _show_exam(table, run.seeds)
    if run.to_certify:
        with Status() as status:
            found = run.certify(status.say)
        notice(certificate(cast("Content", found), run.program))
    notice(f"Report: {run.report}")
    return 0 if _agrees(table) else 1


def _agrees(table: dict[str, Any]) -> bool:
    """Whether all that was generated token by token is what one pass said it would be."""
    return all(row["generated"]["agrees"] for row in table["lengths"])


def certify(options: Namespace) -> int:
    """Exit code 1 where a window is wrong, or the list is not one of a function."""
    from curta.frontends.api import load
    from curta.frontends.cli.display import Status, certificate, notice
    from curta.programs.user.kept import refusal
    from curta.report.certified import sound

    run = load(options.run, trust=options.trust)
    if not run.code_known:
        raise refusal(run.folder.path)
    if not run.certifiable:
        raise UserError(f"run {run.name!r} is of no program under a window: nothing to certify")
    with Status() as status:
        found = run.certify(status.say)
    if options.json:
        print(json.dumps(found))
    else:
        notice(certificate(cast("Content", found), run.program))
        notice(f"Report: {run.report}")
    right = not any(member["wrong"] for member in found["members"])
    return int(not (right and sound(cast("Content", found))))


def _show_exam(table: dict[str, Any], seeds: list[int]) -> None:
    """What was found."""
    from curta.frontends.cli.display import (
        exam_table,
        grid_line,
        named_table,
        notice,
        split_lines,
        table_lines,
    )

    notice(exam_table(table, seeds))
    notice(grid_line(table))
    for line in split_lines(table) + table_lines(table):
        notice(line)
    notice(named_table(table, seeds))


def _lines(name: str) -> list[str]:
    """Problems of a file, or of standard input for `-`; blank lines at the end do not count."""
    try:
        text = sys.stdin.read() if name == "-" else Path(name).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise UserError(f"cannot read {name!r}: {reason}") from None
    lines = text.rstrip().splitlines()
    if not lines:
        raise UserError(f"{name!r} is empty: write one problem a line, such as 12+34")
    return lines


def _each(items: Sequence[Any], file: str | None, function: Callable[[Any], Any]) -> list[Any]:
    """The function of every line; a complaint names the line it is about."""
    found = []
    for number, item in enumerate(items, 1):
        try:
            found.append(function(item))
        except UserError as error:
            where = f"line {number} of {file!r}: " if file else ""
            raise UserError(f"{where}{error}") from None
    return found


def _parsed(line: str) -> Any:
    from curta.problems.problem import parse

    return parse(line)


def _answer(run: "Run", problem: Any, written: list[int], trace: bool) -> str:
    from curta.problems.problem import answer_text

    value, layout = run.layout.answer(problem, written), run.layout
    if value is not None and not trace:
        return answer_text(value, problem.answer_base)
    text = layout.decode(written)
    answer = f"invalid: {text}" if value is None else answer_text(value, problem.answer_base)
    return f"{answer}\t{layout.prompt(problem)}{text}" if trace else answer


def _sizes(text: str | None) -> tuple[int | str, ...] | None:
    if text is None:
        return None
    parts = tuple(text.split(","))
    if not all(re.fullmatch(r"[1-9][0-9]*([/x][1-9][0-9]*)?", part) for part in parts):
        raise UserError(
            f"--digits {text!r}: write counts from 1 up, such as 20,100 or 50/25 or 20x5"
        )
    return tuple(int(part) if part.isdecimal() else part for part in parts)
