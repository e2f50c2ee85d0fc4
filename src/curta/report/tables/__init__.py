"""The tables of runs and comparisons, as data: for a screen, as CSV, as LaTeX."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from curta.config.table import Table
from curta.evaluation.statistics import SliceStatistics, of_slice
from curta.probes import results as probes
from curta.report.tables import certificate, comparison, evaluation, statistics
from curta.runs.folders import Folder, read_comparison


def of_run(folder: Folder, name: str = "") -> dict[str, Table]:
    """Return all tables of a run for which there is data, by their names.

    They are of the recipe's evaluation, or of another one by its name.
    """
    results, seeds, tables = folder.read_evaluation(name), folder.read_info().seeds, {}
    if results is not None:
        tables["exact-match"] = evaluation.exact_match(results, seeds)
        notes = evaluation.left_out(results)
        for key, table in statistics_tables({"": statistics_of(folder, name)}).items():
            tables[key] = replace(table, notes=[*table.notes, *notes])
        if results.gaps:
            tables["trained-and-held-out"] = evaluation.trained_and_held_out(results.gaps, seeds)
        for number, grid in enumerate(results.grids, 1):
            tables["grid" if number == 1 else f"grid-{number}"] = evaluation.grid(grid, seeds)
        if results.tables:
            tables["counted"] = evaluation.counted(results.tables, seeds)
        if results.named:
            tables["named"] = evaluation.named(results.named, seeds)
    if name:
        return tables
    proof = folder.read_certificate()
    if proof is not None:
        tables["certificate"] = certificate.members(proof)
    return tables | {
        f"probes/{probe}": comparison.probe(table) for probe, table in probes.read(folder).items()
    }


def of_comparison(path: Path, name: str = "") -> dict[str, Table]:
    """Return all tables of a comparison, by their names; `name` is as in `of_run`."""
    results = read_comparison(path)
    runs = {row.name: path / row.run for row in results.rows}
    begun = {entry: Folder(run) for entry, run in runs.items() if (run / "run.json").exists()}
    by_entry = {entry: statistics_of(folder, name) for entry, folder in begun.items()}
    whole = {} if name else {"comparison": comparison.comparison(results)}
    return whole | statistics_tables(by_entry)


def statistics_of(folder: Folder, name: str = "") -> list[SliceStatistics]:
    """Return the statistics of a run's seeds, row by row; empty without an evaluation."""
    results, seeds = folder.read_evaluation(name), folder.read_info().seeds
    return [of_slice(row, seeds) for row in (results.lengths if results else ())]


def statistics_tables(by_entry: Mapping[str, Sequence[SliceStatistics]]) -> dict[str, Table]:
    """Return the tables over seeds and of every seed, unless there is nothing in them."""
    if not any(by_entry.values()):
        return {}
    return {"statistics": statistics.over_seeds(by_entry), "seeds": statistics.of_seeds(by_entry)}
