"""What the base install brings along, and how large it is: `make results-install`.

Curta of this folder is installed into an environment of its own, with the versions of
constraints.txt; every file that a package says is its own is counted, and the folder as a whole.
"""

import json
import subprocess
import tempfile
import venv
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docs.evidence import ROOT, Results, study
from docs.shared import markdown

NAME = "install"
JAX = ("jax", "jaxlib")
LIMITS = ROOT / "constraints.txt"

COUNTED = """
import importlib.metadata, json
found = importlib.metadata.distributions()
print(json.dumps({
    one.name.lower(): sum(p.stat().st_size for f in one.files if (p := f.locate()).exists())
    for one in found
}))
"""
"""Run in the environment: bytes of each package's files, compiled ones among them."""


def main() -> None:
    constraints = LIMITS.read_text("utf-8").splitlines()
    study(__doc__, NAME, [NAME], [], lambda name: {"constraints": constraints}, measured)


def measured(name: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = f"{folder}/bin/python"
        install = ("-m", "pip", "install", "--quiet", "--constraint", str(LIMITS), str(ROOT))
        subprocess.run([python, *install], check=True)
        packages = json.loads(subprocess.check_output([python, "-c", COUNTED], text=True))
        # A link has no bytes of its own.
        paths = [p for p in Path(folder).rglob("*") if p.is_file() and not p.is_symlink()]
        size = sum(path.stat().st_size for path in paths)
        return {"bytes": size, "packages": dict(sorted(packages.items()))}


def tables(results: Results) -> dict[str, Iterable[str]]:
    figures = results.read(NAME)[NAME]
    packages = figures["packages"]
    count = len(packages.keys() - {"pip", "setuptools", "curta"})
    sizes = [figures["bytes"], sum(packages[name] for name in JAX), packages["curta"]]
    head = ("packages besides Curta", "environment, MB", "JAX, MB", "Curta, MB")
    return {NAME: markdown(head, [[str(count), *(f"{part / 1e6:.0f}" for part in sizes)]])}


if __name__ == "__main__":
    main()
