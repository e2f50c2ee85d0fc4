"""What members write by themselves: named problems before training and after it."""

from typing import Any

import tiny
from curta import api
from curta.problems import answer_text, parse
from curta.session import Run
from curta.writing import written

ASKED = ("12+34", "7+8", "9999+1", "123456789012345678+1")


def begun(**changes: Any) -> Run:
    named = {"evaluation__named": list(ASKED), "evaluation__count": 2}
    return api.begin("addition", 2, "run", tiny.overrides(**named, **changes))


def test_named_problems_are_written_by_every_member_before_its_first_step_and_after() -> None:
    run = begun()
    problems = [parse(text) for text in ASKED]
    earlier = [written(run.at(0), problems, member) for member in (0, 1)]
    run.train()
    found = run.evaluate()["named"]
    assert run.folder.evaluation["named"] == found
    assert [row["problem"] for row in found] == list(ASKED)
    assert [row["truth"] for row in found] == [str(eval(text)) for text in ASKED]
    later = [run.write(ASKED, member) for member in (0, 1)]
    for when, texts in (("before", earlier), ("after", later)):
        assert [[one["text"] for one in row[when]] for row in found] == [
            list(column) for column in zip(*texts, strict=True)
        ]
        for row in found:
            for one in row[when]:
                answer = run.models.layout.read("+", one["text"])
                assert one["answer"] == (None if answer is None else answer_text(answer))
    assert earlier != later


def test_one_member_writes_them_alone() -> None:
    run = begun()
    run.train()
    alone, every = run.evaluate(member=1)["named"], run.evaluate()["named"]
    for one, both in zip(alone, every, strict=True):
        assert (one["before"], one["after"]) == (both["before"][1:], both["after"][1:])


def test_without_named_problems_there_are_none() -> None:
    run = begun(training__steps=1)
    run.train()
    assert "named" not in run.evaluate(named=())


def test_problems_of_several_sizes_keep_their_order() -> None:
    run = begun(training__steps=1)
    models, problems = run.at(0), [parse(text) for text in ("1+2", "1" * 20 + "+5", "3+4", "5+60")]
    alone = [written(models, [problem], 0)[0] for problem in problems]
    assert written(models, problems, 0) == alone
