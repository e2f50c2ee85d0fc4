"""What the command line does, and prints, in each stage of a run's life."""

import json
from typing import TYPE_CHECKING

from curta.config.errors import UserError
from curta.config.table import counted
from curta.frontends.cli import options

if TYPE_CHECKING:
    from curta.evaluation.results import Evaluation
    from curta.frontends.run import Comparison, Run
    from curta.runs.session import Session


def complete(run: "Run") -> int:
    """Does what is missing of a run, and prints what was found; the exit code."""
    from curta.frontends.cli.display import notice, opening
    from curta.runs import interrupts

    notice(opening(run))
    codes: list[int] = []
    try:
        run.run_stages(lambda stage: codes.append(_STAGES[stage](run)))
        interrupts.check()
    except interrupts.Interrupted as signal:
        notice(f"Interrupted; saved. Go on with: curta resume {run.folder.address}")
        return signal.code
    wrong = _wrong(run)
    notice(wrong)
    return max([*codes, int(bool(wrong))])


def _wrong(run: "Run") -> str | None:
    """Say so if the run is certified and ended with a wrong window."""
    found = run.folder.read_certificate()
    if found is None or not found.wrong_seeds:
        return None
    seeds, most = found.wrong_seeds, max(one.wrong for one in found.members)
    rounds = max(len(one.rounds) for one in found.members)
    return (
        f"WRONG: seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))} on"
        f" {'up to ' * (len(seeds) > 1)}{most:,} of {found.windows:,} windows, after"
        f" {counted(rounds, 'round')} of repair; `curta certify {run.folder.address}` shows them"
    )


def show_comparison(made: "Comparison", as_json: bool) -> None:
    """Prints what a comparison found, and where its report is; as JSON alone what it found."""
    from curta.config.typed import as_json as to_json
    from curta.frontends.cli.display import notice
    from curta.report.tables.comparison import comparison

    if as_json:
        print(json.dumps(to_json(made.read_results())))
        return
    notice(comparison(made.read_results()))
    notice(f"Report: {made.report}")


def learn(run: "Session") -> None:
    """Trains a run, with its progress on the screen."""
    from curta.frontends.cli.display import Learning

    with Learning(run) as learning:
        run.train(learning.show)


def _train(run: "Run") -> int:
    from curta.frontends.cli.display import notice

    learn(run)
    generalised(run)
    info = run.folder.read_info()
    for member, step in info.stopped.items():
        notice(f"seed {run.seeds[member]} stopped: its loss was not finite at step {step}")
    if info.status == "stopped":
        raise UserError(
            f"no member of run {run.name!r} is left: try a lower optimizer.learning_rate"
        )
    return 0


def generalised(run: "Run") -> None:
    """Prints for each seed from which step on it was right, where that was watched."""
    from curta.frontends.cli.display import notice
    from curta.report.watched import generalisation

    for line in generalisation(run.folder):
        notice(line)


def _evaluate(run: "Run") -> int:
    from curta.evaluation.results import agrees
    from curta.frontends.cli.display import Status

    with Status() as status:
        found = run.evaluate(status.say, show_grid=status.show_grid, report=False)
    show_evaluation(found, run.seeds)
    return 0 if agrees(found.lengths) else 1


def _certify(run: "Run") -> int:
    from curta.frontends.cli.display import Status, certificate, notice

    with Status() as status:
        found = run.certify(status.say, report=False)
    notice(certificate(found, run.program))
    return 0


def _report(run: "Run") -> int:
    from curta.frontends.cli.display import notice

    notice(f"Report: {run.write_report()}")
    return 0


_STAGES = {
    "training": _train,
    "evaluating": _evaluate,
    "certifying": _certify,
    "reporting": _report,
}
"""What the command line does, and says, for each stage of a run's life."""


def show_evaluation(found: "Evaluation", seeds: list[int]) -> None:
    """Prints an evaluation: the table of its rows, and on a screen all others."""
    from curta.frontends.cli.display import grid_lines, notice, split_lines, table_lines
    from curta.report.tables.evaluation import exact_match, named, trained_and_held_out

    notice(exact_match(found, seeds))
    alone = options.form() is not None
    notice(trained_and_held_out(found.gaps, seeds) if found.gaps and not alone else None)
    for line in grid_lines(found.grids) + split_lines(found.splits) + table_lines(found.tables):
        notice(line)
    notice(named(found.named, seeds) if found.named and not alone else None)
