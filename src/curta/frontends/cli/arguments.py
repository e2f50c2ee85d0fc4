"""What commands are given: numbers and names, settings as `field=value`, and where runs go."""

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from curta.config import cluster
from curta.config.cluster import Cluster
from curta.config.errors import UserError, quoted
from curta.config.limits import INT32, LAYERS, MEMBERS, check_path

if TYPE_CHECKING:
    from curta.runs.cluster import System


class Name(click.ParamType[Any]):
    """The name or the path of a file, a recipe or a run; as a `Path` if `kind` says so."""

    name = "text"

    def __init__(self, kind: type = str) -> None:
        self.kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            check_path(str(value))
        except UserError as error:
            self.fail(str(error), param, ctx)
        return self.kind(value)


class Seeds(click.ParamType[Any]):
    """A count, for seeds 0, 1, ..., or the seeds themselves: separated by commas, or a range.

    More than UNASKED members need a range, since a large count may be meant as one seed.
    """

    name = "seeds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if span := re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", value):
            first, last = map(int, span.groups())
            if not 0 <= last - first < MEMBERS:
                self.fail(f"a range has 1 to {MEMBERS:,} seeds, such as 0-63", param, ctx)
            return list(range(first, last + 1))
        if "," in value:
            return [SIGNED.convert(seed, param, ctx) for seed in value.rstrip(",").split(",")]
        if value.strip() == "0":
            self.fail("it counts seeds: seed 0 alone is `--seeds 0,`", param, ctx)
        count = click.IntRange(1, MEMBERS).convert(value, param, ctx)
        if count > UNASKED:
            self.fail(f"for {count:,} members write `--seeds 0-{count - 1}`,"
                      f" for seed {count:,} alone `--seeds {count},`", param, ctx)  # fmt: skip
        return count


UNASKED = 32
"""Members that a count alone begins."""
SEEDS = Seeds()
MEMBER = click.IntRange(0, MEMBERS - 1)
SIGNED = click.IntRange(-INT32, INT32)
NAME = Name()
PATH = Name(Path)

run = click.argument(
    "run",
    type=NAME,
    shell_complete=lambda ctx, param, start: [
        name for name in run_names() if name.startswith(start)
    ],
)
trust = click.option("--trust", is_flag=True, help="Execute the code that came with the run.")
member = click.option("--member", type=MEMBER, default=0, metavar="M", help="Which member.")
recurrences = click.option(
    "--recurrences",
    type=click.IntRange(1, LAYERS),
    metavar="N",
    help="Of a looped model (the recipe's).",
)
seeds = click.option(
    "--seeds",
    type=SEEDS,
    metavar="N",
    help="How many seeds, or which: 3,7,11, one such as 7, with a comma, a range such as 0-63.",
)


# The form in which results are printed.

FORM = "curta.form"
"""The key of click's context under which the form is kept."""


def form() -> str | None:
    """Return `json`, `csv` or `latex`; None for the screen."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(FORM)


def _form_option(name: str, text: str) -> Callable[[Any], Any]:
    def note(context: click.Context, param: click.Parameter, is_given: bool) -> None:
        if is_given and not context.resilient_parsing:
            exclude(context.meta.setdefault(FORM, name), name)

    return click.option(f"--{name}", is_flag=True, callback=note, expose_value=False, help=text)


as_json = _form_option("json", "Print the result as JSON.")


def as_tables(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--csv` and `--latex`; `display.notice` prints tables accordingly."""
    latex = _form_option("latex", "Print the table as LaTeX (booktabs).")
    return latex(_form_option("csv", "Print the table as CSV.")(command))


def exclude(*names: str) -> None:
    """Raise UserError if two options are given that exclude each other."""
    chosen = list(dict.fromkeys(names))
    if len(chosen) > 1:
        raise UserError(f"--{chosen[0]} and --{chosen[1]}: give one of them")


def on_command_line() -> list[str]:
    """Return the options that this command was given, such as `--run`."""
    context = click.get_current_context()
    return [
        param.opts[0]
        for param in context.command.params
        if isinstance(param, click.Option) and param.name is not None
        and context.get_parameter_source(param.name) is ParameterSource.COMMANDLINE
    ]  # fmt: skip


# Settings: `model.width=64` among the words of a command.

SETTING = re.compile(r"([A-Za-z_][\w-]*(?:\.[^\s=:]+)*)=(.*)", re.DOTALL)


def words(metavar: str) -> Callable[[Any], Any]:
    """An argument that takes names and settings in any order; see `split`."""
    return click.argument("words", nargs=-1, metavar=metavar, shell_complete=complete)


def run_names() -> list[str]:
    """Return the names of the runs and the comparisons in the runs folder."""
    from curta.runs import folders

    return [*folders.existing(), *folders.comparisons()]


def complete(ctx: click.Context, param: click.Parameter, start: str) -> list[str]:
    """Return recipes, runs and fields that begin so, for a shell."""
    from curta.config.recipe import field_paths, shipped_names
    from curta.runs import folders

    fields = [f"{path}=" for path in field_paths()]
    known = [*shipped_names(), *folders.existing(), *fields]
    return [name for name in dict.fromkeys(known) if name.startswith(start)]


def split(words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Separate names from settings, whose texts are returned by field.

    >>> split(["addition", "model.width=64", "positions.name=rope"])
    (['addition'], {'model.width': '64', 'positions.name': 'rope'})
    """
    names, settings = list[str](), dict[str, str]()
    for word in words:
        if not (setting := SETTING.fullmatch(word)):
            names.append(NAME.convert(word, None, None))
            continue
        field, text = setting.groups()
        if not text:
            raise UserError(f"{quoted(word)} has no value: write {field}=VALUE")
        if field in settings:
            raise UserError(f"{field} is given twice: {settings[field]} and {text}")
        settings[field] = text
    return names, settings


def at_most_one(names: Sequence[str], what: str) -> str | None:
    """Return the only name, or None; UserError for a second."""
    if len(names) > 1:
        raise UserError(
            f"one {what} at a time (got {', '.join(map(quoted, names[:3]))});"
            " settings are written field=value, such as model.width=64"
        )
    return names[0] if names else None


def values(settings: dict[str, str]) -> dict[str, Any]:
    """Return what the texts mean: TOML, plain text, or with commas a list of such values."""
    from curta.config.recipe import parse_value
    from curta.runs.comparison_spec import cut

    parsed = {}
    for field, text in settings.items():
        pieces = [parse_value(piece.strip()) for piece in cut(text, ",")]
        parsed[field] = pieces if len(pieces) > 1 else pieces[0]
    return parsed


CHANGES = ("zero", "mean", "resample", "patch")
"""What `curta probe RUN activations` can put in the place of a site's values."""


# Where runs are trained: here, on a cluster, or as processes of this machine.


@dataclasses.dataclass(frozen=True)
class Destination:
    """Where runs are handed over to, and whether their end is waited for."""

    system: "System"
    cluster: Cluster
    wait: bool = False


def destination_options(command: Callable[..., int]) -> Callable[..., int]:
    """Add `--on`, `--cluster` and `--wait`, which `destination` reads."""
    for option in (
        click.option("--wait", is_flag=True, help="With --on: follow to the end."),
        click.option("--cluster", type=PATH, metavar="FILE", help="TOML with a section [cluster]."),
        click.option("--on", type=click.Choice(("slurm", "local")),
                     help="Hand over, and return; settings: cluster.time=60, ..."),
    ):  # fmt: skip
        command = option(command)
    return command


def destination(
    on: "System | None", file: Path | None, wait: bool, settings: dict[str, str]
) -> Destination | None:
    """Take the `cluster.` fields out of the settings; None where runs are trained here."""
    fields = [field for field in settings if field.startswith("cluster.")]
    texts = {field.removeprefix("cluster."): settings.pop(field) for field in fields}
    if on is None:
        for name in (*fields, *["--cluster"] * (file is not None), *["--wait"] * wait):
            raise UserError(f"{name} needs --on slurm, or --on local")
        return None
    if (printed := form()) and not wait:
        raise UserError(f"--{printed} prints the results: with --on it needs --wait")
    if "options" in texts:
        raise UserError("cluster.options has a name: write cluster.options.qos=low")
    stated = {} if file is None else cluster.read(file)
    are_texts = {field.name for field in dataclasses.fields(Cluster) if field.default == ""}
    for name, text in texts.items():
        if name.startswith("options."):
            option = {name.removeprefix("options."): text == "true" or text}
            stated["options"] = stated.get("options", {}) | option
        else:
            stated[name] = text if name in are_texts else values({name: text})[name]
    if isinstance(stated.get("setup"), str):
        stated["setup"] = [stated["setup"]]
    where = "the command line" if file is None else repr(str(file))
    return Destination(on, cluster.parse(stated, where), wait)
