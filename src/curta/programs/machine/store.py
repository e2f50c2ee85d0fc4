"""Read and write a machine and its windows as JSON, all that runs, pages and exports need."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any

from curta.config import files
from curta.config.errors import UserError, quoted
from curta.programs.machine.machine import Machine, Role, Windows
from curta.programs.machine.paper import HOME, FixedVocabulary, Token
from curta.programs.machine.program import Program
from curta.programs.machine.prompt import Answer, Format, Given, Part, Sign
from curta.programs.machine.survey import Recorder

FORMAT = 1
"""Version of the file format."""


def dump(machine: Machine, windows: Windows) -> dict[str, Any]:
    """Return plain values; a move is an offset and a flag: whether it is from the origin."""

    def form_table(form: Format) -> dict[str, Any]:
        kind = lambda part: {"kind": "given" if isinstance(part, Given) else "sign"}
        return {
            "parts": [kind(part) | asdict(part) for part in form.prompt_parts],
            "answer": asdict(form.answer),
        }

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
        "roles": [role._asdict() for role in machine.roles],
        "windows": dict(windows),
        "formats": {operator: form_table(form) for operator, form in machine.formats.items()},
        "others": {name: form_table(form) for name, form in machine.others.items()},
    }


def load(content: Mapping[str, Any], where: str) -> tuple[Machine, Windows]:
    """Return a machine and its windows; raise UserError if damaged or of another version."""
    if content.get("format") != FORMAT:
        raise UserError(f"{where}: a machine of format {content.get('format')}: update curta")

    def part_of(entry: Mapping[str, Any]) -> Part:
        values = {name: value for name, value in entry.items() if name != "kind"}
        values |= {"everywhere": tuple(values["everywhere"])}
        return Given(**values) if entry["kind"] == "given" else Sign(**values)

    try:
        if not all(isinstance(content[field], list) for field in ("axes", "tokens", "roles")):
            raise TypeError("axes, tokens and roles are lists")
        axes = tuple(content["axes"])
        tokens = []
        for token in content["tokens"]:
            flags = zip(token["home"], token["offset"], strict=True)
            move = tuple(int(offset) + (HOME if home else 0) for home, offset in flags)
            fields = (token["symbol"], token["role"], move, token["value"], token["carry"])
            tokens.append(Token(*fields))
        roles = tuple(Role(role["name"], tuple(role["broadcast"])) for role in content["roles"])
        formats, others = (
            {
                name: Format(axes, tuple(map(part_of, form["parts"])), Answer(**form["answer"]))
                for name, form in content[kind].items()
            }
            for kind in ("formats", "others")
        )
        machine = Machine(axes, tuple(tokens), roles, formats, others)
        windows = {
            role: tuple((other, tuple(moved)) for other, moved in near)
            for role, near in content["windows"].items()
        }
        _check(machine, windows)
        return machine, windows
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as error:
        cause = str(error).partition("\n")[0]
        raise UserError(f"{where}: the machine is damaged ({cause})") from None


def read(path: Path, name: str) -> tuple[Machine, Windows]:
    """Read a machine from a file of the run `name`."""
    where = f"run {name!r}"
    return load(files.read_json(path, where), where)


def check_operators(machine: Machine, operators: Iterable[str], where: str) -> None:
    """Raise UserError unless these are the operators of the machine."""
    if {*operators} != {*machine.formats}:
        texts = (quoted(", ".join(sorted(names))) for names in (machine.formats, operators))
        raise UserError("{}: the machine is of {}, the recipe of {}".format(where, *texts))


def recorder(machine: Machine, programs: Sequence[Program]) -> Recorder:
    """Return a recorder of programs whose tokens are numbered as in this machine.

    In a machine of several programs, roles have the program's name before them.
    """
    roles = {token.role for token in machine.tokens}
    several = not any(part.name in roles for program in programs for part in program.prompt)
    vocabularies = {}
    for program in programs:
        axes = [machine.axes.index(axis) for axis in program.axes]
        prefix = f"{program.family or program.name} " if several else ""
        vocabularies[program.operator] = FixedVocabulary(
            {
                (symbol, role.removeprefix(prefix), carry, tuple(move[axis] for axis in axes)): n
                for (symbol, role, carry, move), n in machine.numbers.items()
                if role.startswith(prefix) or role == "end"
            }
        )
    return Recorder({program.operator: program for program in programs}, vocabularies)


def _check(machine: Machine, windows: Windows) -> None:
    """Raise an error unless roles, moves and prompts fit each other."""
    machine.role, machine.neighbours(windows), machine.end  # KeyError for a role that is not there
    for token in machine.tokens:
        texts, numbers = (token.symbol, token.role), (token.value or 0, token.carry)
        if not all(isinstance(text, str) for text in texts) or {*map(type, numbers)} != {int}:
            raise TypeError(f"{token} is not a token")
    moves = [token.move for token in machine.tokens]
    moves += [moved for near in windows.values() for _, moved in near]
    axes = len(machine.axes)
    if any(len(move) != axes or max(map(abs, move)) > 2 * HOME for move in moves):
        raise ValueError(f"a move is not one on {axes} axes")
    for form in (*machine.formats.values(), *machine.others.values()):
        for part in (*form.prompt_parts, form.answer):
            for entry in fields(part):  # a text, unless a default says otherwise
                value = getattr(part, entry.name)
                example = entry.default if entry.default is not MISSING else ""
                is_plain = entry.default_factory is MISSING and example is not None
                if is_plain and type(value) is not type(example):
                    raise TypeError(f"{entry.name} cannot be {value!r}")
    for form in machine.formats.values():
        for key in form.every():
            machine.numbers[key]
