"""One side of a step comparison, in its own process: `python -m benchmarks.workers SIDE ...`.

A worker prepares and warms up, then answers each line on its standard input with
the seconds of one step, averaged over `steps` of them. It is started once, and
sleeps while other sides are measured: thread pools never run at the same time.
"""

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from docs.shared import prepared

from .configurations import CONFIGURATIONS
from .machine import cores

Measure = Callable[[int], float]
"""Runs that many steps; seconds for each."""


def main(side: str, name: str, folder: str, steps: str) -> None:
    measure = SIDES[side](name, Path(folder))
    measure(max(2, int(steps) // 4))
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        print(json.dumps(measure(int(steps))), flush=True)


def curta(name: str, folder: Path) -> Measure:
    """Curta's compiled chunk as a run calls it, drawing its problems or windows as it goes."""
    from curta.training import devices

    devices.configure()
    import jax
    import jax.numpy as jnp

    from curta.layouts.texts import layout_of

    recipe = CONFIGURATIONS[name].recipe()
    call, state, data = prepared(recipe, layout_of(recipe), [0])

    def measure(steps: int) -> float:
        nonlocal state
        begun = time.perf_counter()
        state, metrics = call(state, data, jnp.int32(0), jnp.int32(steps))
        jax.block_until_ready((state, metrics))
        return (time.perf_counter() - begun) / steps

    return measure


def eager(name: str, folder: Path, compiles: bool = False) -> Measure:
    """PyTorch on batches made beforehand, with the number of threads that is faster."""
    import torch
    from safetensors.numpy import load_file

    from .torch_model import Size, Trainer, batches, from_arrays, loss

    settings = json.loads((folder / "settings.json").read_text())
    model = from_arrays(Size(**settings["size"]), load_file(folder / "weights.safetensors"))
    trainer = Trainer(model, settings["optimizer"], settings["steps"])
    data = list(batches(load_file(folder / "batches.safetensors")))
    if compiles:
        trainer.objective = torch.compile(loss)

    def measure(steps: int) -> float:
        begun = time.perf_counter()
        for number in range(steps):
            trainer.step(data[number % len(data)], number)
        return (time.perf_counter() - begun) / steps

    _choose_threads(measure)
    return measure


def _choose_threads(measure: Measure) -> None:
    """One thread may be faster than all where operations are small."""
    import torch

    seconds = {}
    for threads in sorted({1, cores()}):
        torch.set_num_threads(threads)
        measure(2)
        seconds[threads] = min(measure(2) for _ in range(3))
    torch.set_num_threads(min(seconds, key=lambda threads: seconds[threads]))


SIDES: dict[str, Callable[[str, Path], Measure]] = {
    "curta": curta,
    "eager": eager,
    "compiled": partial(eager, compiles=True),
}

if __name__ == "__main__":
    main(*sys.argv[1:])
