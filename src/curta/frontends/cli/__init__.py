"""The command line: parse, call, print. JAX is imported only once a command calculates."""

import errno
import gc
import io
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from curta.config import system
from curta.config.errors import Notice, UserError, as_line, unknown
from curta.frontends.cli import commands
from curta.runs import interrupts

COMMANDS = {
    "train": "Train a recipe, evaluate it and write a report.",
    "ask": "Let a trained model calculate each PROBLEM, such as 12+34.",
    "show": "List the recipes, or show how one writes a problem.",
    "check": "Check a program: its answers, its windows, its moves.",
    "evaluate": "Evaluate a trained run.",
    "certify": "List all windows of a program and evaluate every member on them.",
    "compare": "Train several recipes side by side, or one with several values.",
    "probe": "Look into what a trained run has learned.",
    "report": "Write the report of a run, or of several; or print tables of one.",
    "page": "Write a page in which a trained model calculates.",
    "export": "Write a trained model for other programs.",
    "data": "Write a recipe's problems as a data set.",
    "runs": "List the runs, or say how one of them stands.",
    "serve": "Show the runs in a browser, while they train, and begin new ones.",
}
"""Every command, in the order in which a user meets them, and what `--help` says."""

NEW_NAMES = {
    "demo": "curta train",
    "resume": "curta train --resume RUN",
    "sweep": "curta compare RECIPE field=a,b",
    "recipes": "curta show",
    "tables": "curta report RUN --csv",
    "paired": "curta evaluate RUN --against RUN2",
    "activations": "curta probe RUN activations PROBLEM",
    "verify": "curta runs NAME",
    "jobs": "curta runs NAME",
    "rm": "curta runs --remove NAME",
    "bench": "python -m benchmarks.cost RECIPE",
    "import": "curta.export.import_run(form, folder), in Python",
}
"""Former commands, and what they are called now."""


class _Commands(click.Group):
    """The commands in their order, each with its text."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=_Commands,
    commands={name: getattr(commands, name) for name in COMMANDS},
    invoke_without_command=True,
    context_settings={"show_default": True, "help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="curta", message="%(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A laboratory for small transformers that learn arithmetic."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default that of the process, which then ends."""
    if arguments is not None:
        return _run(arguments)
    if instruction := os.environ.get("_CURTA_COMPLETE"):
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, "curta", "_CURTA_COMPLETE", instruction)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # XLA logs its note on slow compiles as an error, and only this level hides it. What XLA cannot
    # do reaches the user all the same: JAX raises it.
    gc.set_threshold(50_000, 20, 50)  # each collection walks all of JAX: a tenth of a demo's time
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what the terminal's encoding lacks is escaped
            stream.reconfigure(errors="backslashreplace")
    code = _run(sys.argv[1:], last=True)
    if system.process().count > 1 or any(thread.daemon for thread in threading.enumerate()):
        # Python's own end takes the ground from under a thread that is within JAX, and that
        # crashes; of several processes it would wait for those that have ended.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    return code


def _run(words: Sequence[str], last: bool = False) -> int:
    """Return the exit code of one command; only a defect of ours keeps its traceback.

    A user's mistake is one line and code 2, an interrupt one line and 130 or 143, an output that
    cannot be written one line and 1. A reader that went away, as `head` does, is 141 without a
    line, as for other programs: 0 and 1 are verdicts of some commands. After the `last` command
    signals are ignored.
    """
    try:
        with (
            interrupts.handled(last),
            _notices(),
            cli.make_context("curta", list(words)) as context,
        ):
            context.meta["curta.words"] = list(words)
            code = cli.invoke(context) or 0
            sys.stdout.flush()
            return code
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except (click.NoSuchCommand, click.NoSuchOption) as error:
        line, code = str(_unknown(error)), 2
    except click.UsageError as error:
        hint = f" (see `{error.ctx.command_path} --help`)" if error.ctx else ""
        line, code = error.format_message() + hint, 2
    except UserError as error:
        line, code = str(error), 2
    except KeyboardInterrupt as signal:
        line, code = "interrupted", getattr(signal, "code", 130)
    except OSError as error:
        gone = isinstance(error, BrokenPipeError)
        if not gone and (error.errno not in UNWRITABLE or error.filename is not None):
            raise
        # Python would try once more at its end to write what is left, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if gone:
            return 141
        line, code = f"cannot write to the output: {error.strerror}", 1
    print(f"curta: {as_line(line)}", file=sys.stderr)
    return code


UNWRITABLE = (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EFBIG)
"""Errors of an output; those of files are named, and most are a user's mistake long before."""


def _unknown(error: click.NoSuchCommand | click.NoSuchOption) -> UserError:
    """Return the line for an unknown name: its new spelling, or the nearest of the known."""
    assert error.ctx is not None
    lister = f"{error.ctx.command_path} --help"
    if isinstance(error, click.NoSuchCommand):
        name = error.command_name
        if name in NEW_NAMES:
            return UserError(f'"{name}" is now: {NEW_NAMES[name]}')
        return unknown("command", name, COMMANDS, lister)
    from curta.config.recipe import field_paths

    option, params = error.option_name, error.ctx.command.get_params(error.ctx)
    name = option.removeprefix("--").replace("-", "_")
    paths = [path for path in field_paths() if name in (path, path.rpartition(".")[2])]
    of_evaluation = error.ctx.info_name == "evaluate"
    fields = sorted(paths, key=lambda path: path.startswith("evaluation.") != of_evaluation)
    if fields and any(param.name == "words" for param in params):
        return UserError(f"settings are plain arguments: {fields[0]}=VALUE in place of {option}")
    options = [param for param in params if isinstance(param, click.Option)]
    names = [name for option in options for name in (*option.opts, *option.secondary_opts)]
    return unknown("option", option, names, lister)


@contextmanager
def _notices() -> Iterator[None]:
    """Print each warning once, on one line.

    Python would print two lines, with a place in our code.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", Notice)
        show, messages = warnings.showwarning, set[str]()

        def showwarning(message: Any, category: type[Warning], *place: Any) -> None:
            if not issubclass(category, Notice):
                show(message, category, *place)
            elif (line := as_line(str(message))) not in messages:
                messages.add(line)
                print(f"curta: {line}", file=sys.stderr)

        warnings.showwarning = showwarning  # type: ignore[assignment]
        yield
