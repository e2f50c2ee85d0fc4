"""The contract of a class of the transformers library: which recipes it can express, and how."""

from abc import ABC, abstractmethod
from typing import Any

from curta.config.recipe import Recipe
from curta.export.huggingface.parts import Parts
from curta.layouts import layout_named
from curta.model.transformer import Transformer


class Family(ABC):
    """One class that `AutoModelForCausalLM` opens. Stateless; registered in `FAMILIES`."""

    kind: str
    """Its `model_type`."""
    architecture: str
    """The class's own name."""

    @abstractmethod
    def lacks(self, recipe: Recipe) -> str | None:
        """What of such a recipe the class does not have, if there is anything."""

    @abstractmethod
    def config(self, recipe: Recipe, model: Transformer) -> dict[str, Any]:
        """What config.json says of the model; `n_positions` if texts end at a number of tokens."""

    @abstractmethod
    def parts(self, model: Transformer) -> Parts:
        """Every tensor of the file, each weight in one of them."""

    def code(self, model: Transformer) -> dict[str, str]:
        """The files of Python that the class brings with it."""
        return {}


def first(reasons: dict[str, bool]) -> str | None:
    """The first reason that holds."""
    return next((reason for reason, holds in reasons.items() if holds), None)


def shared(recipe: Recipe) -> dict[str, bool]:
    """What GPT-2 and Llama lack alike."""
    config = recipe.model
    return {
        "model.causal False (all of an answer is written at once)": not config.causal,
        "model.role_embeddings": config.role_embeddings,
        "model.compositional_embeddings": config.compositional_embeddings,
        f"model.num_recurrences {config.num_recurrences}": config.num_recurrences > 1,
        f"model.input_injection {config.input_injection!r}": config.input_injection != "none",
        f"model.norm_placement {config.norm_placement!r}": config.norm_placement != "pre",
        "model.final_norm False": not config.final_norm,
        **bare(recipe),
    }


def bare(recipe: Recipe) -> dict[str, bool]:
    """What no class has."""
    config = recipe.model
    endless = recipe.layout is not None and not layout_named(recipe.layout).end_sign
    return {
        f"layout {recipe.layout!r} (its texts have no end sign)": endless,
        f"model.embedding {config.embedding!r}": config.embedding != "table",
        f"model.qk_input {config.qk_input!r}": config.qk_input != "state",
        "model.norm 'none'": config.norm == "none",
        "model.weight_sharing": bool(config.weight_sharing),
    }


def tied_scale(model: Transformer) -> float:
    """What logits of a tied head are multiplied by: it is put into the last norm's gain."""
    config = model.config
    return config.width**-0.5 if config.tie_embeddings and config.tied_scale else 1.0
