"""The paths of a program's digits: one token for each digit, which differ in the digit alone."""

from curta.report.drawings import digit_tokens

from .certified import layout_named


def test_digits_of_the_answer_share_role_and_move() -> None:
    machine = layout_named("addition").machine
    tokens = [machine.tokens[number] for number in digit_tokens(machine, "sum", 10)]
    assert [token.value for token in tokens] == list(range(10))
    assert {(token.role, token.carry) for token in tokens} == {("sum", 0)}
    assert len({token.move for token in tokens}) == 1
    assert digit_tokens(machine, "equals", 10) == []
