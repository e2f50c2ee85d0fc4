"""Every field of a recipe says something: what comes of training and evaluating depends on it."""

import hashlib
import json
from dataclasses import replace
from functools import cache
from typing import Any, get_args

import jax
import numpy as np
import pytest

from curta.config.model import Shared
from curta.config.recipe import field_paths
from curta.frontends.api import begin
from curta.runs.session import Session
from tests import tiny

WINDOW: dict[str, Any] = {"training__steps": 4, "evaluation__certificate": 0}
ROPE = WINDOW | {"layout": "reversed", "positions__name": "rope"}
TABLE = ROPE | {"task__values": [0, 99], "task__held_out": 40, "task__special": 0.0}
SEVERAL = ROPE | {"task__operator": "sort", "layout": "plain"}
WATCHED = ROPE | {"training__validate_every": 2, "training__validation": 8}
EASY = {"task__values": [0, 1], "training__steps": 60, "training__validate_every": 20}
STOPPED = WATCHED | EASY | {"task__special": 0.0, "optimizer__learning_rate": 0.02}
ERRATIC = WATCHED | {"training__validate_every": 1, "optimizer__learning_rate": 3.0}
SEEN = STOPPED | {"training__evaluate_every": 20, "evaluation__digits": [1]}
LOOPED = ROPE | {"model__num_recurrences": 3}
PROGRESSIVE = LOOPED | {"training__recurrence_loss": "progressive"}
INJECTED = ROPE | {"model__input_injection": "block"}
TASKS = [{"operator": "+", "digits": [1, 3]}, {"operator": "-", "digits": [1, 3]}]
PLACES = ROPE | {"positions__name": "coupled-sinusoidal"}
FLAT = ROPE | {
    "model__width": 2, "model__heads": 1, "model__compositional_embeddings": False,
}  # fmt: skip
GRID = ROPE | {"evaluation__grid": 2, "evaluation__grid_count": 2}


def with_positions(name: str, **fields: Any) -> dict[str, Any]:
    """Texts of a layout under an encoding, fields of it in place of its defaults."""
    return ROPE | {"positions__name": name} | {f"positions__{k}": v for k, v in fields.items()}


def with_optimizer(name: str) -> dict[str, Any]:
    return ROPE | {"optimizer__name": name}


CHANGES: dict[str, list[tuple[dict[str, Any], Any]]] = {
    "layout": [(ROPE, "plain")],
    "program": [(WINDOW, "carried")],
    "task.operator": [(ROPE, "-")],
    "task.base": [(WINDOW | {"program": "sums"}, 7)],
    "task.digits": [(WINDOW, [1, 3]), (ROPE, [1, 3])],
    "task.second": [(WINDOW, [1, 2]), (ROPE, [1, 2])],
    "task.operands": [(SEVERAL | {"task__operands": [1, 2]}, [1, 3])],
    "task.special": [(WINDOW, 1.0), (ROPE, 1.0)],
    "task.special_until": [(ROPE, 4)],
    "task.smallest_of": [(TABLE, 4)],
    "task.weight": [(ROPE | {"task": TASKS}, [TASKS[0], TASKS[1] | {"weight": 3.0}])],
    "task.values": [(TABLE, [0, 50])],
    "task.held_out": [(TABLE, 41)],
    "task.twins_together": [(TABLE, False)],
    "task.rows": [(TABLE, 9), (ROPE, 20)],
    "task.split": [(TABLE, 43)],
    "positions.name": [(ROPE, "nope")],
    "positions.length": [(with_positions("learned"), 64)],
    "positions.base": [(with_positions(name), 100.0) for name in ("sinusoidal", "rope")],
    "positions.over": [(ROPE, "heads")],
    "positions.of": [(with_positions("randomised", max_length=64), "sinusoidal")],
    "positions.max_length": [(with_positions(name), 64) for name in ("randomised", "fire")],
    "positions.learned": [(with_positions("alibi"), True)],
    "positions.num_buckets": [(with_positions("t5"), 8)],
    "positions.max_distance": [(with_positions("t5", num_buckets=4), 9)],
    "positions.hidden": [(with_positions("fire"), 8)],
    "positions.rows": [(with_positions(name), 256) for name in ("abacus", "coupled")],
    "positions.max_offset": [(with_positions("abacus"), 8)],
    "positions.offset_of": [(with_positions("abacus"), "text")],
    "positions.evaluation_offset": [(with_positions("abacus"), 8)],
    "positions.inject": [(with_positions("abacus"), "queries_keys")],
    "positions.max_start": [(with_positions("coupled"), 8)],
    "positions.period": [(PLACES, 8.0)],
    "positions.max_position": [(with_positions("position-coupling"), 32)],
    "positions.neighbours": [(WINDOW, {"sum": ["a place+1", "b place+1", "a", "b", "a place-1"]})],
    "model.embedding": [(FLAT, "arc")],
    "model.qk_input": [(PLACES, "positions")],
    "model.width": [(WINDOW, 32)],
    "model.heads": [(WINDOW, 4)],
    "model.num_kv_heads": [(WINDOW, 1)],
    "model.num_layers": [(WINDOW, 1)],
    "model.num_attention_layers": [(ROPE, 2)],
    "model.num_recurrences": [(ROPE, 2)],
    "model.input_injection": [
        (ROPE, "block"),
        (ROPE, "normed"),
        (LOOPED, "recurrence"),
        (ROPE | {"model__input_injection": "block"}, "sublayer"),
    ],
    "model.mlp_ratio": [(WINDOW, 3)],
    "model.gated": [(WINDOW, True)],
    "model.activation": [
        (WINDOW, "relu"),
        (WINDOW, "gelu"),
        (WINDOW, "gelu_erf"),
        (WINDOW, "silu"),
    ],
    "model.norm": [(WINDOW, "layer"), (WINDOW, "plain"), (WINDOW, "none")],
    "model.norm_placement": [(WINDOW, "post_residual"), (ROPE, "post")],
    "model.norm_epsilon": [(ROPE, 0.01)],
    "model.final_norm": [(ROPE, False)],
    "model.biases": [
        *((ROPE, [one]) for one in ("qkv", "out", "mlp", "head")),
        (ROPE | {"model__norm": "layer"}, ["norms"]),
    ],
    "model.attention_scale": [(WINDOW, False)],
    "model.init": [(WINDOW, "normal"), (WINDOW, "gpt2"), (WINDOW, "torch")],
    "model.init_std": [(WINDOW | {"model__init": "normal"}, 0.03)],
    "model.dropout": [(ROPE, 0.1)],
    "model.dropout_sites": [
        (ROPE | {"model__dropout": 0.1}, [one])
        for one in ("embedding", "attention", "mlp", "output")
    ],
    "model.causal": [(with_positions("learned", length=64) | {"layout": "framed"}, False)],
    "model.tie_embeddings": [(WINDOW, True)],
    "model.tied_scale": [(ROPE | {"model__tie_embeddings": True}, False)],
    "model.weight_sharing": [(WINDOW, [what]) for what in get_args(Shared)],
    "model.role_embeddings": [(WINDOW, False)],
    "model.compositional_embeddings": [(WINDOW, False)],
    "optimizer.name": [(ROPE, "adam"), (ROPE, "sgd"), (ROPE, "muon")],
    "optimizer.learning_rate": [(WINDOW, 0.1)],
    "optimizer.clip": [(WINDOW, 0.01)],
    "optimizer.schedule": [(WINDOW, "linear"), (WINDOW, "constant")],
    "optimizer.warmup": [(WINDOW, 0.5)],
    "optimizer.final": [(WINDOW, 0.5)],
    "optimizer.momentum": [(with_optimizer(name), 0.5) for name in ("sgd", "muon")],
    "optimizer.beta1": [(with_optimizer(name), 0.5) for name in ("adam", "adamw", "muon")],
    "optimizer.beta2": [(with_optimizer(name), 0.5) for name in ("adam", "adamw", "muon")],
    "optimizer.weight_decay": [(with_optimizer(name), 0.5) for name in ("adamw", "muon")],
    "training.steps": [(WINDOW, 5)],
    "training.extended_at": [(WINDOW | {"training__steps": 8}, [4])],
    "training.batch": [(WINDOW, 16)],
    "training.checkpoint_every": [(WINDOW, 2)],
    "training.checkpoints": [(WINDOW | {"training__checkpoint_every": 2}, 1)],
    "training.history_every": [(WINDOW, 2)],
    "training.loss": [(ROPE, "all"), (ROPE, "numeric")],
    "training.validate_every": [(WATCHED, 4)],
    "training.validation": [(WATCHED, 9)],
    "training.keep": [(ERRATIC, "best"), (ERRATIC, "best-tokens")],
    "training.stop_at": [(STOPPED, 0.01)],
    "training.stop_after": [(STOPPED | {"training__stop_at": 0.01}, 60)],
    "training.evaluate_every": [(WINDOW, 2), (ROPE, 2)],
    "training.evaluate_digits": [(WINDOW | {"training__evaluate_every": 2}, [2])],
    "training.evaluate_count": [(SEEN, 9)],
    "training.problems": [(WINDOW, 50)],
    "training.order": [(ROPE | {"task__rows": 20}, "epochs")],
    "training.sampling": [(WINDOW, "frequency")],
    "training.recurrence_loss": [(LOOPED, "mixed"), (LOOPED, "progressive")],
    "training.progressive_alpha": [(PROGRESSIVE, 0.5)],
    "training.precision": [(WINDOW, "bfloat16"), (ROPE, "bfloat16")],
    "evaluation.digits": [(WINDOW, [2])],
    "evaluation.all_sizes": [(ROPE | {"evaluation__digits": [5, 6, 7]}, True)],
    "evaluation.count": [(WINDOW, 9)],
    "evaluation.generated": [(WINDOW, 3)],
    "evaluation.grid": [(GRID, 3)],
    "evaluation.grid_count": [(GRID, 3)],
    "evaluation.table": [(ROPE, 3)],
    "evaluation.held_out": [(TABLE, 9)],
    "evaluation.layouts": [(TABLE, ["plain"])],
    "evaluation.certificate": [(WINDOW | {"evaluation__certificate": 1_000}, 2_000)],
    "evaluation.named": [(ROPE, ["1+2"])],
    "evaluation.seed": [(WINDOW, 2)],
}
"""For each field, what other value makes a difference, and to which recipes."""

SHOWN = ("summary", "positions.file", "positions.settings")
"""What a run is called on the terminal; a user's own encoding, which has fields of its own."""


def test_every_field_is_here() -> None:
    assert set(CHANGES) == set(field_paths()) - set(SHOWN)


def kept(changes: dict[str, Any]) -> dict[str, Any]:
    """What training, evaluating and certifying leave behind, but for times."""
    overrides = tiny.overrides(**changes)
    if "task" in overrides:
        overrides = {path: v for path, v in overrides.items() if not path.startswith("task.")}
    run = begin("addition", 1, None, overrides)
    run.train()
    found = run.evaluate(report=False)
    untimed = [
        replace(row, generated=replace(row.generated, tokens_per_second=0)) for row in found.lengths
    ]
    leaves = jax.tree.leaves(run.load_models().stacked)
    return {
        "files": sorted(path.name for path in run.folder.path.rglob("0*")),
        "history": run.folder.history.exists() and run.folder.history.stat().st_size,
        "weights": [np.asarray(leaf).tobytes() for leaf in leaves],
        "metrics": [replace(row, seconds=0.0) for row in run.folder.read_metrics()],
        "evaluation": replace(found, lengths=untimed),
        "windows": Session.certify(run).windows if run.to_certify else 0,
    }


@cache
def outcome(changes: str) -> str:
    return hashlib.sha256(repr(kept(json.loads(changes))).encode()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("base", [WINDOW, WATCHED], ids=["window", "text"])
def test_the_same_recipe_makes_none(base: dict[str, Any]) -> None:
    assert kept(base) == kept(base)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "base", "value"),
    [
        pytest.param(path, base, value, id=f"{path} {value}")
        for path, several in CHANGES.items()
        for base, value in several
    ],
)
def test_another_value_makes_a_difference(path: str, base: dict[str, Any], value: Any) -> None:
    changed = base | {("task" if path == "task.weight" else path.replace(".", "__")): value}
    if path == "program":
        changed.pop("layout", None)
    assert outcome(json.dumps(base)) != outcome(json.dumps(changed))
