"""Malformed command lines, recipes and problems: one line that says so, and no traceback."""

import copy
import random
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import tomli_w

from curta.config.errors import UserError
from curta.frontends import api
from curta.runs import folders
from tests.faults import damage, places

VALID: tuple[tuple[str, ...], ...] = (
    ("train", "addition", "--run", "one", "--seeds", "2", "training.steps=5"),
    ("train", "addition", "task.digits=[1,4]", "model.width=16", "model.heads=2"),
    ("train", "addition-rope", "optimizer.name=muon", "positions.name=rope"),
    ("train", "FILE"), ("train", "FILE", "--seeds", "1,2"), ("compare", "FILE", "--run", "x"),
    ("compare", "addition", "model.width=16,32", "--seeds", "2"),
    ("compare", "addition", "a: addition model.width=16", "training.steps=5"),
    ("ask", "run", "copy 12"), ("ask", "run", "copy 12", "--member", "1", "--trace"),
    ("ask", "run", "--file", "FILE"), ("show", "addition", "12+34"), ("show", "gcd", "gcd(12, 18)"),
    ("show", "run", "copy 12"), ("show", "addition", "--window"), ("show", "addition", "--layers"),
    ("evaluate", "run", "digits=2", "count=2", "--member", "0", "seed=1"),
    ("probe", "run", "tokens", "--member", "0", "--json"), ("export", "run", "--to", "adderboard"),
    ("page", "run", "--member", "0"), ("report", "run"), ("train", "--resume", "run"),
    ("runs",), ("show",),
    ("data", "addition", "--rows", "10", "--out", "OUT", "--form", "jsonl"), ("check", "FILE"),
    ("runs", "run"), ("certify", "run", "--json"), ("serve", "--port", "99999"),
)  # fmt: skip

PIECES: tuple[str, ...] = (
    "", " ", "-", "--", "-1", "0", "1e400", "nan", "inf", "1" * 50, "9" * 4_400, "2" * 20_000,
    "0x" + "f" * 300, "1.5", "1/3", "[" * 300, "(" * 5_000, "{" * 99, "[1,[2,[3]]]", "[1,", "\0",
    "\r\n", "\t", "\ud800", "ü", "²", "١٢", "\u202e", "💥", "<script>alert(1)</script>",
    "[red]x[/red]", "[/]", "%s", "{0}", "$HOME", "`x`", "x" * 300, "/" * 300, "../..", "/dev/null",
    "/etc/passwd", ".", "..", "~", "'", '"', "\\", "true", "None", "null", "2024-01-01", "*", "?",
    "--help", "training.steps=", "--model.width", "task=3", "x.y.z=1", "=", "a=b", "gcd(", "12+",
    "+34", "1++2", "12+34+", "copy", "copy copy 1", "sort(3,1,", "7 8", "-5+-3", "1" * 99 + "+1",
)  # fmt: skip

ENOUGH = "the input is valid: nothing is trained here"


def run(count: int, seed: int) -> places.Outcome:
    """`count` inputs, a third of them command lines, recipes, and problems."""
    outcome = places.Outcome()
    with places.workplace() as folder, places.runs_at(folder / "runs"):
        api.train(places.recipe(folder), 2, "run", **{"evaluation.certificate": 0})
        with _no_work():
            for case, draw in places.chosen(count, seed):
                outcome.cases += 1
                words = (_line, _recipe, _problem)[case % 3](draw, folder / "given.toml")
                reply = places.call(*words)
                valid = ENOUGH in reply.err or reply.code in (0, 1)
                outcome.ended["valid" if valid else "refused"] += 1
                wrong = reply.raised or ("" if valid else reply.complaint)
                if wrong:
                    outcome.failed(case, seed, f"{[word[:60] for word in words]}: {wrong}")
    return outcome


@contextmanager
def _no_work() -> Iterator[None]:
    """What would be trained is valid, and that is enough."""

    def enough(*arguments: Any, **named: Any) -> Any:
        raise UserError(ENOUGH)

    begin = mock.patch.object(api, "begin_comparison", enough)
    with begin, mock.patch.object(folders, "create", enough):
        yield


def _line(draw: random.Random, file: Path) -> list[str]:
    """Return a valid command line with one to three changes; no server is begun."""
    names = {"FILE": str(file), "OUT": str(file.with_name("out"))}
    words = [names.get(word, word) for word in draw.choice(VALID)]
    _write(file, draw.choice(["1+2\n", "x", "", tomli_w.dumps(places.COPY)]))
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(1, len(words) + 1)
        way = draw.randrange(5)
        if way == 0 or at == len(words):
            words.insert(at, draw.choice(PIECES))
        elif way == 1:
            words[at] = draw.choice(PIECES)
        elif way == 2:
            del words[at]
        else:
            words[at] = garbled(words[at], draw)
    return ["serve", "--port", *words[2:], "x"] if words[0] == "serve" else words


def _recipe(draw: random.Random, file: Path) -> list[str]:
    """Return the words for a recipe with one to three changes in its text or in its values."""
    text = garbled(tomli_w.dumps(places.COPY), draw, draw.randint(1, 3))
    if draw.random() < 0.6:
        text = places.toml(damage.changed(copy.deepcopy(places.COPY), draw))
    _write(file, text)
    return [draw.choice(["train", "train", "compare"]), str(file)]


def _problem(draw: random.Random, file: Path) -> list[str]:
    """Return the words for a problem that somebody might mistype."""
    text = draw.choice(["12+34", "copy 12", "gcd(12, 18)", "3.75+12.5", "0xff+0x1", "sort(3, 1)"])
    text = garbled(text, draw, draw.randint(1, 4))
    _write(file, f"copy 1\n{text}\n")
    commands = [("ask", "run", text), ("show", "addition", text), ("show", "run", text)]
    return [*draw.choice([*commands, ("ask", "run", "--file", str(file))])]


def garbled(text: str, draw: random.Random, times: int = 1) -> str:
    """Put pieces into a text, change characters, and leave parts out or repeat them."""
    for _ in range(times):
        at = draw.randrange(len(text) + 1)
        to = min(len(text), at + draw.randint(0, 4))
        piece = [draw.choice(PIECES), draw.choice(string.printable), "", text[at:to] * 9]
        text = text[:at] + draw.choice(piece) + text[to:]
    return text


def _write(file: Path, text: str) -> None:
    file.write_bytes(text.encode("utf-8", "surrogatepass"))
