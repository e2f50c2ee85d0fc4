"""One token for each residue: worked examples, and the names of the family."""

import pytest

from curta.layouts import layout_named
from curta.problems.problem import Problem, parse


@pytest.mark.parametrize(
    ("problem", "text", "tokens"),
    [
        ("12+5 mod 97", "12+5=17", [12, 97, 5, 100, 17]),
        ("90+10 mod 97", "90+10=3", [90, 97, 10, 100, 3]),
        ("5-7 mod 97", "5-7=95", [5, 98, 7, 100, 95]),
        ("200*3 mod 97", "6*3=18", [6, 99, 3, 100, 18]),
    ],
)
def test_a_residue_is_one_token(problem: str, text: str, tokens: list[int]) -> None:
    layout, asked = layout_named("residues-97"), parse(problem)
    assert layout.write(asked) == text
    assert layout.tokens_of(asked) == (tokens, 4)
    assert layout.encode(text).tolist() == tokens
    assert layout.answer(asked, tokens[4:]) == asked.truth


def test_only_a_residue_is_an_answer() -> None:
    layout, asked = layout_named("residues-97"), Problem("+ mod 97", (12, 5))
    written = [[0], [96], [97], [100], [], [1, 7]]
    assert [layout.answer(asked, tokens) for tokens in written] == [0, 96, None, None, None, 17]
    assert layout.read("+ mod 97", "97") is None
    assert layout.read("+ mod 97", "07") is None
