"""Commands whose result is for others: data sets, exports, reports, pages."""

import time
from argparse import Namespace

from curta.frontends.cli.options import given


def data(options: Namespace) -> int:
    from curta.config.recipe import parse_value
    from curta.frontends.api import write_data
    from curta.frontends.cli.display import Status, data_lines, notice

    overrides = {path: parse_value(text) for path, text in given(options).items()}
    begun = time.perf_counter()
    with Status("writing") as status:
        summary = write_data(
            options.recipe, options.rows, options.out, options.format, options.seed, overrides,
            lambda split, share: status.say(f"{split} {share:.0%}"),
        )  # fmt: skip
    for line in data_lines(summary, options.out, time.perf_counter() - begun):
        notice(line)
    return 0


def export(options: Namespace) -> int:
    from curta.export import write
    from curta.frontends.api import load
    from curta.frontends.cli.display import notice

    run = load(options.run, trust=options.trust)
    path = write(run, options.to, options.out, options.member)
    notice(f"{run.name} for {options.to}: {path}")
    return 0


def import_run(options: Namespace) -> int:
    from curta.export import import_run as write
    from curta.frontends.cli.display import notice
    from curta.training import devices

    devices.configure()
    folder = write(options.form, options.path, options.run)
    notice(f"{folder.path}: run {folder.name}, seed {folder.info['seeds'][0]}")
    return 0


def page(options: Namespace) -> int:
    from curta.frontends.api import load
    from curta.frontends.cli.display import notice

    path = load(options.run, trust=options.trust).write_page(options.member, options.out)
    notice(f"Page: {path}")
    return 0


def serve(options: Namespace) -> int:
    from curta.config.optional import module

    for library in ("starlette", "uvicorn"):
        module(library, extra="serve")
    from curta.frontends.serve import serve

    return serve(options.port)


def report(options: Namespace) -> int:
    from curta.frontends.api import report as write
    from curta.frontends.cli.display import notice

    notice(f"Report: {write(options.runs, options.out)}")
    return 0
