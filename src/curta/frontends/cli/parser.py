"""Commands and their options."""

import argparse
import re
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from curta.config.errors import UserError, unknown
from curta.frontends.cli import commands, comparing, own, sharing

_FLAGS = (
    "--help", "--json", "--layers", "--no-exam", "--steps", "--trace", "--trust", "--window"
)  # fmt: skip
"""Options that take no value."""


class Parser(argparse.ArgumentParser):
    """An argparse parser whose complaints are UserErrors with the nearest right option."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **settings,
        )

    def error(self, message: str) -> NoReturn:
        choice = re.match(r"argument COMMAND: invalid choice: '(.*?)' \(choose from", message)
        if choice:
            raise unknown("command", choice[1], _COMMANDS)
        raise UserError(f"{message} (see `{self.prog} --help`)")

    def refuse(self, extra: Sequence[str]) -> None:
        """Raises for arguments that nobody takes."""
        if not extra:
            return
        option = extra[0].partition("=")[0]
        if not option.startswith("--"):
            raise UserError(f"unexpected argument {extra[0]!r} (see `{self.prog} --help`)")
        raise unknown("option", option, self._option_string_actions)


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options of one command, with the function that carries it out as `command`."""
    arguments = arguments[:1] + _words_first(arguments[1:])
    top = Parser(
        prog="curta", description="A laboratory for small transformers that learn arithmetic."
    )
    top.add_argument("--version", action="store_true", help="print the version")
    chosen = top.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    parsers = {}
    for name, (build, function, summary) in _COMMANDS.items():
        parsers[name] = chosen.add_parser(name, help=summary, description=summary)
        parsers[name].set_defaults(command=function, name=name)
        build(parsers[name], arguments[1:] if arguments[:1] == [name] else None)
    options, extra = top.parse_known_args(arguments)
    if options.version:
        options.command = commands.version
    if not hasattr(options, "command"):
        top.refuse(extra)
        options.command = lambda _: _help(top)
        return options
    parsers.get(getattr(options, "name", ""), top).refuse(extra)
    return options


def _help(parser: Parser) -> int:
    parser.print_help()
    return 0


def _check(parser: Parser, given: list[str] | None) -> None:
    parser.add_argument("program", help="a file with programs, such as gcd.py, or a program's name")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON")


def _train(parser: Parser, given: list[str] | None) -> None:
    about = "name or path of a recipe, or a program's file, such as gcd.py (addition)"
    parser.add_argument("recipe", nargs="?", default="addition", help=about)
    parser.add_argument("--run", metavar="NAME", help="name of the run (the recipe's, numbered)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="members to train (1)")
    track = "trackers of the metrics, besides the run folder: tensorboard, wandb, trackio"
    parser.add_argument("--track", metavar="T,U", help=track)
    parser.add_argument("--no-exam", action="store_true", help="do not examine what was learned")
    if given is not None:
        own.executed(given)
        _overrides(parser, [*_words(given), "addition"][:1])


def _data(parser: Parser, given: list[str] | None) -> None:
    parser.epilog = (
        "Splits: train, validation, test_id (drawn alike, held out), test_ood (larger, or written\n"
        "otherwise, as the recipe's [evaluation] says). No problem stands in two of them."
    )
    parser.add_argument("recipe", help="name or path of a recipe")
    parser.add_argument("--rows", type=int, required=True, metavar="N", help="problems to train on")
    parser.add_argument("--out", required=True, metavar="DIR", help="a new folder")
    forms = "parquet, jsonl or text (parquet)"
    parser.add_argument("--format", default="parquet", metavar="F", help=forms)
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="seed of the draws (0)")
    if given is not None and (words := _words(given)):
        own.executed(given)
        _overrides(parser, words[:1])


def _export(parser: Parser, given: list[str] | None) -> None:
    _run_only(parser, given)
    parser.add_argument("--to", required=True, metavar="FORM", help="adderboard, huggingface, onnx")
    out = "what is to be written (in the run's folder)"
    parser.add_argument("--out", type=Path, metavar="PATH", help=out)
    parser.add_argument("--member", type=int, default=0, metavar="M", help="which member (0)")


def _import(parser: Parser, given: list[str] | None) -> None:
    parser.add_argument("form", help="huggingface")
    parser.add_argument("path", type=Path, metavar="DIR", help="an exported folder")
    parser.add_argument("--run", metavar="NAME", help="name of the run (the exported one's)")


def _compare(parser: Parser, given: list[str] | None) -> None:
    parser.epilog = (
        "One entry is the name or path of a comparison; without any, those that come with the\n"
        "program are listed. Several are recipes, each with changes of its own in one argument:\n"
        "  curta compare addition 'RoPE: addition positions.name=rope model.role_embeddings=false'"
    )
    help = "a comparison, or recipes: '[NAME: ]RECIPE [field=value ...]'"
    parser.add_argument("entries", nargs="*", metavar="ENTRY", help=help)
    _together(parser)
    if given is not None and (words := _words(given)):
        from curta.runs.comparison_spec import draft

        own.executed(given)
        _overrides(parser, [entry.recipe for entry in draft(words).entries])


def _sweep(parser: Parser, given: list[str] | None) -> None:
    parser.epilog = "Values of a field are parted by commas: --model.width 32,64,128"
    parser.add_argument("recipe", help="name or path of a recipe")
    _together(parser)
    if given is not None and (words := _words(given)):
        own.executed(given)
        _overrides(parser, words[:1])


def _together(parser: Parser) -> None:
    """Options of a comparison, besides the fields of its recipes."""
    parser.add_argument("--run", metavar="NAME", help="name of its folder (made from its entries)")
    parser.add_argument("--seeds", type=int, metavar="N", help="members of each run (3)")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def _overrides(parser: Parser, names: Sequence[str]) -> None:
    """An option for every field, showing the recipes' own value as default."""
    from curta.config.recipe import as_table, field_paths, lookup
    from curta.model import recipes
    from curta.model.positions import user

    tables = [as_table(recipes.load(name)) for name in dict.fromkeys(names)]
    paths = [path for table in tables for path in field_paths(table, user.every())]
    groups: dict[str, Any] = {}
    for path in dict.fromkeys(paths):
        section, _, _ = path.rpartition(".")
        group = groups.setdefault(section, parser.add_argument_group(section or "recipe"))
        shown = _shown([lookup(table, path) for table in tables])
        group.add_argument(f"--{path}", dest=f"set {path}", metavar="VALUE", help=f"({shown})")


def _shown(values: Sequence[object]) -> str:
    """The value that all recipes have."""
    if any(value != values[0] for value in values):
        return "each recipe's own"
    return "not set" if values[0] is None else _plain(values[0])


def _words(arguments: Sequence[str]) -> list[str]:
    """What stands before the options."""
    return list(takewhile(lambda word: not word.startswith("-"), arguments))


def _words_first(arguments: list[str]) -> list[str]:
    """Names and problems before options: argparse loses optional ones that come after."""
    words: list[str] = []
    options: list[str] = []
    for word in arguments:
        taken = bool(options) and options[-1].startswith("--") and options[-1] not in _FLAGS
        is_value = taken and "=" not in options[-1]
        (options if is_value or word.startswith("-") else words).append(word)
    return words + options


def _plain(value: object) -> str:
    return str(value).replace("%", "%%")


def _run_only(parser: Parser, given: list[str] | None) -> None:
    parser.add_argument("run", help="name of a run, or path of its folder")
    _trust(parser)


def _trust(parser: Parser) -> None:
    says = "execute the code that came with the run: a program's, an encoding's"
    parser.add_argument("--trust", action="store_true", help=says)


def _ask(parser: Parser, given: list[str] | None) -> None:
    _run_only(parser, given)
    parser.add_argument("problem", nargs="?", help="such as 12+34")
    parser.add_argument("--file", metavar="F", help="one problem a line; - reads standard input")
    parser.add_argument("--trace", action="store_true", help="show the model's own writing")
    parser.add_argument("--member", type=int, default=0, metavar="M", help="which member (0)")
    _loops(parser)


def _evaluate(parser: Parser, given: list[str] | None) -> None:
    _run_only(parser, given)
    parser.add_argument("--digits", metavar="20,100", help="digit counts (the recipe's)")
    parser.add_argument("--grid", type=int, metavar="N", help="digits x digits grid up to N")
    parser.add_argument("--table", type=int, metavar="N", help="count all problems up to N")
    parser.add_argument("--member", type=int, metavar="M", help="one member only; saves nothing")
    parser.add_argument("--count", type=int, metavar="N", help="problems of each kind")
    parser.add_argument("--seed", type=int, metavar="S", help="seed of the problems")
    _loops(parser)
    parser.add_argument("--json", action="store_true", help="print the table as JSON")


def _loops(parser: Parser) -> None:
    parser.add_argument("--loops", type=int, metavar="N", help="loops of the model (the recipe's)")


def _certify(parser: Parser, given: list[str] | None) -> None:
    _run_only(parser, given)
    parser.add_argument("--json", action="store_true", help="print certificate.json")


def _probe(parser: Parser, given: list[str] | None) -> None:
    _run_only(parser, given)
    parser.add_argument("probe", nargs="?", help="which one; without it, they are listed")
    parser.add_argument("--member", type=int, metavar="M", help="one member only (all)")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    words = list(takewhile(lambda word: not word.startswith("-"), given or []))
    if len(words) > 1:
        _probe_options(parser, words[1])


def _probe_options(parser: Parser, name: str) -> None:
    """The options of one probe, with their defaults."""
    from curta.probes import options

    group = parser.add_argument_group(f"options of {name}")
    for option, says, kind, default in options(name):
        shown = says if default is None else f"{says} ({_plain(default)})"
        group.add_argument(
            f"--{option}", dest=f"set {option}", type=kind, metavar=option[0].upper(), help=shown
        )


def _page(parser: Parser, given: list[str] | None) -> None:
    _run_only(parser, given)
    parser.add_argument("--member", type=int, default=0, metavar="M", help="which member (0)")
    help = "file to write (page-M.html in the run's folder)"
    parser.add_argument("--out", type=Path, metavar="FILE", help=help)


def _serve(parser: Parser, given: list[str] | None) -> None:
    help = "port of this machine, 0 for any that is free (8642)"
    parser.add_argument("--port", type=int, default=8642, metavar="N", help=help)


def _report(parser: Parser, given: list[str] | None) -> None:
    help = "runs, by name or by path; several stand side by side"
    parser.add_argument("runs", nargs="+", metavar="RUN", help=help)
    help = "folder to write it to (the run's; of several, one in `reports` of the runs folder)"
    parser.add_argument("--out", type=Path, metavar="DIR", help=help)


def _show(parser: Parser, given: list[str] | None) -> None:
    parser.add_argument("recipe", help="name or path of a recipe, or of a run")
    parser.add_argument("problem", nargs="?", help="such as 123+45")
    parser.add_argument("--steps", action="store_true", help="token by token")
    parser.add_argument("--window", action="store_true", help="what each role sees")
    _trust(parser)
    parser.add_argument("--layers", action="store_true", help="the model's layers, and their cost")


def _nothing(parser: Parser, given: list[str] | None) -> None:
    """No options of its own."""


_COMMANDS = {
    "demo": (_nothing, commands.demo, "train the default recipe and see what it can do"),
    "check": (_check, own.check, "check a program: its answers, its windows, its moves"),
    "train": (_train, commands.train, "train a recipe, examine it and write a report"),
    "compare": (_compare, comparing.compare, "train several recipes side by side"),
    "sweep": (_sweep, comparing.sweep, "train a recipe with every combination of some values"),
    "data": (_data, sharing.data, "write a recipe's problems as a data set"),
    "resume": (_run_only, commands.resume, "go on with a run that was interrupted"),
    "ask": (_ask, commands.ask, "let a trained model calculate"),
    "evaluate": (_evaluate, commands.evaluate, "examine a trained run"),
    "certify": (_certify, commands.certify, "list all windows and ask every member of a program"),
    "probe": (_probe, commands.probe, "look into what a trained run has learned"),
    "report": (_report, sharing.report, "write the report of a run, or of several side by side"),
    "page": (_page, sharing.page, "write a page in which a trained model calculates"),
    "serve": (_serve, sharing.serve, "show the runs in a browser, training as it goes on"),
    "show": (_show, commands.show, "show how a recipe writes a problem, or its layers"),
    "export": (_export, sharing.export, "write a trained model for other programs"),
    "import": (_import, sharing.import_run, "make a run of a model that was exported"),
    "runs": (_nothing, commands.runs, "list the runs"),
    "recipes": (_nothing, commands.recipes, "list the recipes"),
}
