"""The ways of a program's digits: one token for each digit, which differ in the digit alone."""

from curta.report.trails import digits_of

from .certified import layout_named


def test_digits_of_the_answer_share_role_and_move() -> None:
    machine = layout_named("addition").machine
    found = digits_of(machine, "sum", 10)
    assert found is not None
    assert list(found.names) == list("0123456789")
    tokens = [machine.tokens[token] for token in found.tokens.tolist()]
    assert {(token.role, token.carry) for token in tokens} == {("sum", 0)}
    assert len({token.move for token in tokens}) == 1


def test_without_all_digits_there_are_none() -> None:
    assert digits_of(layout_named("addition").machine, "equals", 10) is None
