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


def test_an_entry_is_read_as_it_was_written(entry: Path) -> None:
    assert cache.read(entry) == b"two\nlines\n"
    cache.keep(entry, b"")
    assert cache.read(entry) == b""
    assert [path.name for path in entry.parent.iterdir()] == ["entry"]
    assert cache.read(entry.parent / "other") is None


@pytest.mark.parametrize("kind", ["empty", "torn", "bit", "pipe"])
def test_a_damaged_entry_is_removed_and_can_be_written_again(entry: Path, kind: str) -> None:
    content = entry.read_bytes()
    entry.unlink()
    if kind == "pipe":
        os.mkfifo(entry)
    else:
        flipped = content[:-1] + bytes([content[-1] ^ 1])
        entry.write_bytes({"empty": b"", "torn": content[:-3], "bit": flipped}[kind])
    with pytest.warns(Notice, match="a damaged entry of the cache '.*cache' is computed again"):
        assert cache.read(entry) is None
    assert not os.path.lexists(entry)
    cache.keep(entry, b"again")
    assert cache.read(entry) == b"again"


def test_a_file_in_place_of_the_folder_is_one_line(entry: Path) -> None:
    with pytest.warns(Notice, match="cannot write to the cache"):
        cache.keep(entry / "inside", b"content")
    cache.keep(entry / "inside", b"content")  # a second notice would be an error
    assert cache.read(entry / "inside") is None
