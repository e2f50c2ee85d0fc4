"""Links between the pages lead somewhere; the glossary is in order."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "RESULTS.md", *(ROOT / "docs").glob("*.md")]
LINK = re.compile(r"\]\((?!https?:)([^)\s]*)\)")


def prose(path: Path) -> str:
    """A page without its code."""
    return re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The headings of a page, as they are linked to."""
    heads = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_linked_from_the_first() -> None:
    linked = {link.partition("#")[0] for link in LINK.findall(prose(ROOT / "README.md"))}
    assert {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")} <= linked


def test_words_of_the_glossary_are_in_order_and_explained_elsewhere() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    entries = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    words = [re.match(r"\*\*(.+?)\*\*: ", entry) for entry in entries]
    names = [word[1].casefold() for word in words if word]
    assert len(names) == len(entries) > 70
    assert names == sorted(names)
    assert [entry for entry in entries if not LINK.search(entry)] == []
