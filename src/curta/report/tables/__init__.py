"""The tables of runs and comparisons, as data: for a screen, as CSV, as LaTeX.

A module makes them of what files hold; here they stand by their names.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from curta.config.table import Table
from curta.evaluation.results import Evaluation
from curta.evaluation.statistics import SliceStatistics, of_slice
from curta.probes import results as probes
from curta.report.tables import certificate, comparison, evaluation, statistics
from curta.runs.folders import Folder, read_comparison


def of_run(folder: Folder, name: str = "") -> dict[str, Table]:
    """All tables of a run for which there is something, by their names.

    They are of the recipe's evaluation, or of another one by its name.
    """
    found, seeds, proof = folder.read_evaluation(name), folder.read_info().seeds, None
    tables = {} if found is None else _of_evaluation(found, seeds)
    if not name:
        proof = folder.read_certificate()
    if proof is not None:
        tables["certificate"] = certificate.members(proof)
    looked = {} if name else probes.read(folder)
    return tables | {f"probes/{one}": comparison.probe(table) for one, table in looked.items()}


def of_comparison(path: Path, name: str = "") -> dict[str, Table]:
    """All tables of a comparison, by their names; `name` is as in `of_run`."""
    results = read_comparison(path)
    runs = {row.name: path / row.run for row in results.rows}
    begun = {entry: Folder(run) for entry, run in runs.items() if (run / "run.json").exists()}
    found = {entry: statistics_of(folder, name) for entry, folder in begun.items()}
    whole = {} if name else {"comparison": comparison.comparison(results)}
    return whole | _with_statistics(found)


def statistics_of(folder: Folder, name: str = "") -> list[SliceStatistics]:
    """What a run's evaluation says of its seeds, row by row; empty without an evaluation."""
    found, seeds = folder.read_evaluation(name), folder.read_info().seeds
    return [of_slice(row, seeds) for row in (found.lengths if found else ())]


def _of_evaluation(found: Evaluation, seeds: Sequence[int]) -> dict[str, Table]:
    rows = [of_slice(row, seeds) for row in found.lengths]
    tables = {"exact-match": evaluation.exact_match(found, seeds)}
    of_rows = _with_statistics({"": rows})
    notes = evaluation.left_out(found)
    tables |= {key: replace(table, notes=[*table.notes, *notes]) for key, table in of_rows.items()}
    if found.gaps:
        tables["trained-and-held-out"] = evaluation.trained_and_held_out(found.gaps, seeds)
    for number, grid in enumerate(found.grids, 1):
        tables["grid" if number == 1 else f"grid-{number}"] = evaluation.grid(grid, seeds)
    if found.tables:
        tables["counted"] = evaluation.counted(found.tables, seeds)
    return tables | ({"named": evaluation.named(found.named, seeds)} if found.named else {})


def _with_statistics(found: Mapping[str, Sequence[SliceStatistics]]) -> dict[str, Table]:
    if not any(found.values()):
        return {}
    return {"statistics": statistics.over_seeds(found), "seeds": statistics.of_seeds(found)}
