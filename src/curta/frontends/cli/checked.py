"""What `curta check` prints."""

import shlex
from collections.abc import Iterator

from rich.text import Text

from curta.config.table import counted
from curta.problems.numerals import plain_answer
from curta.programs.machine.check import Cell, Checked, Explained

MANY = 60_000
"""Windows above which a program is hard to learn at default settings."""


def lines(found: Checked, train: str) -> Iterator[Text]:
    """Everything that was found of a program, line by line, and at last whether it can be learned.

    `train` is what `curta train` is to be given for it, if anything.
    """
    program = found.program
    yield Text(f"{program.name} ({program.operator}): {program.summary}", style="bold")
    yield from _written(found)
    yield from _truth(found)
    yield from _windows(found)
    if found.unstable:
        problem = found.program.problem_text(found.unstable)
        yield Text(f"  not deterministic: two recordings of {problem} differ", style="red")
    for one in found.conflicts:
        yield from _conflict(found, one)
    for grown in found.growing:
        what = f"moves of role {grown.role!r} along {grown.axis!r}"
        advice = "go home first, or move one square at a time"
        if not grown.axis:
            what = f"symbols of role {grown.role!r}"
            advice = "write a large number digit by digit, or a mark for each step"
        yield Text(
            f"  {what} grow with the problems (... {', '.join(grown.longest)}), so longer problems"
            f" need tokens that training never shows: {advice}",
            style="yellow",
        )
    if found.expected > MANY:
        yield Text(f"  {_many(found)}", style="yellow")
    yield _verdict(found, train)


def _many(found: Checked) -> str:
    """Which role has most of the windows, and why."""
    role, count = max(found.by_role.items(), key=lambda one: one[1])
    seen = ", ".join(
        f"{other} ({counted(found.symbols[other], 'symbol')})" for other, _ in found.windows[role]
    )
    return (
        f"{found.expected:,} windows or more are many: {count / found.distinct:.0%} are of role"
        f" {role!r} ({counted(found.symbols[role], 'symbol')}), which sees {seen}. Take a step in"
        " several tokens, or keep carries small; else train longer, with a wider model"
    )


def _verdict(found: Checked, train: str) -> Text:
    """Whether it can be learned and what to do next, or why not."""
    reasons = [
        *["it writes different texts for the same problem"] * bool(found.unstable),
        *["some answers are wrong"] * bool(found.wrongs),
        *["one window is followed by different tokens"] * bool(found.conflicts),
    ]
    if reasons:
        return Text(f"It cannot be learned: {', and '.join(reasons)}.", style="bold red")
    limit = ", but only at lengths of training: its tokens grow" if found.growing else ""
    step = f" Next: curta train {shlex.quote(train)}" if train else ""
    return Text(f"It can be learned{limit}.{step}", style="bold yellow" if limit else "bold green")


def _written(found: Checked) -> Iterator[Text]:
    machine = found.machine
    moves = len({token.move for token in machine.tokens})
    yield Text(
        f"  {counted(len(machine.tokens), 'token')}, {counted(len(machine.roles), 'role')},"
        f" {counted(moves, 'move')}; {found.tokens_per_second:,} tokens a second are recorded"
    )
    for size in found.sizes:
        yield Text(
            f"  up to {counted(size.digits, 'digit')}: {counted(size.problems, 'problem')},"
            f" {size.middle:,} tokens in the median, {size.longest:,} at most"
        )


def _truth(found: Checked) -> Iterator[Text]:
    problems = sum(size.problems for size in found.sizes)
    if not found.wrongs:
        yield Text(f"  answers: all {problems:,} are correct", style="green")
    else:
        yield Text(f"  answers: {found.wrongs:,} of {problems:,} are wrong", style="red")
    for one in found.wrong:
        wrote = (
            "no answer can be read" if one.written is None else f"wrote {plain_answer(one.written)}"
        )
        problem = found.program.problem_text(one.operands)
        yield Text(f"    {problem}: {wrote}, should be {plain_answer(one.truth)}")


def _windows(found: Checked) -> Iterator[Text]:
    if found.program.run is None:
        yield Text("  no algorithm: the answer is learned whole, by attention to all tokens")
        return
    widest = max(map(len, found.windows.values()), default=0)
    yield Text(
        f"  windows: {found.distinct:,} distinct, of about {found.expected:,}; at most"
        f" {counted(widest, 'neighbour')}"
    )
    for role, near in found.windows.items():
        places = [
            " ".join([other, *(f"{a}{m:+d}" for a, m in _steps(found, moved) if m)])
            for other, moved in near
        ]
        yield Text(f"    {role} sees {', '.join(places) or 'itself alone'}", style="dim")


def _steps(found: Checked, moved: tuple[int, ...]) -> Iterator[tuple[str, int]]:
    return zip(found.machine.axes, moved, strict=True)


def _conflict(found: Checked, one: Explained) -> Iterator[Text]:
    """Two windows that look alike, what follows each, and what would tell them apart."""
    windows = "1 window is" if one.count == 1 else f"{one.count:,} windows are"
    yield Text(
        f"  conflict in role {one.role!r}: {windows} followed by different tokens", style="red"
    )
    yield Text(f"    it sees     {', '.join(map(_cell, one.window))}")
    for problem, step, token in zip(one.problems, one.steps, one.follows, strict=True):
        asked = found.program.problem_text(problem)
        yield Text(f"    then        {token}   in {asked}, after token {step + 1}")
    yield Text(f"    {one.hint}")


def _cell(cell: Cell) -> str:
    return f"{cell.place}: {'nothing' if cell.symbol is None else cell.symbol}"
