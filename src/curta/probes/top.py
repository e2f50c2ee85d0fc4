"""The most likely tokens at every position of one problem, and how sure the model is.

The true text is given up to each position (teacher forcing), so a mistake at one of them
does not spoil those that follow. An encoder is given the problem, and asked at every place of
it; its answer stands on the first of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from curta.probes import settings
from curta.probes.base import Finding, Probe, Row
from curta.probes.pictures import Panel
from curta.probes.softmax import softmax
from curta.probes.subject import Subject
from curta.problems.problem import Problem

Logits = Float[np.ndarray, "members time vocabulary"]


@dataclass(frozen=True)
class Top(settings.Top, Probe):
    """Rows: member, index, the true token there, if it is scored, entropy, and the likeliest.

    The index is that of the token which is foretold; an encoder's, that of the place it stands on.
    """

    def examine(self, subject: Subject) -> Finding:
        problem = subject.problem(self.problem)
        tokens, prompt = subject.layout.tokens_of(problem)
        line = [subject.layout.characters[token] for token in tokens]
        causal = subject.run.recipe.model.causal
        first, true, scored = _asked(line, prompt, causal)
        logits = subject.logits([(tokens, prompt)], subject.bounds([problem]))[:, 0, : len(true)]
        rows = [
            {"member": member, "index": index, "true": true[index - first]}
            | {"scored": index in scored}
            | self._likeliest(subject.layout.characters, chances)
            for member, every in zip(subject.members, softmax(logits), strict=True)
            for index, chances in enumerate(every, first)
        ]
        whole, asked = "".join(line), "".join(line[:prompt])
        given = "the true text before it" if causal else f"{asked} alone"
        panels = [self._panel(problem, asked, rows, member) for member in subject.members]
        shows = (
            f"The {self.k} likeliest tokens at each position of {whole}, given {given}."
            " Shown are those that the model is asked for."
        )
        ranks = [f"{what} {rank}" for rank in range(1, self.k + 1) for what in ("top", "p")]
        columns = ("member", "index", "true", "scored", "entropy", *ranks)
        note = f"Problem {problem}, written {whole}; entropy in bits."
        return Finding(columns, rows, {"shows": shows, "panels": panels}, (note,))

    def _likeliest(
        self, characters: Sequence[str], chances: Float[np.ndarray, " vocabulary"]
    ) -> Row:
        """What of the chances of every token stands in a row."""
        positive = chances[chances > 0]
        row: Row = {"entropy": abs(float(-(positive * np.log2(positive)).sum()))}
        best = np.argsort(-chances, kind="stable")[: self.k].tolist()
        best += [None] * (self.k - len(best))
        for rank, token in enumerate(best, 1):
            row[f"top {rank}"] = None if token is None else characters[token]
            row[f"p {rank}"] = None if token is None else float(chances[token])
        return row

    def _panel(self, problem: Problem, asked: str, rows: list[Row], member: int) -> Panel:
        """Ranks below each other, each with its token, at those positions that are scored."""
        mine = [row for row in rows if row["member"] == member and row["scored"]]
        ranks = range(1, self.k + 1)
        return {
            "form": "heat",
            "title": f"{problem}, member {member}",
            "across": f"what stands in the text, after {asked}",
            "down": "rank",
            "columns": [row["true"] for row in mine],
            "rows": [str(rank) for rank in ranks],
            "values": [[row[f"p {rank}"] for row in mine] for rank in ranks],
            "texts": [[row[f"top {rank}"] or "" for row in mine] for rank in ranks],
        }


def _asked(line: Sequence[str], prompt: int, causal: bool) -> tuple[int, list[str], range]:
    """The first index, the true token at each from there on, and the indices that are scored.

    >>> _asked("2+2=4$", 4, causal=True)
    (1, ['+', '2', '=', '4', '$'], range(4, 6))
    >>> _asked("2+2=4$", 4, causal=False)
    (0, ['4', '$', '', ''], range(0, 2))
    """
    answer = len(line) - prompt
    if causal:
        return 1, [*line[1:]], range(prompt, len(line))
    return 0, [*line[prompt:], *[""] * (prompt - answer)], range(answer)
