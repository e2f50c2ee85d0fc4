"""The cache: entries are whole or made anew, and no trouble with it stops the work."""

import multiprocessing
import os
import resource
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from curta.config import cache
from curta.config.errors import Notice


@pytest.fixture(autouse=True)
def _no_notice_yet() -> None:
    cache._notify_once.cache_clear()


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    path = tmp_path / "cache" / "entry"
    cache.keep(path, b"content")
    return path


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may become larger than 10 bytes: what a full disk does to a write."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def damage(path: Path, kind: str) -> None:
    content = path.read_bytes()
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to("/etc/hostname")
    elif kind == "folder":
        path.mkdir()
    else:
        flipped = content[:-1] + bytes([content[-1] ^ 1])
        altered = {"empty": b"", "torn": content[:-3], "other": os.urandom(99), "bit": flipped}
        path.write_bytes(altered[kind])


def test_what_is_kept_is_read(entry: Path) -> None:
    assert cache.read(entry) == b"content"
    cache.keep(entry, b"")
    assert cache.read(entry) == b""
    cache.keep(entry, b"two\nlines\n")
    assert cache.read(entry) == b"two\nlines\n"
    assert [path.name for path in entry.parent.iterdir()] == ["entry"]


def test_what_is_not_there_is_nothing_to_say(entry: Path) -> None:
    assert cache.read(entry.parent / "other") is None
    assert cache.read(entry / "inside") is None


@pytest.mark.parametrize("kind", ["empty", "torn", "other", "bit", "pipe", "link"])
def test_a_damaged_entry_is_removed_and_can_be_kept_anew(entry: Path, kind: str) -> None:
    damage(entry, kind)
    with pytest.warns(Notice, match="a damaged entry of the cache '.*cache' is computed again"):
        assert cache.read(entry) is None
    assert not os.path.lexists(entry)
    cache.keep(entry, b"anew")
    assert cache.read(entry) == b"anew"


def test_a_folder_in_place_of_an_entry_is_left_alone(entry: Path) -> None:
    damage(entry, "folder")
    with pytest.warns(Notice, match="damaged"):
        assert cache.read(entry) is None
    with pytest.warns(Notice, match="cannot write to the cache .*; going on without it"):
        cache.keep(entry, b"anew")
    assert entry.is_dir()


def test_many_damaged_entries_are_one_line(entry: Path) -> None:
    others = [entry.with_name(str(number)) for number in range(66)]
    for other in others:
        other.write_bytes(b"damaged")
    with pytest.warns(Notice) as said:
        assert [cache.read(other) for other in others] == [None] * 66
    assert len(said) == 1


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path: Path) -> None:
    place = tmp_path / "cache"
    place.write_text("mine")
    assert cache.read(place / "entry") is None
    with pytest.warns(Notice, match="cannot write to the cache") as said:
        _keeps(place / "entry", 1)
    assert len(said) == 1
    assert place.read_text() == "mine"


@pytest.mark.usefixtures("small_files")
def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.warns(Notice, match="File too large; going on without it"):
        cache.keep(tmp_path / "cache" / "entry", b"content")
    assert list((tmp_path / "cache").iterdir()) == []


def _keeps(path: Path, number: int) -> None:
    for _ in range(200):
        cache.keep(path, bytes([number]) * 100_000)


def test_processes_share_an_entry(tmp_path: Path) -> None:
    """Readers meet it whole, whoever writes it meanwhile."""
    path = tmp_path / "entry"
    cache.keep(path, b"0" * 100_000)
    context = multiprocessing.get_context("forkserver")
    writers = [context.Process(target=_keeps, args=(path, number)) for number in (1, 2)]
    for writer in writers:
        writer.start()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        while any(writer.is_alive() for writer in writers):
            content = cache.read(path)
            assert content is not None
            assert len(content) == 100_000
            assert len(set(content)) == 1
    assert [writer.exitcode for writer in writers] == [0, 0]
