"""Links between the pages lead somewhere; the glossary is in order."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "benchmarks" / "RESULTS.md",
    *(ROOT / "docs").glob("*.md"),
]  # fmt: skip
LINK = re.compile(r"\]\((?!https?:)([^)\s]*)\)")


def prose(path: Path) -> str:
    """A page without its code."""
    return re.sub(r"```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)


def anchors(path: Path) -> set[str]:
    """The headings of a page, as they are linked to."""
    heads = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(prose(page)):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_every_page_is_in_one_section_of_the_contents() -> None:
    text = (ROOT / "docs" / "README.md").read_text("utf-8")
    linked = re.findall(r"^- \[.*?\]\((.*?)\)", text, re.MULTILINE)
    assert len(linked) == len(set(linked))
    names = {path.name for path in (ROOT / "docs").iterdir() if path.suffix in (".md", ".rst")}
    assert {link for link in linked if "/" not in link} == names - {"README.md"}
    assert len(re.findall(r"^## ", text, re.MULTILINE)) == 9


def test_every_section_of_the_contents_is_linked_from_the_readme() -> None:
    links = LINK.findall(prose(ROOT / "README.md"))
    sections = {link.partition("#")[2] for link in links if link.startswith("docs/README.md#")}
    assert sections == anchors(ROOT / "docs" / "README.md") - {"documentation"}


def test_words_of_the_glossary_are_in_order_and_explained_elsewhere() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    entries = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
    words = [re.match(r"\*\*\[(.+?)\]\(.+?\)\*\*: ", entry) for entry in entries]
    names = [word[1].casefold() for word in words if word]
    assert len(names) == len(entries) > 50
    assert names == sorted(names)
