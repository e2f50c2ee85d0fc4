"""What is suggested in place of a name that there is not: what was meant, or nothing."""

import pytest

from curta.config.errors import nearest
from curta.config.recipe import field_paths, shipped_names
from curta.frontends import cli

COMMANDS = list(cli.COMMANDS)
RECIPES = shipped_names()
FIELDS = field_paths()
OPTIONS = ["--run", "--seeds", "--track", "--no-evaluation", *(f"--{path}" for path in FIELDS)]
OPERATORS = ["+", "+.", "-", "*", "//", "%", "<", "sort", "gcd", "isqrt", "copy", "reverse"]


@pytest.mark.parametrize(
    ("name", "meant", "options"),
    [
        ("evalute", "evaluate", COMMANDS),
        ("eval", "evaluate", COMMANDS),
        ("trian", "train", COMMANDS),
        ("additon", "addition", RECIPES),
        ("reversed", "addition-reversed", RECIPES),
        ("modl.width", "model.width", FIELDS),
        ("model.layers", "model.num_layers", FIELDS),
        ("learning_rate", "optimizer.learning_rate", FIELDS),
        ("--sedes", "--seeds", OPTIONS),
        ("--learning-rate", "--optimizer.learning_rate", OPTIONS),
        ("gdc", "gcd", OPERATORS),
        ("/", "//", OPERATORS),
    ],
)
def test_a_slip_is_told_with_what_was_meant(name: str, meant: str, options: list[str]) -> None:
    assert nearest(name, options) == meant


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("delete", COMMANDS),
        ("", COMMANDS),
        ("transformer", RECIPES),
        ("addition-foo", ["addition-rope", "addition-fire"]),
        ("model.depth", FIELDS),
        ("task.rate", ["task.base"]),
        ("--gpu", OPTIONS),
        ("-", ["+"]),
        ("lion", ["muon", "adamw"]),
    ],
)
def test_what_is_no_slip_is_told_with_nothing_else(name: str, options: list[str]) -> None:
    assert nearest(name, options) is None
