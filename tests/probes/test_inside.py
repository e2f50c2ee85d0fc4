"""Probes that look inside a model, held against the definitions in NumPy and plain loops."""

from random import Random

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.frontends import api
from curta.frontends.api import examine
from curta.layouts import layout_named
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model.transformer import Transformer
from curta.probes import attention
from curta.probes.attention import SOURCES, AttentionShares
from curta.probes.counterfactual import carry_changes, effects, implied_next, random_changes
from curta.probes.logits import Top
from curta.probes.tokens import TokenPaths, trace_paths
from curta.problems.problem import parse
from curta.runs import embedding_history
from curta.runs.run import Run
from tests import tiny

from .helpers import found, only, subject


def encoder() -> Run:
    """A member that writes all digits at once, not trained yet."""
    learned = {"positions__name": "learned", "positions__length": 64}
    changes = tiny.overrides(layout="framed", model__causal=False, **learned)
    return api.begin("addition", 1, "encoder", changes)


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


@pytest.mark.slow
def test_an_encoders_chances_are_those_at_each_place_of_the_problem_alone() -> None:
    run, prompt = encoder(), "=86+75".ljust(43, "_")
    run.train()
    rows = found(Top(problem="57+68", k=1), run).rows
    true = [*"521$", *[""] * 39]
    assert [(row["index"], row["true"]) for row in rows] == list(enumerate(true))
    assert [row["index"] for row in rows if row["scored"]] == [0, 1, 2, 3]
    model, layout, bounds = (
        member_of(run, 0),
        run.load_models().layout,
        tiny.bounds(run.load_models().layout, 2),
    )
    tokens = jnp.asarray(layout.encode(prompt))[None]
    where = layout.follow(tokens, jnp.array([43], jnp.int32))[1]
    logits = model(tokens, where, jnp.arange(43)[None], bounds)[0]
    for row, chances in zip(rows, np.asarray(jax.nn.softmax(logits, axis=-1)), strict=True):
        assert row["top 1"] == layout.characters[chances.argmax()]
        assert row["p 1"] == pytest.approx(chances.max(), abs=1e-5)


# Attention.


@pytest.mark.parametrize("name", tiny.ENCODINGS)
def test_weights_are_those_that_attention_uses(name: str) -> None:
    """Values that name their key come out of attention as the weights themselves."""
    layout, num_attention_layers = tiny.layout_for(name), 1 if name == "window" else 2
    model = tiny.drawn(
        tiny.with_encoding(name, model__num_attention_layers=num_attention_layers), layout
    )
    text = tiny.text(layout, tiny.random_sums(3, 4), 16)
    bounds, positions, time = layout.bounds("+", (4, 4)), model.positions, 16

    @jax.jit
    def attended() -> tuple[jax.Array, jax.Array]:
        where = layout.where(text)
        visible_keys = positions.visible_keys(positions.index(where, bounds), where)
        q, k = jax.random.normal(jax.random.key(0), (2, 3, time, 2, time))
        layer = jax.tree.map(lambda leaf: leaf[-1], positions.layers)
        names = jnp.broadcast_to(jnp.eye(time)[None, :, None], (3, time, 2, time))
        used = positions.attend(layer, visible_keys, q, k, names)
        return used, positions.weights(layer, visible_keys, q, k)

    used, weights = attended()
    tiny.assert_close(jnp.swapaxes(weights, 1, 2), used)
    if name == "window":  # the rest goes to neighbours that are not there
        assert (weights.sum(-1) <= 1 + 1e-5).all()
        assert (weights.sum(-1) < 0.9).any()
    else:
        np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    assert not np.triu(np.asarray(weights), 1).any()


def test_what_a_key_is_to_a_query_by_its_definition() -> None:
    """`759+86=5201$`: to write the 2 at place 1, from the 5 at place 0."""
    layout = layout_named("coupled")
    text = tiny.text(layout, [parse("957+68")], 12)
    where = layout.where(text)
    found = attention.sources(
        layout, np.asarray(where.role)[0], np.asarray(where.coordinates)[0, :, 0]
    )
    line = layout.write(parse("957+68"))
    query = line.index("=") + 1
    named = [(line[key], SOURCES[found[query, key]]) for key in range(query + 1)]
    assert named == [
        ("7", "below"), ("5", "same place"), ("9", "above"), ("+", "signs"),
        ("8", "below"), ("6", "same place"), ("=", "signs"), ("5", "own token"),
    ]  # fmt: skip


def test_a_window_of_one_place_looks_no_farther(windowed: Run) -> None:
    """From place p it reaches p and p + 1, where the next digit is written."""
    for row in found(AttentionShares(count=3), windowed).rows:
        assert row["above"] == row["farther"] == row["every place"] == 0
        assert 0 < row["same place"] < 1


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


def test_another_digit_of_a_program_plays_the_same_part_on_the_same_square() -> None:
    layout = layout_of(api.resolve("multiplication", {}))
    assert isinstance(layout, ProgramLayout)
    problem = parse("78*96")
    changes, (tokens, _) = (
        list(random_changes(problem, layout, Random(0))),
        layout.tokens_of(problem),
    )
    assert {layout.machine.tokens[tokens[c.slot]].role for c in changes} == {
        "kept", "carry", "part", "sum", "answer",
    }  # fmt: skip
    for change in changes:
        was, now = layout.machine.tokens[tokens[change.slot]], layout.machine.tokens[change.token]
        assert was.value != now.value
        assert was._replace(symbol="", value=0) == now._replace(symbol="", value=0)


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


def test_effects_are_those_of_asking_text_by_text(dense: Run) -> None:
    asked, exam = subject(dense), tiny.random_sums(3, 3)
    changes = [c for problem in exam for c in random_changes(problem, asked.layout, Random(1))]
    seen = effects(asked.question(exam), changes)
    for number, change in enumerate(changes):
        line, _ = asked.layout.tokens_of(change.problem)
        for member in (0, 1):
            model = member_of(dense, member)
            texts = line, change.text(asked.layout)[0]
            before, after = (likeliest(model, text) for text in texts)
            expected = [
                i for i in range(change.slot + 1, len(line)) if before[i - 1] != after[i - 1]
            ]
            changed = seen.changed[member, number] & seen.counts[number]
            assert (1 + np.flatnonzero(changed)).tolist() == expected


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


# Token vectors.


def test_a_plane_holds_what_the_largest_directions_hold() -> None:
    """Against the eigenvectors of the covariance."""
    table = np.random.default_rng(0).normal(size=(10, 6)) * [5, 3, 1, 0.5, 0.1, 0.1]
    traced = trace_paths(table[None].astype(np.float32), "principal")
    values, directions = np.linalg.eigh(np.cov(table.T))
    expected = (table - table.mean(0)) @ directions[:, [-1, -2]]
    np.testing.assert_allclose(np.abs(traced.paths[:, 0]), np.abs(expected), atol=1e-4)
    assert traced.share == pytest.approx(values[-2:].sum() / values.sum(), abs=1e-5)


def remembering(*steps: int) -> Run:
    """A run that has nothing but a history."""
    run, rng = api.begin("addition", 2, "moments", tiny.overrides()), np.random.default_rng(0)
    for step in steps:
        moment = rng.normal(size=(2, len(run.layout.characters), 6)).astype(np.float32)
        embedding_history.save(run.folder.history, step, moment)
    return run


def test_paths_of_a_run_with_a_history_lead_over_its_moments() -> None:
    steps = [0, 3, 6, 10]
    run = remembering(*steps)
    finding = found(TokenPaths(plane="principal"), run, 1)
    assert [row["step"] for row in only(finding, token="7")] == steps
    kept = (embedding_history.load(run.folder.history, step) for step in steps)
    moments = [moment[1, run.layout.digits] for moment in kept]
    expected = trace_paths(np.stack(moments), "principal").paths[7]
    np.testing.assert_allclose(finding.picture["panels"][0]["paths"][7], expected, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "counterfactual"])
def test_an_encoder_is_not_asked_what_follows_its_answer(name: str) -> None:
    run = encoder()
    with pytest.raises(UserError, match="writes all tokens at once"):
        examine(run, name)
