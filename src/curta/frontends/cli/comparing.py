"""Commands that train several runs side by side: comparisons and sweeps."""

import json
import sys
from argparse import Namespace
from typing import TYPE_CHECKING

from curta.frontends.cli.options import given, seeds

if TYPE_CHECKING:
    from curta.frontends.run import Comparison
    from curta.runs.comparison_spec import Row
    from curta.runs.session import Session


def compare(options: Namespace) -> int:
    from curta.config.recipe import parse_value
    from curta.frontends.api import begin_comparison
    from curta.runs import comparison_spec

    if not options.entries:
        return _list_comparisons()
    common = {path: parse_value(text) for path, text in given(options).items()}
    made = comparison_spec.resolve(comparison_spec.draft(options.entries), common, seeds(options))
    base = comparison_spec.base(options.entries)
    return _run_comparison(begin_comparison(made, options.run, base), options.json)


def sweep(options: Namespace) -> int:
    from curta.config.recipe import parse_value
    from curta.frontends.api import begin_comparison
    from curta.runs import comparison_spec

    values_of = {
        path: [parse_value(part.strip()) for part in comparison_spec.cut(text, ",")]
        for path, text in given(options).items()
    }
    swept = {path: values for path, values in values_of.items() if len(values) > 1}
    common = {path: values[0] for path, values in values_of.items() if len(values) == 1}
    made = comparison_spec.resolve(
        comparison_spec.sweep(options.recipe, swept), common, seeds(options), tuple(swept)
    )
    base = comparison_spec.swept_base(options.recipe, swept)
    return _run_comparison(begin_comparison(made, options.run, base), options.json)


def _list_comparisons() -> int:
    from curta.runs import comparison_spec

    for name in comparison_spec.names():
        print(f"{name:20} {comparison_spec.read(name).title}")
    return 0


def resume_comparison(name: str) -> int:
    """Goes on with a comparison, or a sweep, that was interrupted."""
    from curta.frontends.run import Comparison
    from curta.training import devices

    devices.configure()
    return _run_comparison(Comparison.load(name), as_json=False)


def _run_comparison(made: "Comparison", as_json: bool) -> int:
    """Trains and examines what is left, and says what was found."""
    from curta.frontends.cli.display import Learning, Status, comparison_table, entry_line, notice

    def train(row: "Row", run: "Session") -> None:
        if as_json:
            return run.train()
        notice(entry_line(made.spec, row))
        with Learning(run.seeds) as learning:
            return run.train(learning.show)

    with Status() as status:
        ended = made.run_comparison(train, status.say)
    if not ended:
        print(f"Interrupted; saved. Go on with: curta resume {made.name}", file=sys.stderr)
        return 130
    if as_json:
        print(json.dumps(made.table))
        return 0
    notice(comparison_table(made.table))
    notice(f"Report: {made.report}")
    return 0
