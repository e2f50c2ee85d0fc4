"""Sums written by exported models: `python -m benchmarks.exports`.

A model of the default recipe, trained here first, is exported for transformers and as an ONNX
graph, and writes random sums of two equally long numbers, the prompt's pass included; transformers
on one thread. Without a cache it calculates the whole text for each token (`use_cache=False`).
Every answer must be right.
"""

import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from docs.shared import timed

from .spread import Row, Spread, Table, explained, main
from .throughput import trained

Sum = tuple[int, int]

SIZES = {
    "transformers, with a cache": ((1, 100), (32, 100), (1, 1000)),
    "transformers, without a cache": ((1, 100), (32, 100)),
    "onnxruntime": ((1, 100), (1, 300), (1, 1000)),
}
"""How many sums at once, and of how many digits."""


def tables(quick: bool) -> Iterator[Table]:
    import torch
    from transformers import AutoModelForCausalLM

    from curta import export
    from docs.examples.onnx_writer import Writer

    torch.set_num_threads(1)
    rows = list[Row]()
    with trained(600 if quick else 0) as run, tempfile.TemporaryDirectory() as folder:
        place = export.write(run, "huggingface", Path(folder) / "model")
        model: Any = AutoModelForCausalLM.from_pretrained(place, trust_remote_code=True).eval()
        writer = Writer(str(export.write(run, "onnx", Path(folder) / "model.onnx")))

        def generate(use_cache: bool, sums: list[Sum]) -> list[int]:
            prompts = torch.cat([model.prompt("+", *pair) for pair in sums])
            texts = model.generate(prompts, attention_mask=prompts * 0 + 1, use_cache=use_cache)
            return [model.answer("+", text, prompts.shape[1]) for text in texts]

        writers: dict[str, Callable[[list[Sum]], list[int]]] = {
            "transformers, with a cache": partial(generate, True),
            "transformers, without a cache": partial(generate, False),
            "onnxruntime": lambda sums: [writer.ask("+", *sums[0])],
        }
        for name, write in writers.items():
            for count, digits in SIZES[name][: 1 if quick else None]:
                rows.append(_row(name, count, digits, write, quick))
    head = ["", "sums at once", "digits", "seconds", "tokens a second"]
    yield Table("Exported models", explained(__doc__), head, rows)


def _row(
    name: str, count: int, digits: int, write: Callable[[list[Sum]], list[int]], quick: bool
) -> Row:
    """Seconds of one call after a first; a quick run's model need not be right."""
    rng, least = random.Random(0), 10 ** (digits - 1)
    drawn = [rng.randrange(least, 10 * least) for _ in range(2 * count)]
    sums = list(zip(drawn[:count], drawn[count:], strict=True))

    def checked() -> None:
        if write(sums) != [sum(pair) for pair in sums] and not quick:
            raise RuntimeError(f"{name} wrote a wrong sum of {digits} digits")

    seconds = timed({name: checked}, 1 if quick else 5)[name]
    rate = Spread.of([count * (digits + 2) / each for each in seconds])
    return [name, f"{count}", f"{digits:,}", Spread.of(seconds), rate]


if __name__ == "__main__":
    main(tables)
