"""Room for the texts of programs."""

import pytest

from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model import recipes
from curta.problems.problem import Problem


def layout(name: str) -> ProgramLayout:
    found = layout_of(recipes.load(name))
    assert isinstance(found, ProgramLayout)
    return found


@pytest.mark.parametrize(("name", "base"), [("addition", 10), ("base-2", 2), ("base-16", 16)])
def test_a_text_is_as_long_as_that_of_the_largest_operands_in_their_base(
    name: str, base: int
) -> None:
    of = layout(name)
    assert of.extremes("+", (3, 1)) == [(base**3 - 1, base - 1), (base**2, 1)]
    tokens, prompt = of.tokens_of(Problem("+", (base**4 - 1, base**4 - 1), base))
    bounds = of.bounds("+", (4, 4))
    assert (bounds.prompt, bounds.total) == (prompt, len(tokens))
    assert of.estimate_tokens("+", (4, 4)) == len(tokens)
