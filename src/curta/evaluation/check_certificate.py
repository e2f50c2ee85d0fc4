"""Check a Curta certificate without Curta: `python check_certificate.py RUN_FOLDER`.

This file needs Python 3.11 and NumPy, and shares no code with the program that wrote the
certificate. `windows.safetensors` lists windows: a token, the tokens that it sees around it, and
the token that is right to write next. The check is that each member of the run gives the right
token the largest logit after every window: in exact arithmetic and, where that can be proved, in
single precision on any machine, whatever the order of its sums. It does not check that the list
is complete, which is `closure` in certificate.json.

Every number of the forward pass is a ball: a centre, computed in double precision, and a radius,
which bounds the distance of any computation with rounding errors of at most `unit` (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1).
"""

import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

SINGLE, DOUBLE = 2.0**-23.99, 2.0**-52  # bounds on one rounding, double's own included
FUNCTION = 8  # roundings by which an exponential or a root may be off
SUPPORTED: dict[str, list[Any]] = {
    "norm": ["rms"], "norm_placement": ["pre"], "biases": [[]], "gated": [False],
    "activation": ["relu", "relu2"], "tie_embeddings": [False], "weight_sharing": [[]],
    "embedding": ["table"], "attention_scale": [True],
}  # fmt: skip
Weights = dict[str, np.ndarray]
Ball = Sequence[Any]  # arrays of centres and of radii


class RefusedError(Exception):
    """The certificate does not hold, or cannot be checked here."""


def read_arrays(path: Path) -> Weights:
    """Return the arrays of a safetensors file by name: a header in JSON, then plain bytes."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    types, arrays = {"F32": "<f4", "I32": "<i4", "U16": "<u2", "BOOL": "?"}, {}
    for name, entry in json.loads(content[8:start]).items():
        if name != "__metadata__":
            begin, end = (start + offset for offset in entry["data_offsets"])
            array = np.frombuffer(content[begin:end], types[entry["dtype"]])
            arrays[name] = array.reshape(entry["shape"])
    return arrays


def gamma(terms: Any, unit: float) -> Any:
    """Return the relative error of a sum of so many products, in any order."""
    return terms * unit / (1 - terms * unit)


def product(x: Ball, weight: np.ndarray, unit: float) -> Ball:
    """Return x @ weight, whose weights are exact; terms that are exactly zero add no error."""
    centre, radius = x
    size, spread = np.abs(centre) + radius, np.abs(weight)
    terms = np.count_nonzero(size, axis=-1, keepdims=True)
    return centre @ weight, radius @ spread + gamma(terms, unit) * (size @ spread)


def add(x: Ball, y: Ball, unit: float) -> Ball:
    """Return x + y."""
    centre, radius = x[0] + y[0], x[1] + y[1]
    return centre, radius + unit * (np.abs(centre) + radius)


def normed(x: Ball, gain: np.ndarray, epsilon: float, unit: float) -> Ball:
    """Return x / sqrt(mean(x^2) + epsilon) * gain."""
    centre, radius = x
    square = np.mean(centre**2, -1, keepdims=True) + epsilon
    spread = np.mean(2 * np.abs(centre) * radius + radius**2, -1, keepdims=True)
    spread = spread + gamma(centre.shape[-1] + 3, unit) * (square + spread)
    with np.errstate(invalid="ignore"):  # where rounding could make it divide by zero, no number
        inverse, largest = square**-0.5, (square - spread) ** -0.5 * (1 + FUNCTION * unit)
    radius = radius * largest + np.abs(centre) * (largest - inverse)
    centre = centre * inverse
    return centre * gain, (radius + 3 * unit * (np.abs(centre) + radius)) * np.abs(gain)


def mixed(cells: Ball, shares: Ball, unit: float) -> Ball:
    """Return the sum over axis 1 of cells, each times its share."""
    size = np.sum((shares[0] + shares[1]) * (np.abs(cells[0]) + cells[1]), 1)
    radius = size - np.sum(np.abs(shares[0] * cells[0]), 1) + gamma(shares[0].shape[1], unit) * size
    return np.sum(shares[0] * cells[0], 1), radius


def logits(rows: np.ndarray, w: Weights, machine: Any, unit: float) -> Ball:
    """Return the logits after each window, windows x tokens."""
    config, roles = machine["model"], [role["name"] for role in machine["roles"]]
    role = np.array([roles.index(token["role"]) for token in machine["tokens"]])
    heads, cells, epsilon = config["heads"], rows.shape[1], config["norm_epsilon"]
    features = config["width"] // heads

    # A token's vector: the sum of the vectors of its symbol, carry, role and move.
    vectors: Ball = w["tokens"], np.zeros_like(w["tokens"])
    if config["compositional_embeddings"]:
        traits = [
            [(0, str(t["symbol"] if t["value"] is None else t["value"])), (1, t["carry"]),
             (2, t["role"]), (3, str((t["home"], t["offset"])))]
            for t in machine["tokens"]
        ]  # fmt: skip
        columns = dict.fromkeys(trait for own in traits for trait in own)
        parts = np.array([[float(trait in own) for trait in columns] for own in traits])
        vectors = product((parts, np.zeros_like(parts)), w["tokens"], unit)
    if config["role_embeddings"]:
        vectors = add(vectors, (w["roles"][role], 0), unit)

    # One query meets the keys of all cells; an empty square has a key and a value of zeros.
    x, tables = normed(vectors, w["attention.gain"][0], epsilon, unit), []
    for name in ("query", "key", "value"):
        table = product(x, w[f"attention.{name}"][0], unit)
        split = [np.pad(t, ((0, 1), (0, 0))).reshape(len(role) + 1, -1, features) for t in table]
        tables.append([np.repeat(t, heads // t.shape[1], 1) for t in split])
    (q, dq), (k, dk), v = ([table[rows] for table in pair] for pair in tables)
    size = np.sum((np.abs(q[:, :1]) + dq[:, :1]) * (np.abs(k) + dk), -1)
    radius = size - np.sum(np.abs(q[:, :1] * k), -1) + gamma(features + 2, unit) * size
    dots: Ball = np.sum(q[:, :1] * k, -1) * features**-0.5, radius * features**-0.5
    bias = w["positions.biases"][0].reshape(heads, len(roles), cells).transpose(1, 2, 0)
    scores, radius = add(dots, (bias[role[rows[:, 0]]], 0), unit)
    sizes = np.array([1 + len(machine["windows"].get(name, ())) for name in roles])
    exists = (np.arange(cells) < sizes[role[rows[:, 0]], None])[..., None]
    largest = np.max(scores, 1, where=exists, initial=-np.inf, keepdims=True)
    scores = np.where(exists, scores - largest, 0)
    share = np.exp(scores) * exists
    share = share / share.sum(1, keepdims=True)
    # A score is off by its radius and by the rounding of its difference to the largest one.
    off = ((radius + unit * (np.abs(scores) + 2 * radius)) * exists).max(1, keepdims=True)
    factor = np.exp(2 * off) * (1 + gamma(2 * FUNCTION + cells + 2, unit)) - 1
    shares = share[..., None], ((share * factor + 1e-37) * exists)[..., None]
    outputs = [part.reshape(len(rows), -1) for part in mixed(v, shares, unit)]
    attended = product(outputs, w["attention.out"][0], unit)
    x = add([part[rows[:, 0]] for part in vectors], attended, unit)

    for layer in range(config["num_layers"]):
        hidden = normed(x, w["mlp.gain"][layer], epsilon, unit)
        centre, radius = product(hidden, w["mlp.up"][layer], unit)
        active = centre + radius > 0
        centre, radius = np.maximum(centre, 0), radius * active
        if config["activation"] == "relu2":
            size = (centre + radius) ** 2
            centre, radius = centre**2, size - centre**2 + unit * size
        x = add(x, product((centre, radius), w["mlp.down"][layer], unit), unit)
    return product(normed(x, w["gain"], epsilon, unit), w["head"], unit)


def margins(
    windows: Weights, chosen: np.ndarray, w: Weights, machine: Any, unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lead of the right token over all others after each window, and a lower bound."""
    lead, proved = np.empty((2, len(chosen)))
    for start in range(0, len(chosen), 4096):
        block = chosen[start : start + 4096]
        centre, radius = logits(windows["rows"][block], w, machine, unit)
        right = np.arange(len(block)), windows["targets"][block]
        leads = centre[right][:, None] - centre
        leads[right] = np.inf
        lead[start : start + 4096] = leads.min(1)
        proved[start : start + 4096] = (leads - radius).min(1) - radius[right]
    return lead, proved


def check(run: Path) -> list[str]:
    """Return a sentence per member; raise RefusedError if the certificate does not hold."""
    certificate = json.loads((run / "certificate.json").read_text())
    machine = json.loads((run / "machine.json").read_text())
    config = machine["model"] = tomllib.loads((run / "recipe.toml").read_text())["model"]
    windows = read_arrays(run / "windows.safetensors")
    arrays = read_arrays(max((run / "checkpoints").glob("*.safetensors")))
    for field, values in SUPPORTED.items():
        if config[field] not in values:
            raise RefusedError(f"models with {field} = {config[field]!r} are not supported")
    rows = windows["rows"]
    counted = sum(role["windows"] for role in certificate["roles"])
    if not len(rows) == len(windows["targets"]) == certificate["windows"] == counted:
        raise RefusedError(f"{len(rows):,} windows where certificate.json counts {counted:,}")
    if len(np.unique(rows, axis=0)) < len(rows):
        raise RefusedError("a window is listed twice")

    lines, every = [], np.arange(len(rows))
    for number, member in enumerate(certificate["members"]):
        best = ".best.score" in arrays and arrays[".best.score"][number] >= 0
        prefix = ".best.model." if best else ".model."
        w = {name.removeprefix(prefix): array[number].astype(float)
             for name, array in arrays.items() if name.startswith(prefix)}  # fmt: skip
        lead, proved = margins(windows, every, w, machine, SINGLE)
        if np.any(np.abs(windows["margin"][number] - lead) > windows["bound"][number]):
            raise RefusedError(f"member {number}: the margins are not those of these weights")
        unproved = np.flatnonzero(~(proved > 0))  # in single precision, so prove the exact margin
        exact = margins(windows, unproved, w, machine, DOUBLE)[1]
        if (wrong := int(np.sum(~(exact > 0)))) or member["wrong"]:
            stated = f"certificate.json counts {member['wrong']:,}"
            raise RefusedError(f"member {number} is wrong on {wrong:,} windows, {stated}")
        lines.append(
            f"member {number} (seed {member['seed']}): right on all {len(rows):,} windows, by"
            f" {lead.min():.3g} logits or more in exact arithmetic; proved for any"
            f" single-precision arithmetic on {len(rows) - len(unproved):,}"
        )
    return [*lines, f"the list of windows is {certificate['grade']}, as the certificate states"]


if __name__ == "__main__":
    try:
        print("\n".join(check(Path(sys.argv[1]))))
    except RefusedError as reason:
        sys.exit(f"refused: {reason}")
