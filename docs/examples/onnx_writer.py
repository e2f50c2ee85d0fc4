"""Writes with a graph of `curta export --to onnx`, token by token.

    python onnx_writer.py model.onnx "21+43="      # a published layout: the prompt
    python onnx_writer.py model.onnx + 12 34       # a program: an operator and its operands

Needs onnxruntime and NumPy, and of Curta one file without imports of its own, which lies in every
folder that `--to huggingface` writes for a program, too.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnxruntime

from curta.export.huggingface.asking_curta import answer, prompt

PIECE = 256
"""Tokens of a prompt read at once: what a call needs grows with the square of their number."""


class Writer:
    """A graph, with what its metadata say."""

    def __init__(self, path: str) -> None:
        self.session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.about = self.session.get_modelmeta().custom_metadata_map
        self.past = [one for one in self.session.get_inputs() if one.name.startswith("past_")]
        self.outputs = ["logits", *(one.name.replace("past_", "present_") for one in self.past)]

    def write(self, tokens: Sequence[int], end: int, most: int) -> Iterator[int]:
        """At most so many tokens after a prompt, the end sign included."""
        kept = {one.name: _empty(one) for one in self.past}
        for begin in range(0, len(tokens), PIECE):
            logits, kept = self._step(tokens[begin : begin + PIECE], kept)
        for _ in range(most):
            yield (token := int(logits.argmax()))
            if token == end:
                return
            logits, kept = self._step([token], kept)

    def _step(self, tokens: Sequence[int], kept: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Logits for what follows the last token, and what is kept of all so far."""
        given = kept | {"tokens": np.array([tokens], np.int32)}
        logits, *present = self.session.run(self.outputs, given)
        return logits[0, -1], dict(zip(kept, present, strict=True))

    def complete(self, text: str, most: int = 10_000) -> str:
        """What a model of a published layout writes after a prompt, up to its end sign.

        Where the layout has none, `most` says how many tokens an answer has. ValueError for what is
        no prompt of the layout, or longer than the model's positions.
        """
        known = json.loads(self.about["tokens"])
        longest = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
        given = re.findall(f"{longest}|.", text)
        for symbol in given:
            if symbol not in known:
                every = " ".join(known)
                raise ValueError(f"{symbol!r} is no token of this model: it knows {every}")
        rules = json.loads(self.about.get("prompts", "{}"))
        if rules and not any(re.fullmatch(pattern, text) for pattern in rules):
            raise ValueError(f"{'; '.join(rules.values())} (got {text[:40]!r})")
        end = known.index(self.about["end"]) if self.about["end"] else -1
        return "".join(known[n] for n in self.write(list(map(known.index, given)), end, most))

    def ask(self, operator: str, *operands: int, most: int = 100_000) -> Any:
        """The answer of a model of programs; None if it writes none."""
        machine = json.loads(self.about["machine"])
        tokens = prompt(machine, operator, operands)
        end = [token["role"] for token in machine["tokens"]].index("end")
        text = [*tokens, *self.write(tokens, end, most)]
        return answer(machine, operator, text, len(tokens))


def _empty(given: Any) -> Any:
    """What is kept of no tokens, for one text."""
    sizes = {"batch": 1, "past": 0}
    dtype = np.int32 if given.type == "tensor(int32)" else np.float32
    return np.zeros([sizes.get(size, size) for size in given.shape], dtype)


if __name__ == "__main__":
    path, *asked = sys.argv[1:]
    writer = Writer(path)
    if len(asked) == 1:
        print(writer.complete(asked[0]))
    else:
        print(writer.ask(asked[0], *map(int, asked[1:])))
