"""The run-time type checker of the suite: beartype, for which an int is a float as well.

Jaxtyping's own wrapper binds every call's arguments by name and checks them twice, so that shapes
agree between them: ten microseconds and more. Functions and dataclasses that name no array are
checked by beartype alone, which takes less than one: recording a program took eight times as long
as without checks, and takes three times as long so.
"""

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, get_type_hints

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
    if is_dataclass(target) and inspect.isfunction(vars(target).get("__init__")):
        target.__init__ = _checked(target.__init__, typechecker)
        return target
    if not inspect.isfunction(target):
        return _shaped(target, typechecker=typechecker)
    hints = {name: _hint(kind, target) for name, kind in target.__annotations__.items()}
    if any("jaxtyping" in repr(kind) for kind in hints.values()):
        return _shaped(target, typechecker=typechecker)
    target.__annotations__ = hints
    return typechecker(target)


def _hint(kind: Any, function: Callable[..., Any]) -> Any:
    """An annotation that may be a text; anything where that names what is not there yet."""
    if not isinstance(kind, str):
        return kind
    known = SimpleNamespace(__annotations__={"it": kind})
    try:
        return get_type_hints(known, function.__globals__, include_extras=True)["it"]
    except Exception:  # as jaxtyping does: shapes may be written in what is no Python at all
        return Any
