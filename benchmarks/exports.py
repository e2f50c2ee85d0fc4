"""Sums written by exported models: `python -m benchmarks.exports`.

A model of the default recipe, trained here first, is exported for transformers and as an ONNX
graph, and writes random sums of two equally long numbers, the prompt's pass included; transformers
on one thread. Without a cache it calculates the whole text for each token (`use_cache=False`).
Every answer must be right.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .spread import Row, Spread, Table, explained, main
from .throughput import trained

if TYPE_CHECKING:
    from curta import Run

Size = tuple[int, int]
"""How many sums at once, and of how many digits."""

Sum = tuple[int, int]

TRANSFORMERS: dict[bool, tuple[Size, ...]] = {
    True: ((1, 100), (32, 100), (1, 1000)),
    False: ((1, 100), (32, 100)),
}
"""Sizes with a cache and without."""

ONNX: tuple[Size, ...] = ((1, 100), (1, 300), (1, 1000))


def tables(quick: bool) -> Iterator[Table]:
    repeats = 1 if quick else 5
    with trained(600 if quick else 0) as run, tempfile.TemporaryDirectory() as folder:
        rows = [*_transformers(run, Path(folder), quick, repeats)]
        rows += _onnx(run, Path(folder), quick, repeats)
    head = ["", "sums at once", "digits", "seconds", "tokens a second"]
    yield Table("Exported models", explained(__doc__), head, rows)


def _transformers(run: "Run", folder: Path, quick: bool, repeats: int) -> Iterator[Row]:
    import torch
    from transformers import AutoModelForCausalLM

    from curta import export

    torch.set_num_threads(1)
    at = export.write(run, "huggingface", folder / "model")
    model: Any = AutoModelForCausalLM.from_pretrained(at, trust_remote_code=True).eval()

    def write(use_cache: bool, sums: list[Sum]) -> list[int]:
        prompts = torch.cat([model.prompt("+", *pair) for pair in sums])
        answers = model.generate(prompts, attention_mask=prompts * 0 + 1, use_cache=use_cache)
        return [model.answer("+", text, prompts.shape[1]) for text in answers]

    for use_cache, sizes in TRANSFORMERS.items():
        name = f"transformers, {'with' if use_cache else 'without'} a cache"
        for size in sizes[: 1 if quick else None]:
            yield _row(name, size, partial(write, use_cache), quick, repeats)


def _onnx(run: "Run", folder: Path, quick: bool, repeats: int) -> Iterator[Row]:
    from curta import export
    from docs.examples.onnx_writer import Writer

    writer = Writer(str(export.write(run, "onnx", folder / "model.onnx")))
    for size in ONNX[: 1 if quick else None]:
        yield _row("onnxruntime", size, lambda sums: [writer.ask("+", *sums[0])], quick, repeats)


def _row(
    name: str, size: Size, write: Callable[[list[Sum]], list[int]], quick: bool, repeats: int
) -> Row:
    """Seconds of one call after a first; a quick run's model need not be right."""
    count, digits = size
    sums, seconds = _sums(count, digits), []
    for _ in range(1 + repeats):
        begun = time.perf_counter()
        answers = write(sums)
        seconds.append(time.perf_counter() - begun)
        if not quick and answers != [sum(pair) for pair in sums]:
            raise RuntimeError(f"{name} wrote a wrong sum of {digits} digits")
    rate = Spread.of([count * (digits + 2) / each for each in seconds[1:]])
    return [name, f"{count}", f"{digits:,}", Spread.of(seconds[1:]), rate]


def _sums(count: int, digits: int) -> list[Sum]:
    rng, least = random.Random(0), 10 ** (digits - 1)
    drawn = [rng.randrange(least, 10 * least) for _ in range(2 * count)]
    return list(zip(drawn[:count], drawn[count:], strict=True))


if __name__ == "__main__":
    main(tables)
