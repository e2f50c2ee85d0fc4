"""What training is given of programs: each member's own windows, or whole texts."""

from collections import Counter
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from curta.evaluation import certificate
from curta.problems.problem import Problem
from curta.training import records, trainer
from curta.training.records import Data
from tests import paper, tiny

BOTH = {
    "training__problems": 30,
    "program": ["addition", "multiplication"],
    "task": [
        {"operator": "+", "digits": [1, 3]},
        {"operator": "*", "digits": [1, 2], "weight": 0.5},
    ],
}
SEEDS = [3, 8]


@cache
def data_by(sampling: str) -> Data:
    recipe = tiny.recipe(training__sampling=sampling, **BOTH)
    data, bounds = records.training_data(recipe, paper.layout(recipe), SEEDS)
    assert bounds == ()
    return jax.device_get(data)


def windows_of(data: Data, member: int) -> list[tuple[paper.Window, int]]:
    """The windows of a member, and what follows each."""
    places = data.by_member[0][member, : data.by_member[1][member]]
    rows, targets = (part[places].tolist() for part in data.shared)
    return [(tuple(row), target) for row, target in zip(rows, targets, strict=True)]


def counted(seed: int) -> Counter[tuple[paper.Window, int]]:
    """The windows of a member's problems, by plain loops over its texts."""
    recipe = tiny.recipe(**BOTH)
    layout = paper.layout(recipe)
    return Counter(
        window
        for task in recipe.tasks
        for operands in records.problems(recipe, layout, task, seed)
        for window in paper.windows(layout, Problem(task.operator, operands))
    )


def test_a_member_is_shown_the_windows_of_its_own_problems_each_once() -> None:
    uniform = data_by("uniform")
    for member, seed in enumerate(SEEDS):
        observed = windows_of(uniform, member)
        assert len(set(observed)) == len(observed)
        assert set(observed) == set(counted(seed))
    assert set(windows_of(uniform, 0)) != set(windows_of(uniform, 1))


def test_a_closed_list_has_the_windows_of_all_problems() -> None:
    """So they need not be recorded: what is shown is the same."""
    fields = {"program": "comparison", "task__operator": "<", "training__held_out_windows": 0.3}
    recipe = tiny.recipe(training__problems=200, **fields)
    listed = certificate.prepare(recipe, paper.layout(recipe))
    assert all(catalogue.closed for catalogue in listed.catalogues)
    known = recipe, paper.layout(recipe), SEEDS, (listed.rows, listed.targets)
    brief, whole = (records.training_windows(*known, closed=closed) for closed in ("<", ""))
    for name in ("rows", "targets", "since", "examples"):
        np.testing.assert_equal(getattr(brief, name), getattr(whole, name))
    assert (brief.since[0] != brief.since[1]).any()


def drawn(data: Data, member: int, count: int) -> np.ndarray:
    """How often each of a member's windows was drawn."""
    mine = jax.tree.map(lambda part: jnp.asarray(part[member]), data.by_member)
    draw = jax.jit(lambda key: trainer.draw_windows(data._replace(by_member=mine), key, count))
    places = np.asarray(draw(jax.random.key(1)))
    windows = data.by_member[0][member, : data.by_member[1][member]]
    assert np.isin(places, windows).all()
    return np.bincount(places, minlength=len(data.shared[0]))[windows] / count


def test_windows_are_drawn_all_alike_or_by_their_frequency() -> None:
    """Within five standard deviations of 200,000 draws."""
    uniform, frequency = data_by("uniform"), data_by("frequency")
    for member, seed in enumerate(SEEDS):
        counts, mine = counted(seed), windows_of(uniform, member)
        even = np.full(len(mine), 1 / len(mine))
        often = np.array(
            [counts[window] / counts.total() for window in windows_of(frequency, member)]
        )
        for data, share in ((uniform, even), (frequency, often)):
            observed = drawn(data, member, 200_000)
            assert (abs(observed - share) < 5 * np.sqrt(share / 200_000)).all()


def test_an_encoding_that_sees_all_is_given_whole_texts() -> None:
    recipe = tiny.recipe(positions__name="rope", **BOTH)
    layout = paper.layout(recipe)
    data, each = records.training_data(recipe, layout, SEEDS)
    assert data.shared == ()
    for task, bounds, texts in zip(recipe.tasks, each, data.by_member, strict=True):
        for member, seed in enumerate(SEEDS):
            problems = records.problems(recipe, layout, task, seed)
            for row, operands in enumerate(problems):
                tokens, prompt = layout.tokens_of(Problem(task.operator, operands))
                length = int(texts.lengths[member, row])
                assert texts.tokens[member, row, :length].tolist() == tokens
                assert (texts.prompts[member, row], length) == (prompt, len(tokens))
                assert prompt <= bounds.prompt
                assert len(tokens) - prompt <= bounds.completion
