"""The documentation site, as `make docs` builds it in an environment of its own."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import curta
from curta.frontends.cli import COMMANDS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    places = (f"VENV={folder / 'venv'}", f"SITE={folder / 'site'}")
    subprocess.run(["make", "docs", *places], cwd=ROOT, check=True)
    return folder / "site"


def test_every_section_is_in_the_sidebar(site: Path) -> None:
    contents = (ROOT / "docs" / "README.md").read_text("utf-8")
    page = (site / "docs" / "methods.html").read_text("utf-8")
    captions = re.findall(r'class="caption-text">(.*?)<', page)
    assert captions == re.findall(r"^## (.*)$", contents, re.MULTILINE)


def test_its_links_lead_to_pages_and_headings(site: Path) -> None:
    """In the pages themselves; the sidebar has the same ones everywhere."""
    for page in [*site.glob("*.html"), *(site / "docs").glob("*.html")]:
        for link in re.findall(r'href="([^"]*)"', page.read_text("utf-8")):
            if "://" in link or link.startswith("mailto:"):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name.partition("?")[0]).resolve() if name else page
            assert target.is_file(), f"{page.name}: {link}"
            if anchor and target.suffix == ".html":
                assert f'id="{anchor}"' in target.read_text("utf-8"), f"{page.name}: {link}"


def test_every_command_and_public_name_is_in_the_reference(site: Path) -> None:
    commands = (site / "docs" / "command-line.html").read_text("utf-8")
    assert all(f'id="curta-{name}"' in commands for name in COMMANDS)
    names = curta.__all__
    python = (site / "docs" / "python.html").read_text("utf-8")
    assert [name for name in names if f'id="curta.{name}"' not in python] == []
    assert "Alias for field number" not in python  # every field says what it is


def test_it_can_be_searched_and_has_the_schema(site: Path) -> None:
    assert "certificate" in (site / "searchindex.js").read_text("utf-8")
    assert json.loads((site / "recipe.schema.json").read_text("utf-8"))["properties"]["task"]
