"""Writing texts on squared paper, with any function from windows to tokens.

`write` goes token by token over many texts at once, `write_one` over a single one; both write
the same. Squares are written where the machine says, and the newest token counts if a
wrong function writes on a square twice.
"""

from collections.abc import Callable, Sequence

import numpy as np

from curta.programs.machine.machine import Machine, Windows, cells_of
from curta.programs.machine.recording import Queries, Rows
from curta.programs.machine.sheet import Prompts, Sheet, Written

Look = Callable[[Rows], Queries]
"""The token that follows each window."""

LookOf = Callable[[Rows, Queries], Queries]
"""The token that follows each window of some texts, by their numbers."""


def limit_of(prompt: int) -> int:
    """Tokens after which a text is given up: more than any program here writes."""
    return 1_000 + 40 * prompt * prompt


def write_one(
    machine: Machine, windows: Windows, look: Look, prompt: Sequence[int], limit: int = 0
) -> list[int]:
    """What follows one prompt, the end included unless the limit comes first."""
    pen = _Pen(machine, windows)
    for token in prompt:
        pen.write(token)
    known: dict[tuple[int, ...], int] = {}
    for _ in range(limit or limit_of(len(prompt))):
        window = pen.window()
        if window not in known:
            known[window] = int(look(np.array([window], np.int32))[0])
        pen.write(known[window])
        if known[window] == machine.end:
            break
    return pen.written[len(prompt) :]


class _Pen:
    """One text while it is written, in plain Python: ten times as fast as arrays of one row."""

    def __init__(self, machine: Machine, windows: Windows) -> None:
        home, offset = machine.moves
        pairs = np.stack([home, offset], axis=2)  # tokens, axes, whether home and how far
        self.moves: list[list[list[int]]] = pairs.tolist()
        self.role, self.wide = machine.role.tolist(), machine.wide.tolist()
        self.near, self.none = machine.neighbours(windows), len(machine.tokens)
        self.cells = cells_of(windows)
        self.position = [0] * len(machine.axes)
        self.held: dict[tuple[int, ...], int] = {}
        self.written: list[int] = []

    def write(self, token: int) -> None:
        """Moves as the token says, and puts it there."""
        moved = zip(self.position, self.moves[token], strict=True)
        self.position = [step if home else at + step for at, (home, step) in moved]
        role = self.role[token]
        self.held[self._square(role, self.position)] = token
        self.written.append(token)

    def window(self) -> tuple[int, ...]:
        """The window of the last token, itself first."""
        token, found = self.written[-1], list[int]()
        for role, moved in self.near[self.role[token]]:
            at = [x + step for x, step in zip(self.position, moved, strict=True)]
            found.append(self.held.get(self._square(role, at), self.none))
        return (token, *found, *[self.none] * (self.cells - 1 - len(found)))

    def _square(self, role: int, at: list[int]) -> tuple[int, ...]:
        """The address of a role and a position: axes on which it is everywhere do not count."""
        wide = self.wide[role]
        return (role, *[0 if w else x for w, x in zip(wide, at, strict=True)])


def write(
    machine: Machine, windows: Windows, look: Look, prompts: Sequence[Sequence[int]], limit: int = 0
) -> list[list[int]]:
    """As `write_one`, for many prompts at once."""
    return write_all(machine, windows, lambda rows, _: look(rows), Prompts.of(prompts), limit).lists


def write_all(
    machine: Machine,
    windows: Windows,
    look: LookOf,
    prompts: Prompts,
    limit: int = 0,
    right: Prompts | None = None,
) -> Written:
    """As `write`, with arrays; `look` is given the number of the text of each window too.

    Where the `right` texts are known, prompts included, a text is given up whose pen goes much
    farther than theirs: that it is wrong is clear by then, and it may take as long as all others.
    """
    sheet = Sheet(machine, windows, prompts, right)
    limits = np.array([limit or limit_of(length) for length in prompts.lengths.tolist()])

    def alone(text: int) -> list[int]:
        one: Look = lambda rows: look(rows, np.array([text]))
        return write_one(machine, windows, one, prompts.prompt(text), int(limits[text]))

    if not sheet.fits and sheet.count > 1:
        return _in_halves(machine, windows, look, prompts, limit, right)
    if not sheet.fits:
        return Written.of([alone(0)])
    sheet.begin()
    for step in range(int(limits.max())):
        sheet.write(look(sheet.windows(), sheet.texts))
        sheet.keep((sheet.tokens != machine.end) & (limits[sheet.texts] > step + 1))
        if not len(sheet.texts):
            break
    if right is not None or not sheet.strays:
        return sheet.written()
    written = dict(enumerate(sheet.written().lists)) | {t: alone(t) for t in sheet.strays}
    return Written.of(list(written.values()))


def _in_halves(
    machine: Machine,
    windows: Windows,
    look: LookOf,
    prompts: Prompts,
    limit: int,
    right: Prompts | None,
) -> Written:
    """The same for texts that are too long to be laid out all at once."""
    middle = len(prompts.lengths) // 2
    later = lambda rows, texts: look(rows, texts + middle)
    first = write_all(machine, windows, look, prompts.part(slice(0, middle)), limit, right)
    second = write_all(machine, windows, later, prompts.part(slice(middle, None)), limit, right)
    return Written.of(first.lists + second.lists)
