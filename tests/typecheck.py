"""The run-time type checker of the suite: beartype, for which an int is a float as well.

Jaxtyping's own wrapper checks every argument twice, so that shapes agree between arguments and what
is returned. Here beartype checks each once, within jaxtyping's memory of the shapes of a call; what
names no array is checked by beartype alone, which takes less than a microsecond: recording a
program took eight times as long as without checks, and takes three times as long so.
"""

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial, update_wrapper
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any, get_type_hints

import jaxtyping
from beartype import BeartypeConf, beartype

checked = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=TypeError))
_shaped = jaxtyping.jaxtyped
_inner: dict[CodeType, tuple[dict[str, Any], Any]] = {}
"""Annotations and checks of functions that are made anew at every call of the one around them."""


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
    annotations, known = target.__annotations__, _inner.get(target.__code__)
    if known is not None and known[0] == annotations:
        return _again(known[1], target)
    target.__annotations__ = {name: _hint(kind, target) for name, kind in annotations.items()}
    wrapper = typechecker(target)
    if any("jaxtyping" in repr(kind) for kind in target.__annotations__.values()):
        return _shaped(wrapper, typechecker=None)
    if "<locals>" in target.__qualname__:
        _inner[target.__code__] = annotations, wrapper
    return wrapper


def _again(wrapper: Any, target: Any) -> Any:
    """The same checks around another function of the same code: to make them takes 1 ms."""
    if "__beartype_func" not in (wrapper.__kwdefaults__ or {}):
        return target  # it names no types
    other = FunctionType(wrapper.__code__, wrapper.__globals__)
    other.__kwdefaults__ = wrapper.__kwdefaults__ | {"__beartype_func": target}
    return update_wrapper(other, target)


def _hint(kind: Any, function: Callable[..., Any]) -> Any:
    """An annotation that may be a text; anything where that names what is not there yet."""
    if not isinstance(kind, str):
        return kind
    known = SimpleNamespace(__annotations__={"it": kind})
    try:
        return get_type_hints(known, function.__globals__, include_extras=True)["it"]
    except Exception:  # as jaxtyping does: shapes may be written in what is no Python at all
        return Any
