"""What a run was made with: the command, the versions of all libraries, the state of the code."""

import os
import platform
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from curta.config import system
from curta.runs.info import Checkout

WORDS, LETTERS = 100, 500
"""Words of a command that are kept, and letters of each."""

PATIENCE = 5.0
"""Seconds that git may take: on a slow network drive it is done without."""


def versions() -> dict[str, str]:
    """Of Curta, of each library that it cannot do without, and of Python."""
    base = (line for line in metadata.requires("curta") or () if "extra ==" not in line)
    required = (re.split(r"[^\w.-]", line)[0] for line in base)
    names = ["curta", "jaxlib", *(name for name in required if _is_installed(name))]
    found = {name.lower(): metadata.version(name) for name in names}
    return found | {"python": platform.python_version()}


def command() -> tuple[str, ...]:
    """The words of the command line, as they were typed; the program without its folder."""
    words = [*(Path(word).name for word in system.command()), *sys.argv[1:]]
    return tuple(word[:LETTERS] for word in words[:WORDS])


def checkouts() -> dict[str, Checkout]:
    """The git commits of the current folder and of Curta's own, where they are of a repository."""
    places = {"here": Path.cwd(), "curta": Path(__file__).parent}
    found = {name: _checkout(path) for name, path in places.items()}
    return {name: one for name, one in found.items() if one is not None}


def _checkout(folder: Path) -> Checkout | None:
    """The commit, and whether tracked files differ from it; None without git, or a repository."""
    command = ["git", "-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch"]
    try:
        done = subprocess.run(
            [*command, "--untracked-files=no"], cwd=folder, capture_output=True, timeout=PATIENCE,
            env=os.environ | {"GIT_OPTIONAL_LOCKS": "0"}, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.decode("utf-8", "replace").splitlines()
    commit = next((line.split()[-1] for line in lines if line.startswith("# branch.oid")), "")
    if done.returncode or not re.fullmatch("[0-9a-f]{40,64}", commit):
        return None
    return Checkout(commit, any(not line.startswith("#") for line in lines))


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True
