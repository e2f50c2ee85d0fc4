"""Data sets: right, without overlap, whole or not there, and as `datasets` reads them.

The same problem always stands in the same split, and nobody has to remember it.
"""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from curta.config.errors import UserError
from curta.config.recipe import Recipe
from curta.config.task import Task
from curta.export import dataset
from curta.export.dataset import HELD, SPLITS, TRAIN, Source, beyond, sources
from curta.frontends.cli import main
from curta.layouts import Layout, layout_named
from curta.layouts.texts import layout_of
from curta.problems.problem import Problem
from curta.problems.problem_table import fingerprint
from tests import tiny

pyarrow = pytest.importorskip(
    "pyarrow", reason="pyarrow is not installed: pip install 'curta[data]'"
)
ROWS = 500
SMALL = {"training__validation": 20, "evaluation__held_out": 30}
LAYOUT = {"layout": "coupled", "positions__name": "nope"}


def small_recipe(**changes: Any) -> Recipe:
    return tiny.recipe(**SMALL | changes)


def rows(folder: Path, split: str) -> list[dict[str, Any]]:
    """A split's rows as Python has them."""
    from pyarrow import parquet

    return parquet.read_table(folder / "data" / f"{split}.parquet").to_pylist()


def problem(row: dict[str, Any]) -> Problem:
    return Problem(row["operator"], tuple(map(int, row["operands"])))


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "TOKENS", 1 << 14)


@pytest.mark.parametrize(("form", "digits"), [({}, [25]), (LAYOUT, [6])], ids=["program", "layout"])
def test_every_row_is_right_and_in_one_split(
    tmp_path: Path, form: dict[str, Any], digits: list[int]
) -> None:
    """With operands of 25 digits, numbers are decimal strings; with 6 they are integers.

    There are hardly ten thousand problems to train on, so that each is drawn again and again.
    """
    of, out = small_recipe(evaluation__digits=digits, task__digits=[1, 2], **form), tmp_path / "set"
    summary = dataset.write(of, ROWS, out)
    problems = {split: {problem(row) for row in rows(out, split)} for split in SPLITS}
    for first, second in itertools.combinations(problems.values(), 2):
        assert not first & second
    assert (summary.overlap, len(summary.overlaps)) == (0, 6)
    layout, number = layout_of(of), str if digits == [25] else int
    assert summary.rows == {"validation": 20, "test_id": 30, "test_ood": 40, "train": ROWS}
    for split in SPLITS:
        split_rows = rows(out, split)
        assert len(split_rows) == summary.rows[split]
        for row in split_rows:
            assert row["answer"] == number(problem(row).truth)
            assert row["operands"] == list(map(number, problem(row).operands))
            tokens, prompt = layout.tokens_of(problem(row))
            assert row["prompt"] == layout.decode(tokens[:prompt])
            assert row["completion"] == layout.decode(tokens[prompt:])
            if "tokens" in row:
                machine, place = layout.machine, np.zeros(1, int)
                assert (row["tokens"], row["prompt_tokens"]) == (tokens, prompt)
                assert row["roles"] == [machine.tokens[token].role for token in tokens]
                for token, square in zip(tokens, row["square_place"], strict=True):
                    assert square == (place := machine.advance(place, np.array(token)))[0]


def test_an_overlap_would_be_counted_and_nothing_be_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dataset, "key", lambda problem: "the same of all")
    with pytest.raises(RuntimeError, match="30 problems of test_id are in validation too"):
        dataset.write(small_recipe(task__digits=[1, 1]), ROWS, tmp_path / "set")
    assert list(tmp_path.iterdir()) == []


def test_tasks_are_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dataset, "ROUND", 100)
    tasks = [{"operator": "+", "weight": 3.0}, {"operator": "-"}]
    tasks = [task | {"digits": [1, 3]} for task in tasks]
    of = tiny.with_encoding("nope", **SMALL, layout="plain", task=tasks)
    dataset.write(of, ROWS, tmp_path / "set")
    operators = "".join(row["operator"] for row in rows(tmp_path / "set", "train"))
    assert len(operators) == ROWS
    for start in range(0, ROWS, 100):
        assert operators[start : start + 100].count("-") == 25
    assert "-" in operators[:50]


@pytest.mark.parametrize(("base", "digits", "kind"), [(2, 20, int), (16, 16, str)])
def test_numbers_are_integers_where_all_of_them_fit(
    tmp_path: Path, base: int, digits: int, kind: type
) -> None:
    """Sixteen digits of base 16 are twenty of base 10; twenty of base 2 are seven."""
    fields = f"task.digits=[1,4] task.operands=[2,2] task.base={base} evaluation.digits=[{digits}]"
    fields += " training.validation=2 evaluation.held_out=2 evaluation.count=2 --format=jsonl"
    out = tmp_path / "s"
    assert main(["data", "sums", "--rows", "20", "--out", str(out), *fields.split()]) == 0
    lines = (out / "data" / "test_ood.jsonl").read_text().splitlines()
    answers = [json.loads(line)["answer"] for line in lines]
    assert {type(answer) for answer in answers} == {kind}
    assert max(map(int, answers)) > base**digits / 4


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of a library that is not ours
@pytest.mark.parametrize("form", dataset.FORMATS)
def test_datasets_reads_the_folder_with_its_splits(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    reason = "datasets is not installed: pip install datasets"
    datasets = pytest.importorskip("datasets", reason=reason)
    out = tmp_path / "set"
    summary = dataset.write(small_recipe(evaluation__digits=[25]), ROWS, out, form)
    loaded = datasets.load_dataset(str(out), cache_dir=str(tmp_path / "cache"))
    assert {split: len(part) for split, part in loaded.items()} == summary.rows
    if form == "text":
        assert loaded["train"].column_names == ["text"]
        return
    row = loaded["test_ood"][0]
    assert row["answer"] == str(problem(row).truth)
    tokens, _ = layout_of(small_recipe()).tokens_of(problem(row))
    assert row["tokens"] == tokens
    assert row["prompt"] + row["completion"] == layout_of(small_recipe()).decode(tokens)


TABLE = {"task__values": (0, 19), "task__special": 0.0, "task__held_out": 100}
HELD_BACK = {"training__validation": 30, "evaluation__held_out": 40}


def values(source: Source, batches: int = 1) -> list[tuple[int, ...]]:
    """Operands of a source's problems."""
    first = itertools.islice(source.batches(), batches)
    return [problem.operands for batch in first for problem in batch]


def of(split: str, seed: int = 0, layout: Layout | None = None) -> Source:
    return Source(Task(digits=(1, 2)), layout or layout_named("reversed"), split, 10_000, seed)


@given(problems=tiny.batches(3, 6), wider=st.integers(6, 9))
def test_a_fingerprint_is_that_of_the_operands_in_any_order_and_width(
    problems: list[Problem], wider: int
) -> None:
    turned = [Problem("+", problem.operands[::-1]) for problem in problems]
    prints = fingerprint(tiny.numbers(problems, 6)).tolist()
    assert fingerprint(tiny.numbers(turned, wider)).tolist() == prints
    assert fingerprint(tiny.numbers(problems, 6, operands=3)).tolist() == prints


def test_drawn_problems_of_two_splits_are_never_the_same_whatever_the_seeds() -> None:
    program = layout_of(tiny.recipe())
    trained = {*values(of(TRAIN, seed=2), 20), *values(of(TRAIN, layout=program), 4)}
    held = {
        split: {*values(of(split, seed=1), 20), *values(of(split, layout=program), 8)}
        for split in HELD
    }
    for first, second in itertools.combinations([trained, *held.values()], 2):
        assert first
        assert not first & second
        assert not first & {(b, a) for a, b in second}
    assert trained | set().union(*held.values()) >= set(itertools.product(range(1, 10), repeat=2))


def test_the_splits_of_a_programs_table_are_those_of_any_other() -> None:
    by_recipe = [
        sources(of, layout_of(of), rows=250, seed=0)
        for of in (tiny.with_encoding(name, **TABLE, **HELD_BACK) for name in ("nope", "window"))
    ]
    for split in SPLITS[:3]:
        (drawn,), (recorded,) = (each[split] for each in by_recipe)
        assert values(recorded) == values(drawn)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"task__held_out": 60}, r"task\.held_out 60 of \+: validation and test take 30 \+ 40"),
        ({"task__rows": 200}, r"the table of \+ has 200 problems to train on, not 250"),
    ],
)
def test_a_table_with_too_few_problems_is_refused(changes: dict[str, Any], says: str) -> None:
    of = tiny.recipe(**TABLE | HELD_BACK | changes)
    with pytest.raises(UserError, match=says):
        sources(of, layout_of(of), rows=250, seed=0)


def test_the_exam_gives_only_problems_that_training_cannot_draw() -> None:
    """Special cases make operands shorter: at a size just beyond, some are as in training."""
    task = Task("//", digits=(1, 4), second=(1, 2))
    exam = tiny.with_encoding("nope", evaluation__digits=[3, "5/2", "9/5"]).evaluation
    larger = [*itertools.chain.from_iterable(beyond(task, layout_named("plain"), exam))]
    assert larger
    assert all(len(str(a)) > 4 or len(str(b)) > 2 for a, b in (p.operands for p in larger))
