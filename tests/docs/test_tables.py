"""Every figure in a table comes from a file of results, and every result says where it is from."""

import json
import random
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import STUDIES, tables
from docs.evidence import RESULTS, ROOT, Json, Results

FILES = sorted(path.stem for path in RESULTS.folder.glob("*.json"))
PAGES = sorted(str(path.relative_to(ROOT)) for path in tables.pages(ROOT))

CALCULATED = {
    ("docs/adderboard.md", "What the model is"): "parameters of each part, counted by hand",
    ("docs/cookbook.md", "How do I get ten seeds with an interval?"): "a formula, beside it",
    ("docs/methods.md", "Squared paper"): "a sum as it lies on the paper",
    ("docs/methods.md", "The machine"): "squares of a sum",
}
"""Tables of numbers of which none was measured, by page and heading."""

DIARY = "docs/log.md"
"""Its figures are those of their day."""

HEADER = {"command", "commit", "changed", "date", "machine", "versions", "seeds", "seconds"}


class Recording(Results):
    """Results that know which of their files were read."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.files: set[str] = set()

    def records(self, file: str) -> Json:
        self.files.add(file)
        return super().records(file)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return tables.tables(RESULTS)


def differing(root: Path, results: Results) -> list[str]:
    """The pages of a folder of which a table is not as it is made."""
    made = tables.tables(results)
    read = {page: page.read_text("utf-8") for page in tables.pages(root)}
    found = [page for page, text in read.items() if tables.filled(text, made) != text]
    return [str(page.relative_to(root)) for page in found]


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_those_of_the_results(page: str, made: dict[str, str]) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert text == tables.filled(text, made), "make tables"


@pytest.mark.parametrize("page", PAGES)
def test_every_mark_begins_a_table_and_ends(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    count = len(list(tables.names(text)))
    assert text.count("<!-- table: ") == text.count("<!-- /table -->") == count


def test_every_table_is_on_a_page(made: dict[str, str]) -> None:
    shown = {name for page in PAGES for name in tables.names((ROOT / page).read_text("utf-8"))}
    assert shown == set(made)


def test_every_file_is_shown() -> None:
    recording = Recording(RESULTS.folder)
    tables.tables(recording, [name for name in tables.SHOWN if name != "provenance"])
    assert recording.files == set(FILES)


@pytest.mark.parametrize("file", FILES)
def test_every_result_says_where_it_is_from(file: str) -> None:
    for name, record in RESULTS.records(file).items():
        header = record["header"]
        if "reported" in header:
            assert set(header) == {"reported", "origin"}, name
            continue
        assert set(header) - {"reconstructed"} == HEADER, name
        assert re.fullmatch("[0-9a-f]{40}", header["commit"]), name
        assert ("reconstructed" in header) == (record["settings"] is None), name


def test_every_study_is_a_module_that_makes_a_table() -> None:
    assert set(STUDIES) <= set(tables.SHOWN)
    named = (ROOT / "Makefile").read_text("utf-8").partition("VENV")[0]
    assert [study for study in STUDIES if not re.search(rf"\b{study}\b", named)] == []


@pytest.fixture
def copy(tmp_path: Path, made: dict[str, str]) -> Path:
    """The pages, with tables as they should be, and the results: to be tampered with."""
    for page in PAGES:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        text = tables.filled((ROOT / page).read_text("utf-8"), made)
        (tmp_path / page).write_text(text, "utf-8")
    shutil.copytree(RESULTS.folder, tmp_path / "docs" / "results")
    return tmp_path


def other(digit: str) -> str:
    return str((int(digit) + 1) % 10)


def test_what_was_not_tampered_with_is_in_order(copy: Path) -> None:
    assert differing(copy, Results(copy / "docs" / "results")) == []


@pytest.mark.parametrize(
    "page", ["docs/methods.md", "docs/reliability.md", "benchmarks/RESULTS.md"]
)
def test_one_digit_of_a_page_is_noticed(copy: Path, page: str) -> None:
    text = (copy / page).read_text("utf-8")
    found = list(tables.MARKED.finditer(text))[-1]
    place = max(m.start() for m in re.finditer(r"\d", found[3])) + found.start(3)
    (copy / page).write_text(text[:place] + other(text[place]) + text[place + 1 :], "utf-8")
    assert differing(copy, Results(copy / "docs" / "results")) == [page]


@pytest.mark.parametrize("file", FILES)
def test_one_digit_of_a_file_is_noticed(copy: Path, file: str) -> None:
    path = copy / "docs" / "results" / f"{file}.json"
    text = path.read_text("utf-8")
    place = random.Random(file).choice([m.start() for m in re.finditer(r"(?<=\d)\d", text)])
    path.write_text(text[:place] + other(text[place]) + text[place + 1 :], "utf-8")
    assert "docs/results.md" in differing(copy, Results(path.parent))


def test_a_figure_that_is_shown_twice_is_noticed_twice(copy: Path) -> None:
    path = copy / "docs" / "results" / "programs.json"
    found = json.loads(path.read_text("utf-8"))
    found["addition"]["numbers"]["certificate"]["windows"] += 1
    path.write_text(json.dumps(found), "utf-8")
    pages = ["docs/methods.md", "docs/results.md"]
    assert differing(copy, Results(path.parent)) == pages


def test_a_name_that_nothing_makes_is_noticed(made: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="'programms'"):
        tables.filled("<!-- table: programms -->\n<!-- /table -->\n", made)


def test_two_modules_cannot_make_one_table() -> None:
    with pytest.raises(ValueError, match="'faults'"):
        tables.tables(RESULTS, ["faults", "faults"])


def typed(text: str) -> Iterator[str]:
    """The headings above tables that stand between no marks and hold mostly numbers."""
    text = re.sub(r"```.*?```", "", tables.MARKED.sub("", text), flags=re.DOTALL)
    for part in re.split(r"^#+ ", text, flags=re.MULTILINE):
        heading = part.partition("\n")[0]
        for table in re.findall(r"(?:^\|.*\n)+", part + "\n", re.MULTILINE):
            if mostly_numbers(table):
                yield heading


def mostly_numbers(table: str) -> bool:
    """Of its cells, without those of the first row and of the first column."""
    rows = [re.split(r"(?<!\\)\|", line)[2:-1] for line in table.splitlines()[2:]]
    cells = [cell.strip() for row in rows for cell in row if cell.strip()]
    return 2 * sum(map(is_number, cells)) >= len(cells) > 0


def is_number(cell: str) -> bool:
    """Whether it has as many digits as letters; code is neither."""
    plain = re.sub("`[^`]*`", "", cell)
    digits = sum(map(str.isdigit, plain))
    return digits > 0 and digits >= sum(map(str.isalpha, plain))


def test_no_table_of_figures_is_typed() -> None:
    pages = [page for page in PAGES if page != DIARY]
    found = {(page, one) for page in pages for one in typed((ROOT / page).read_text("utf-8"))}
    assert found - set(CALCULATED) == set(), "make it in a module of docs"
    assert set(CALCULATED) - found == set(), "no exceptions any more"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("| a | b |\n|---|---|\n| x | 0.93 (0.91 to 0.95) |\n", True),
        ("| a | b |\n|---|---|\n| x | 0 of 12 |\n", True),
        ("| a | b |\n|---|---|\n| 1 | two of the three |\n", False),
        ("| a | b |\n|---|---|\n| `1+1` | `21+93=15$` |\n", False),
        ("| a | b |\n|---|---|\n| x | |\n", False),
    ],
)
def test_tables_of_numbers_are_told_from_others(table: str, expected: bool) -> None:
    assert mostly_numbers(table) == expected
    assert list(typed(f"# page\n\n## part\n\n{table}")) == ["part"] * expected
