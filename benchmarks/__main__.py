"""All benchmarks: prints their tables and writes RESULTS.md (`make bench`).

`--quick` only shows that everything runs: few steps, and RESULTS.md stays as it is.
"""

import argparse
import subprocess
import sys
from pathlib import Path

from . import accuracy, exports, machine, pages, steps, throughput

RESULTS = Path(__file__).parent / "RESULTS.md"

HEAD = """# What Curta costs

Written by `make bench`; run it on a machine that does nothing else. Every figure is
the median of several measurements, with the lowest and the highest in brackets.
Ratios compare measurements of one round on one machine; what they say of another
machine is for that machine to show. How each figure comes about stands above its
table and in the module of the same name.

"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run; writes nothing")
    quick = parser.parse_args().quick
    subprocess.run([sys.executable, "-m", "benchmarks.check"], check=True)
    parts = [HEAD + machine.description()]
    for module in (
        steps,
        accuracy,
        throughput,
        exports,
        pages,
    ):  # only the last three start JAX here
        for table in module.tables(quick):
            print(table, flush=True)
            parts.append(str(table))
    if not quick:
        RESULTS.write_text("\n".join(parts), "utf-8")


if __name__ == "__main__":
    main()
