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
        ("evaluation", "evaluate", COMMANDS),
        ("eval", "evaluate", COMMANDS),
        ("trian", "train", COMMANDS),
        ("Train", "train", COMMANDS),
        ("run", "runs", COMMANDS),
        ("additon", "addition", RECIPES),
        ("addition-revresed", "addition-reversed", RECIPES),
        ("addition_reversed", "addition-reversed", RECIPES),
        ("reversed", "addition-reversed", RECIPES),
        ("substraction", "subtraction", RECIPES),
        ("modl.width", "model.width", FIELDS),
        ("model.layers", "model.num_layers", FIELDS),
        ("model.numlayers", "model.num_layers", FIELDS),
        ("optimizer.rate", "optimizer.learning_rate", FIELDS),
        ("learning_rate", "optimizer.learning_rate", FIELDS),
        ("positions.neighbors", "positions.neighbours", FIELDS),
        ("--sedes", "--seeds", OPTIONS),
        ("--steps", "--training.steps", OPTIONS),
        ("--learning-rate", "--optimizer.learning_rate", OPTIONS),
        ("--no-eval", "--no-evaluation", OPTIONS),
        ("srt", "sort", OPERATORS),
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
        ("remove", COMMANDS),
        ("list", COMMANDS),
        ("e", COMMANDS),
        ("", COMMANDS),
        ("transformer", RECIPES),
        ("addition-foo", ["addition-rope", "addition-fire"]),
        ("model.depth", FIELDS),
        ("training.epochs", FIELDS),
        ("task.rate", ["task.base"]),
        ("--gpu", OPTIONS),
        ("gpu", OPERATORS),
        ("^", OPERATORS),
        ("-", ["+"]),
        ("lion", ["muon", "adamw"]),
    ],
)
def test_what_is_no_slip_is_told_with_nothing_else(name: str, options: list[str]) -> None:
    assert nearest(name, options) is None
