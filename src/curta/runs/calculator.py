"""A trained run that answers problems without JAX: one member as a NumPy `WindowWriter`."""

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.problems.operations import OPERATIONS, Answer, Operation
from curta.problems.problem import Problem, check_limits, parse
from curta.problems.sizes import check_operands
from curta.programs.machine import store
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.prompt import Format, Sign
from curta.programs.machine.recording import QueryNumbers, Rows
from curta.programs.machine.writing import Completions, Prompts, complete
from curta.reference import WindowWriter
from curta.runs import folders
from curta.runs.folders import Folder


class Calculator:
    """One member of a windowed run, as of its newest whole checkpoint.

    It answers as `Run` does, reads nothing but data from the run's folder, and runs none of its
    code.
    """

    def __init__(self, folder: Folder, member: int) -> None:
        """Read the member; UserError for a folder that is damaged, or not trained yet."""
        self.folder = folder
        self.name, where = folder.name, f"run {folder.name!r}"
        recipe = folder.state_recipe()
        folders.check_member(member, folder.name, len(folder.read_info().seeds))
        self.machine, windows = store.read(folder.machine, folder.name)
        store.check_operators(self.machine, [task.operator for task in recipe.tasks], where)
        weights = folder.read_weights(recipe)[member]
        try:
            self.model = WindowWriter(recipe.model, weights, self.machine, windows)
        except (KeyError, IndexError, ValueError):
            raise UserError(
                f"{where} is damaged: its weights do not fit its recipe and machine.json"
            ) from None

    def accept(self, problems: Iterable[str | Problem]) -> list[Problem]:
        """Return the problems, read and checked; UserError for one that this run cannot answer."""
        parsed = [parse(problem, self.machine.formats) for problem in problems]
        for problem in parsed:
            check_limits(problem, self.machine.limits, f"run {self.name!r}")
        return parsed

    def write(self, problems: Sequence[Problem]) -> list[list[int]]:
        """Return the tokens that the model writes after each problem."""
        self.accept(problems)
        return self.model.write([self.machine.prompt_tokens(problem) for problem in problems])

    def answers(self, text: str) -> list[str] | None:
        """Return the answers to the lines of a text, if all are plain; see `plain_answers`."""
        return plain_answers(self.machine, self.model.windows, self.model.next_tokens, text)

    def join(self, problems: Sequence[Problem]) -> None:
        """Join the windows that these problems met to the run's list; see `folders.join`."""
        folders.join(self.folder, self.model.index.rows, problems)

    def answer(self, problem: Problem, tokens: Sequence[int]) -> Answer | None:
        """Return the answer in the tokens that were written; None if it is malformed."""
        return self.machine.read_answer(problem, tokens)

    def prompt(self, problem: Problem) -> str:
        """Return the characters of a problem's prompt."""
        return self.decode(self.machine.prompt_tokens(problem))

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the characters of tokens."""
        return "".join(self.machine.tokens[token].symbol for token in tokens)


def open_calculator(folder: Folder, member: int = 0) -> Calculator | None:
    """Return what answers for a run without JAX; None for one that is not windowed."""
    positions = folder.read_recipe_fields().get("positions")
    name = positions.get("name") if isinstance(positions, dict) else None
    return Calculator(folder, member) if name == Window.name else None


# Files of plain problems, several times as fast as one by one. A plain file has lines such as
# 12+34, all with the same sign between two decimal numbers. Any other file goes line by line
# through `problem.parse`, with the same results. A token is the character of its number here: so
# prompts are `str.translate` of digits, and all of them together are one string, then one array.

LINE = re.compile(r"([1-9][0-9]{0,999})([-+*])([1-9][0-9]{0,999})")
"""A problem of a plain file; longer operands go line by line."""

TOGETHER = 8192
"""Problems that are written at once."""


def read_plain(text: str) -> tuple[str, list[tuple[str, str]]] | None:
    """Return the operator and operands of a text's lines; None if they are not plain.

    >>> read_plain("12+34\\n5+6")
    ('+', [('12', '34'), ('5', '6')])
    """
    matches = list(map(LINE.fullmatch, text.rstrip().split("\n")))
    lines = [match for match in matches if match]
    signs = {line[2] for line in lines}
    if len(lines) < len(matches) or len(signs) != 1:
        return None
    return signs.pop(), [(line[1], line[3]) for line in lines]


def is_plain(machine: Machine, operator: str) -> bool:
    """Return whether the problems of an operator have decimal numbers and signs alone."""
    if operator not in machine.formats:
        return False
    form, refuse = machine.formats[operator], OPERATIONS[operator].refuse
    answer = form.answer
    answers = answer.base == 10 and not (
        answer.sign or answer.many or answer.truth or answer.fraction
    )
    operands = all(
        operand.base == 10
        and operand.multiple == 1
        and not (operand.many or operand.gap or operand.filled)
        for operand in form.givens
    )
    total = getattr(refuse, "__func__", None) is Operation.refuse
    return answers and operands and total and not form.compound


def plain_prompts(machine: Machine, operator: str, problems: Sequence[tuple[str, str]]) -> Prompts:
    """Return prompts from the digits of operands.

    12+34 and 5+6, lowest digits first: tokens 2 1 + 4 3 = 5 + 6 =, of lengths 6 and 4.
    """
    form, columns, numbers = machine.formats[operator], list[Sequence[str]](), iter((0, 1))
    for part in form.prompt_parts:
        # of an operand these are the tokens of 00, 11, ..., 99
        tokens = [machine.numbers[key] for key in Format(form.axes, (part,), form.answer).every()]
        if isinstance(part, Sign):
            columns.append([chr(tokens[0])] * len(problems))
            continue
        first, others = (
            dict(zip(b"0123456789", t, strict=True)) for t in (tokens[::2], tokens[1::2])
        )
        number, step = next(numbers), 1 if part.high_first else -1
        digits = [operands[number][::step] for operands in problems]
        columns.append([d[0].translate(first) + d[1:].translate(others) for d in digits])
    texts = list(map("".join, zip(*columns, strict=True)))
    every = np.frombuffer("".join(texts).encode("utf-32-le"), np.int32)
    return Prompts(every, np.array(list(map(len, texts))))


def read_answers(completions: Completions, machine: Machine, operator: str) -> list[str] | None:
    """Return the answers in the completions without leading zeros; None if one is malformed.

    Tokens 6 4 $ and 0 0 $, lowest digits first: "46" and "0".
    """
    answer = machine.formats[operator].answer
    digits = [
        ord(str(token.value)) if token.role == answer.role and token.value is not None else ord(" ")
        for token in machine.tokens
    ]
    rows, counts = completions
    step = 1 if answer.high_first else -1
    texts = np.array(digits, np.uint32)[rows].view(f"U{rows.shape[1]}")[:, 0].tolist()
    numbers = [
        text[:count].replace(" ", "")[::step] for text, count in zip(texts, counts, strict=True)
    ]
    if not all(numbers) or (rows[np.arange(len(rows)), counts - 1] != machine.end).any():
        return None
    return [number.lstrip("0") or "0" for number in numbers]


def plain_answers(
    machine: Machine, windows: Windows, next_tokens: Callable[[Rows], QueryNumbers], text: str
) -> list[str] | None:
    """Return the answer to every line of a text; None if a line, or an answer, is not plain.

    `next_tokens` returns the token that follows each window.
    """
    if (lines := read_plain(text)) is None or not is_plain(machine, lines[0]):
        return None
    operator, problems = lines
    try:
        widest = [max(map(len, operands)) for operands in zip(*problems, strict=True)]
        check_operands("", machine.limits, operator, widest)
    except UserError:  # the line is named where problems are read one by one
        return None
    # Lines of about one length are written together.
    order = sorted(range(len(problems)), key=lambda line: sum(map(len, problems[line])))
    by_line = dict[int, str]()
    for start in range(0, len(order), TOGETHER):
        batch = order[start : start + TOGETHER]
        prompt_batch = plain_prompts(machine, operator, [problems[line] for line in batch])
        completions = complete(machine, windows, lambda rows, _: next_tokens(rows), prompt_batch)
        texts = read_answers(completions, machine, operator)
        if texts is None:
            return None
        by_line |= zip(batch, texts, strict=True)
    return [by_line[line] for line in range(len(problems))]
