"""Results as evidence: numbers in docs/results, each with what it takes to measure it again.

A file holds results by name. A result is a table of three:

header     the command that wrote it, the git commit, whether code differed from it (`changed`),
           date, machine, versions, seeds, and the seconds that measuring took
settings   what was asked for; a result that is kept for the same ones is not measured again
numbers    what was found

A study keeps one result after the other, so one that was broken off goes on where it stopped:

    study(__doc__, "programs", RECIPES, SEEDS, settings, measured)

measures with `measured(name)` each of the named results that is not kept for `settings(name)`.

A header's field `superseded` says how the recipe has changed since the result was measured. Tables
mark such a result, and it is measured again when it is asked for.

Some headers have the field `reconstructed`: their results are older than headers, and it says
what was written down afterwards. What others report has `reported` in place of all that.
"""

import argparse
import datetime
import json
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks import machine
from curta.config import files

ROOT = Path(__file__).parents[1]

CODE = (
    "src", "docs", "benchmarks", "tests", "constraints.txt",
    ":!docs/results", ":!*.md", ":!*.png",
)  # fmt: skip
"""What a measurement depends on, as git names it: neither results nor pages."""

Json = dict[str, Any]


class Results:
    """The results files of a folder."""

    def __init__(self, folder: Path = ROOT / "docs" / "results") -> None:
        self.folder = folder

    def records(self, file: str) -> Json:
        """Every result of docs/results/FILE.json, by name; none where there is no file."""
        path = self.folder / f"{file}.json"
        content: Json = json.loads(path.read_text("utf-8")) if path.exists() else {}
        return content

    def read(self, file: str) -> Json:
        """The numbers of every result of a file, by name."""
        return {name: record["numbers"] for name, record in self.records(file).items()}

    def superseded(self, file: str) -> set[str]:
        """The names of the results whose recipe has changed since."""
        return {name for name, of in self.records(file).items() if "superseded" in of["header"]}

    def keep(
        self,
        file: str,
        name: str,
        measure: Callable[[], Any],
        seeds: Iterable[int],
        settings: Json,
        options: argparse.Namespace,
    ) -> None:
        """Measures a result and enters it, unless it is there; the others stay as they are.

        It is there if it was kept for the same seeds and settings; `options.again` measures it
        all the same. A result without settings (a reconstructed one) is for none.
        """
        record = self.records(file).get(name)
        if record and not options.again and _request(record) == _plain([list(seeds), settings]):
            print(f"{file}: {name} is kept", flush=True)
            return
        print(f"{file}: measuring {name}", flush=True)
        begun = begin()
        self.enter(file, name, measure(), seeds, settings, begun)

    def enter(
        self, file: str, name: str, numbers: Any, seeds: Iterable[int], settings: Json, begun: float
    ) -> None:
        """Writes a result that was measured from `begun` on; the others stay as they are."""
        took = {"seeds": list(seeds), "seconds": round(time.perf_counter() - begun, 1)}
        record = {"header": _header() | took, "settings": settings, "numbers": numbers}
        content = files.json_text(self.records(file) | {name: record})
        files.write(self.folder / f"{file}.json", content)


RESULTS = Results()
"""Those of docs/results."""
EARLIER = "†"
"""Marks a superseded result in a table."""


def arguments(about: str | None, names: Iterable[str]) -> argparse.Namespace:
    """A study's command line: `names` of its results (all), and `again`."""
    choices = list(names)
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(choices)} (all)")
    parser.add_argument("--again", action="store_true", help="also what is kept already")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in choices]:
        parser.error(f"there is no {unknown[0]!r}: there are {', '.join(choices)}")
    options.names = options.names or choices
    return options


def study(
    about: str | None,
    file: str,
    names: Iterable[str],
    seeds: Iterable[int],
    settings: Callable[[str], Json],
    measure: Callable[[str], Any],
) -> None:
    """Run a study's command: keep each result that is asked for, one after the other."""
    options = arguments(about, names)
    for name in options.names:
        RESULTS.keep(file, name, partial(measure, name), seeds, settings(name), options)


def begin() -> float:
    """Call it before measuring: what `enter` takes as the beginning. The code is looked at."""
    _code()
    return time.perf_counter()


def _request(record: Json) -> list[Any]:
    return [record["header"].get("seeds"), record.get("settings")]


def _plain(value: Any) -> Any:
    """As a JSON file gives it back."""
    return json.loads(json.dumps(value))


def _header() -> Json:
    now = datetime.datetime.now(datetime.UTC)
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    module = spec.name.removesuffix(".__main__") if spec else Path(sys.argv[0]).name
    return {
        "command": shlex.join(["python", "-m", module, *sys.argv[1:]]),
        **_code(),
        "date": now.isoformat(timespec="seconds"),
        "machine": machine.machine(),
        "versions": machine.versions(),
    }


@cache
def _code() -> Json:
    """The commit, and whether the code differs from it; neither is known without git."""
    commit = _git("rev-parse", "HEAD")
    status = _git("status", "--porcelain", "--untracked-files=all", "--", *CODE)
    return {"commit": commit, "changed": None if status is None else bool(status)}


def _git(*words: str) -> str | None:
    try:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
