"""Files of a data set: Parquet, JSON lines, bare text. A new one is a class and a line here."""

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, BinaryIO

from curta.config.errors import unknown
from curta.config.registry import optional_module


class Format(ABC):
    """One file that tables are written to, one after the other."""

    suffix: str
    summary: str

    def __init__(self, path: Path, schema: Any) -> None:
        self.file = self.open(path, schema)

    @abstractmethod
    def open(self, path: Path, schema: Any) -> Any:
        """What the tables are written to; it has a `close`."""

    @abstractmethod
    def write(self, table: Any) -> None:
        """Appends a table's rows."""

    def close(self) -> None:
        self.file.close()


class Parquet(Format):
    suffix = "parquet"
    summary = "Parquet, compressed with zstd"

    def open(self, path: Path, schema: Any) -> Any:
        parquet = optional_module("pyarrow.parquet", "data")
        return parquet.ParquetWriter(
            path, schema, compression="zstd", use_dictionary=["operator"], write_statistics=False
        )

    def write(self, table: Any) -> None:
        self.file.write_table(table)


class Lines(Format):
    """Bytes to a file, formed from whole columns."""

    file: BinaryIO

    def open(self, path: Path, schema: Any) -> Any:
        return path.open("wb")

    def write(self, table: Any) -> None:
        compute = optional_module("pyarrow.compute", "data")
        lines = compute.binary_join_element_wise(*self.parts(table), "\n", "")
        for chunk in lines.chunks:
            self.file.write(chunk.buffers()[2])

    @abstractmethod
    def parts(self, table: Any) -> list[Any]:
        """Columns and constants that stand one after the other in each line."""


class JsonLines(Lines):
    suffix = "jsonl"
    summary = "JSON lines, one problem each"

    def parts(self, table: Any) -> list[Any]:
        found: list[Any] = []
        for name in table.schema.names:
            found += [f'{", " if found else "{"}"{name}": ', *_json(table[name])]
        return [*found, "}"]


class Text(Lines):
    suffix = "txt"
    summary = "text, one written problem a line: the prompt and its completion"

    def parts(self, table: Any) -> list[Any]:
        return [table["prompt"], table["completion"]]


FORMATS: dict[str, type[Format]] = {"parquet": Parquet, "jsonl": JsonLines, "text": Text}


def format_named(name: str) -> type[Format]:
    """The format of that name; a UserError with the nearest one otherwise."""
    if name not in FORMATS:
        raise unknown("format", name, FORMATS)
    return FORMATS[name]


def _json(column: Any) -> list[Any]:
    """A column as JSON; line by line where a text has a character that JSON escapes."""
    arrow, compute = optional_module("pyarrow", "data"), optional_module("pyarrow.compute", "data")
    if _escaped(column):
        lines = [json.dumps(one, ensure_ascii=False) for one in column.to_pylist()]
        return [arrow.chunked_array([lines], arrow.string())]
    if not arrow.types.is_list(column.type):
        quote = '"' if arrow.types.is_string(column.type) else ""
        return [quote, column.cast(arrow.string()), quote]
    quote = '"' if arrow.types.is_string(column.type.value_type) else ""
    texts = column.cast(arrow.list_(arrow.string()))
    return [f"[{quote}", compute.binary_join(texts, f"{quote}, {quote}"), f"{quote}]"]


def _escaped(column: Any) -> bool:
    """Whether a text in it has a character that JSON escapes, as a program's signs may be."""
    arrow, compute = optional_module("pyarrow", "data"), optional_module("pyarrow.compute", "data")
    texts = compute.list_flatten(column) if arrow.types.is_list(column.type) else column
    if not arrow.types.is_string(texts.type):
        return False
    return bool(compute.any(compute.match_substring_regex(texts, r'["\\\x00-\x1f]')).as_py())
