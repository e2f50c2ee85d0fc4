"""A layout's `step` in another language: traced for one token, then written number by number.

So coordinates have one definition, the layout's own. Arrays exist while translating only:
each is a NumPy array of terms, and a term is a known number or the name of an unknown one.
What moves numbers about is done by NumPy on the terms; only arithmetic is written, in a
language that a `Dialect` describes.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .base import Layout

Term = Any
"""A Python int or bool where the number is known, a name where it is not."""

Terms = np.ndarray

NESTED = ("jit", "pjit", "closed_call", "custom_jvp_call")


@dataclass(frozen=True)
class Dialect:
    """How a language writes arithmetic; `{}` stand for names and known numbers.

    `binary` has an entry for each primitive of two operands. `first` is where the first true
    one of several stands, 0 if none is, and `clamped` a number between 0 and a known one.
    """

    name: str
    line: str
    binary: dict[str, str]
    negated: str
    chosen: str  # of which, if it is true, if it is not
    integer: str
    boolean: str
    first: str  # of the terms, parted by commas, and their number
    clamped: str
    literal: Callable[[Term], str]


class Step(NamedTuple):
    """A step in another language: its lines, and the terms of its results."""

    lines: list[str]
    state: str
    kind: str
    coordinates: str


def translated(layout: Layout, dialect: Dialect) -> Step:
    """What `layout.step` does to a list `state` and a number `token`; lists are without brackets.

    Raises NotImplementedError for a step that uses what the dialect does not have.
    """
    traced = jax.make_jaxpr(layout.step)(layout.start(), jnp.int32(0))
    writer = Writer(dialect)
    states = _terms([f"state[{number}]" for number in range(layout.states)])
    state, kind, seen = writer.run(traced.jaxpr, traced.consts, [states, _terms("token")])
    listed = [
        ", ".join(map(writer.text, part.reshape(-1).tolist())) for part in (state, kind, seen)
    ]
    return Step(writer.lines, *listed)


class Writer:
    """Lines of a language, each of which names a new number."""

    def __init__(self, dialect: Dialect) -> None:
        self.dialect = dialect
        self.lines: list[str] = []
        self._names: dict[str, str] = {}

    def run(self, jaxpr: Any, consts: Any, given: list[Terms]) -> list[Terms]:
        """The terms of the results, once all that they need is written."""
        known: dict[Any, Terms] = dict(zip(jaxpr.constvars, map(_terms, consts), strict=True))
        known |= dict(zip(jaxpr.invars, given, strict=True))

        def value(atom: Any) -> Terms:
            return _terms(atom.val) if hasattr(atom, "val") else known[atom]

        for equation in jaxpr.eqns:
            found = self._apply(equation, [value(atom) for atom in equation.invars])
            known |= dict(zip(equation.outvars, found, strict=True))
        return [value(atom) for atom in jaxpr.outvars]

    def name(self, expression: str) -> str:
        """The name of the number that this expression is; written at its first use."""
        if expression not in self._names:
            self._names[expression] = f"n{len(self._names)}"
            self.lines.append(self.dialect.line.format(self._names[expression], expression))
        return self._names[expression]

    def text(self, term: Term) -> str:
        """A term as it stands in an expression."""
        return term if isinstance(term, str) else self.dialect.literal(term)

    def listed(self, terms: Terms) -> str:
        """All of these terms, parted by commas."""
        return ", ".join(map(self.text, terms.reshape(-1).tolist()))

    def _apply(self, equation: Any, given: list[Terms]) -> list[Terms]:
        name, settings = equation.primitive.name, equation.params
        if name in NESTED:
            inner = settings["jaxpr"]
            return self.run(inner.jaxpr, inner.consts, given)
        if name == "convert_element_type" and _same_type(equation):
            return given
        if name in MOVED:
            found = MOVED[name](settings, *given)
            return found if isinstance(found, list) else [found]
        if name in WRITTEN:
            return [np.asarray(WRITTEN[name](self, settings, *given), object)]
        if name in self.dialect.binary:
            return [self._each(lambda *terms: self._binary(name, *terms), *given)]
        raise NotImplementedError(f"no {self.dialect.name} for {name!r}, which a step uses")

    def _each(self, one: Callable[..., Term], *given: Terms) -> Terms:
        """`one` of the terms at every place of the arrays."""
        together = np.broadcast_arrays(*given)
        found = np.empty(together[0].shape, object)
        for place in np.ndindex(found.shape):
            found[place] = one(*(part[place] for part in together))
        return found

    def _binary(self, name: str, left: Term, right: Term) -> Term:
        if isinstance(left, str) or isinstance(right, str):
            return self.name(self.dialect.binary[name].format(*map(self.text, (left, right))))
        return _known(name, left, right)

    def _chosen(self, settings: Any, which: Terms, *cases: Terms) -> Terms:
        """`cases[which]`, at every place."""
        return self._each(self._choice, which, *cases)

    def _choice(self, which: Term, *cases: Term) -> Term:
        if not isinstance(which, str):
            return cases[int(which)]
        if all(case == cases[0] and type(case) is type(cases[0]) for case in cases):
            return cases[0]
        if len(cases) == 2:
            no, yes = map(self.text, cases)
            return self.name(self.dialect.chosen.format(which, yes, no))
        return self.name(f"[{self.listed(_terms(cases))}][{which}]")

    def _converted(self, settings: Any, given: Terms) -> Terms:
        kind = np.dtype(settings["new_dtype"])
        assert kind in (np.int32, np.bool_), kind
        return self._each(lambda term: self._as(kind, term), given)

    def _as(self, kind: np.dtype, term: Term) -> Term:
        if isinstance(term, str):
            form = self.dialect.integer if kind == np.int32 else self.dialect.boolean
            return self.name(form.format(term))
        return int(term) if kind == np.int32 else bool(term)

    def _not(self, settings: Any, given: Terms) -> Terms:
        return self._each(self._opposite, given)

    def _opposite(self, term: Term) -> Term:
        if isinstance(term, str):
            return self.name(self.dialect.negated.format(term))
        return not term

    def _first(self, settings: Any, given: Terms) -> Terms:
        """argmax of booleans: where the first that is true stands, 0 if none is."""
        assert settings["axes"] == (0,), settings
        return np.apply_along_axis(self._first_of, 0, given)

    def _first_of(self, terms: Terms) -> Term:
        return self.name(self.dialect.first.format(self.listed(terms), len(terms)))

    def _sliced(self, settings: Any, given: Terms, *starts: Terms) -> Terms:
        """A part of an array that begins where a number says, moved inside of the array."""
        (size,), (start,), (length,) = settings["slice_sizes"], starts, given.shape
        first, last = start.item(), length - size
        if not isinstance(first, str):
            return given[min(max(first, 0), last) :][:size]
        begin = self.name(self.dialect.clamped.format(first, last))
        parts = [given[offset : offset + last + 1] for offset in range(size)]
        return _terms([self._choice(begin, *part.tolist()) for part in parts])

    def _scattered(self, settings: Any, given: Terms, places: Terms, new: Terms) -> Terms:
        """A vector with numbers set at known places."""
        assert given.ndim == 1, given.shape
        assert settings["update_jaxpr"] is None, settings
        found = given.copy()
        for place, term in zip(places.reshape(-1), new.reshape(-1), strict=True):
            found[place] = term
        return found


def _same_type(equation: Any) -> bool:
    return bool(equation.invars[0].aval.dtype == equation.params["new_dtype"])


def _broadcast(settings: Any, given: Terms) -> Terms:
    shape, kept = settings["shape"], settings["broadcast_dimensions"]
    spread = [given.shape[kept.index(axis)] if axis in kept else 1 for axis in range(len(shape))]
    return np.broadcast_to(given.reshape(spread), shape)


def _cut(settings: Any, given: Terms) -> Terms:
    strides = settings["strides"] or (1,) * given.ndim
    bounds = zip(settings["start_indices"], settings["limit_indices"], strides, strict=True)
    return given[tuple(slice(*bound) for bound in bounds)]


def _unstacked(settings: Any, given: Terms) -> list[Terms]:
    return [np.asarray(part, object) for part in np.moveaxis(given, settings["axis"], 0)]


MOVED: dict[str, Callable[..., Any]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda settings, *given: np.concatenate(given, axis=settings["dimension"]),
    "reshape": lambda settings, given: given.reshape(settings["new_sizes"]),
    "slice": _cut,
    "squeeze": lambda settings, given: given.squeeze(settings["dimensions"]),
    "stack": lambda settings, *given: np.stack(given, axis=settings["axis"]),
    "transpose": lambda settings, given: given.transpose(settings["permutation"]),
    "unstack": _unstacked,
}
WRITTEN: dict[str, Callable[..., Any]] = {
    "argmax": Writer._first,
    "convert_element_type": Writer._converted,
    "dynamic_slice": Writer._sliced,
    "not": Writer._not,
    "scatter": Writer._scattered,
    "select_n": Writer._chosen,
}


def _known(name: str, left: Term, right: Term) -> Term:
    """What JAX itself makes of two known numbers."""
    operands = [np.asarray(x, np.bool_ if isinstance(x, bool) else np.int32) for x in (left, right)]
    primitive = getattr(jax.lax, {"and": "bitwise_and", "or": "bitwise_or"}.get(name, name))
    return primitive(*operands).item()


def _terms(values: Any) -> Terms:
    """Numbers, or names, as an array of terms."""
    found: Terms = np.asarray(values).astype(object)
    return found
