"""The content of benchmarks/RESULTS.md, of what `make bench` has measured."""

import json
from collections.abc import Iterable, Iterator

from benchmarks.spread import Table
from curta.config import typed
from docs.evidence import Json, Results


def tables(results: Results) -> dict[str, Iterable[str]]:
    """All tables with their titles and texts, below where they were measured."""
    return {"benchmarks": _lines(results.records("benchmarks")["all"])}


def _lines(record: Json) -> Iterator[str]:
    yield from _measured(record["header"])
    for table in record["numbers"]:
        text = str(typed.parse(Table, json.dumps(table), "docs", "benchmarks.json"))
        yield from ("", *text.splitlines())


def _measured(header: Json) -> Iterator[str]:
    where, versions = header["machine"], header["versions"]
    yield f"- date: {header['date'].partition('T')[0]}"
    yield f"- machine: {where['cpu']}, {where['cores']} cores, {where['memory']}, {where['system']}"
    yield f"- versions: {', '.join(f'{name} {version}' for name, version in versions.items())}"
    yield f"- commit: {header['commit']}"
