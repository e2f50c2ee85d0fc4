"""The models whose training steps are compared, as recipe fields."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from curta.config.recipe import Recipe


@dataclass(frozen=True)
class Configuration:
    """A recipe to be timed; `steps` is how many make one measurement."""

    name: str
    summary: str
    steps: int
    fields: dict[str, Any]

    def recipe(self) -> "Recipe":
        from curta.config.recipe import with_overrides
        from curta.model import recipes

        base = recipes.read("addition") if self.name == "c" else {}
        fields = with_overrides(base, self.fields)
        return recipes.parse(fields, where=f"configuration {self.name!r}")


def _plain(
    name: str, summary: str, steps: int, digits: int, positions: str, batch: int, width: int,
    layers: int,
) -> Configuration:  # fmt: skip
    """Return an ordinary decoder that attends in all of its blocks."""
    return Configuration(name, summary, steps, {
        "layout": "plain", "task.digits": [digits, digits], "positions.name": positions,
        "model.width": width, "model.heads": layers, "model.num_layers": layers,
        "model.num_attention_layers": layers, "model.activation": "gelu",
        "optimizer.learning_rate": 1e-3, "training.batch": batch,
    })  # fmt: skip


_SMALL = "4 blocks, width 64, RoPE, 256 texts of 13 tokens"
_LARGE = "6 blocks, width 384, RoPE, 128 texts of 28 tokens"
CONFIGURATIONS = {
    configuration.name: configuration
    for configuration in (
        _plain("a", _SMALL, 20, 3, "rope", 256, 64, 4),
        _plain("a-learned", "the same with learned positions", 20, 3, "learned", 256, 64, 4),
        _plain("b", _LARGE, 3, 8, "rope", 128, 384, 6),
        Configuration("c", "the default recipe, 256 windows", 100, {}),
    )
}
