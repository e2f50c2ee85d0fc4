"""Whether the sections of a recipe fit each other, by their fields alone."""

from typing import TYPE_CHECKING

from curta.config.errors import UserError, quoted
from curta.config.model import ModelConfig
from curta.config.positions import T5, Abacus, RoPE, Window

if TYPE_CHECKING:
    from curta.config.recipe import Recipe

MOST = 2**32 - 1
"""Problems of a training in epochs: they are counted in 32 bits."""

WINDOW_NEEDS = {
    "num_attention_layers": (1,),
    "num_recurrences": (1,),
    "input_injection": ("none",),
    "causal": (True,),
    "dropout": (0.0,),
    "biases": ((),),
    "norm_placement": ("pre", "post_residual"),
    "norm_epsilon": (1e-6,),
    "final_norm": (True,),
    "tied_scale": (True,),
}
"""What fields of a model may be whose next token is a function of one window, and is proved so."""


def check(recipe: "Recipe") -> None:
    """Raises UserError for sections that contradict each other."""
    _check_program(recipe)
    _check_validation(recipe)
    _check_held_out(recipe)
    if isinstance(recipe.positions, Window):
        _check_window(recipe)
    if isinstance(recipe.positions, Abacus):
        _check_abacus(recipe.positions, recipe.model)
    if isinstance(recipe.positions, RoPE):
        _check_rope(recipe.positions, recipe.model)
    _check_model(recipe)


def _check_program(recipe: "Recipe") -> None:
    if not recipe.summary.isprintable():
        raise UserError(f"summary {quoted(recipe.summary)}: one line, of letters that are shown")
    if (recipe.layout is None) == (not recipe.programs):
        raise UserError("a recipe has either a program or a layout")
    operators = [task.operator for task in recipe.tasks]
    if len(set(operators)) < len(operators):
        raise UserError(f"task: one of the operators {' '.join(operators)} comes twice")
    if recipe.training.batch < len(recipe.tasks):
        raise UserError(f"training.batch must be at least {len(recipe.tasks)}, one a task")


def _check_model(recipe: "Recipe") -> None:
    loss, recurrence_loss = recipe.training.loss, recipe.training.recurrence_loss
    if not recipe.model.causal and recipe.layout is None:
        raise UserError("without model.causal no program can be run: it needs a layout")
    if not recipe.model.causal and loss in ("all", "padded"):
        raise UserError(f"training.loss {loss!r} has no meaning if model.causal is false")
    if not recipe.model.causal and isinstance(recipe.positions, T5):
        raise UserError(
            "positions 't5' has no buckets for tokens to the right, which a model without"
            " model.causal sees: take alibi, fire or another of them"
        )
    if recipe.programs and loss == "numeric":
        raise UserError("training.loss 'numeric' needs a layout: a program's digits carry more")
    if recipe.model.qk_input == "positions" and recipe.model.input_injection == "normed":
        raise UserError(
            "model.qk_input 'positions' leaves tokens out of queries and keys, and"
            " model.input_injection 'normed' adds them: take another of the two"
        )
    if recipe.training.order == "epochs" and recipe.training.steps * recipe.training.batch > MOST:
        raise UserError(f"training.order 'epochs' counts {MOST:,} problems: steps x batch is more")
    if recurrence_loss != "last" and recipe.model.num_recurrences == 1:
        raise UserError(
            f"training.recurrence_loss {recurrence_loss!r} needs model.num_recurrences of at"
            " least 2, not 1"
        )


def _check_window(recipe: "Recipe") -> None:
    for field, allowed in WINDOW_NEEDS.items():
        value = getattr(recipe.model, field)
        if value not in allowed:
            needed = " or ".join(map(str, allowed))
            raise UserError(f"positions 'window' need model.{field} {needed}, not {value}")


def _check_abacus(positions: Abacus, model: ModelConfig) -> None:
    if positions.inject == "queries_keys" and model.kv_heads < model.heads:
        raise UserError(
            "positions.inject 'queries_keys' gives each head a part of the vectors, so"
            f" model.num_kv_heads must be {model.heads}, as model.heads, not {model.kv_heads}"
        )


def _check_rope(positions: RoPE, model: ModelConfig) -> None:
    if positions.over == "heads" and model.kv_heads < model.heads:
        raise UserError(
            "positions.over 'heads' turns queries and keys alike, so model.num_kv_heads must be"
            f" {model.heads}, as model.heads, not {model.kv_heads}"
        )


def _check_validation(recipe: "Recipe") -> None:
    training = recipe.training
    if not training.validate_every and (training.keep != "last" or training.stop_at is not None):
        raise UserError("training.keep best and training.stop_at need training.validate_every")
    for task in recipe.tasks:
        if training.validate_every and 0 < task.held_out <= training.validation:
            raise UserError(
                f"task.held_out {task.held_out:,}: training.validation takes"
                f" {training.validation:,} of them and the evaluation needs others"
            )


def _check_held_out(recipe: "Recipe") -> None:
    """Each layout of the evaluation asks held-out problems of its own."""
    watched = recipe.training.validation if recipe.training.validate_every else 0
    parts = 1 + len(recipe.evaluation.layouts)
    for task in recipe.tasks:
        if task.held_out and task.held_out - watched < parts:
            raise UserError(
                f"task.held_out {task.held_out:,}: evaluation.layouts makes it {parts} sets of"
                f" problems, and {task.held_out - watched:,} are left for them"
            )
