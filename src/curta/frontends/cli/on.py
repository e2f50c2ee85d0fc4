"""`--on`: runs that are handed over to a cluster, or to processes of this machine."""

import dataclasses
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curta.config import cluster
from curta.config.cluster import Cluster
from curta.config.errors import UserError, printable, quoted
from curta.frontends.cli import options

if TYPE_CHECKING:
    from curta.runs.cluster.job import System


@dataclasses.dataclass(frozen=True)
class On:
    """Where runs are to be handed over to, and whether their end is waited for."""

    system: "System"
    cluster: Cluster
    wait: bool = False


class _Setting(click.Option):
    """A field of the section `[cluster]`; what it is, is read for a help alone."""

    group = "cluster"

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from curta.config.described import texts

        self.help = texts(Cluster)[str(self.name).removeprefix(_PREFIX)]
        return super().get_help_record(ctx)


def _value(text: str) -> Any:
    from curta.config.recipe import parse_value

    return parse_value(text)


_PREFIX = "cluster_"


def _setting(field: dataclasses.Field[Any]) -> Callable[..., Any]:
    """The option for a field; one of several values is given several times."""
    several = field.default == () or field.default is dataclasses.MISSING
    text = several or isinstance(field.default, str)
    return click.option(
        f"--cluster.{field.name}", f"{_PREFIX}{field.name}", cls=_Setting, multiple=several,
        type=str if text else _value, show_default=False,
        metavar="NAME=VALUE" if field.name == "options" else "VALUE",
    )  # fmt: skip


_OPTIONS = (
    click.option("--on", type=click.Choice(("slurm", "local")), help="Hand over, and return."),
    click.option(
        "--cluster", "cluster_file", type=options.PATH, metavar="FILE",
        help="TOML with a section [cluster].",
    ),
    click.option("--wait", is_flag=True, help="With --on: follow to the end."),
    *map(_setting, dataclasses.fields(Cluster)),
)  # fmt: skip


def takes_on(function: Callable[..., int]) -> Callable[..., int]:
    """A command that has these options, and is given them as `on`; None without `--on`."""

    @wraps(function)
    def called(**given: Any) -> int:
        fields = {name: given.pop(f"{_PREFIX}{name}") for name in cluster.FIELDS}
        fields = {name: value for name, value in fields.items() if value not in (None, ())}
        own = [given.pop(name) for name in ("on", "cluster_file", "wait")]
        on = _on(fields, *own)
        if on is not None and (form := options.form()) and not on.wait:
            raise UserError(f"--{form} prints what was found: with --on it needs --wait")
        return function(on=on, **given)

    for option in reversed(_OPTIONS):
        called = option(called)
    return called


def _on(
    fields: dict[str, Any], system: "System | None", file: Path | None, wait: bool
) -> On | None:
    if system is None:
        given = [f"cluster.{name}" for name in fields] + ["cluster"] * (file is not None)
        for name in (*given, *["wait"] * wait):
            raise UserError(f"--{name} needs --on slurm, or --on local")
        return None
    if "options" in fields:
        fields["options"] = dict(map(_named, fields["options"]))
    stated = {} if file is None else cluster.read(file)
    where = "the command line" if file is None else repr(str(file))
    return On(system, cluster.parse(stated | fields, where), wait)


def _named(text: str) -> tuple[str, str | bool]:
    """An option of Slurm's: `qos=low`, or `exclusive=true` for one that has no value."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UserError(f"--cluster.options {quoted(text)}: write NAME=VALUE, such as qos=low")
    return name, value == "true" or value


def hand_over(on: On, path: Path, runs: Sequence[str], as_json: bool = False) -> int:
    """Submits runs, by the names of their folders in `path`, and says under which name."""
    from curta.frontends.cli.display import notice
    from curta.frontends.cli.jobs import follow
    from curta.frontends.cluster.task import work
    from curta.report.summary import counted
    from curta.runs.cluster import submission

    job = submission.submit(path, runs, on.system, on.cluster, work)
    if not as_json:
        name, tasks = printable(path.name), counted(len(job.tasks), "task")
        notice(f"{name}: {counted(len(job.runs), 'run')} in {tasks}; curta jobs {name}")
    return follow(path, True, as_json) if on.wait else 0
