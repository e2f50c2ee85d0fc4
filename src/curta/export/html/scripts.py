"""Scripts and weights as a page carries them."""

import base64
import re
from collections.abc import Iterable

import numpy as np
import safetensors.numpy
from jaxtyping import Float

from curta.report.document import own

PACKAGE = "curta.export.html"

Tensors = dict[str, Float[np.ndarray, "..."]]
"""Weights by name."""


def joined(modules: Iterable[str]) -> str:
    """Modules as one script, each after those that it imports: no import is needed then."""
    return "\n".join(map(_inlined, modules))


def _inlined(name: str) -> str:
    text = re.sub(r"^import [^;]*;\n", "", own(name, PACKAGE), flags=re.MULTILINE)
    return re.sub(r"^export ", "", text, flags=re.MULTILINE)


def packed(tensors: Tensors) -> str:
    """Tensors as the text of a safetensors file in base64."""
    return base64.b64encode(safetensors.numpy.save(tensors)).decode()
