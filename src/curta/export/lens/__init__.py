"""Members and exported folders opened with TransformerLens, all hooks included.

A model becomes `CurtaForCausalLM` (`export/huggingface/modeling_curta.py`), also where a folder
for transformers would be GPT-2 or Llama, so one adapter serves all of them (`adapter.py`): what
TransformerLens has for GPT-2 divides scores that are not to be divided. The tokenizer is handed
over afterwards: TransformerLens tries one out on the letter "a", which no model here knows.
"""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from curta.config.errors import UserError
from curta.config.registry import optional_module
from curta.export.base import Exported
from curta.export.huggingface import HuggingFace, write_as
from curta.export.huggingface.own import Own


def opened(folder: str | Path) -> Any:
    """The `TransformerBridge` of a folder that was exported for transformers; see `bridge`.

    Runs no code of the folder. Raises UserError also if it is none that Curta wrote.
    """
    return bridge(HuggingFace().read(Path(folder)))


def bridge(member: Exported) -> Any:
    """A member as a `TransformerBridge`, on the CPU, with its tokenizer.

    Raises UserError where the class lacks something of the recipe, or TransformerLens is not there.
    """
    reason = Own().lacks(member.recipe)
    if reason:
        raise UserError(f"TransformerLens cannot open run {member.run!r}: {reason}")
    sources = optional_module("transformer_lens.model_bridge.sources", "lens")
    from curta.export.huggingface.modeling_curta import CurtaForCausalLM
    from curta.export.huggingface.tokenization_curta import CurtaTokenizer
    from curta.export.lens import adapter

    adapter.register()
    with TemporaryDirectory() as place:
        folder = Path(place) / "model"
        write_as(Own(), member, folder)
        model = CurtaForCausalLM.from_pretrained(folder).eval()
        tokenizer = CurtaTokenizer.from_pretrained(folder)
    bridged = sources.build_bridge_from_module(
        model, Own.architecture, hf_config=model.config, model_name=member.run
    )
    bridged.cfg.default_prepend_bos = bridged.cfg.tokenizer_prepends_bos = False
    bridged.tokenizer = tokenizer
    return bridged
