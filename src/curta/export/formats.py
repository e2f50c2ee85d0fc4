"""Files of a data set: Parquet, JSON lines, plain text."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from curta.config.errors import unknown
from curta.config.registry import optional_module

DataRow = dict[str, Any]
"""A problem as it is written, by column."""


class FileFormat(NamedTuple):
    suffix: str
    summary: str
    line: Callable[[DataRow], str] | None = None
    """Return a row as a line of text; None for Parquet."""


FORMATS = {
    "parquet": FileFormat("parquet", "Parquet, compressed with zstd"),
    "jsonl": FileFormat(
        "jsonl",
        "JSON lines, one problem each",
        lambda row: json.dumps(row, ensure_ascii=False) + "\n",
    ),
    "text": FileFormat(
        "txt",
        "text, one written problem a line: the prompt and its completion",
        lambda row: f"{row['prompt']}{row['completion']}\n",
    ),
}


def format_named(name: str) -> FileFormat:
    """Return the format of that name; UserError with the nearest name otherwise."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name]


@contextmanager
def row_writer(
    form: FileFormat, path: Path, columns: Mapping[str, str]
) -> Iterator[Callable[[Sequence[DataRow]], Any]]:
    """Open a new file; yield a function that appends rows to it.

    `columns` maps names to types: "string", "int64", or "list " and such a type. Raises UserError
    if pyarrow is needed and missing.
    """
    if line := form.line:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield lambda rows: file.writelines(map(line, rows))
        return
    arrow, parquet = optional_module("pyarrow", "data"), optional_module("pyarrow.parquet", "data")

    def typed(kind: str) -> Any:
        return arrow.list_(typed(kind[5:])) if kind.startswith("list ") else getattr(arrow, kind)()

    schema = arrow.schema([(name, typed(kind)) for name, kind in columns.items()])
    options = {"compression": "zstd", "use_dictionary": ["operator"], "write_statistics": False}
    with parquet.ParquetWriter(path, schema, **options) as file:
        yield lambda rows: file.write_table(arrow.Table.from_pylist(list(rows), schema=schema))
