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
    fields: dict[str, Any]
    steps: int

    def recipe(self) -> "Recipe":
        from curta.config.recipe import with_overrides
        from curta.model import recipes

        fields = with_overrides(self._base(), self.fields)
        return recipes.parse(fields, where=f"configuration {self.name!r}")

    def _base(self) -> dict[str, Any]:
        from curta.model import recipes

        return recipes.read("addition") if self.name == "c" else {}


def _plain(digits: int, positions: str, batch: int, **model: Any) -> dict[str, Any]:
    """Fields of an ordinary decoder that attends in all of its blocks."""
    sizes = {f"model.{field}": value for field, value in model.items()}
    return sizes | {
        "layout": "plain",
        "task.digits": [digits, digits],
        "positions.name": positions,
        "model.num_attention_layers": model["num_layers"],
        "model.activation": "gelu",
        "optimizer.learning_rate": 1e-3,
        "training.batch": batch,
    }


_SMALL = {"width": 64, "heads": 4, "num_layers": 4}
_LARGE = {"width": 384, "heads": 6, "num_layers": 6}

CONFIGURATIONS = {
    each.name: each
    for each in (
        Configuration(
            "a",
            "4 blocks, width 64, RoPE, 256 texts of 13 tokens",
            _plain(3, "rope", 256, **_SMALL),
            20,
        ),
        Configuration(
            "a-learned",
            "the same with learned positions",
            _plain(3, "learned", 256, **_SMALL),
            20,
        ),
        Configuration(
            "b",
            "6 blocks, width 384, RoPE, 128 texts of 28 tokens",
            _plain(8, "rope", 128, **_LARGE),
            3,
        ),
        Configuration("c", "the default recipe, 256 windows", {}, 100),
    )
}
