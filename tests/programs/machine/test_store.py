"""Machines as files: what is read again is the same machine, and writes the same texts."""

import json
from dataclasses import replace
from typing import Any

import pytest

from curta.config.errors import UserError
from curta.layouts.program import ProgramLayout
from curta.programs import PROGRAMS
from curta.programs.machine import store
from curta.programs.user.registry import recorder_of
from tests import paper, tiny

MACHINES: dict[str, dict[str, Any]] = {
    "addition": {},
    "addition and multiplication": {
        "program": ["addition", "multiplication"],
        "task": [{"operator": "+", "digits": [1, 3]}, {"operator": "*", "digits": [1, 2]}],
    },
    "division and modulo": {
        "program": ["division", "modulo"],
        "task": [
            {"operator": operator, "digits": [1, 3], "second": [1, 2]} for operator in ("//", "%")
        ],
    },
    "addition and fractions": {
        "program": ["addition", "fractions"],
        "task": [{"operator": operator, "digits": [1, 2]} for operator in ("+", "+.")],
    },
    "sorting": {"program": "sorting", "task": {"operator": "sort", "operands": [2, 3]}},
}
every_machine = pytest.mark.parametrize("name", MACHINES)


def made(name: str) -> ProgramLayout:
    return paper.layout(tiny.recipe(**MACHINES[name]))


@every_machine
def test_programs_write_the_same_tokens_on_a_machine_that_is_read_again(name: str) -> None:
    """Also where several share it, which tells their roles apart by their names."""
    layout = made(name)
    content = json.loads(json.dumps(store.dump(layout.machine, layout.windows)))
    machine, windows = store.load(content, "mine")
    assert layout.recorder is not None
    programs = list(layout.recorder.programs.values())
    again = ProgramLayout(machine, windows, store.recorder(machine, programs))
    for operator in layout.operators:
        for problem in paper.some(operator, 2, 5):
            tokens, prompt = layout.tokens_of(problem)
            assert again.tokens_of(problem) == (tokens, prompt)
            assert again.prompt_tokens(problem) == tokens[:prompt]
            assert again.answer(problem, tokens[prompt:]) == problem.truth


def test_a_machine_without_a_token_that_the_program_writes_is_told() -> None:
    machine = made("addition").machine
    with pytest.raises(UserError, match="which the machine does not have"):
        store.recorder(machine, [PROGRAMS["subtraction"]]).record("-", (34, 12))


FIELDS = ("axes", "tokens", "roles", "windows", "formats", "others")


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("value", [None, 3, "x", [3], {"+": 3}], ids=str)
def test_a_damaged_field_is_one_line(field: str, value: Any) -> None:
    layout = made("addition")
    content = store.dump(layout.machine, layout.windows)
    with pytest.raises(UserError, match="run 'mine': the machine is damaged") as caught:
        store.load(content | {field: value}, "run 'mine'")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": store.FORMAT + 1}, "a machine of format 2: update curta"),
        ({"roles": [{"name": "end", "broadcast": []}]}, "damaged"),
        ({"windows": {"sum": [["a", [1, 1]]]}}, "damaged .a move is not one on 1 axes"),
        ({"axes": ["place", "row"]}, "damaged"),
    ],
)
def test_a_machine_that_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    layout = made("addition")
    content = json.loads(json.dumps(store.dump(layout.machine, layout.windows)))
    with pytest.raises(UserError, match=message):
        store.load(content | change, "run 'mine'")
    content["tokens"][0]["offset"] = [10**30]
    with pytest.raises(UserError, match=r"the machine is damaged \(a move"):
        store.load(content, "run 'mine'")


@every_machine
def test_a_program_that_was_written_in_another_way_records_nothing(name: str) -> None:
    """As if a role, or an axis, had another name when the machine was made."""
    recipe, machine = tiny.recipe(**MACHINES[name]), made(name).machine
    assert recorder_of(recipe.programs, recipe.tasks, machine) is not None
    axes = ("former", *machine.axes[1:])
    assert recorder_of(recipe.programs, recipe.tasks, replace(machine, axes=axes)) is None
    last = next(token.role for token in reversed(machine.tokens) if token.role != "end")
    tokens = tuple(t._replace(role="former") if t.role == last else t for t in machine.tokens)
    assert recorder_of(recipe.programs, recipe.tasks, replace(machine, tokens=tokens)) is None
