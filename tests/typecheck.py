"""The run-time type checker of the suite: beartype, for which an int is a float as well.

Jaxtyping's own wrapper binds every call's arguments by name and checks them twice, so that shapes
agree between them: ten microseconds and more. Functions that name no array are checked by beartype
alone, which takes less than one: recording a program took eight times as long as without checks,
and takes three times as long so.
"""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=TypeError))
_shaped = jaxtyping.jaxtyped


def install() -> None:
    """Every annotation of the package is checked from its import on."""
    jaxtyping.jaxtyped = partial(partial, _checked)
    jaxtyping.install_import_hook("curta", "tests.typecheck.checked")


def _checked(target: Any, typechecker: Callable[..., Any]) -> Any:
    """What the import hook decorates: functions, and classes for the sake of dataclasses."""
    if inspect.isfunction(target) and not _needs_shapes(target):
        return typechecker(target)
    return _shaped(target, typechecker=typechecker)


def _needs_shapes(function: Callable[..., Any]) -> bool:
    """Whether it names arrays, or classes by text, which beartype does not find everywhere."""
    kinds = function.__annotations__.values()
    return any(isinstance(kind, str) or "jaxtyping" in repr(kind) for kind in kinds)
