"""What a run was made with: the command, the versions of all libraries, the state of the code."""

import datetime
import json
import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from curta.config import system
from curta.runs.info import Checkout

WORDS, LETTERS = 100, 500
"""Words of a command that are kept, and letters of each."""

PATIENCE = 5.0
"""Seconds that git may take: on a slow network drive it is done without."""


def versions() -> dict[str, str]:
    """Return the versions of Curta, of every library that it requires, and of Python."""
    base = (line for line in metadata.requires("curta") or () if "extra ==" not in line)
    installed = {}
    for name in ("curta", "jaxlib", *(re.split(r"[^\w.-]", line)[0] for line in base)):
        with suppress(metadata.PackageNotFoundError):
            installed[name.lower()] = metadata.version(name)
    return installed | {"python": platform.python_version()}


def now() -> str:
    """Return the present time in UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


COMMAND = "CURTA_COMMAND"
"""Environment variable with the words that submitted a task of a cluster, as JSON."""


def command() -> tuple[str, ...]:
    """Return the command line as typed, without the program's folder."""
    if COMMAND in os.environ:
        return tuple(json.loads(os.environ[COMMAND]))
    words = [*(Path(word).name for word in system.command()), *sys.argv[1:]]
    return tuple(word[:LETTERS] for word in words[:WORDS])


def checkouts() -> dict[str, Checkout]:
    """Return the git commits of the current folder and of Curta's own, where there are any."""
    command = ["git", "-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch"]
    commits = {}
    for name, folder in {"here": Path.cwd(), "curta": Path(__file__).parent}.items():
        try:
            done = subprocess.run(
                [*command, "--untracked-files=no"], cwd=folder, capture_output=True,
                timeout=PATIENCE, env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"}, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            continue
        lines = done.stdout.decode("utf-8", "replace").splitlines()
        commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid")), "")
        if not done.returncode and re.fullmatch("[0-9a-f]{40,64}", commit):
            commits[name] = Checkout(commit, any(not line.startswith("#") for line in lines))
    return commits
