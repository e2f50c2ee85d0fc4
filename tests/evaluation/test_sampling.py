"""What members write by themselves: named problems before training and after it."""

from typing import Any, NamedTuple

import pytest

from curta.evaluation.sampling import written
from curta.frontends import api
from curta.frontends.run import Run
from curta.problems.problem import answer_text, parse
from tests import tiny

ASKED = ("12+34", "7+8", "9999+1", "123456789012345678+1")
pytestmark = pytest.mark.usefixtures("brief")

PROBLEMS = [parse(text) for text in ASKED]


class Examined(NamedTuple):
    """A small run of two members, what they wrote before it was trained, and its exam."""

    run: Run
    earlier: list[list[list[int]]]
    named: list[dict[str, Any]]


@pytest.fixture(scope="module")
def examined(brief: None, tmp_path_factory: pytest.TempPathFactory) -> Examined:
    changes = {"evaluation__named": list(ASKED), "evaluation__count": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("runs")))
        run = api.begin("addition", 2, "run", tiny.overrides(**changes))
        earlier = [written(run.at(0), PROBLEMS, member) for member in (0, 1)]
        run.train()
        return Examined(run, earlier, run.evaluate()["named"])


def texts(named: list[dict[str, Any]], when: str) -> list[list[str]]:
    """Of each member what it wrote after each problem."""
    rows = ([one["text"] for one in row[when]] for row in named)
    return [list(own) for own in zip(*rows, strict=True)]


def test_every_member_writes_them_before_its_first_step_and_after_training(
    examined: Examined,
) -> None:
    run, earlier, named = examined
    assert run.folder.evaluation["named"] == named
    assert [row["problem"] for row in named] == list(ASKED)
    assert [row["truth"] for row in named] == ["46", "15", "10000", "123456789012345679"]
    after = [run.write(ASKED, member) for member in (0, 1)]
    for when, wrote in (("before", earlier), ("after", after)):
        assert texts(named, when) == [[run.layout.decode(line) for line in own] for own in wrote]
    assert after != earlier


def test_answers_are_what_the_layout_reads_in_the_writing(examined: Examined) -> None:
    run = examined.run
    after = [run.write(ASKED, member) for member in (0, 1)]
    for when, wrote in (("before", examined.earlier), ("after", after)):
        for number, row in enumerate(examined.named):
            for one, own in zip(row[when], wrote, strict=True):
                answer = run.layout.answer(PROBLEMS[number], own[number])
                assert one["answer"] == (None if answer is None else answer_text(answer))


def test_one_member_writes_them_alone_and_other_ones_if_asked(examined: Examined) -> None:
    (alone,) = examined.run.evaluate(member=1, named=("7+8",))["named"]
    both = examined.named[1]
    assert (alone["before"], alone["after"]) == (both["before"][1:], both["after"][1:])
    assert "named" not in examined.run.evaluate(member=1, named=())


def test_problems_of_several_sizes_keep_their_order(examined: Examined) -> None:
    models, problems = examined.run.models, [PROBLEMS[i] for i in (3, 0, 3, 2, 1)]
    alone = [written(models, [problem], 0)[0] for problem in problems]
    assert written(models, problems, 0) == alone
