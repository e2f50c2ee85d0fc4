"""A machine and its windows as JSON: all that a run, a page or an export must know of a program."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from curta.config import files
from curta.config.errors import UserError, quoted
from curta.programs.machine.machine import Machine, Role, Windows
from curta.programs.machine.paper import HOME, Key, Token, Vocabulary
from curta.programs.machine.program import Program
from curta.programs.machine.prompt import Answer, Format, Given, Part, Sign
from curta.programs.machine.survey import Recorder

FORMAT = 1
"""Version of the file; a newer one is refused."""


def dump(machine: Machine, windows: Windows) -> dict[str, Any]:
    """Plain values; moves as offsets, with a flag for those from the origin."""
    return {
        "format": FORMAT,
        "axes": list(machine.axes),
        "tokens": [
            {
                "symbol": token.symbol,
                "role": token.role,
                "value": token.value,
                "carry": token.carry,
                "home": [step > HOME // 2 for step in token.move],
                "offset": [step - HOME if step > HOME // 2 else step for step in token.move],
            }
            for token in machine.tokens
        ],
        "roles": [{"name": role.name, "broadcast": list(role.broadcast)} for role in machine.roles],
        "windows": {
            role: [[other, list(moved)] for other, moved in near] for role, near in windows.items()
        },
        "formats": {operator: _format(form) for operator, form in machine.formats.items()},
        "others": {name: _format(form) for name, form in machine.others.items()},
    }


def load(content: Mapping[str, Any], where: str) -> tuple[Machine, Windows]:
    """The machine and its windows; UserError if they are damaged or of a newer version."""
    if content.get("format") != FORMAT:
        raise UserError(f"{where}: a machine of format {content.get('format')}: update curta")
    try:
        if not all(isinstance(content[field], list) for field in ("axes", "tokens", "roles")):
            raise TypeError("axes, tokens and roles are lists")
        machine = _machine(content)
        windows = {
            role: tuple((other, tuple(moved)) for other, moved in near)
            for role, near in content["windows"].items()
        }
        _check(machine, windows)
        return machine, windows
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        cause = str(error).partition("\n")[0]
        raise UserError(f"{where}: the machine is damaged ({cause})") from None


def recorder(machine: Machine, programs: Sequence[Program]) -> Recorder:
    """The programs' code, whose tokens are numbered as this machine numbers them."""
    several = not any(
        token.role == part.name
        for token in machine.tokens
        for program in programs
        for part in program.prompt
    )
    vocabularies = {
        program.operator: Vocabulary(_own(machine, program, several)) for program in programs
    }
    return Recorder({program.operator: program for program in programs}, vocabularies)


def read(path: Path, name: str) -> tuple[Machine, Windows]:
    """The machine in a file."""
    where = f"run {name!r}"
    return load(files.read_json(path, where), where)


def check_operators(machine: Machine, operators: Iterable[str], where: str) -> None:
    """Raise UserError unless these are the operators of the machine."""
    if {*operators} != {*machine.formats}:
        there, wanted = (quoted(", ".join(sorted(it))) for it in (machine.formats, operators))
        raise UserError(f"{where}: the machine is of {there}, the recipe of {wanted}")


def _check(machine: Machine, windows: Windows) -> None:
    """Raises ValueError for parts that do not fit each other."""
    roles, axes = {role.name for role in machine.roles}, len(machine.axes)
    seen = [neighbour for near in windows.values() for neighbour in near]
    named = {token.role for token in machine.tokens} | {*windows} | {role for role, _ in seen}
    if missing := sorted(named - roles):
        raise ValueError(f"there is no role {missing[0]!r}")
    moves = [token.move for token in machine.tokens] + [moved for _, moved in seen]
    if any(len(move) != axes for move in moves):
        raise ValueError(f"a move is not one of {axes} axes")
    if any(not isinstance(step, int) or abs(step) > 2 * HOME for move in moves for step in move):
        raise ValueError("a move is not one of so many squares")
    if "end" not in named or not all(isinstance(axis, str) for axis in machine.axes):
        raise ValueError("no token ends a text, or an axis has no name")
    for operator, form in machine.formats.items():
        lacking = next((key for key in form.every() if key not in machine.numbers), None)
        if lacking is not None:
            raise ValueError(f"prompts of {operator!r} have a token that is none: {lacking[:2]}")


def _own(machine: Machine, program: Program, several: bool) -> dict[Key, int]:
    """The program's own tokens, without its name before their roles and on its own axes."""
    axes = [machine.axes.index(axis) for axis in program.axes]
    before = f"{program.family or program.name} " if several else ""
    return {
        (key[0], key[1].removeprefix(before), key[2], tuple(key[3][a] for a in axes)): number
        for key, number in machine.numbers.items()
        if key[1].startswith(before) or key[1] == "end"
    }


def _format(form: Format) -> dict[str, Any]:
    kinds = {Given: "given", Sign: "sign"}
    parts = [{"kind": kinds[type(part)]} | asdict(part) for part in form.parts]
    return {"parts": parts, "answer": asdict(form.answer)}


def _machine(content: Mapping[str, Any]) -> Machine:
    tokens = tuple(_token(token) for token in content["tokens"])
    roles = tuple(Role(role["name"], tuple(role["broadcast"])) for role in content["roles"])
    axes = tuple(content["axes"])
    formats, others = (
        {
            name: Format(axes, tuple(map(_part, form["parts"])), Answer(**form["answer"]))
            for name, form in content[kind].items()
        }
        for kind in ("formats", "others")
    )
    return Machine(axes, tokens, roles, formats, others)


def _token(token: Mapping[str, Any]) -> Token:
    move = tuple(
        int(offset) + (HOME if home else 0)
        for home, offset in zip(token["home"], token["offset"], strict=True)
    )
    return Token(token["symbol"], token["role"], move, token["value"], token["carry"])


def _part(fields: Mapping[str, Any]) -> Part:
    rest = {name: value for name, value in fields.items() if name != "kind"}
    rest |= {"everywhere": tuple(rest["everywhere"])}
    return Given(**rest) if fields["kind"] == "given" else Sign(**rest)
