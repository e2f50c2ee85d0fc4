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


def _plain(digits: int, positions: str, batch: int, width: int, layers: int) -> dict[str, Any]:
    """Return fields of an ordinary decoder that attends in all of its blocks."""
    return {
        "layout": "plain",
        "task.digits": [digits, digits],
        "positions.name": positions,
        "model.width": width,
        "model.heads": layers,
        "model.num_layers": layers,
        "model.num_attention_layers": layers,
        "model.activation": "gelu",
        "optimizer.learning_rate": 1e-3,
        "training.batch": batch,
    }


_LARGE = "6 blocks, width 384, RoPE, 128 texts of 28 tokens"
CONFIGURATIONS = {
    fields[0]: Configuration(*fields)
    for fields in (
        (
            "a",
            "4 blocks, width 64, RoPE, 256 texts of 13 tokens",
            20,
            _plain(3, "rope", 256, 64, 4),
        ),
        ("a-learned", "the same with learned positions", 20, _plain(3, "learned", 256, 64, 4)),
        ("b", _LARGE, 3, _plain(8, "rope", 128, 384, 6)),
        ("c", "the default recipe, 256 windows", 100, {}),
    )
}
