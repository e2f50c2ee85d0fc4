"""Options that several commands share, and those that depend on what a command is given."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from curta.config import sections
from curta.config.errors import UserError, as_line, quoted
from curta.config.limits import DIGITS, INT32, ITEMS, LAYERS, MEMBERS, PROBLEMS, check_path


class Bounded(click.ParamType[Any]):
    """A whole number within bounds; one of thousands of digits is none."""

    name = "integer"

    def __init__(self, low: int, high: int) -> None:
        self.min, self.max = low, high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and not re.fullmatch(r"\s*[+-]?[0-9]+\s*", value):
            self.fail(f"must be a whole number (got {quoted(value)})", param, ctx)
        long = isinstance(value, str) and len(value) > LETTERS_OF_A_NUMBER
        if long or not self.min <= int(value) <= self.max:
            self.fail(f"must be {self.min:,} to {self.max:,} (got {quoted(value)})", param, ctx)
        return int(value)


class Name(click.ParamType[Any]):
    """What can be the name, or the path, of a file, a recipe or a run."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            check_path(str(value))
        except UserError as error:
            self.fail(str(error), param, ctx)
        return value


class PathType(Name):
    """The same as a path."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return Path(super().convert(value, param, ctx))


class Seeds(click.ParamType[Any]):
    """A count, for seeds 0, 1, ..., or the seeds themselves: parted by commas, or a range.

    Of more than UNASKED members the range is asked for: a count may be meant as one seed.
    """

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and (span := re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", value)):
            first, last = map(int, span.groups())
            if not 0 <= last - first < MEMBERS:
                self.fail(f"a range has 1 to {MEMBERS:,} seeds, such as 0-63", param, ctx)
            return list(range(first, last + 1))
        if not isinstance(value, str) or "," not in value:
            if str(value).strip() == "0":
                self.fail("it counts seeds: seed 0 alone is `--seeds 0,`", param, ctx)
            count = MEMBERS_OF_A_RUN.convert(value, param, ctx)
            if count > UNASKED:
                self.fail(
                    f"for {count:,} members write `--seeds 0-{count - 1}`,"
                    f" for seed {count:,} alone `--seeds {count},`",
                    param,
                    ctx,
                )
            return count
        parts = [part.strip() for part in value.rstrip(",").split(",")]
        if len(parts) > MEMBERS:
            self.fail(f"at most {MEMBERS:,} seeds, not {len(parts):,}", param, ctx)
        return [SIGNED.convert(part, param, ctx) for part in parts]


LETTERS_OF_A_NUMBER = 40
UNASKED = 32
"""Members that a count alone begins."""
SEEDS_HELP = "How many seeds, or which: 3,7,11, one such as 7, with a comma, a range such as 0-63."
COUNT = Bounded(1, PROBLEMS)
MEMBERS_OF_A_RUN = Bounded(1, MEMBERS)
SEEDS = Seeds()
MEMBER = Bounded(0, MEMBERS - 1)
SEED = Bounded(0, INT32)
STEP = Bounded(1, INT32)
SIGNED = Bounded(-INT32, INT32)
"""Of a probe, which says itself what it takes."""
NAME = Name()
PATH = PathType()

run = click.argument("run", type=NAME)
trust = click.option("--trust", is_flag=True, help="Execute the code that came with the run.")


FORM = "curta.form"
"""Where a command's context holds the form in which it prints what was found."""


def form() -> str | None:
    """`json`, `csv` or `latex`; None where it is for the screen."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(FORM)


def _takes_form(context: click.Context, param: click.Parameter, is_given: bool) -> bool:
    """Notes the form; UserError for a second one."""
    if is_given and not context.resilient_parsing:
        name = param.opts[0].removeprefix("--")
        if context.meta.setdefault(FORM, name) != name:
            raise UserError(f"--{context.meta[FORM]} and --{name}: give one of them")
    return is_given


_form = partial(click.option, is_flag=True, callback=_takes_form)
as_json = _form("--json", "as_json", help="Print what was found as JSON.")
_csv = _form("--csv", expose_value=False, help="Print the table as CSV.")
_latex = _form("--latex", expose_value=False, help="Print the table as LaTeX (booktabs).")


def tables(command: Callable[..., Any]) -> Callable[..., Any]:
    """`--csv` and `--latex`, for a command that prints tables: `screen.notice` sees to them."""
    return _csv(_latex(command))


member = click.option("--member", type=MEMBER, default=0, metavar="M", help="Which member.")
evaluation = click.option(
    "--evaluation", metavar="E", default="", show_default=False,
    help="One with other settings, such as digits-500 (the recipe's).",
)  # fmt: skip
recurrences = click.option(
    "--recurrences", type=Bounded(1, LAYERS), metavar="N", help="(the recipe's)"
)


class Further(click.Option):
    """An option with a name such as `model.width`, which a command takes by its `**`."""

    def __init__(self, name: str, group: str = "", **settings: Any) -> None:
        super().__init__([f"--{name}", "further"], **settings)
        self.name, self.group = name, group


class Field(Further):
    """An option for a field of a recipe; what it is, is read for a help alone.

    `values` are what the given recipes have, `encodings` the user's own.
    """

    def __init__(
        self,
        path: str,
        values: Sequence[object],
        encodings: tuple[type[Any], ...],
        parse: Callable[[str], Any],
    ) -> None:
        super().__init__(path, path.rpartition(".")[0] or "recipe", metavar="VALUE", type=parse)
        self.values, self.encodings = values, encodings

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from curta.config.described import lines

        known = lines(self.encodings)
        text = known.get(self.name) or known.get(self.name.rpartition(".")[0], "")
        self.help = f"{text}  {_default(self.values)}".strip()
        return super().get_help_record(ctx)


class Open(click.Command):
    """A command whose arguments say which further options it has, such as a recipe's fields.

    `further` makes them of the arguments; those that are given are passed on by their names.
    """

    def __init__(
        self, *names: Any, further: Callable[[dict[str, Any]], list[Further]], **settings: Any
    ) -> None:
        super().__init__(*names, **settings)
        self.further = further

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        return [*super().get_params(ctx), *(ctx.obj or ())]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the arguments twice: at first, each option that is not known has a value."""
        own = [name for param in super().get_params(ctx) for name in param.opts]
        given = [word.partition("=")[0] for word in args if word.startswith("--") and word != "--"]
        strange = [name for name in dict.fromkeys(given) if name not in own]
        for name in (name for name in strange if not re.fullmatch(r"--[\w.+-]+", name)):
            raise click.NoSuchOption(as_line(name), ctx=ctx)
        if strange or {*ctx.help_option_names} & {*args}:
            first = click.Context(self, ctx.parent, obj=[Further(name[2:]) for name in strange])
            first.resilient_parsing = True
            super().parse_args(first, list(args))
            ctx.obj = self.further(first.params)
            _refuse(strange, own, ctx)
        rest = super().parse_args(ctx, args)
        for option in ctx.obj or ():
            if ctx.params[option.name] is None:
                del ctx.params[option.name]
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Lists the command's own options, and the further ones group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            if isinstance(param, click.Option) and (line := param.get_help_record(ctx)):
                groups.setdefault(getattr(param, "group", "Options"), []).append(line)
        for title, lines in groups.items():
            with formatter.section(title):
                formatter.write_dl(lines)


def _refuse(given: Iterable[str], own: Sequence[str], ctx: click.Context) -> None:
    """Raises for the first option that is neither the command's own nor a further one."""
    from curta.config.recipe import unknown_field

    fields = [option.name for option in ctx.obj]
    known = [*own, *(f"--{name}" for name in fields)]
    for name in given:
        if name not in known and "." in name:
            raise unknown_field(name[2:], [one.removeprefix("--") for one in known])
        if name not in known:
            raise click.NoSuchOption(name, ctx=ctx)


def fields(
    given: dict[str, Any], several: bool = False, taken: Callable[[str], bool] = lambda path: True
) -> list[Further]:
    """An option for every field of the recipes that are given, their own value as its default.

    An option takes a value, or `several`, parted by commas. Only fields that are `taken` are
    options. A position encoding of the user's is executed: its fields are options too.
    """
    from curta.config.recipe import as_table, field_paths, lookup, parse_value
    from curta.model import recipes
    from curta.model.positions import user
    from curta.programs.user import userfiles

    if (encoding := str(given.get("positions.name"))).endswith(".py"):
        userfiles.load(encoding)
    names = dict.fromkeys(_recipes(given))
    found = [recipes.stated(recipes.read(name), f"recipe {name!r}") for name in names]
    tables = [as_table(recipe) for recipe in found]
    encodings, parse = tuple(user.every()), _values if several else parse_value
    paths = [path for table in tables or [{}] for path in field_paths(table, encodings)]
    return [
        Field(path, [lookup(table, path) for table in tables], encodings, parse)
        for path in dict.fromkeys(filter(taken, paths))
    ]


def fields_of_data(given: dict[str, Any]) -> list[Further]:
    """As `fields`, of those that a data set is made of."""
    from curta.model.unread import of_data

    return fields(given, taken=of_data)


def _recipes(given: dict[str, Any]) -> list[str]:
    """The names of a command's recipes."""
    if "recipe" in given:
        return [given["recipe"]] if given["recipe"] else []
    from curta.runs.comparison_spec import draft

    return [entry.recipe for entry in draft(given["entries"]).entries] if given["entries"] else []


def _default(values: Sequence[object]) -> str:
    """The value that all recipes have."""
    from curta.config.described import stated

    if not values or any(value != values[0] for value in values):
        return "[default: each recipe's own]"
    return f"[default: {stated(values[0])}]"


def _values(text: str) -> list[Any]:
    from curta.config.recipe import parse_value
    from curta.runs.comparison_spec import cut

    return [parse_value(part.strip()) for part in cut(text, ",")]


def of_probe(given: dict[str, Any]) -> list[Further]:
    """The options of the probe that is given, if one is."""
    if not given["probe"]:
        return []
    from curta.probes import options

    group = f"options of {given['probe']}"
    return [
        Further(
            name, group, type=SIGNED if kind is int else kind, help=f"{says}  {_default([default])}"
        )
        for name, says, kind, default in options(given["probe"])
    ]


def sizes(text: str | None) -> tuple[int | str, ...] | None:
    """What `--digits` says: counts, or sizes such as 50/25; None where it is not given."""
    if text is None:
        return None
    parts = tuple(text.split(","))
    if len(parts) > ITEMS or not all(re.fullmatch(sections.PATTERN, part) for part in parts):
        raise UserError(
            f"--digits {quoted(text)}: write counts from 1 to {DIGITS:,}, such as 20,100 or"
            " 50/25 or 20x5"
        )
    for part in parts:
        sections.check_size(part)
    return tuple(int(part) if part.isdigit() else part for part in parts)
