"""Time of one training step, Curta against PyTorch: `python -m benchmarks.steps`.

Both sides train the same model on batches of the same size with the same loss and
optimiser (see `check`). Curta's side is the compiled chunk that a run calls, which
also draws and writes its problems and measures exact match; PyTorch is given its
batches ready made, without the last token, and measures nothing but the loss.
torch.compile, in its default mode, is of the forward pass and the loss; clipping
and the optimiser's step stay eager, one call each, where Curta's are compiled.

Each side is one process, warmed up before anything is measured. Rounds go through
the sides in turn, each time from another one on; ratios compare the two figures of
one round.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

from docs.shared import elsewhere, prepared

from .configurations import CONFIGURATIONS
from .machine import cores
from .spread import Row, Spread, Table, explained

BATCHES = 8

QUICK = ("c",)
"""Configurations of a quick run, which leaves torch.compile out: it takes a minute for each."""

Measure = Callable[[int], float]
"""Runs that many steps; seconds for each."""


# One side, in its own process


def serve(pipe: Connection, side: str, name: str, folder: str, steps: int) -> None:
    """Prepare and warm up, then answer each message with the seconds of one step.

    A worker is started once, and sleeps while other sides are measured: thread pools never run at
    the same time.
    """
    measure = SIDES[side](name, Path(folder))
    measure(max(2, steps // 4))
    pipe.send("ready")
    while pipe.recv():
        pipe.send(measure(steps))


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
    from safetensors.torch import load_file as load_tensors

    from .torch_model import Decoder, Trainer, loss

    recipe = CONFIGURATIONS[name].recipe()
    trainer = Trainer(Decoder(recipe, load_file(folder / "weights.safetensors")), recipe)
    columns = load_tensors(folder / "batches.safetensors")
    batches = [{key: columns[key][number] for key in columns} for number in range(BATCHES)]
    if compiles:
        trainer.objective = torch.compile(loss)

    def measure(steps: int) -> float:
        begun = time.perf_counter()
        for number in range(steps):
            trainer.step(batches[number % BATCHES], number)
        return (time.perf_counter() - begun) / steps

    # One thread may be faster than all where operations are small.
    seconds = {}
    for threads in sorted({1, cores()}):
        torch.set_num_threads(threads)
        measure(2)
        seconds[threads] = min(measure(2) for _ in range(3))
    torch.set_num_threads(min(seconds, key=lambda threads: seconds[threads]))
    return measure


SIDES: dict[str, Callable[[str, Path], Measure]] = {
    "curta": curta,
    "eager": eager,
    "compiled": partial(eager, compiles=True),
}


# All sides in turn


@contextmanager
def worker(side: str, name: str, folder: str, steps: int) -> Iterator[Connection]:
    """A side that is ready; the next is started only then."""
    context = get_context("spawn")
    pipe, end = context.Pipe()
    process = context.Process(target=serve, args=(end, side, name, folder, steps))
    process.start()
    end.close()
    try:
        pipe.recv()
        yield pipe
        pipe.send(None)
    except EOFError:
        raise RuntimeError("a worker of the benchmark ended: see its message above") from None
    finally:
        pipe.close()
        process.join()


def measured(name: str, rounds: int, steps: int, sides: Sequence[str]) -> dict[str, list[float]]:
    """Seconds of a step for each side, one figure per round."""
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        # in a process of its own, so that this one stays without JAX's threads
        elsewhere("benchmarks.export:save", name, folder, BATCHES)
        pipes = {side: stack.enter_context(worker(side, name, folder, steps)) for side in sides}
        for number in range(rounds):
            by = number % len(sides)
            for side in [*sides[by:], *sides[:by]]:
                pipes[side].send("go")
                seconds[side].append(pipes[side].recv())
    return seconds


def tables(quick: bool, names: Sequence[str] = ()) -> Iterator[Table]:
    """One table: a row for each configuration."""
    rounds, chosen = 2 if quick else 9, names or (QUICK if quick else CONFIGURATIONS)
    # torch.compile needs a C++ compiler.
    compiler = not quick and any(map(shutil.which, ("c++", "g++", "clang++")))
    rows: list[Row] = []
    for name, configuration in CONFIGURATIONS.items():
        if name not in chosen:
            continue
        sides = ["curta", "eager", *(["compiled"] if compiler else [])]
        seconds = measured(name, rounds, 2 if quick else configuration.steps, sides)
        row: Row = [name, configuration.summary, Spread.of(seconds["curta"], 1000)]
        for side in ("eager", "compiled"):
            if side not in seconds:
                row += ["not measured", ""]
                continue
            pairs = zip(seconds[side], seconds["curta"], strict=True)
            ratios = [other / ours for other, ours in pairs]
            row += [Spread.of(seconds[side], 1000), Spread.of(ratios, bold=True)]
        rows.append(row)
    head = ["", "model and batch", "Curta, ms", "PyTorch eager, ms", "eager / Curta"]
    head += ["torch.compile, ms", "compiled / Curta"]
    yield Table("Training step", explained(__doc__), head, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*", help="configurations; all of them if none is given")
    arguments = parser.parse_args()
    for table in tables(arguments.quick, arguments.names):
        print(table)
