"""What the window, the network and the moves are each worth: `make results-controls`.

Every contender that sees a window learns from the same recorded problems, whole texts from more;
all answer the same random problems, within the sizes of training and beyond. Three seeds each.

dictionary     the windows of training, looked up; nothing is learned
mlp            two hidden layers on the same window, as many steps
transformer    the recipe as it is
wide           the recipe, with as many neighbours more in every window, at least two
moves given    the recipe, asked for symbol and role alone; moves are the program's own
rope, nope, abacus   whole texts of sums instead of windows, two attention layers
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from curta.config.recipe import Recipe
from curta.evaluation import scoring
from curta.frontends import api
from curta.layouts.program import ProgramLayout
from curta.layouts.texts import layout_of
from curta.problems.tasks import RANDOM, problems
from curta.programs.machine.finding import displacements
from curta.programs.machine.recording import Recording, Squares, recorded_windows
from curta.training import devices, records, trainer
from docs.evidence import Json, Results, study
from docs.shared import markdown, prepared, recipe_fields, scratch_runs, spread

SEEDS = (0, 1, 2)
SIZES = {"addition": (10, 20, 100), "multiplication": (6, 10, 20)}
COUNT = 100
DENSE: dict[str, dict[str, Any]] = {
    "rope": {"positions.name": "rope"},
    "nope": {"positions.name": "nope"},
    "abacus": {"positions.name": "abacus", "positions.rows": 512},
}
WHOLE: dict[str, dict[str, Any]] = {
    "addition": {
        "model.num_layers": 2, "model.num_attention_layers": 2, "optimizer.learning_rate": 0.003,
        "training.batch": 128, "training.steps": 3000, "training.problems": 40_000,
    },
}  # fmt: skip
"""How whole texts are learned: enough for the training lengths. Products take hours so."""

Right = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""Whether each window (rows, targets) is answered rightly."""


def main() -> None:
    devices.configure()
    study(__doc__, "controls", SIZES, SEEDS, settings, measured)


def settings(name: str) -> Json:
    sizes = {"whole": WHOLE.get(name), "sizes": SIZES[name], "count": COUNT}
    return {"recipe": recipe_fields(name, {}), **sizes}


def measured(name: str) -> dict[str, Any]:
    recipe = api.resolve(name, {})
    layout = layout_of(recipe)
    assert isinstance(layout, ProgramLayout)
    # Without moves, a token stands for the first one with its symbol and role.
    first: dict[tuple[str, str], int] = {}
    still = [
        first.setdefault((token.symbol, token.role), number)
        for number, token in enumerate(layout.machine.tokens)
    ]
    wide = ProgramLayout(layout.machine, widened(recipe, layout), layout.recorder)
    rows = {
        "dictionary": scored(name, layout, [dictionary(recipe, layout, s) for s in SEEDS]),
        "mlp": scored(name, layout, [mlp(recipe, layout, s) for s in SEEDS]),
        "transformer": scored(name, layout, transformers(recipe, layout)),
        "moves given": scored(name, layout, transformers(recipe, layout, np.array(still))),
        "wide": scored(name, wide, transformers(recipe, wide)),
    }
    for encoding, changes in DENSE.items():
        if name in WHOLE:
            rows[encoding] = whole(name, WHOLE[name] | changes)
    return {"rows": rows}


def scored(name: str, layout: ProgramLayout, models: Sequence[Right]) -> dict[str, list[float]]:
    """Return the share of problems of each size with every window right, by seed."""
    shares: dict[str, list[float]] = {}
    for size in SIZES[name]:
        drawn = problems(layout.operators[0], RANDOM, (size, size), COUNT, 1)
        windows = recorded_windows(
            layout.machine, Recording.of([layout.tokens_of(p) for p in drawn]), layout.windows
        )
        for right in models:
            good = right(windows.rows, windows.targets)
            wrong = np.bincount(windows.text, weights=~good, minlength=len(drawn))
            shares.setdefault(str(size), []).append(float((wrong == 0).mean()))
    return shares


def dictionary(recipe: Recipe, layout: ProgramLayout, seed: int) -> Right:
    table = records.windows_met(recipe, layout, recipe.tasks, seed)
    return lambda rows, targets: table.find(rows) >= 0


def transformers(
    recipe: Recipe, layout: ProgramLayout, same: np.ndarray | None = None
) -> list[Right]:
    """The recipe's own training, with tokens that are the `same` taken for one."""
    like = np.arange(len(layout.machine.tokens)) if same is None else same

    def merged(data: Any) -> Any:
        return data._replace(shared=(data.shared[0], jnp.asarray(like)[data.shared[1]]))

    step, state, data = prepared(recipe, layout, SEEDS, merged)
    for first in range(0, recipe.training.steps, trainer.CHUNK):
        state, _ = step(state, data, jnp.int32(first), jnp.int32(trainer.CHUNK))

    def right(member: int, rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
        token = scoring.outputs_after(state.model, rows, targets).token[member]
        return like[token] == like[targets]

    return [partial(right, member) for member in range(len(SEEDS))]


def widened(recipe: Recipe, layout: ProgramLayout) -> dict[str, Any]:
    """Every window with as many neighbours more: the nearest that are ever there."""
    machine, task = layout.machine, recipe.tasks[0]
    drawn = records.problems(recipe, layout, task, 0)[:300]
    assert layout.recorder is not None
    recording = Recording.of([layout.recorder.record(task.operator, o) for o in drawn])
    squares, query = Squares(machine, recording), np.flatnonzero(recording.is_query)
    roles = machine.role[recording.tokens[query]]
    windows = {}
    for role, near in layout.windows.items():
        number = next(n for n, r in enumerate(machine.roles) if r.name == role)
        of_role = query[roles == number]
        more = [
            (other.name, moved)
            for moved in displacements(len(machine.axes), 1)
            for n, other in enumerate(machine.roles)
            if not any(m and w for m, w in zip(moved, machine.broadcast_mask[n], strict=True))
            if (other.name, moved) not in near
            if (squares.find(of_role, n, moved) < len(machine.tokens)).any()
        ]
        windows[role] = (*near, *more[: max(2, len(near))])
    return windows


def mlp(recipe: Recipe, layout: ProgramLayout, seed: int, wide: int = 128) -> Right:
    """Embeddings of all cells side by side, two hidden layers, AdamW as in the recipe."""
    table = records.windows_met(recipe, layout, recipe.tasks, seed)
    rows, targets = jnp.asarray(table.rows), jnp.asarray(table.targets)
    tokens, cells, steps = len(layout.machine.tokens), rows.shape[1], recipe.training.steps
    keys = jax.random.split(jax.random.key(seed), 5)
    shapes = [(tokens + 1, 16), (16 * cells, wide), (wide, wide), (wide, tokens)]
    weights = [
        jax.random.normal(key, shape) * (1.0 if place == 0 else shape[0] ** -0.5)
        for place, (key, shape) in enumerate(zip(keys, shapes, strict=False))
    ]
    rate = optax.warmup_cosine_decay_schedule(0.0, 3e-3, steps // 20, steps)
    chain = optax.adamw(rate)

    def logits(weights: Any, rows: Any) -> Any:
        x = weights[0][rows].reshape(len(rows), -1)
        for weight in weights[1:3]:
            x = jax.nn.relu(x @ weight)
        return x @ weights[3]

    def step(carry: Any, number: Any) -> Any:
        weights, state = carry
        chosen = jax.random.randint(
            jax.random.fold_in(keys[4], number), (recipe.training.batch,), 0, len(rows)
        )

        def loss(weights: Any) -> Any:
            scores = logits(weights, rows[chosen])
            return optax.softmax_cross_entropy_with_integer_labels(scores, targets[chosen]).mean()

        updates, state = chain.update(jax.grad(loss)(weights), state, weights)
        return (optax.apply_updates(weights, updates), state), None

    train = jax.jit(lambda carry: jax.lax.scan(step, carry, jnp.arange(steps))[0])
    weights, _ = train((weights, chain.init(weights)))
    answer = jax.jit(lambda rows: jnp.argmax(logits(weights, rows), axis=1))
    return lambda rows, targets: np.asarray(answer(jnp.asarray(rows))) == targets


def whole(name: str, changes: dict[str, Any]) -> dict[str, list[float]]:
    """The same program as whole texts; sizes for which there are no positions score nothing."""
    overrides = changes | {
        "evaluation.digits": list(SIZES[name]), "evaluation.count": COUNT,
        "evaluation.all_sizes": True,
    }  # fmt: skip
    with scratch_runs():
        evaluation = api.train(name, SEEDS, **overrides).folder.read_evaluation()
        assert evaluation is not None
        return {r.size: r.exact_match for r in evaluation.lengths if r.slice_name == RANDOM}


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return a row for each contender, a column for each program's least and largest size."""
    numbers = {name: figures["rows"] for name, figures in results.read("controls").items()}
    columns = [(name, str(size)) for name in numbers for size in SIZES[name][::2]]
    rows = (
        [
            contender,
            *(
                spread(numbers[name][contender][size], 2) if contender in numbers[name] else ""
                for name, size in columns
            ),
        ]
        for contender in next(iter(numbers.values()))
    )
    return {"controls": markdown(["contender", *map(", ".join, columns)], rows)}


if __name__ == "__main__":
    main()
