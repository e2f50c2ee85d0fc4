"""What `train`, `compare`, `evaluate` and `certify` do with runs, and what they print."""

import shlex
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from curta.config import limits, system
from curta.config.errors import UserError, printable, quoted, refuse_if
from curta.config.table import cell, counted, spanned
from curta.evaluation.results import Evaluation, agrees
from curta.frontends import api
from curta.frontends.cli import arguments, display
from curta.frontends.cli.arguments import Destination
from curta.frontends.cli.display import Learning, Status, notice, show
from curta.frontends.cli.paper import certificate_view
from curta.frontends.cli.runs import follow
from curta.problems.operations import operation_named
from curta.problems.problem import answer_text, parse
from curta.report import tables
from curta.report.run_folder import read_run
from curta.report.sections import generalisation
from curta.runs import cluster, folders, interrupts
from curta.runs.comparison_spec import Row
from curta.runs.info import Stage

if TYPE_CHECKING:
    from curta.runs.comparison import Comparison
    from curta.runs.run import Run


SUMS = (
    "9" * 1000 + "+1",
    "7+8",
    "999999999999999999999999+1",
    "31415926535897932384+27182818284590452353",
)


def go_on(name: str, trust: bool, steps: Any, place: Destination | None) -> int:
    """Go on with a run, to more `steps` if these are given, or with a comparison.

    `COMPARISON/ROW` is a run of a comparison, begun or not.
    """
    from curta.runs import life

    is_single = trust or steps is not None
    comparison, _, row = name.rpartition("/")
    is_row = bool(comparison) and folders.is_comparison(comparison) and not is_single
    if is_row or folders.is_comparison(name):
        if is_single:
            option = "--trust" if trust else "training.steps"
            raise UserError(f"{option} is for a single run, and {name!r} is a comparison")
        if system.process().count > 1:
            raise UserError("several processes train one run; runs of a comparison take --on slurm")
        from curta.runs.comparison import Comparison
        from curta.training import devices

        devices.configure()
        if not is_row:
            return run_comparison(Comparison.load(name), place)
        loaded = Comparison.load(comparison, only=row)
        refuse_if(not loaded.spec.rows, f"comparison {comparison!r} has no run {row!r}")
        run = loaded.begin_run(loaded.spec.rows[0])
    elif steps is None:
        run = api.load(name, trust=trust)
    elif not isinstance(steps, int) or not 1 <= steps <= limits.STEPS:
        raise UserError(f"training.steps must be 1 to {limits.STEPS:,} (got {quoted(steps)})")
    else:
        run = api.extend(name, steps, trust)
    if not life.missing(run.folder, run.recipe):
        print(f"{printable(run.name)} is finished: {counted(run.recipe.training.steps, 'step')}")
        return 0
    return complete(run, place)


def complete(run: "Run", place: Destination | None = None, is_demo: bool = False) -> int:
    """Do what is missing of a run, here or elsewhere, and print the results; the exit code."""
    if place is not None:
        return hand_over(place, run.folder.path, [run.name])
    from curta.evaluation.expected import duration, total
    from curta.runs import life

    training, digits = run.recipe.training, run.folder.read_info().trained_digits
    example = "window" if run.recipe.positions.name == "window" else "problem"
    missing = life.missing(run.folder, run.recipe)
    evaluates = folders.has_code(run.layout) and "evaluating" in missing
    seconds = total(run.recipe, run.layout, len(run.seeds)) if evaluates else 0.0
    opening = Text.assemble(
        (printable(run.name), "bold"),
        f": {printable(run.recipe.summary)}\n",
        f"training {counted(len(run.seeds), 'member')} on {spanned(digits, 'digit')},",
        f" {counted(training.steps, 'step')} of {counted(training.batch, example)}",
        f"\nevaluation: about {duration(seconds)}" if seconds > display.SILENT else "",
    )
    notice(opening)
    codes, name = [0], run.folder.argument
    try:
        run.complete(run_stage=lambda stage: codes.append(run_stage(run, stage)))
        interrupts.check()
    except interrupts.Interrupted as signal:
        notice(f"Interrupted; saved. Go on with: curta train --resume {name}")
        return signal.code
    certificate = run.folder.read_certificate()
    if certificate is not None and certificate.wrong_seeds:
        seeds, members = certificate.wrong_seeds, certificate.members
        notice(
            f"WRONG: seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))} on"
            f" {'up to ' * (len(seeds) > 1)}{max(member.wrong for member in members):,} of"
            f" {certificate.windows:,} windows, after"
            f" {counted(max(len(member.rounds) for member in members), 'round')} of repair;"
            f" `curta certify {name}` shows them"
        )
        return 1
    if run.folder.read_info().status == "finished":
        for text, tokens in zip(SUMS, run.write(SUMS), strict=True) if is_demo else ():
            answer = run.layout.answer(problem := parse(text), tokens)
            answered = None if answer is None else answer_text(answer)
            notice(display.answer_line(text, answered, answer == problem.truth))
        example = shlex.quote(operation_named(run.recipe.tasks[0].operator).example)
        steps = [
            (f"ask {name} {example}", "let it calculate"),
            (f"page {name}", "watch it write, in a browser"),
            (f"probe {name}", "look inside"),
            ("serve", "all runs, and new ones, in a browser"),
        ]
        if not run.folder.evaluation.exists():
            steps.insert(0, (f"evaluate {name}", "ask it problems of many sizes"))
        display.next_steps(*steps)
    return max(codes)


def run_stage(run: "Run", stage: Stage) -> int:
    """Carry out a stage of a run's life and print its results; the exit code."""
    from curta.runs.run import program_layout

    if stage == "training":
        with Learning(run) as learning:
            run.train(learning.show)
        show_generalisation(run)
        info = run.folder.read_info()
        for member, step in info.stopped.items():
            notice(f"seed {run.seeds[member]} stopped: its loss was not finite at step {step}")
        if info.status == "stopped":
            raise UserError(
                f"no member of run {run.name!r} is left: try a lower optimizer.learning_rate"
            )
    elif stage == "evaluating":
        with Status() as status:
            evaluation = run.evaluate(status.say, show_grid=status.show_grid, report=False)
        return show_evaluation(evaluation, run.seeds)
    elif stage == "certifying":
        with Status() as status:
            certificate = run.certify(status.say, report=False)
        notice(certificate_view(certificate, program_layout(run)))
    else:
        notice(f"Report: {run.write_report()}")
    return 0


def show_generalisation(run: "Run") -> None:
    """Print for each seed from which step on it was right, where that was watched."""
    for line in generalisation(read_run(run.folder.path)):
        notice(line)


def show_evaluation(evaluation: Evaluation, seeds: list[int]) -> int:
    """Print an evaluation: as CSV or LaTeX its main table alone. Return the exit code."""
    if arguments.form() == "json":
        display.print_json(evaluation)
        return int(not agrees(evaluation.lengths))
    for_screen = arguments.form() is None
    notice(tables.exact_match_table(evaluation, seeds, collapsed=for_screen))
    if evaluation.gaps and for_screen:
        notice(tables.gap_table(evaluation.gaps, seeds))
    for grid in evaluation.grids:
        cells = [share for member in grid.exact_match for row in member for share in row]
        notice(
            f"grid of {grid.operator}, {grid.max_digits} x {grid.max_digits} digits,"
            f" {counted(grid.count, 'problem')} a cell, all members:"
            f" mean {cell(statistics.fmean(cells))}, lowest cell {cell(min(cells))}"
        )
    for split in evaluation.splits:
        notice(
            f"split of {split.operator}: {split.training:,} problems trained on,"
            f" {split.held_out:,} held out or drawn to test, {split.overlap:,} in both;"
            f" {split.mirrored:,} of the latter have their twin (2+1 of 1+2) in training"
        )
    for table in evaluation.tables:
        notice(
            f"all {table.count:,} problems of {table.operator} up to {table.limit:,}: correct "
            + " ".join(f"{correct:,}" for correct in table.correct)
        )
    if evaluation.named and for_screen:
        notice(tables.named_table(evaluation.named, seeds))
    return int(not agrees(evaluation.lengths))


# Several runs side by side.


def run_comparison(comparison: "Comparison", place: Destination | None) -> int:
    """Train and evaluate what is not finished, here or elsewhere, and print the results."""
    if place is not None:
        comparison.save()
        folders = [row.folder for row in comparison.spec.rows]
        return hand_over(place, comparison.path, folders)
    pace = comparison.pace()

    def train(row: Row, run: "Run") -> None:
        if arguments.form():
            return run.train()
        line = f" ({pace.at(row.name)}): {printable(row.recipe.summary)}"
        notice(Text.assemble((printable(row.name), "bold"), line))
        with Learning(run) as learning:
            return run.train(learning.show)

    try:
        with Status() as status:
            comparison.run_comparison(train, status.say)
        interrupts.check()
    except interrupts.Interrupted as signal:
        name = shlex.quote(printable(comparison.name))
        print(f"Interrupted; saved. Go on with: curta train --resume {name}", file=sys.stderr)
        return signal.code
    show_comparison(comparison)
    return 0


def show_comparison(comparison: "Comparison") -> None:
    """Print what a comparison found, and where its report is; as JSON the results alone."""
    show(comparison.read_results(), tables.comparison_table)
    notice(f"Report: {comparison.report}")
    name = shlex.quote(comparison.name)
    paths = [shlex.quote(f"{comparison.name}/{row.folder}") for row in comparison.spec.rows]
    pairs = [f"evaluate {' --against '.join(paths[:2])}"] if len(paths) > 1 else []
    display.next_steps(
        (f"report {name} --csv", "its tables"),
        *((words, "test a difference") for words in pairs),
        (f"page {paths[0]}", "watch one write, in a browser"),
    )


def hand_over(place: Destination, path: Path, runs: Sequence[str]) -> int:
    """Submit runs, by the names of their folders in `path`."""
    job = cluster.submit(path, runs, place.system, place.cluster)
    name, tasks = printable(path.name), counted(len(job.tasks), "task")
    notice(f"{name}: {counted(len(job.runs), 'run')} in {tasks}; curta runs {shlex.quote(name)}")
    return follow(path) if place.wait else 0


# Runs that are trained.


def evaluate(
    name: str,
    trust: bool,
    member: int | None,
    step: int | None,
    recurrences: int | None,
    changes: dict[str, Any],
) -> int:
    """Evaluate a run, with changes of its evaluation, and print the results; the exit code."""
    run = api.load(name, recurrences, trust)
    with Status() as status:
        evaluation = run.evaluate(status.say, member, step, status.show_grid, **changes)
    code = show_evaluation(evaluation, run.seeds if member is None else [run.seeds[member]])
    if arguments.form() == "json":
        return code
    show_generalisation(run)
    if not folders.has_code(run.layout):
        notice("These are problems that the run has kept: its program's code was not run (--trust)")
    if evaluation.changes:
        notice(f"Kept beside the recipe's own: {folders.evaluation_name(evaluation.changes)}")
    if member is None:
        notice(f"Report: {run.folder.report}")
    return code


def evaluate_both(
    names: tuple[str, str], trust: bool, member: int | None, changes: dict[str, Any]
) -> int:
    """Evaluate two runs on the same problems, and print the test of their difference."""
    for name in names:
        folders.find(name)
    first, second = (api.load(name, trust=trust) for name in names)
    with Status() as status:
        comparison = first.paired(second, member, status.say, **changes)
    show(comparison, tables.paired_table)
    return 0


def check_certificate(name: str) -> int:
    """Check the certificate of a run by NumPy alone; the exit code is 1 if it is refused."""
    from curta.evaluation import check_certificate

    folder = folders.find(name)
    if folder.read_certificate() is None:
        raise UserError(f"run {name!r} has no certificate: `curta certify {name}` makes it")
    try:
        print("\n".join(check_certificate.check(folder.path)))
    except check_certificate.CheckFailedError as reason:
        print(f"refused: {reason}", file=sys.stderr)
        return 1
    return 0


def certify(name: str, trust: bool) -> int:
    """Certify a run, and print its certificate; the exit code is 1 where a window is wrong."""
    from curta.runs.run import program_layout

    run = api.load(name, trust=trust)
    with Status() as status:
        certificate = run.certify(status.say)
    show(certificate, lambda certificate: certificate_view(certificate, program_layout(run)))
    notice(f"Report: {run.folder.report}")
    return int(not certificate.perfect)
