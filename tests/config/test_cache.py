"""The cache: entries are whole or computed again, and no trouble with it stops the work."""

import os
from pathlib import Path

import pytest

from curta.config import cache
from curta.config.errors import Notice


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    cache._notify_once.cache_clear()
    path = tmp_path / "cache" / "entry"
    cache.keep(path, b"two\nlines\n")
    return path


@pytest.mark.parametrize("kind", ["empty", "torn", "bit"])
def test_an_entry_is_whole_or_computed_again(entry: Path, kind: str) -> None:
    content = entry.read_bytes()
    assert cache.read(entry) == b"two\nlines\n"
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    entry.write_bytes({"empty": b"", "torn": content[:-3], "bit": flipped}[kind])
    with pytest.warns(Notice, match="a damaged entry of the cache '.*cache' is computed again"):
        assert cache.read(entry) is None
    cache.keep(entry, b"again")
    assert cache.read(entry) == b"again"
    assert os.listdir(entry.parent) == ["entry"]  # noqa: PTH208


def test_a_file_in_place_of_the_folder_is_one_line(entry: Path) -> None:
    with pytest.warns(Notice, match="cannot write to the cache"):
        cache.keep(entry / "inside", b"content")
    cache.keep(entry / "inside", b"content")  # a second notice would be an error
    assert cache.read(entry / "inside") is None
