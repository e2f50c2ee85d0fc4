"""Writing files: the new content or the old one, never half of either."""

import os
from pathlib import Path

import pytest

from curta.config import files
from curta.config.errors import Notice, UserError
from curta.model import recipes
from curta.programs.user import userfiles


def test_a_byte_order_mark_is_no_part_of_a_users_file(tmp_path: Path) -> None:
    recipe, program, table = (tmp_path / name for name in ("a.toml", "digit_sum.py", "a.json"))
    recipe.write_text("summary = 'mine'\nprogram = 'addition'", "utf-8-sig")
    program.write_text((EXAMPLES / program.name).read_text("utf-8"), "utf-8-sig")
    table.write_text("{}", "utf-8-sig")
    assert recipes.load(str(recipe)).summary == "mine"
    assert userfiles.load(program).programs[0].name
    assert files.read_json(table, "costs") == {}


EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def test_a_crash_before_the_rename_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    files.write(path, b"first")
    files.write(path, "old")

    def crash(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(KeyboardInterrupt):
        files.write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_lines_are_appended_and_a_path_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "file"
    files.append(path, "one\n")
    files.append(path, "two\n")
    assert path.read_text() == "one\ntwo\n"
    with pytest.raises(UserError, match=r"cannot write .*in/the/way.*: Not a directory") as caught:
        files.write(path / "in/the/way", "x")
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="cannot write"):
        files.append(tmp_path / "none" / "lines", "x")


def test_a_new_folder_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "inner" / "new"
    with files.new_folder(path) as folder:
        (folder / "file").write_text("x")
        assert not path.exists()
    assert (path / "file").read_text() == "x"
    with pytest.raises(KeyboardInterrupt), files.new_folder(tmp_path / "other") as folder:
        raise KeyboardInterrupt
    with pytest.raises(UserError, match="exists already"), files.new_folder(path):
        raise AssertionError
    assert [each.name for each in tmp_path.iterdir()] == ["inner"]
    assert [each.name for each in path.parent.iterdir()] == ["new"]


@pytest.mark.parametrize("make", ["link", "pipe", "device", "folder", "large"])
def test_only_regular_files_of_a_size_are_read(tmp_path: Path, make: str) -> None:
    path, target = tmp_path / "file", tmp_path / "target"
    target.write_text("secret")
    made = {
        "link": lambda: path.symlink_to(target),
        "pipe": lambda: os.mkfifo(path),
        "device": lambda: path.symlink_to("/dev/zero"),
        "folder": path.mkdir,
        "large": lambda: path.write_bytes(b"x" * 101),
    }
    made[make]()
    with pytest.raises(OSError, match=r"link|regular|larger"):
        files.read_bytes(path, 100)
    with pytest.raises(UserError, match=r"run 'mine' is damaged: file: it is ") as caught:
        files.read_own(path, "run 'mine'", 100)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"3", b"\xff", b"[" * 100_000])
def test_what_is_no_table_is_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "run.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"^run 'mine' is damaged: run\.json .{,40}$"):
        files.read_json(path, "run 'mine'")


def test_a_sweep_takes_old_folders_and_files_and_leaves_what_has_an_owner(tmp_path: Path) -> None:
    left, old = tmp_path / ".left.abc.part", tmp_path / "run" / ".file.abc.part"
    mine = tmp_path / "one" / ".run.json.abc.part"
    left.mkdir()
    os.utime(left, (0, 0))
    for path in (old, mine, mine.with_name(".lock")):
        path.parent.mkdir(exist_ok=True)
        path.write_text("x")
    with files.new_folder(tmp_path / "two") as folder:
        (folder / ".run.json.abc.part").write_text("x")
        files.sweep(tmp_path, ".lock")
        assert (folder / ".run.json.abc.part").exists()
    assert not left.exists()
    assert not old.exists()
    assert mine.exists()


# The cache: entries are whole or computed again, and no trouble with it stops the work.


@pytest.fixture
def entry(tmp_path: Path) -> Path:
    files._notify_once.cache_clear()
    path = tmp_path / "cache" / "entry"
    files.keep_entry(path, b"two\nlines\n")
    return path


@pytest.mark.parametrize("kind", ["empty", "torn", "bit"])
def test_an_entry_is_whole_or_computed_again(entry: Path, kind: str) -> None:
    content = entry.read_bytes()
    assert files.read_entry(entry) == b"two\nlines\n"
    flipped = content[:-1] + bytes([content[-1] ^ 1])
    entry.write_bytes({"empty": b"", "torn": content[:-3], "bit": flipped}[kind])
    with pytest.warns(Notice, match="a damaged entry of the cache '.*cache' is computed again"):
        assert files.read_entry(entry) is None
    files.keep_entry(entry, b"again")
    assert files.read_entry(entry) == b"again"
    assert os.listdir(entry.parent) == ["entry"]  # noqa: PTH208


def test_a_file_in_place_of_the_folder_is_one_line(entry: Path) -> None:
    with pytest.warns(Notice, match="cannot write to the cache"):
        files.keep_entry(entry / "inside", b"content")
    files.keep_entry(entry / "inside", b"content")  # a second notice would be an error
    assert files.read_entry(entry / "inside") is None
