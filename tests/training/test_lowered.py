"""The chunk of steps as it is handed to compilers for accelerators, which need none to be made."""

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from curta.layouts.texts import layout_of
from curta.training import records, trainer
from tests import tiny

pytestmark = pytest.mark.slow


@pytest.fixture(params=["cuda", "tpu"])
def platform(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def lowered(platform: str, precision: str, **changes: Any) -> str:
    """Of two vectorised members, on one device."""
    recipe = tiny.recipe(training__precision=precision, **changes)
    layout = layout_of(recipe)
    data, bounds = records.training_data(recipe, layout, [0, 1])
    state = jax.eval_shape(lambda: trainer.init(recipe, layout, jnp.asarray([0, 1])))
    mesh = trainer.mesh_for(1, 1, jax.devices()[:1])
    call: Any = trainer.compile_steps(
        recipe, trainer.TaskLayout(layout, bounds), mesh, vectorised=True
    )
    traced = call.trace(state, data, jnp.int32(0), jnp.int32(0))
    return str(traced.lower(lowering_platforms=(platform,)).as_text())


CASES = [{}, tiny.DENSE | {"positions__name": "t5", "model__num_attention_layers": 2}]


@pytest.mark.parametrize("changes", CASES, ids=["window", "text"])
def test_float32_is_multiplied_in_full_precision(platform: str, changes: dict[str, Any]) -> None:
    text = lowered(platform, "float32", **changes)
    dots = [line for line in text.splitlines() if "dot_general" in line]
    assert dots
    assert all("precision = [HIGHEST, HIGHEST]" in line for line in dots)
    assert "bf16" not in text
