"""Keys of a step: no two uses of randomness have the same one."""

import jax
import jax.numpy as jnp
import numpy as np

from curta.training.trainer import Keys, step_keys, task_keys

TASKS = 9


def of_each_task(seed: int, number: int) -> list[Keys]:
    """On the one device of a batch."""

    def found(_: jax.Array) -> list[Keys]:
        return [task_keys(step_keys(seed, number), task) for task in range(TASKS)]

    whole = jax.vmap(found, axis_name="batch")(jnp.zeros(1))
    return jax.tree.map(lambda leaf: leaf[0], whole)


def test_every_use_of_a_step_has_a_key_of_its_own() -> None:
    found = []
    for seed, number in ((0, 0), (0, 1), (1, 0)):
        keys = step_keys(seed, number)
        found += [keys.problems, keys.starts, keys.recurrences, keys.dropout]
        tasks = of_each_task(seed, number)
        found += [one.problems for one in tasks[1:]] + [one.dropout for one in tasks]
    words = {tuple(np.asarray(jax.random.key_data(key)).tolist()) for key in found}
    assert len(words) == len(found) == 3 * (4 + TASKS - 1 + TASKS)
