"""Whether a change of the code changed what is learned: final weights, bit for bit.

    python -m benchmarks.weights --write   before the change: writes benchmarks/weights.json
    python -m benchmarks.weights           after it: compares with that file

Ten recipes of different designs are trained for 100 steps with seed 0. Weights are told apart
by shape and content, not by name or place, so that a renamed weight is the same weight. Only one
machine with one version of JAX repeats its bits, so git ignores the file.
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from curta.config import files
from docs.shared import scratch_runs

RECIPES = (
    "addition", "multiplication", "addition-fire", "addition-hints", "addition-abacus",
    "addition-position-coupling", "addition-alibi", "sources/digit-encoder",
    "sources/ladder-1-sgd", "sources/looped-abacus-small",
)  # fmt: skip
STEPS = 100
FILE = Path(__file__).with_suffix(".json")


def main() -> int:
    writes = "--write" in sys.argv
    if not writes and not FILE.exists():
        sys.exit(f"{FILE.name} is missing: write it with --write, before the change, here")
    digests = {recipe: weights(recipe) for recipe in RECIPES}
    if writes:
        files.write(FILE, files.json_text(digests))
        return 0
    before = json.loads(FILE.read_text("utf-8"))
    for recipe, digest in digests.items():
        print(f"{recipe:30} {'same' if digest == before.get(recipe) else 'DIFFERENT'}")
    return int(digests != before)


def weights(recipe: str) -> str:
    """The SHA-256 of a member's weights after its last step."""
    import curta

    fields: dict[str, Any] = {
        "training.steps": STEPS,
        "training.validate_every": 0,
        "training.keep": "last",
    }
    with scratch_runs():
        run = curta.train(recipe, **fields, evaluate=False)
        return digest(run.model(0))


def digest(model: Any) -> str:
    import jax
    import numpy as np

    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(model)]
    hashes = [hashlib.sha256(f"{x.shape}{x.dtype}".encode() + x.tobytes()) for x in leaves]
    whole = "".join(sorted(part.hexdigest() for part in hashes))
    return hashlib.sha256(whole.encode()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
