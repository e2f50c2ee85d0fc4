"""Probes that look inside a model, held against the definitions in NumPy and plain loops."""

from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.config.errors import UserError
from curta.frontends import api
from curta.frontends.api import examine
from curta.frontends.run import Run
from curta.layouts import LAYOUTS, layout_named
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.model.inspection import recorded
from curta.model.transformer import Transformer
from curta.probes import attention
from curta.probes.attention import SOURCES, Attention, look
from curta.probes.counterfactual import Counterfactual, at_random, effects, followed, other_carry
from curta.probes.pca import principal
from curta.probes.tokens import Tokens
from curta.probes.top import Top
from curta.problems.problem import Problem, parse
from curta.runs import checkpoints, embedding_history
from curta.training import trainer
from tests import tiny

from .asked import alone, found, only, subject


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


def test_more_tokens_than_there_are_leave_gaps(windowed: Run) -> None:
    tokens = len(windowed.layout.characters)
    row = found(Top(problem="1+2", k=tokens + 7), windowed, 0).rows[-1]
    there = [row[f"p {rank}"] for rank in range(1, tokens + 8)]
    assert sum(there[:tokens]) == pytest.approx(1)
    assert there[tokens:] == [None] * 7


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


def test_a_sample_is_not_asked_for_beside_one_problem() -> None:
    with pytest.raises(UserError, match="--count and --seed are of a sample"):
        Attention(problem="1+2", count=3)


def by_hand(model: Transformer, text: Any) -> np.ndarray:
    """The weights of a first block without positions: heads by queries by keys, in NumPy."""
    where = model.layout.where(text)
    x = np.asarray(model.tokens)[np.asarray(text.tokens[0])]
    x = x + np.asarray(model.roles)[np.asarray(where.role[0])]
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
    q, k = (x @ np.asarray(getattr(model.attention, n)[0]) for n in ("query", "key"))
    heads = model.config.heads
    q, k = (part.reshape(len(x), heads, -1) for part in (q, k))
    scores = np.einsum("qhe,khe->hqk", q, k) / np.sqrt(q.shape[-1])
    scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


def test_weights_are_the_softmax_of_queries_with_keys() -> None:
    layout = layout_named("coupled")
    model = tiny.drawn(tiny.with_encoding("nope"), layout)
    text = tiny.text(layout, [parse("12+34")], 9)
    bounds = layout.bounds("+", (2, 2))
    found = recorded(model, text.tokens, layout.where(text), bounds)["layer.0.attention.weights"]
    np.testing.assert_allclose(found[0], by_hand(model, text), atol=1e-5)


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


def test_digits_of_every_place_are_a_source_of_their_own() -> None:
    layout = layout_of(api.resolve("multiplication", {}))
    text = tiny.text(layout, [parse("47*36")], 40)
    where = layout.where(text)
    found = attention.sources(
        layout, np.asarray(where.role)[0], np.asarray(where.coordinates)[0, :, 0]
    )
    second = [layout.roles[role].name for role in np.asarray(where.role)[0]].index("b")
    assert SOURCES[found[10, second]] == "every place"


@pytest.mark.parametrize(
    ("layout", "problem", "written"),
    [("reversed", "57+68", "521"), ("coupled", "57+68", "521$")],
)
def test_what_has_no_place_of_its_own_is_no_token_to_look_for(
    layout: str, problem: str, written: str
) -> None:
    """The end sign of most layouts has none, and no key is above it or farther."""
    of = layout_named(layout)
    tokens, prompt = of.tokens_of(parse(problem))
    where = of.where(tiny.text(of, [parse(problem)], len(tokens)))
    roles, places = np.asarray(where.role)[0], np.asarray(where.coordinates)[0, :, 0]
    found = attention.queries(of, roles, places, prompt)
    assert "".join(of.characters[tokens[query + 1]] for query in found) == written


@pytest.mark.parametrize("run", ["windowed", "dense"])
def test_shares_of_attention_add_up_to_one(run: str, request: pytest.FixtureRequest) -> None:
    finding = found(Attention(count=3), request.getfixturevalue(run))
    blocks = 1 if run == "windowed" else 2
    assert len(finding.rows) == 2 * blocks * 2
    for row in finding.rows:
        assert sum(row[source] for source in SOURCES) == pytest.approx(1, abs=1e-5)
        roles = [share for name, share in row.items() if name.startswith("to ")]
        assert sum(roles) + row["absent"] == pytest.approx(1, abs=1e-5)
        assert row["absent"] == pytest.approx(0, abs=1e-5) or run == "windowed"


def test_a_window_of_one_place_looks_no_farther(windowed: Run) -> None:
    """From place p it reaches p and p + 1, where the next digit is written."""
    for row in found(Attention(count=3), windowed).rows:
        assert row["above"] == row["farther"] == row["every place"] == 0
        assert 0 < row["same place"] < 1


def test_one_problem_is_shown_query_by_query(dense: Run) -> None:
    finding = found(Attention(problem="57+68"), dense, 1)
    bounds = dense.layout.bounds_of([parse("57+68")])
    model = member_of(dense, 1)
    text = tiny.text(model.layout, [parse("57+68")], bounds.total)
    sites = recorded(model, text.tokens, model.layout.where(text), bounds)
    assert [row["after"] + row["next"] for row in only(finding, block=0)] == [
        "=5", "52", "21", "1$",
    ]  # fmt: skip
    for block, panel in enumerate(finding.picture["panels"]):
        values = np.array([[v or 0.0 for v in row] for row in panel["values"]])
        weights = sites[f"layer.{block}.attention.weights"]
        expected = np.asarray(weights)[0].mean(axis=0)[5:9, :9]
        np.testing.assert_allclose(values, expected, atol=1e-5)
    for row in finding.rows:
        assert sum(row[source] for source in SOURCES) == pytest.approx(1, abs=1e-5)


# Another digit.


@pytest.mark.parametrize("name", ["coupled", "window"])
def test_each_written_digit_is_replaced_once_by_another(name: str) -> None:
    layout = layout_named(name) if name == "coupled" else tiny.layout_for(name)
    problem = parse("957+68")
    changes = list(at_random(problem, layout, Random(0)))
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
    changes, (tokens, _) = list(at_random(problem, layout, Random(0))), layout.tokens_of(problem)
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
        changes = list(other_carry(problem, layout))
        assert [change.slot - prompt for change in changes] == list(range(width - 1))
        for place, change in enumerate(changes):
            digit = layout.characters[change.token]
            assert (int(layout.characters[tokens[change.slot]]) - int(digit)) % 10 in (1, 9)
            over = carries(a[place], b[place], digit)
            above = int(a[place + 1]) + int(b[place + 1]) + over
            assert int(layout.characters[change.implied]) == above % 10


def test_nothing_is_implied_where_the_sum_is_not_written_so() -> None:
    for name in ("plain", "hints"):
        assert not list(other_carry(parse("60+61"), layout_named(name)))


def test_effects_are_those_of_asking_text_by_text(dense: Run) -> None:
    asked, exam = subject(dense), tiny.random_sums(3, 3)
    changes = [c for problem in exam for c in at_random(problem, asked.layout, Random(1))]
    seen = effects(asked, changes)
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


def test_a_window_of_one_place_feels_a_change_at_the_next_token_only(windowed: Run) -> None:
    """The answer's digits see their own place and the next: nothing two tokens later."""
    finding = found(Counterfactual(count=12), windowed)
    tokens = {row["at"]: row["members"] for row in only(finding, effect="tokens")}
    assert max(tokens[1]) > 0
    assert all(share == 0 for at, shares in tokens.items() if at > 1 for share in shares)
    places = {row["at"]: row["members"] for row in only(finding, effect="place")}
    assert set(places) == {1, 2, 3}
    assert places[2] == places[3] == [0, 0]


def test_followed_digits_are_counted_against_text_by_text(windowed: Run) -> None:
    finding = found(Counterfactual(count=6), windowed)
    rows = {row["at"]: row for row in only(finding, effect="implied")}
    total = rows["another digit"]["asked"] + rows["the same digit"]["asked"]
    assert total == rows["without change"]["asked"]
    assert 0 < rows["another digit"]["asked"] < total
    assert all(0 <= share <= 1 for row in rows.values() for share in row["members"])
    assert len(finding.notes) == 3


def test_a_model_that_adds_follows_what_is_implied(windowed: Run) -> None:
    """Where a member writes all that is true and implied by itself, it must be counted so."""
    asked = subject(windowed)
    changes = [c for p in tiny.random_sums(8, 3) for c in other_carry(p, asked.layout)]
    after, before, other = followed(asked, changes)
    for number, change in enumerate(changes):
        line, _ = asked.layout.tokens_of(change.problem)
        assert other[number] == (line[change.slot + 1] != change.implied)
        for member in (0, 1):
            model = member_of(windowed, member)
            follows = likeliest(model, change.text(asked.layout)[0])[change.slot]
            assert after[member, number] == (follows == change.implied)
            plain = likeliest(model, line)[change.slot]
            assert before[member, number] == (plain == line[change.slot + 1])


def test_every_layout_can_be_changed_and_looked_at() -> None:
    """With random weights: only that texts with another digit are followed at all."""
    for layout in LAYOUTS.values():
        operator = layout.operators[0]
        problem = Problem(operator, (57, 68)[: 1 if operator == "copy" else 2])
        changes = list(at_random(problem, layout, Random(0)))
        tokens, prompt = layout.tokens_of(problem)
        assert changes or layout.name == "labelled"  # whose answers are letters
        for change in changes:
            text, given = change.text(layout)
            assert (len(text), given) == (len(tokens), prompt)
            assert text[change.slot] != tokens[change.slot]


# Token vectors.


def test_a_plane_holds_what_the_largest_directions_hold() -> None:
    """Against the eigenvectors of the covariance."""
    table = np.random.default_rng(0).normal(size=(10, 6)) * [5, 3, 1, 0.5, 0.1, 0.1]
    plane = principal(table.astype(np.float32))
    values, directions = np.linalg.eigh(np.cov(table.T))
    points = plane.project(table.astype(np.float32))
    expected = (table - table.mean(0)) @ directions[:, [-1, -2]]
    np.testing.assert_allclose(np.abs(points), np.abs(expected), atol=1e-4)
    assert plane.share == pytest.approx(values[-2:].sum() / values.sum(), abs=1e-5)


def test_vectors_of_width_one_lie_on_a_line_of_the_plane() -> None:
    table = np.array([[1.0], [4.0], [10.0]], np.float32)
    plane = principal(table)
    assert plane.share == 1
    assert np.abs(plane.project(table)).tolist() == [[4, 0], [1, 0], [5, 0]]


def test_paths_lead_from_the_random_start_over_every_checkpoint(windowed: Run) -> None:
    finding = found(Tokens(), windowed)
    steps = [0, *checkpoints.steps(windowed.folder.checkpoints)]
    assert steps == [0, 200, 300]
    assert len(finding.rows) == 2 * 3 * 10
    layout, digits = windowed.layout, windowed.layout.digits
    assert [layout.vocabulary[token] for token in digits] == [f"{d} sum +1" for d in range(10)]
    begun = trainer.init(windowed.recipe, layout, jnp.array([0, 1])).model
    now, then = (
        (layout.parts() @ np.asarray(model.tokens))[:, digits]
        for model in (windowed.load_models().stacked, begun)
    )
    for member in (0, 1):
        plane = principal(now[member])
        panel = finding.picture["panels"][member]
        for table, at in ((then, 0), (now, -1)):
            points = [path[at] for path in panel["paths"]]
            np.testing.assert_allclose(points, plane.project(table[member]), atol=1e-4)


def test_spelled_digits_differ_as_the_vectors_of_their_digits_do() -> None:
    """The parts of a program's token are its digit or sign, its carry, its role and its move."""
    layout = tiny.layout_for("window")
    model = tiny.drawn(tiny.recipe(model__compositional_embeddings=True), layout)
    found = embedding_history.vectors(alone(model).stacked)[0, layout.digits]
    parts = layout.parts()[layout.digits]
    own = parts[:, parts.sum(0) == 1] @ np.asarray(model.tokens)[parts.sum(0) == 1]
    np.testing.assert_allclose(found - found[0], own - own[0], atol=1e-5)


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
    finding = found(Tokens(), run, 1)
    assert [row["step"] for row in only(finding, token="7")] == steps
    kept = (embedding_history.load(run.folder.history, step) for step in steps)
    moments = [moment[1, run.layout.digits] for moment in kept]
    expected = [principal(moments[-1]).project(moment)[7] for moment in moments]
    np.testing.assert_allclose(finding.picture["panels"][0]["paths"][7], expected, atol=1e-6)


def test_of_a_layout_the_signs_of_its_problems_are_drawn_too(dense: Run) -> None:
    finding = found(Tokens(), dense, 0)
    first = [row["token"] for row in finding.rows if row["step"] == 0]
    assert first == [*"0123456789", "+", "="]
    assert len(finding.picture["panels"][0]["paths"]) == 12


def test_a_long_history_is_thinned_between_its_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curta.runs.embedding_history.MOMENTS", 4)
    rows = only(found(Tokens(), remembering(*range(11)), 0), token="0")
    assert [row["step"] for row in rows] == [0, 3, 7, 10]


def test_a_look_is_at_what_is_scored(dense: Run) -> None:
    problem = parse("12+34")
    seen = look(subject(dense), problem, dense.layout.bounds_of([problem]))
    assert [seen.line[i + 1] for i in seen.queries] == list("64$")
    assert seen.weights.shape == (2, 2, 2, 3, len(seen.line) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attention", "counterfactual"])
def test_an_encoder_is_not_asked_what_follows_its_answer(name: str) -> None:
    run = encoder()
    with pytest.raises(UserError, match="writes all tokens at once"):
        examine(run, name)
