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

from docs.evidence import RESULTS, ROOT, Results, arguments
from docs.shared import markdown

NAME = "install"
JAX = ("jax", "jaxlib")

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
    options = arguments(__doc__, [NAME])
    constraints = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    RESULTS.keep(NAME, NAME, measured, [], {"constraints": constraints}, options)


def measured() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python, limits = f"{folder}/bin/python", str(ROOT / "constraints.txt")
        install = ("-m", "pip", "install", "--quiet", "--constraint", limits, str(ROOT))
        subprocess.run([python, *install], check=True)
        process = subprocess.run(
            [python, "-c", COUNTED], check=True, capture_output=True, text=True
        )
        packages = json.loads(process.stdout)
        return {"bytes": size(Path(folder)), "packages": dict(sorted(packages.items()))}


def size(folder: Path) -> int:
    """Bytes of all files below a folder; a link has none of its own."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in paths)


def tables(results: Results) -> dict[str, Iterable[str]]:
    figures = results.read(NAME)[NAME]
    packages = figures["packages"]
    count = len(packages.keys() - {"pip", "setuptools", "curta"})
    sizes = [figures["bytes"], sum(packages[name] for name in JAX), packages["curta"]]
    head = ("packages besides Curta", "environment, MB", "JAX, MB", "Curta, MB")
    return {NAME: markdown(head, [[str(count), *(f"{part / 1e6:.0f}" for part in sizes)]])}


if __name__ == "__main__":
    main()
