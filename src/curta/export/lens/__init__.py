"""Members and exported folders opened with TransformerLens, with all hooks.

A model becomes `CurtaForCausalLM` (`export/huggingface/modeling_curta.py`) even where a folder for
transformers would be GPT-2 or Llama, so one adapter serves all of them (`adapter.py`):
TransformerLens' own GPT-2 divides scores that must not be divided. The tokenizer is set afterwards:
TransformerLens tries one on the letter "a", which no model here knows.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from curta.config.errors import UserError, optional_module
from curta.export.base import Exported
from curta.export.huggingface import HuggingFace, write_as
from curta.export.huggingface.classes import CurtaClass


def opened(folder: str | Path) -> Any:
    """Return the `TransformerBridge` of a folder that was exported for transformers; see `bridge`.

    Runs no code of the folder. Raises UserError also for a folder that Curta did not write.
    """
    return bridge(HuggingFace().read(Path(folder)))


def bridge(member: Exported) -> Any:
    """Return a member as a `TransformerBridge`, on the CPU, with its tokenizer.

    Raises UserError if the class does not support the recipe, or TransformerLens is missing.
    """
    reason = CurtaClass().lacks(member.recipe)
    if reason:
        raise UserError(f"TransformerLens cannot open run {member.run!r}: {reason}")
    sources = optional_module("transformer_lens.model_bridge.sources", "lens")
    from transformers import PreTrainedTokenizerFast

    import curta.export.lens.adapter  # noqa: F401 (registers itself with TransformerLens)
    from curta.export.huggingface.modeling_curta import CurtaForCausalLM

    with TemporaryDirectory() as place:
        folder = Path(place) / "model"
        write_as(CurtaClass(), member, folder)
        model = CurtaForCausalLM.from_pretrained(folder).eval()
        # AutoTokenizer would ask on the terminal whether to run the code that lies beside it
        tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    bridged = sources.build_bridge_from_module(
        model, CurtaClass.architecture, hf_config=model.config, model_name=member.run
    )
    bridged.cfg.default_prepend_bos = bridged.cfg.tokenizer_prepends_bos = False
    bridged.tokenizer = tokenizer
    return bridged
