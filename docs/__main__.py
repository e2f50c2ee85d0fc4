"""All studies, one after the other, in a process each: `make results`; `--again` is passed on."""

import subprocess
import sys

from docs import STUDIES


def main() -> None:
    for study in STUDIES:
        subprocess.run([sys.executable, "-m", f"docs.{study}", *sys.argv[1:]], check=True)


if __name__ == "__main__":
    main()
