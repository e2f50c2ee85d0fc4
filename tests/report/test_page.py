"""The page of a report: complete, self-contained, safe, and written whole or not at all.

All templates escape what they are given, and know all names that they use.
"""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from curta.config.errors import UserError
from curta.problems.arithmetic import ARITHMETIC
from curta.problems.operations import OPERATIONS
from curta.report.figures import DESCRIPTIONS
from curta.report.page import write_report
from curta.report.rendering import environment, render

from . import sample
from .parsed import Page, page_without_figures, report, saved_page, visible

NAMES = ("learning", "learning-linear", "lengths", "grid")
PICTURES = {f"{name}.svg" for name in NAMES}


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A finished run of three members, of which one stopped."""
    folder = tmp_path_factory.mktemp("finished") / "both"
    return report(sample.write_run(folder, stopped={"1": 95}))


def test_report_and_pictures_are_written(tmp_path: Path) -> None:
    before = files(sample.write_run(tmp_path))
    path = write_report(tmp_path)
    assert path == tmp_path / "report.html"
    assert files(tmp_path) - before == PICTURES | {"report.html"}
    for name in NAMES:
        root = ElementTree.parse(tmp_path / f"{name}.svg").getroot()
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert f'aria-label="{DESCRIPTIONS[name]}"' in path.read_text("utf-8")


def test_page_refers_to_nothing_outside_itself(page: Page) -> None:
    pointing = ("src", "href", "xlink:href", "action", "srcset", "data", "poster")
    values = [attrs[name] for _, attrs in page.elements for name in pointing if name in attrs]
    assert all(str(value).startswith(("#", "data:image/png;base64,")) for value in values)
    assert not re.search(r"@import|url\((?!#)", page.source)
    assert not {"link", "iframe", "object", "base"} & {tag for tag, _ in page.elements}
    assert not any("src" in attrs for attrs in page.all("script"))


def test_policy_allows_only_what_is_in_the_page(page: Page) -> None:
    (policy,) = [m for m in page.all("meta") if m.get("http-equiv") == "Content-Security-Policy"]
    (style,) = re.findall(r"<style>(.*?)</style>", page.source, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in str(policy["content"])
    scripts = re.findall(r'<script type="module">(.*?)</script>', page.source, re.DOTALL)
    hashes = [hashlib.sha256(script.encode()).digest() for script in scripts]
    allowed = " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes)
    assert f"script-src {allowed};" in str(policy["content"])
    assert "default-src 'none'" in str(policy["content"])
    assert "unsafe" not in str(policy["content"])
    assert not [tag for tag, attrs in page.elements if "style" in attrs]


def test_ids_are_unique_and_references_lead_to_them(page: Page) -> None:
    ids = [attrs["id"] for _, attrs in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = set(re.findall(r'(?:href="|url\()#([^")]+)', page.source))
    assert targets
    assert targets <= set(ids)


def test_figures_and_tables_can_be_understood_unseen(page: Page) -> None:
    plots = [attrs for attrs in page.all("svg") if attrs["role"] == "img"]
    assert [attrs["aria-label"] for attrs in plots] == [
        DESCRIPTIONS[name] for name in ("lengths", "grid", "learning", "learning-linear")
    ]
    assert len(page.all("caption")) == len(page.all("table")) > 0
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("h1")) == len(page.all("main")) == 1


def test_every_slice_of_every_operation_is_described(page: Page) -> None:
    operations = [*OPERATIONS.values(), *ARITHMETIC.values()]
    names = {name for operation in operations for name in operation.cases}
    slices = environment().get_template("slices.html").module.SLICES
    assert set(slices) == {"random", "special", "held out", *names}
    assert "carry: carries that run far" in visible(page)
    assert slices["one"] not in visible(page)


EVIL = '"><img src=x onerror=alert(1)><script>alert(1)</script>$style${'


def test_whatever_a_file_says_is_shown_as_text(tmp_path: Path) -> None:
    fields = ("name", "recipe", "failure", "device", "structure")
    changes: dict[str, Any] = dict.fromkeys(fields, EVIL)
    sample.write_run(tmp_path, **changes, versions={EVIL: EVIL}, operators=[EVIL])
    (tmp_path / "recipe.toml").write_text(EVIL, encoding="utf-8")
    data = sample.evaluation(3, 12)
    data["lengths"][0] |= {"slice": EVIL, "operator": EVIL, "size": EVIL}
    data["grids"][0]["operator"] = EVIL
    data["examples"] = [{"problem": EVIL, "truth": EVIL, "answer": EVIL[:30]}]
    data["examples"][0] |= {"text": EVIL, "member": 0, "first_error": None}
    sample.write_json(tmp_path / "evaluation.json", data)
    page = page_without_figures(tmp_path)
    assert not page.all("img")
    assert {script["type"] for script in page.all("script")} == {"module", "application/json"}
    assert not any(name.startswith("on") for _, attrs in page.elements for name in attrs)
    assert EVIL in "".join(page.text)


def test_a_copied_run_is_called_as_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its page finds the weights by that name, `curta train --resume` the run by its address."""
    monkeypatch.setenv("CURTA_RUNS", str(tmp_path))
    copied = sample.write_run(tmp_path / "pair" / "copied", name="first", status="interrupted")
    page = page_without_figures(copied)
    assert visible(page).startswith("copied: training report")
    assert "`curta train --resume pair/copied` continues it" in visible(page)
    assert {attrs["data-run"] for attrs in page.all("button")} == {"copied"}


def test_run_without_evaluation_has_learning_curves_only_and_says_so(tmp_path: Path) -> None:
    page = saved_page(sample.write_young_run(tmp_path, status="created"))
    assert "no evaluation yet: only its learning curves are shown" in visible(page)
    assert "Training had not finished" in visible(page)
    curves = ("learning", "learning-linear")
    labels = [attrs["aria-label"] for attrs in page.all("svg")]
    assert labels == [DESCRIPTIONS[name] for name in curves]
    assert files(tmp_path) & PICTURES == {f"{n}.svg" for n in curves}
    assert not page.all("script")


def test_folder_that_is_no_run_is_left_alone(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"run\.json is missing"):
        write_report(tmp_path)
    assert not files(tmp_path)


SCRIPT = "<script>alert(1)</script>"


def test_data_of_a_script_cannot_end_it() -> None:
    template = environment().from_string("<script>{{ value|tojson }}</script>")
    text = template.render(value={"é": [SCRIPT, 1, None]})
    assert text.count("<") == 2
    assert "é" in text
    content = text.removeprefix("<script>").removesuffix("</script>")
    assert json.loads(content) == {"é": [SCRIPT, 1, None]}


def test_the_name_of_a_program_is_text_in_a_page_that_calculates() -> None:
    operations = {SCRIPT: {"name": SCRIPT, "trained": [1, 4]}}
    design: dict[str, Any] = {"parameters": 1, "structure": SCRIPT, "operations": operations}
    values = {
        "designs": [{"run": SCRIPT, "design": design, "names": [SCRIPT]}],
        "refused": {SCRIPT: SCRIPT},
    }
    values |= {"causal": True, "weights": ["AAAA"], "members": 1, "several": True, "pages": []}
    page = Page(render("export/part.html", **values))
    assert SCRIPT not in page.source
    assert {script["type"] for script in page.all("script")} == {"application/json", "text/plain"}
