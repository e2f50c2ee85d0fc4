"""Interventions, held against what they must do: to models by hand, and to whole answers."""

from functools import cache
from typing import Any

import numpy as np
import pytest

from curta.config.errors import UserError
from curta.evaluation.generation import write_texts as plainly
from curta.evaluation.scoring import Models
from curta.probes.inside import activations
from curta.probes.inside.interventions import Intervention
from curta.probes.inside.question import write_under
from curta.problems.problem import Problem, parse
from curta.runs.run import Run
from tests import adder, tiny

from ..helpers import alone

HEADS = "layer.0.attention.heads"
WEIGHTS = "layer.0.attention.weights"


@cache
def dense(**changes: Any) -> Models:
    """A model of two attention layers, as it is drawn, with positions by index."""
    shape = {"model__num_attention_layers": 2} | changes
    recipe = tiny.dense(**shape)
    return alone(tiny.drawn(recipe, tiny.layout_of(recipe)))


def problems(*texts: str) -> list[Problem]:
    return [parse(text) for text in texts]


@cache
def untouched() -> tuple[Models, list[Problem], Any]:
    """A model, two problems, and all that it does with these."""
    models, sums = dense(), problems("12+34", "23+45")
    return models, sums, find(models, sums)


def find(models: Models, sums: list[Problem], *interventions: Intervention) -> Any:
    return activations.find(models, sums, "*", interventions)


# What is put in the place of values.


@pytest.mark.parametrize("axis", ["head", "position", "role", "problem", "feature"])
def test_what_is_not_selected_stays(axis: str) -> None:
    """`21+43=64$` and `32+54=86$`: the second's digits stand at 3 and 4."""
    chosen: Any = {"role": "second", "position": [3, 4]}.get(axis, 1)
    where = {axis: chosen}
    models, sums, before = untouched()
    site = HEADS if axis == "head" else "layer.0.after"
    after = find(models, sums, Intervention(site, where=where))
    if axis == "role":
        axis, chosen = "position", [3, 4]
    mask = np.zeros(before[site].shape, bool)
    np.moveaxis(mask, ["member", *before.about.axes[site][1:]].index(axis), 0)[chosen] = True
    assert not after[site][mask].any()
    tiny.assert_close(after[site][~mask], before[site][~mask])


@pytest.mark.parametrize("site", ["embedding", "layer.0.after", "layer.1.middle", "final"])
def test_with_all_of_another_problem_the_logits_are_that_problems(site: str) -> None:
    models = dense()
    target, source = problems("12+34", "97+58")
    patched = find(models, [target], Intervention(site, "patch", str(source)))
    expected = find(models, [source])["logits"]
    count = len("21+43=")  # the answers differ in length: 46 and 155
    np.testing.assert_allclose(patched["logits"][:, :, :count], expected[:, :, :count], atol=1e-5)


def test_a_name_without_its_recurrence_is_all_of_them() -> None:
    models, sums = dense(model__num_recurrences=2), problems("12+34")
    after = find(models, sums, Intervention("layer.1.mlp.output"))
    for number in range(2):
        assert not after[f"recurrence.{number}.layer.1.mlp.output"].any()
    last = find(models, sums, Intervention("recurrence.1.layer.1.mlp.output"))
    assert last["recurrence.0.layer.1.mlp.output"].any()
    assert not last["recurrence.1.layer.1.mlp.output"].any()


# Answers.


SUMS = ["12+34", "957+68", "1+2"]


@pytest.mark.parametrize("name", ["windowed", "dense"])
def test_without_interventions_members_write_what_they_always_write(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(name)
    models = run.load_models()
    by_member = write_under(models, problems(*SUMS), [])
    for member in (0, 1):
        plain = plainly(models, problems(*SUMS), member)
        for text, expected in zip(by_member[member], plain, strict=True):
            assert text == expected[: len(text)]
            assert len(text) >= 2
            assert len(text) == len(expected) or text[-1] != models.layout.end


def test_a_solved_adder_gives_the_patched_problems_answer() -> None:
    """35 weights that are right on every sum; with another's embedding they sum up the other."""
    models = alone(adder.solved())
    target, source = problems("1234567890+1111111111", "9999999999+1")
    layout = models.layout
    patch = Intervention("embedding", "patch", str(source))
    assert layout.answer(target, write_under(models, [target], [])[0][0]) == target.truth
    where = np.asarray(layout.where(tiny.text(layout, [target], 40)).role)[0]
    roles = [layout.roles[role].name for role in {*where[: len(layout.prompt_tokens(target))]}]
    prompt = Intervention("embedding", "patch", str(source), where={"role": roles})
    answer = layout.answer(target, write_under(models, [target], [prompt])[0][0])
    assert answer == source.truth
    logits = find(models, [target], patch)["logits"]
    tiny.assert_close(logits, find(models, [source])["logits"])


def test_without_the_square_of_the_next_digit_a_window_cannot_add(windowed: Run) -> None:
    """What a key that is not seen adds is nothing: the neighbour's share is taken away."""
    site = Intervention(WEIGHTS, where={"neighbour": "b place+1"})
    before, after = windowed.activations(["57+68"]), windowed.activations(["57+68"], "*", [site])
    weights = before[WEIGHTS].copy()
    assert before.neighbours is not None
    column = before.about.neighbours.index("b place+1")
    for query, key in enumerate(before.neighbours[0, :, column].tolist()):
        if key >= 0:
            weights[:, 0, :, query, key] = 0
    tiny.assert_close(after[WEIGHTS], weights)
    assert (weights != before[WEIGHTS]).any()


# How they are said.


MISTAKES: list[tuple[Any, str]] = [
    (lambda: Intervention("final", "zeros"), "did you mean 'zero'"),
    (lambda: Intervention("final", "patch"), "from which problem"),
    (lambda: Intervention("final", "zero", "1+2"), "only patch has a source"),
    (lambda: Intervention("final", where={"position": 9}), "selects nothing"),
    (lambda: Intervention(WEIGHTS, where={"neighbour": "a"}), "unknown selection"),
]


@pytest.mark.parametrize(("made", "says"), MISTAKES)
def test_a_mistake_is_one_line(made: Any, says: str) -> None:
    with pytest.raises(UserError, match=says):
        find(dense(), problems("12+34"), made())
