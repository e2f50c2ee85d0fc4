"""Every table on a page comes from a file of results, and every result says where it is from."""

import re

import pytest

from docs import tables
from docs.evidence import RESULTS, ROOT, Json, Results

FILES = sorted(path.stem for path in RESULTS.folder.glob("*.json"))
PAGES = sorted(str(path.relative_to(ROOT)) for path in tables.pages(ROOT))
HEADER = {"command", "commit", "changed", "date", "machine", "versions", "seeds", "seconds"}


class Recording(Results):
    """Results that know which of their files were read."""

    files: frozenset[str] = frozenset()

    def records(self, file: str) -> Json:
        self.files |= {file}
        return super().records(file)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return tables.tables(RESULTS)


@pytest.mark.parametrize("page", PAGES)
def test_tables_are_those_of_the_results(page: str, made: dict[str, str]) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert text == tables.filled(text, made), "make tables"
    count = len(list(tables.names(text)))
    assert text.count("<!-- table: ") == text.count("<!-- /table -->") == count


def test_every_table_and_every_file_is_shown(made: dict[str, str]) -> None:
    shown = {name for page in PAGES for name in tables.names((ROOT / page).read_text("utf-8"))}
    assert shown == set(made)
    recording = Recording(RESULTS.folder)
    tables.tables(recording)
    assert recording.files == set(FILES)


@pytest.mark.parametrize("file", FILES)
def test_every_result_says_where_it_is_from(file: str) -> None:
    for name, record in RESULTS.records(file).items():
        header = record["header"]
        if "reported" in header:
            assert set(header) == {"reported", "origin"}, name
            continue
        assert set(header) - {"reconstructed", "superseded"} == HEADER, name
        assert re.fullmatch("[0-9a-f]{40}", header["commit"]), name
        assert ("reconstructed" in header) == (record["settings"] is None), name


def test_a_changed_digit_and_an_unknown_table_are_noticed(made: dict[str, str]) -> None:
    text = (ROOT / "docs" / "results.md").read_text("utf-8")
    table = list(tables.MARKED.finditer(text))[-1]
    place = max(m.start() for m in re.finditer(r"\d", table[3])) + table.start(3)
    digit = str((int(text[place]) + 1) % 10)
    assert tables.filled(text[:place] + digit + text[place + 1 :], made) == text
    with pytest.raises(ValueError, match="'programms'"):
        tables.filled("<!-- table: programms -->\n<!-- /table -->\n", made)
