"""What members write by themselves: named problems before training and after it."""

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from curta.evaluation.results import NamedProblem
from curta.evaluation.writing import named, write_texts
from curta.frontends import api
from curta.problems.problem import parse
from curta.runs.run import Run
from tests import paper, tiny

ASKED = ("12+34", "7+8", "9999+1", "123456789012345678+1")
pytestmark = pytest.mark.usefixtures("brief")

PROBLEMS = [parse(text) for text in ASKED]


class Evaluated(NamedTuple):
    """A small run of two members, what they wrote before it was trained, and its evaluation."""

    run: Run
    earlier: list[list[list[int]]]
    named: Sequence[NamedProblem]


@pytest.fixture(scope="module")
def evaluated(brief: None, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    changes = {"evaluation__named": list(ASKED), "evaluation__count": 2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(tmp_path_factory.mktemp("runs")))
        run = api.begin("addition", 2, "run", tiny.overrides(**changes))
        earlier = [write_texts(run.at(0), PROBLEMS, member) for member in (0, 1)]
        run.train()
        return Evaluated(run, earlier, run.evaluate().named)


def texts(named: Sequence[NamedProblem], when: str) -> list[list[str]]:
    """Of each member what it wrote after each problem."""
    rows = ([one.text for one in getattr(row, when)] for row in named)
    return [list(own) for own in zip(*rows, strict=True)]


def test_every_member_writes_them_before_its_first_step_and_after_training(
    evaluated: Evaluated,
) -> None:
    run, earlier, named = evaluated
    assert run.folder.read_evaluation().named == named
    assert [row.problem for row in named] == list(ASKED)
    assert [row.truth for row in named] == ["46", "15", "10000", "123456789012345679"]
    after = [run.write(ASKED, member) for member in (0, 1)]
    for when, by_member in (("before", earlier), ("after", after)):
        for shown, written in zip(texts(named, when), by_member, strict=True):
            for start, line in zip(shown, written, strict=True):
                # a text that goes on and on is given up
                assert start
                assert run.layout.decode(line).startswith(start)
    assert after != earlier


def test_truths_are_in_the_base_of_the_answer() -> None:
    recipe = tiny.recipe(program="binary", task=[{"operator": "binary", "digits": [1, 4]}])
    models = paper.trained(recipe, 0)
    (one,) = named(["binary 13"], models, models)
    assert one.truth == "0b1101"


def test_problems_of_several_sizes_keep_their_order(evaluated: Evaluated) -> None:
    models, problems = evaluated.run.load_models(), [PROBLEMS[i] for i in (3, 0, 3, 2, 1)]
    alone = [write_texts(models, [problem], 0)[0] for problem in problems]
    assert write_texts(models, problems, 0) == alone
