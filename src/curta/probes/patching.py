"""Where a digit passes through: activation patching between two problems that differ in it.

Two problems of the same shape are written with different answers. At the first written token in
which their texts differ the model is asked which of the two follows: by the logit of the second
problem's token less that of the first's. Then one part of the first problem's pass, at one
position, is given the value it has in the second's. The effect is the share of the way that this
moves the difference, from what it is in the first problem (0) to what it is in the second (1).

Source: Meng et al., arXiv 2202.05262, and Wang et al., arXiv 2211.00593, where noise and other
sentences take the second problem's place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from curta.config.errors import UserError
from curta.evaluation.scoring import Models
from curta.layouts import Layout
from curta.model.inspection import kind
from curta.probes import settings
from curta.probes.base import STATISTICS, Finding, Probe, Row, summary_statistics
from curta.probes.inside.interventions import Intervention
from curta.probes.inside.parts import named
from curta.probes.inside.question import Question
from curta.probes.pictures import Heat, Panel
from curta.probes.subject import Subject
from curta.problems.problem import Problem

WHOLE = ("embedding", "mlp.output", "after")
"""Kinds of sites that are patched as a whole; heads are patched one by one."""


@dataclass(frozen=True)
class Patching(settings.Patching, Probe):
    def examine(self, subject: Subject) -> Finding:
        target = subject.problem(self.problem)
        source = one_digit_more(target) if self.other is None else subject.problem(self.other)
        pair = Pair.of(subject.load_models(), target, source)
        rows = pair.rows()
        shows = (
            f"The effect of each part at each token of {pair.text}, when it is patched from"
            f" {source}, on {pair.wanted}: 100 % is that of patching everything."
        )
        panels: list[Panel] = [_panel(pair, rows)]
        note = f"Problem {target}, patched from {source}; the effect is on {pair.wanted}."
        columns = ("part", "position", "token", "role", *STATISTICS)
        return Finding(columns, rows, {"shows": shows, "panels": panels}, (note,))


class Pair(NamedTuple):
    """Two problems, asked of models at the first written token in which their texts differ."""

    models: Models
    target: Problem
    source: Problem
    query: int
    """The position at which that token is asked for."""
    tokens: tuple[int, int]
    """The target's token, and the source's."""

    @classmethod
    def of(cls, models: Models, target: Problem, source: Problem) -> "Pair":
        """Raises UserError for texts that do not correspond, or do not differ."""
        layout = models.layout
        (mine, prompt), (other, begin) = (layout.tokens_of(p) for p in (target, source))
        alike = prompt == begin and _differ_in_digits(layout, mine[:prompt], other[:begin])
        if target.operator != source.operator or not alike:
            raise UserError(f"{target} and {source} differ in more than digits")
        places = [n for n, pair in enumerate(zip(mine, other, strict=False)) if pair[0] != pair[1]]
        written = [place for place in places if place >= prompt]
        if not written:
            raise UserError(f"{target} and {source} are written alike after their prompts")
        query = written[0] - (1 if models.stacked.config.causal else prompt)
        return cls(models, target, source, query, (mine[written[0]], other[written[0]]))

    @property
    def text(self) -> str:
        """The target's text as it is written."""
        return self.models.layout.decode(self.models.layout.tokens_of(self.target)[0])

    @property
    def wanted(self) -> str:
        """What is asked: `5 or 6`."""
        characters = self.models.layout.characters
        return " or ".join(repr(characters[token]) for token in self.tokens)

    def difference(
        self, logits: Float[np.ndarray, "members problems positions vocabulary"]
    ) -> Float[np.ndarray, "members problems"]:
        """The logit of the source's token less that of the target's."""
        own, other = self.tokens
        found: np.ndarray = logits[:, :, self.query, other] - logits[:, :, self.query, own]
        return found

    def rows(self) -> list[Row]:
        """A row for each part and position: the effect of patching it, of each member."""
        parts, (own, other) = self._parts(), self._ends().T[..., None]
        every = [one for part in parts.values() for one in part]
        asked, found = Question(self.models, [self.target] * self._positions(), every), list[Row]()
        for name, part in parts.items():
            logits = np.asarray(asked.values(asked.whole, ["logits"], part)["logits"], np.float64)
            effect = ((self.difference(logits) - own) / (other - own)).round(4) + 0.0  # no -0.0
            found += [
                {"part": name, **self._token(asked, place), **summary_statistics(mine)}
                for place, mine in enumerate(effect.T.tolist())
            ]
        return found

    def _token(self, asked: Question, place: int) -> Row:
        """What stands at a position of the target."""
        layout, whole = self.models.layout, asked.whole
        token, role = int(whole.given.tokens[0, place]), int(whole.roles[0, place])
        return {
            "position": place,
            "token": layout.characters[token],
            "role": layout.roles[role].name,
        }

    def _ends(self) -> Float[np.ndarray, "members two"]:
        """The difference in the target, and in the source."""
        asked = Question(self.models, [self.target, self.source])
        return self.difference(np.asarray(asked.values(asked.whole, ["logits"])["logits"]))

    def _positions(self) -> int:
        """How many positions can matter: to a decoder none after the query."""
        if self.models.stacked.config.causal:
            return self.query + 1
        return self.models.layout.tokens_of(self.target)[1]

    def _parts(self) -> dict[str, list[Intervention]]:
        """Each part by its name: at each position, in a copy of the problem of its own."""
        found = dict[str, list[Intervention]]()
        for site, shape in Question(self.models, [self.target]).shapes.items():
            if kind(site) == "attention.heads":
                for head in range(shape[1]):
                    found[named(site, head)] = self._everywhere(site, {"head": head})
            elif kind(site) in WHOLE:
                found[named(site)] = self._everywhere(site, {})
        return found

    def _everywhere(self, site: str, where: dict[str, int]) -> list[Intervention]:
        """At the n-th position in the n-th copy."""
        source = str(self.source)
        return [
            Intervention(site, "patch", source, where | {"problem": n, "position": n})
            for n in range(self._positions())
        ]


def _differ_in_digits(layout: Layout, mine: Sequence[int], other: Sequence[int]) -> bool:
    """Whether signs stand at the same positions: 12+345 and 123+45 differ in where the + is."""
    pairs = [pair for pair in zip(mine, other, strict=True) if pair[0] != pair[1]]
    return all(layout.value(token) is not None for pair in pairs for token in pair)


def one_digit_more(problem: Problem) -> Problem:
    """The problem with the last digit of its last operand one higher, or lower where it is a 9.

    >>> [one_digit_more(Problem("+", pair)).operands for pair in ((57, 68), (1, 9))]
    [(57, 69), (1, 8)]
    >>> one_digit_more(Problem("+", (1, 15), 16)).operands
    (1, 14)
    """
    *others, last = problem.operands
    step = -1 if last % problem.base == problem.base - 1 else 1
    return Problem(problem.operator, (*others, last + step), problem.base)


def _panel(pair: Pair, rows: list[Row]) -> Heat:
    """Parts below each other, the tokens of the text side by side."""
    parts = list(dict.fromkeys(row["part"] for row in rows))
    places = list(dict.fromkeys(row["position"] for row in rows))
    effects = {(row["part"], row["position"]): row["median"] for row in rows}
    tokens = {row["position"]: row["token"] for row in rows}
    values = [[effects[part, place] for place in places] for part in parts]
    return {
        "form": "heat",
        "title": f"{pair.target} patched from {pair.source}",
        "across": "token",
        "down": "part",
        "columns": [tokens[place] for place in places],
        "rows": parts,
        "values": [[min(1.0, max(0.0, value)) for value in row] for row in values],
        "texts": [[f"{value:.0%}" for value in row] for row in values],
    }
