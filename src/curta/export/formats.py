"""Files of a data set: Parquet, JSON lines, plain text."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from curta.config.errors import optional_module, unknown

DataRow = dict[str, Any]
"""The columns of a problem."""


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
def row_writer(form: FileFormat, path: Path) -> Iterator[Callable[[Sequence[DataRow]], Any]]:
    """Open a new file; yield a function that appends rows, all with values of the same types.

    Raises UserError if pyarrow is needed and missing.
    """
    if line := form.line:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            yield lambda rows: file.writelines(map(line, rows))
        return
    arrow, parquet = optional_module("pyarrow", "data"), optional_module("pyarrow.parquet", "data")
    options = {"compression": "zstd", "use_dictionary": ["operator"], "write_statistics": False}
    with ExitStack() as stack:
        writers: list[Any] = []  # opened with the types of the first rows

        def append(rows: Sequence[DataRow]) -> None:
            table = arrow.Table.from_pylist(rows, schema=writers[0].schema if writers else None)
            if not writers:
                writer = parquet.ParquetWriter(path, table.schema, **options)
                writers.append(stack.enter_context(writer))
            writers[0].write_table(table)

        yield append
