"""Probes that look inside a model, held against the definitions in NumPy and plain loops."""

from random import Random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.layouts import layout_named
from curta.model.transformer import Transformer
from curta.probes.attention import AttentionShares
from curta.probes.counterfactual import Counterfactual, carry_changes, implied_next, random_changes
from curta.probes.logits import Top
from curta.problems.problem import parse
from curta.runs.run import Run
from tests import tiny

from .helpers import found, only, subject


def member_of(run: Run, member: int) -> Transformer:
    return jax.tree.map(jnp.asarray, run.load_models().member(member))


def foretold(model: Transformer, line: str) -> np.ndarray:
    """The chances of each token after each token of a text, from the model's own logits."""
    layout = model.layout
    text = tiny.text(layout, [parse(line)], 30)
    bounds = layout.bounds_of([parse(line)])

    @jax.jit
    def chances(model: Transformer) -> jax.Array:
        logits = model(text.tokens, layout.where(text), tiny.every_index(text), bounds)
        return jax.nn.softmax(logits, axis=-1)

    return np.asarray(chances(model))[0]


# The likeliest tokens.


def test_chances_are_the_softmax_of_the_logits(windowed: Run) -> None:
    finding = found(Top(problem="57+68", k=2), windowed)
    layout, text = windowed.layout, "75+86=521$"
    for member in (0, 1):
        chances = foretold(member_of(windowed, member), "57+68")
        rows = only(finding, member=member)
        assert [row["true"] for row in rows] == list(text[1:])
        assert [row["scored"] for row in rows] == [False] * 5 + [True] * 4
        for row in rows:
            now = chances[row["index"] - 1]
            best, next_best = np.sort(now)[::-1][:2]
            assert row["p 1"] == pytest.approx(best, abs=1e-5)
            assert row["p 2"] == pytest.approx(next_best, abs=1e-5)
            assert row["top 1"] == layout.characters[now.argmax()]
            bits = -sum(p * np.log2(p) for p in now if p > 0)
            assert row["entropy"] == pytest.approx(bits, abs=1e-3)


# Another digit.


@pytest.mark.parametrize("name", ["coupled", "window"])
def test_each_written_digit_is_replaced_once_by_another(name: str) -> None:
    layout = layout_named(name) if name == "coupled" else tiny.layout_for(name)
    problem = parse("957+68")
    changes = list(random_changes(problem, layout, Random(0)))
    tokens, prompt = layout.tokens_of(problem)
    assert [change.slot for change in changes] == [7, 8, 9, 10]
    for change in changes:
        text, given = change.text(layout)
        assert given == prompt
        assert [i for i in range(len(tokens)) if text[i] != tokens[i]] == [change.slot]
        assert layout.decode(text)[change.slot].isdecimal()


def carries(a: str, b: str, digit: str) -> int:
    """What place a + b = digit hands on, whichever carry came in; by trying both."""
    (out,) = [
        (int(a) + int(b) + carry) // 10
        for carry in (0, 1)
        if (int(a) + int(b) + carry) % 10 == int(digit)
    ]
    return out


@pytest.mark.parametrize("name", ["coupled", "reversed", "padded", "window"])
def test_what_the_other_carry_implies_by_trying_both(name: str) -> None:
    layout = tiny.layout_for(name) if name == "window" else layout_named(name)
    for problem in [parse("957+68"), parse("999+1"), parse("445+554"), *tiny.random_sums(20, 5)]:
        width = max(len(str(value)) for value in problem.operands)
        a, b = (str(value)[::-1].ljust(width, "0") for value in problem.operands)
        tokens, prompt = layout.tokens_of(problem)
        changes = list(carry_changes(problem, layout))
        assert [change.slot - prompt for change in changes] == list(range(width - 1))
        for place, change in enumerate(changes):
            digit = layout.characters[change.token]
            assert (int(layout.characters[tokens[change.slot]]) - int(digit)) % 10 in (1, 9)
            over = carries(a[place], b[place], digit)
            above = int(a[place + 1]) + int(b[place + 1]) + over
            assert int(layout.characters[change.implied]) == above % 10


def likeliest(model: Transformer, line: list[int]) -> list[int]:
    """What the model would write after each token of a text, right or wrong."""
    tokens = jnp.asarray([line + [model.layout.end] * (20 - len(line))], jnp.int32)
    return written(model, tokens, jnp.array([len(line)])).tolist()


@jax.jit
def written(model: Transformer, tokens: jax.Array, lengths: jax.Array) -> jax.Array:
    layout = model.layout
    _, where = layout.follow(tokens, lengths)
    return model(tokens, where, where.index, layout.bounds("+", (5, 5)))[0].argmax(-1)


def test_a_model_that_adds_follows_what_is_implied(windowed: Run) -> None:
    """Where a member writes all that is true and implied by itself, it must be counted so."""
    asked, exam = subject(windowed), tiny.random_sums(8, 3)
    changes = [c for p in exam for c in carry_changes(p, asked.layout)]
    cases = implied_next(asked.question(exam), changes)
    lines = [asked.layout.tokens_of(change.problem)[0] for change in changes]
    other = np.array([t[c.slot + 1] != c.implied for t, c in zip(lines, changes, strict=True)])
    after = np.zeros((2, len(changes)), bool)
    after[:, other], after[:, ~other] = cases["another digit"], cases["the same digit"]
    before = cases["without change"]
    for number, (change, line) in enumerate(zip(changes, lines, strict=True)):
        for member in (0, 1):
            model = member_of(windowed, member)
            follows = likeliest(model, change.text(asked.layout)[0])[change.slot]
            assert after[member, number] == (follows == change.implied)
            plain = likeliest(model, line)[change.slot]
            assert before[member, number] == (plain == line[change.slot + 1])


def test_an_encoder_is_not_asked_what_follows_its_answer() -> None:
    changes = {"positions__name": "learned", "positions__length": 64}
    recipe = tiny.recipe(layout="framed", model__causal=False, **changes)
    for probe in (AttentionShares, Counterfactual):
        assert probe.unfit(recipe) == "a model that writes all tokens at once"
