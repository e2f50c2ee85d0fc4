"""What members write by themselves: alone and among others, before training and after it."""

import pytest

from curta.evaluation.generation import completions, named, write_texts
from curta.frontends import api
from curta.layouts import layout_named
from curta.problems.problem import parse
from tests import paper, tiny

TEXTS = ("12+34", "7+8", "9999+1", "123456789012345678+1")
PROBLEMS = [parse(text) for text in TEXTS]


def test_a_completion_ends_with_its_first_end_or_fills_its_room_also_among_others() -> None:
    layout, sums = layout_named("coupled"), tiny.random_sums(5, 4, seed=1)
    bounds, ended = layout.bounds("+", (6, 6)), set()
    for seed in range(6):
        model = tiny.drawn(tiny.dense(), layout, seed)
        together = completions(model, layout, sums, bounds)
        if not seed:
            assert together == [completions(model, layout, [p], bounds)[0] for p in sums]
        for text in together:
            assert layout.end not in text[:-1]
            assert text[-1] == layout.end or len(text) == bounds.completion
            ended.add(text[-1] == layout.end)
    assert ended == {True, False}


@pytest.mark.usefixtures("brief", "runs_folder")
def test_named_problems_are_written_before_the_first_step_and_after_training() -> None:
    changes = {"evaluation__named": list(TEXTS), "evaluation__count": 2}
    run = api.begin("addition", 2, "run", tiny.overrides(**changes))
    earlier = [write_texts(run.load_models(0), PROBLEMS, member) for member in (0, 1)]
    run.train()
    rows = run.evaluate().named
    assert run.folder.read_evaluation().named == rows
    assert [row.problem for row in rows] == list(TEXTS)
    assert [row.truth for row in rows] == ["46", "15", "10000", "123456789012345679"]
    after = [run.write(TEXTS, member) for member in (0, 1)]
    assert after != earlier
    for member in (0, 1):
        for number, row in enumerate(rows):
            for texts, tokens in ((row.before, earlier), (row.after, after)):
                start = texts[member].text  # one that goes on and on is given up
                assert start
                assert run.layout.decode(tokens[member][number]).startswith(start)
    # problems of several sizes keep their order
    models, mixed = run.load_models(), [PROBLEMS[i] for i in (3, 0, 3, 2, 1)]
    alone = [write_texts(models, [problem], 0)[0] for problem in mixed]
    assert write_texts(models, mixed, 0) == alone


def test_truths_are_in_the_base_of_the_answer() -> None:
    recipe = tiny.recipe(program="binary", task=[{"operator": "binary", "digits": [1, 4]}])
    models = paper.trained(recipe, 0)
    (row,) = named(["binary 13"], models, models)
    assert row.truth == "0b1101"
