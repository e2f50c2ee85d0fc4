"""What is suggested in place of a name that there is not: what was meant, or nothing."""

import pytest

from curta.config.errors import as_line, nearest, quoted
from curta.config.recipe import field_paths, shipped_names
from curta.frontends import cli

COMMANDS, RECIPES, FIELDS = list(cli.COMMANDS), shipped_names(), field_paths()
OPTIONS = ["--run", "--seeds", "--track", "--no-evaluation", *(f"--{path}" for path in FIELDS)]
OPERATORS = ["+", "+.", "-", "*", "//", "%", "<", "sort", "gcd", "isqrt", "copy", "reverse"]


@pytest.mark.parametrize(
    ("options", "meant"),
    [
        (COMMANDS, {"evalute": "evaluate", "eval": "evaluate", "trian": "train"}),
        (RECIPES, {"additon": "addition", "reversed": "addition-reversed"}),
        (FIELDS, {"modl.width": "model.width", "model.layers": "model.num_layers"}),
        (FIELDS, {"learning_rate": "optimizer.learning_rate"}),
        (OPTIONS, {"--sedes": "--seeds", "--learning-rate": "--optimizer.learning_rate"}),
        (OPERATORS, {"gdc": "gcd", "/": "//"}),
        # No slips:
        (COMMANDS, {"delete": None, "": None}),
        (["addition-rope", "addition-fire"], {"transformer": None, "addition-foo": None}),
        (FIELDS, {"model.depth": None}),
        (OPTIONS, {"--gpu": None}),
        (["task.base", "muon", "adamw", "+"], {"task.rate": None, "lion": None, "-": None}),
    ],
)
def test_a_slip_is_told_with_what_was_meant(
    options: list[str], meant: dict[str, str | None]
) -> None:
    assert {name: nearest(name, options) for name in meant} == meant


@pytest.mark.parametrize("text", ["a\x1b[31m", "\u202e", "\udcff", "n" * 10_000, "\0" * 10_000])
def test_foreign_text_is_printable_and_short(text: str) -> None:
    for line in (as_line(text), quoted(text)):
        assert line.isprintable()
        assert len(line) <= 290
