"""What commands are given: options, settings as `field=value`, and where runs go.

What reads recipes or runs is imported where it is called: a command has its help without that.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import click

from curta.config.errors import UserError, quoted, refuse_first, refuse_if
from curta.config.limits import INT32, LAYERS, MEMBERS, check_path

if TYPE_CHECKING:
    from curta.runs.cluster import Cluster


class Kind(click.ParamType[Any]):
    """What a function makes of a text; the line of its UserError is that of the option."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self.parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self.parse(value)
        except UserError as error:
            self.fail(str(error), param, ctx)


def parse_name(text: str) -> str:
    """Return the name or the path of a file, a recipe or a run, if there can be such a path."""
    check_path(text)
    return text


ACTIVATIONS = "activations"
"""In place of the name of a probe: record the values of the sites."""

UNASKED = 32
"""Members that a count alone begins."""


def parse_seeds(text: str) -> int | list[int]:
    """Return a count, for seeds 0, 1, ..., or seeds that are separated by commas, or a range.

    More than UNASKED members need a range, since a large count may be meant as one seed.

    >>> parse_seeds("2"), parse_seeds("3,7,11"), parse_seeds("5,"), parse_seeds("-1,4")
    (2, [3, 7, 11], [5], [-1, 4])
    >>> parse_seeds("5-7")
    [5, 6, 7]
    """
    if span := re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", text):
        first, last = map(int, span.groups())
        if not 0 <= last - first < MEMBERS:
            raise UserError(f"a range has 1 to {MEMBERS:,} seeds, such as 0-63")
        return list(range(first, last + 1))
    if not re.fullmatch(r"\s*-?[0-9]+\s*(,\s*(-?[0-9]+\s*)?)*", text):
        raise UserError(f"{quoted(text)} must be a count, such as 3, or seeds, 3,7,11 or 0-63")
    if "," in text:
        return [SIGNED(seed) for seed in text.rstrip(",").split(",")]
    refuse_if(text.strip() == "0", "it counts seeds: seed 0 alone is `--seeds 0,`")
    count: int = click.IntRange(1, MEMBERS)(text)
    if count > UNASKED:
        every, alone = f"`--seeds 0-{count - 1}`", f"`--seeds {count},`"
        raise UserError(f"for {count:,} members write {every}, for seed {count:,} alone {alone}")
    return count


MEMBER = click.IntRange(0, MEMBERS - 1)
SIGNED = click.IntRange(-INT32, INT32)
NAME = Kind(parse_name)
PATH = Kind(lambda text: Path(parse_name(text)))
KINDS = {"M": MEMBER, "RUN": NAME} | dict.fromkeys(("DIR", "FILE", "PATH"), PATH)
"""What an option with that metavar takes; with any other it takes a text, unless it says so."""


FORMS = {
    "json": "Print the result as JSON.",
    "latex": "Print the table as LaTeX (booktabs).",
    "csv": "Print the table as CSV.",
}
"""Forms in which commands print results, each an option; `display.notice` prints tables so."""

FORM = "curta.form"
"""The key of click's context under which the form is kept."""


def form() -> str | None:
    """Return `json`, `csv` or `latex`; None for the screen."""
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(FORM)


def command(
    *forms: str, kind: type[click.Command] = click.Command
) -> Callable[[Any], click.Command]:
    """Make a function a command: its parameters are annotated with what makes each an option.

    Such as `member: Annotated[int, option("Which member.", "M")]` for `--member M`. It also has an
    option for each of these FORMS.
    """

    def note(context: click.Context, param: click.Parameter, is_given: bool) -> None:
        if is_given and param.name and not context.resilient_parsing:
            exclude(context.meta.setdefault(FORM, param.name), param.name)

    def decorate(function: Any) -> click.Command:
        hints = get_type_hints(function, include_extras=True)
        metadata = {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}
        params = [make(name) for name, makers in metadata.items() for make in makers]
        settings: dict[str, Any] = {"is_flag": True, "callback": note, "expose_value": False}
        params += [click.Option([f"--{form}"], help=FORMS[form], **settings) for form in forms]
        return click.command(cls=kind, params=params)(function)

    return decorate


MakeParameter = Callable[[str], click.Parameter]
"""Makes the parameter of a command from its name in Python."""


def option(text: str, metavar: str = "", kind: Any = None, **settings: Any) -> MakeParameter:
    """Return an option with its help; without a metavar it is a flag. See KINDS."""
    settings |= {"metavar": metavar} if metavar else {"is_flag": True}
    settings |= {"type": kind or KINDS.get(metavar), "help": text}
    return lambda name: click.Option([f"--{name.replace('_', '-')}"], **settings)


def argument(metavar: str, kind: Any = NAME, **settings: Any) -> MakeParameter:
    """Return an argument; a shell completes it, see `complete`."""
    settings |= {"metavar": metavar, "shell_complete": complete}
    return lambda name: click.Argument([name], type=kind, **settings)


def complete(ctx: click.Context, param: click.Parameter, start: str) -> list[str]:
    """Return runs that begin so, for a shell; where fields are set, also recipes and fields."""
    from curta.config.recipe import field_paths, shipped_names
    from curta.runs import folders

    names = folders.names()
    if "FIELD=VALUE" in (param.metavar or ""):
        names = [*shipped_names(), *names, *(f"{path}=" for path in field_paths())]
    return [name for name in dict.fromkeys(names) if name.startswith(start)]


def words(metavar: str) -> MakeParameter:
    """Return an argument that takes names and settings in any order; see `split`."""
    return argument(metavar, None, nargs=-1)


Run = Annotated[str, argument("RUN")]
Trust = Annotated[bool, option("Execute the code that came with the run.")]
Member = Annotated[int, option("Which member.", "M", default=0)]
RECURRENCES = option("Of a looped model (the recipe's).", "N", click.IntRange(1, LAYERS))
Recurrences = Annotated[int | None, RECURRENCES]
SEEDS_HELP = "How many seeds, or which: 3,7,11, one such as 7, with a comma, a range such as 0-63."
SeedsOption = Annotated[int | list[int] | None, option(SEEDS_HELP, "N", Kind(parse_seeds))]


def exclude(*names: str) -> None:
    """Raise UserError if two options are given that exclude each other."""
    chosen = list(dict.fromkeys(names))
    if len(chosen) > 1:
        raise UserError(f"--{chosen[0]} and --{chosen[1]}: give one of them")


def only_option(flags: dict[str, bool]) -> str:
    """Return the only flag that is given, or an empty text; UserError for a second."""
    names = [name for name, is_given in flags.items() if is_given]
    exclude(*names)
    return names[0] if names else ""


def on_command_line() -> list[str]:
    """Return the options that this command was given, such as `--run`."""
    words = click.get_current_context().meta["curta.words"]
    return [word.partition("=")[0] for word in words if re.match("--[a-z]", word)]


# Settings: `model.width=64` among the words of a command.

SETTING = re.compile(r"([A-Za-z_][\w-]*(?:\.[^\s=:]+)*)=(.*)", re.DOTALL)


def split(words: Iterable[str]) -> tuple[list[str], dict[str, str]]:
    """Separate names from settings, whose texts are returned by field.

    >>> split(["addition", "model.width=64", "positions.name=rope"])
    (['addition'], {'model.width': '64', 'positions.name': 'rope'})
    """
    names, settings = list[str](), dict[str, str]()
    for word in words:
        if not (setting := SETTING.fullmatch(word)):
            names.append(NAME(word))
            continue
        field, text = setting.groups()
        refuse_if(not text, f"{quoted(word)} has no value: write {field}=VALUE")
        if field in settings:
            raise UserError(f"{field} is given twice: {settings[field]} and {text}")
        settings[field] = text
    return names, settings


def at_most_one(names: Sequence[str], noun: str) -> str | None:
    """Return the only name, or None; UserError for a second."""
    if len(names) > 1:
        raise UserError(
            f"one {noun} at a time (got {', '.join(map(quoted, names[:3]))});"
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


# Where runs are trained: here, on a cluster, or as processes of this machine.

SYSTEMS = click.Choice(("slurm", "local"))
HAND_OVER = option(
    "Hand over, and return; settings: cluster.time=60, ...", "[slurm|local]", SYSTEMS
)
On = Annotated[Literal["slurm", "local"] | None, HAND_OVER]
ClusterFile = Annotated[Path | None, option("TOML with a section [cluster].", "FILE")]
Wait = Annotated[bool, option("With --on: follow to the end.")]


@dataclasses.dataclass(frozen=True)
class Destination:
    """Where runs are handed over to, and whether their end is waited for."""

    system: Literal["slurm", "local"]
    cluster: "Cluster"
    wait: bool = False


def destination(
    on: On, file: Path | None, wait: bool, settings: dict[str, str]
) -> Destination | None:
    """Take the `cluster.` fields out of the settings; None where runs are trained here."""
    fields = [field for field in settings if field.startswith("cluster.")]
    texts = {field.removeprefix("cluster."): settings.pop(field) for field in fields}
    if on is None:
        names = (*fields, *["--cluster"] * (file is not None), *["--wait"] * wait)
        refuse_first(f"{name} needs --on slurm, or --on local" for name in names)
        return None
    from curta.config import typed
    from curta.runs import cluster

    if (printed := form()) and not wait:
        raise UserError(f"--{printed} prints the results: with --on it needs --wait")
    refuse_if("options" in texts, "cluster.options has a name: write cluster.options.qos=low")
    stated = {} if file is None else cluster.read_section(file)
    are_texts = {field.name for field in dataclasses.fields(cluster.Cluster) if field.default == ""}
    for name, text in texts.items():
        if name.startswith("options."):
            options = stated.setdefault("options", {})
            options[name.removeprefix("options.")] = text == "true" or text
        else:
            stated[name] = text if name in are_texts else values({name: text})[name]
    if isinstance(stated.get("setup"), str):
        stated["setup"] = [stated["setup"]]
    where = "the command line" if file is None else repr(str(file))
    return Destination(on, typed.parse_fields(cluster.Cluster, stated, where, "cluster."), wait)
