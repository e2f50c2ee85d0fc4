"""What the pages hold, and when reports are made anew."""

import json
import shutil
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config import typed
from curta.frontends import api, listing
from curta.frontends.api import begin_comparison, compare
from curta.frontends.serve import live
from curta.runs import metrics
from curta.runs.folders import Folder
from curta.runs.info import Metric
from tests import tiny
from tests.report import sample
from tests.report.parsed import Page

from .conftest import Asks, client


def page(target: str) -> Page:
    reply = client.get(target)
    assert reply.status_code == 200
    return Page(reply.text)


def test_the_index_says_how_far_every_run_is(small: Path) -> None:
    young = small.parent / "young"
    shutil.copytree(small, young)
    (young / "evaluation.json").unlink()
    Folder(young).update(status="created", done=())
    rows = {row[0]: row for row in page("/").rows}
    assert list(rows) == ["Run", "young", "small"]
    assert rows["young"][1].endswith("20 of 20 steps")
    assert rows["young"][2].endswith("%in training")
    assert rows["small"][2].endswith("%in the hardest of 5 tests")
    Folder(young).update(steps=15)
    assert page("/").rows[1][1].endswith("15 steps + 5 repair")
    recipe = client.get("/").text
    assert "addition with " in recipe
    assert 'href="/runs/young/live.html"' in recipe
    assert 'href="/runs/small/report.html"' in recipe


def test_a_damaged_run_is_listed_with_what_is_wrong(small: Path) -> None:
    (small / "run.json").write_text("{")
    (row,) = page("/").rows[1:]
    assert row == ["small", "run 'small' is damaged: run.json is not valid JSON"]
    for leaf in ("", "report.html", "live.html", "metrics.json"):
        assert client.get(f"/runs/small/{leaf}").status_code == (404 if leaf else 303)


def test_names_are_escaped_in_addresses_and_pages(small: Path, ask: Asks) -> None:
    name = "a <b>&amp;%20?#é"
    small.rename(small.parent / name)
    link = next(link for link in links("/") if link.startswith("/runs/"))
    assert link == f"/runs/{quote(name, safe='')}/report.html"
    assert ask(link)[0].status == 200
    reply, _ = ask(link.removesuffix("report.html"))
    assert reply.headers["Location"] == link
    assert b"a <b>" not in client.get("/").content


def test_a_report_is_made_once_for_each_state_of_the_runs_files(
    small: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    write = api.report
    monkeypatch.setattr(api, "report", lambda *names: made.append(names[0]) or write(*names))
    before = {path: path.read_bytes() for path in small.rglob("*") if path.is_file()}

    def report_page() -> bytes:
        return client.get("/runs/small/report.html").content

    first, content = report_page(), (small / "metrics.jsonl").read_text()
    assert (report_page(), len(made)) == (first, 1)
    (small / "metrics.jsonl").write_text("".join(content.splitlines(keepends=True)[:-2]))
    assert (report_page() == first, len(made)) == (False, 2)
    (small / "metrics.jsonl").write_text(content)
    assert (report_page(), len(made)) == (first, 3)
    assert {path: path.read_bytes() for path in small.rglob("*") if path.is_file()} == before


def test_a_page_that_cannot_be_is_refused_with_its_reason(small: Path, young: Path) -> None:
    assert "no member 2" in client.get("/runs/small/page-2.html").text
    assert "no checkpoint yet" in client.get("/runs/young/page-0.html").text
    assert client.get("/runs/young/page-0.html").status_code == 404


def links(target: str) -> list[str]:
    return [str(attributes["href"]) for attributes in page(target).all("a")]


def test_there_is_no_link_to_a_page_that_cannot_be(small: Path, young: Path) -> None:
    """Neither of a run without weights, nor of models that a page cannot calculate."""
    for name, old, new in (
        ("own", 'name = "window"', 'name = "(file)"'),
        ("strange", 'name = "window"', "name = 3"),
        ("broken", "[positions]", "[positions"),
    ):
        shutil.copytree(small, small.parent / name)
        recipe = small.parent / name / "recipe.toml"
        assert old in recipe.read_text()
        recipe.write_text(recipe.read_text().replace(old, new))
    calculating = [link for link in links("/") if "page-" in link]
    assert calculating == ["/runs/small/page-0.html"]
    assert client.get(calculating[0]).status_code == 200


@pytest.mark.slow
def test_every_link_of_the_index_leads_somewhere(small: Path, young: Path) -> None:
    """Also of comparisons: one that is finished, one that is only begun, and a damaged one."""
    entries = ["one: addition", "two: addition model.role_embeddings=false"]
    compare(entries, 1, "both", **tiny.overrides())
    begin_comparison(entries, {}, 1, "begun").run_comparison(lambda row, run: None)
    damaged = small.parent / "damaged"
    damaged.mkdir()
    (damaged / "comparison.json").write_text("{")
    index, leading = client.get("/").text, links("/")
    assert "2 of 2 runs are finished" in index
    assert "comparison.json is not valid JSON" in index
    assert [one.name for one in listing.comparisons("BEGUN")] == [("begun",)]
    assert not listing.comparisons("nothing")
    rows = [f"/runs/both/{name}/report.html" for name in ("one", "two")]
    assert [link for link in leading if link in rows] == rows
    assert {"/runs/begun/report.html", "/runs/both/report.html"} <= {*leading}
    assert not [link for link in leading if "damaged" in link]
    for link in [*leading, *links("/runs/young/live.html")]:
        target = link if link.startswith("/") else f"/runs/young/{link}"
        assert client.get(target).status_code == 200, link
    assert client.get("/runs/both/").headers["Location"] == "/runs/both/report.html"
    assert b"comparison" in client.get("/runs/both/report.html").content
    assert client.get("/runs/one/report.html").status_code == 404


@given(st.data())
def test_only_known_addresses_are_answered(made: Path, ask: Asks, data: st.DataObject) -> None:
    words = st.sampled_from(["runs", "small", "..", ".", "", "run.json", "report.html", "%2e%2e"])
    segments = data.draw(st.lists(words | st.text(max_size=4), max_size=6))
    target = "/" + "/".join(quote(segment, safe="/%") for segment in segments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(made))
        reply, _ = ask(target)
    statuses = {"/": 200, "/runs/small/": 303, "/runs/small/report.html": 200}
    assert reply.status == statuses.get(target.removesuffix("%0A"), 404)  # as `$` ends a route


@given(st.lists(st.integers(1, 400), min_size=1, max_size=12), st.integers(100, 2000))
def test_whatever_the_pace_every_record_comes_once(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[int], most: int
) -> None:
    """Written in pieces that end anywhere, read in parts that end anywhere."""
    folder = tmp_path_factory.mktemp("young")
    sample.write_json(folder / "run.json", sample.INFO)
    text = typed.lines(Metric(i, 0, i / 7, 0.5, 1.0) for i in range(40))
    steps: list[int] = []
    cursor = ""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "MOST", most)
        for size in [*pieces, len(text)]:
            with (folder / "metrics.jsonl").open("a") as file:
                file.write(text[:size])
            text = text[size:]
            more = True
            while more:
                news = live.since(folder, cursor)
                steps += [int(record[0] or 0) for record in news["records"]]
                cursor, more = news["cursor"], news["more"]
    assert steps == list(range(40))


@pytest.mark.parametrize("cursor", ["", "x", "9-9", "0-99999999", "1-\u0663"])
def test_a_resumed_run_and_a_strange_cursor_begin_anew(small: Path, cursor: str) -> None:
    first = live.since(small, "")
    assert live.since(small, first["cursor"])["records"] == []
    metrics.cut(Folder(small).metrics, 10)
    for news in (live.since(small, first["cursor"]), live.since(small, cursor)):
        assert news["anew"]
        assert [record[0] for record in news["records"]] == [10, 10]


def test_what_json_does_not_know_is_none(small: Path) -> None:
    metrics.add(Folder(small).metrics, [Metric(30, 0, float("nan"), None, 1.0)])
    news = json.loads(client.get("/runs/small/metrics.json").content)
    assert dict(zip(news["columns"], news["records"][-1], strict=True))["loss"] is None


def test_a_list_is_searched_and_sorted_by_its_address(small: Path, young: Path) -> None:
    shutil.copytree(small, small.parent / "worse")
    Folder(small.parent / "worse").update(created="2020-01-01T00:00:00+00:00")
    content = json.loads((small.parent / "worse" / "evaluation.json").read_text())
    for row in content["lengths"]:
        row["exact_match"] = [0.0, 0.0]
    (small.parent / "worse" / "evaluation.json").write_text(json.dumps(content))

    def names(query: str) -> list[str]:
        return [row[0] for row in page(f"/?{query}").rows[1:]]

    assert names("") == ["young", "small", "worse"]
    assert names("find=WORSE") == ["worse"]
    assert names("find=finished+addition") == ["small", "worse"]
    assert names("find=nothing") == []
    assert "No run has all of these words" in client.get("/?find=nothing").text
    for order in listing.ORDERS:
        assert names(f"sort={quote(order)}")[0] == "young"
    assert names("sort=most+exact+first").index("small") == 1


def test_runs_are_overlaid_and_compared_where_there_are_several(small: Path) -> None:
    shutil.copytree(small, small.parent / "other")
    for leaf in ("overlay", "together"):
        assert client.get(f"/{leaf}.html?run=small&run=other").status_code == 200
        for query in ("run=small", "run=small&run=nothing", "run=small&run=../small", ""):
            assert client.get(f"/{leaf}.html?{query}").status_code == 404
    assert "sandbox" in client.get("/together.html?run=small&run=other").headers[
        "Content-Security-Policy"
    ]  # fmt: skip
