"""What is chosen for accelerators, tried on a CPU: `python -m benchmarks.accelerators`.

`make results-scaling` keeps what it finds; `--quick` only shows that it runs. Two questions:

precision   a step's activations in bfloat16 in place of float32: time
donation    the members' memory given to the chunk of steps, or kept: bytes that it takes

Times are of the chunk of steps that a run calls, both sides in one process, in turn, each round
from the other one on; a ratio is of two times of one round. They are seconds of the processor, of
all threads together, which other work on the machine lengthens little.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Any
from unittest import mock

from docs.shared import prepared

Call = Callable[[int], None]
"""Runs so many steps."""

PRECISION = {"addition": 30, "multiplication": 20, "addition-plain": 1, "addition-abacus": 1}
"""How many times as many steps make one measurement."""
DONATION = (("addition", 1), ("addition", 16), ("addition-plain", 16))


QUESTIONS = ("precision", "donation")
ROUNDS, STEPS = 9, 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: one case of each")
    quick = parser.parse_args().quick
    print(json.dumps({name: measured(name, quick) for name in QUESTIONS}))


def settings(question: str) -> dict[str, Any]:
    """The cases of a question, and how each is measured."""
    cases = {"precision": PRECISION, "donation": DONATION}[question]
    return {"cases": cases, "rounds": ROUNDS, "steps": STEPS}


def measured(question: str, quick: bool = False) -> Any:
    """All cases of a question; the first one in short, if that is wanted."""
    from curta.training import devices

    devices.configure()
    rounds, steps, last = (2, 1, 1) if quick else (ROUNDS, STEPS, None)
    if question == "donation":
        return [donated(*case, way) for case in DONATION[:last] for way in (False, True)]
    return {
        name: ratio(*precisions(name), rounds, steps * times)
        for name, times in list(PRECISION.items())[:last]
    }


def precisions(name: str) -> tuple[Call, Call]:
    return steps_of(name, {}), steps_of(name, {"training.precision": "bfloat16"})


def steps_of(name: str, fields: dict[str, Any]) -> Call:
    """The compiled chunk of steps of one member."""
    import jax
    import jax.numpy as jnp

    from curta.frontends import api
    from curta.layouts.texts import layout_of

    recipe = api.resolve(name.partition(",")[0], fields)
    program, state, data = prepared(recipe, layout_of(recipe), [0])
    compiled = program.lower(state, data, jnp.int32(0), jnp.int32(0)).compile()

    def call(steps: int) -> None:
        nonlocal state
        state, _ = jax.block_until_ready(compiled(state, data, jnp.int32(0), jnp.int32(steps)))

    return call


def ratio(one: Call, other: Call, rounds: int, steps: int) -> dict[str, float]:
    """Milliseconds of a step of each, and how many times as long the other takes."""
    seconds: tuple[list[float], list[float]] = ([], [])
    one(steps)
    other(steps)
    for number in range(rounds):
        for side in ((0, 1), (1, 0))[number % 2]:
            begun = time.process_time()
            (one, other)[side](steps)
            seconds[side].append((time.process_time() - begun) / steps)
    ratios = [b / a for a, b in zip(*seconds, strict=True)]
    found = {"one_ms": 1e3 * median(seconds[0]), "other_ms": 1e3 * median(seconds[1])}
    found |= {"ratio": median(ratios), "least": min(ratios), "most": max(ratios)}
    return {name: round(value, 3) for name, value in found.items()}


def donated(name: str, members: int, vectorised: bool) -> dict[str, Any]:
    """Bytes of the state, and of all that the chunk of steps takes with and without donation."""
    with keeping():
        kept = chunk_bytes(name, members, vectorised)
    given = chunk_bytes(name, members, vectorised)
    return {"recipe": name, "members": members, "vectorised": vectorised, "kept": kept} | given


@contextmanager
def keeping() -> Iterator[None]:
    """Nothing is donated."""
    import jax

    jit = jax.jit
    with mock.patch.object(jax, "jit", lambda function, **given: jit(function)):
        yield


def chunk_bytes(name: str, members: int, vectorised: bool) -> Any:
    """As XLA plans it: arguments, results and temporaries; by kind where state is donated."""
    import jax
    import jax.numpy as jnp

    from benchmarks import cost
    from curta.frontends import api
    from curta.layouts.texts import layout_of
    from curta.training import trainer

    recipe = api.resolve(name, {})
    layout, alone = layout_of(recipe), trainer.mesh_for(1, 1, jax.devices()[:1])
    compiled = partial(trainer.compile_steps, vectorised=vectorised)
    with (
        mock.patch.object(trainer, "training_mesh", return_value=alone),
        mock.patch.object(trainer, "compile_steps", compiled),
    ):
        program, state, data = prepared(recipe, layout, range(members))
    lowered = program.lower(state, data, jnp.int32(0), jnp.int32(0))
    compiled_chunk = lowered.compile()
    if not compiled_chunk.memory_analysis().alias_size_in_bytes:
        return cost.taken(compiled_chunk)
    state_bytes = sum(leaf.nbytes for leaf in jax.tree.leaves(state))
    return {"state": state_bytes, "donated": cost.taken(compiled_chunk)}


if __name__ == "__main__":
    main()
