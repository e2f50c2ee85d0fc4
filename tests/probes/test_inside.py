"""Probes that look inside a model, held against the definitions in NumPy and plain loops."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.layouts import Layout, layout_named
from curta.model.transformer import Transformer
from curta.probes.attention import SOURCES, AttentionShares
from curta.probes.counterfactual import Counterfactual, carry_changes, implied_next
from curta.probes.logits import Top
from curta.problems.problem import parse
from curta.runs.run import Run
from tests import naive, tiny

from .helpers import examined, only, subject


def logits(run: Run, member: int, line: list[int]) -> np.ndarray:
    """A member's logits after each token of a text, right or wrong."""
    model = jax.tree.map(jnp.asarray, run.load_models().member(member))
    tokens = jnp.asarray([line + [model.layout.end] * (20 - len(line))], jnp.int32)
    return np.asarray(_logits(model, tokens, jnp.array([len(line)])))


@jax.jit
def _logits(model: Transformer, tokens: jax.Array, lengths: jax.Array) -> jax.Array:
    _, where = model.layout.follow(tokens, lengths)
    return model(tokens, where, where.index, model.layout.bounds("+", (5, 5)))[0]


def test_chances_are_the_softmax_of_the_logits(windowed: Run) -> None:
    finding = examined(Top(problem="57+68", k=2), windowed)
    characters, text = windowed.layout.characters, "75+86=521$"
    for member in (0, 1):
        every = logits(windowed, member, windowed.layout.tokens_of(parse("57+68"))[0])
        rows = only(finding, member=member)
        assert [row["true"] for row in rows] == list(text[1:])
        assert [row["scored"] for row in rows] == [False] * 5 + [True] * 4
        for row in rows:
            chances = np.exp(every[row["index"] - 1]) / np.exp(every[row["index"] - 1]).sum()
            second, best = np.sort(chances)[-2:]
            assert (row["p 1"], row["p 2"]) == pytest.approx((best, second), abs=1e-5)
            assert row["top 1"] == characters[chances.argmax()]
            bits = -sum(p * np.log2(p) for p in chances if p > 0)
            assert row["entropy"] == pytest.approx(bits, abs=1e-3)


def layout_of(name: str) -> Layout:
    return tiny.layout_for(name) if name == "window" else layout_named(name)


@pytest.mark.parametrize("name", ["coupled", "reversed", "padded", "window"])
def test_what_the_other_carry_implies_by_trying_both(name: str) -> None:
    layout = layout_of(name)
    for problem in [parse("957+68"), parse("999+1"), parse("445+554"), *tiny.random_sums(20, 5)]:
        width = max(len(str(value)) for value in problem.operands)
        a, b = ([*map(int, str(v)[::-1].ljust(width, "0"))] for v in problem.operands)
        tokens, prompt = layout.tokens_of(problem)
        changes = list(carry_changes(problem, layout))
        assert [change.slot - prompt for change in changes] == list(range(width - 1))
        for place, change in enumerate(changes):
            digit = int(layout.characters[change.token])
            assert (int(layout.characters[tokens[change.slot]]) - digit) % 10 in (1, 9)
            sums = [a[place] + b[place] + carry for carry in (0, 1)]
            (out,) = [total // 10 for total in sums if total % 10 == digit]
            above = a[place + 1] + b[place + 1] + out
            assert int(layout.characters[change.implied]) == above % 10


def test_a_model_that_adds_follows_what_is_implied(windowed: Run) -> None:
    """Where a member writes all that is true and implied by itself, it must be counted so."""
    both, exam = subject(windowed), tiny.random_sums(8, 3)
    changes = [c for p in exam for c in carry_changes(p, both.layout)]
    cases = implied_next(both.question(exam), changes)
    lines = [both.layout.tokens_of(change.problem)[0] for change in changes]
    other = np.array([t[c.slot + 1] != c.implied for t, c in zip(lines, changes, strict=True)])
    after = np.zeros((2, len(changes)), bool)
    after[:, other], after[:, ~other] = cases["another digit"], cases["the same digit"]
    for number, (change, line) in enumerate(zip(changes, lines, strict=True)):
        changed = change.text(both.layout)[0]
        for member in (0, 1):
            follows, plain = (
                logits(windowed, member, text)[change.slot].argmax() for text in (changed, line)
            )
            assert after[member, number] == (follows == change.implied)
            assert cases["without change"][member, number] == (plain == line[change.slot + 1])


class Watched(naive.Forward):
    """Keeps the shares of each head: block and head, then queries by keys."""

    def dropped(self, x: np.ndarray, site: str, *where: Any) -> np.ndarray:
        if site == "attention":
            self.__dict__.setdefault("shares", {})[where[0], where[-1]] = x
        return super().dropped(x, site, *where)


def test_attention_is_that_of_plain_numpy_by_the_place_of_its_keys(dense: Run) -> None:
    finding, layout = examined(AttentionShares(problem="57+68"), dense), dense.layout
    tokens, _ = layout.tokens_of(parse("57+68"))
    places = [0, 1, None, 0, 1, None, 0, 1, 2, 3]  # of 75+86=521$
    for member in (0, 1):
        weights = naive.weights_of(dense.load_models().member(member))
        forward = Watched(dense.recipe, weights, layout, tokens)
        forward.all_logits()
        rows = only(finding, member=member)
        assert [row["index"] for row in rows if row["block"] == 0] == [5, 6, 7, 8]
        for row in rows:
            index, shares = row["index"], dict.fromkeys(SOURCES, 0.0)
            for key in range(index + 1):
                place, written = places[key], places[index + 1]
                assert written is not None
                source = "signs" if place is None else "farther"
                if place is not None:
                    near = {0: "same place", -1: "below", 1: "above"}
                    source = near.get(place - written, source)
                each = [forward.shares[row["block"], head][index, key] for head in (0, 1)]
                shares["own token" if key == index else source] += np.mean(each)
            assert [row[source] for source in SOURCES] == pytest.approx(
                [*shares.values()], abs=1e-5
            )


def test_an_encoder_is_not_asked_what_follows_its_answer() -> None:
    changes = {"positions__name": "learned", "positions__length": 64}
    recipe = tiny.recipe(layout="framed", model__causal=False, **changes)
    for probe in (AttentionShares, Counterfactual):
        assert probe.unfit(recipe) == "a model that writes all tokens at once"
