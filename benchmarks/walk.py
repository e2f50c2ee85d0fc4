"""Which files and functions of Curta a command enters: `python -m benchmarks.walk train addition`.

Prints the walk of one training step, as JAX traces it, then the number of files and functions
that the whole command entered, by folder.
"""

import inspect
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import curta

ROOT = Path(curta.__file__).parent


@contextmanager
def walk(entered: dict[tuple[Path, str], None]) -> Iterator[None]:
    """Note every function of the package that is entered, in order of first entry.

    Threads that begin meanwhile are followed too: one lists windows while a model trains.
    """

    def note(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        path = Path(code.co_filename)
        function = code.co_flags & inspect.CO_OPTIMIZED and not code.co_name.startswith("<")
        if event == "call" and function and path.suffix == ".py" and path.is_relative_to(ROOT):
            entered.setdefault((path.relative_to(ROOT), code.co_qualname))

    before, of_threads = sys.getprofile(), threading.getprofile()
    sys.setprofile(note)
    threading.setprofile(note)
    try:
        yield
    finally:
        sys.setprofile(before)
        threading.setprofile(of_threads)


def main() -> int:
    of_step: dict[tuple[Path, str], None] = {}
    of_command: dict[tuple[Path, str], None] = {}
    # Proofs take twenty times as long here, and one that is broken off is kept in the cache.
    with tempfile.TemporaryDirectory() as cache, walk(of_command):
        os.environ["CURTA_CACHE"] = cache
        from curta.frontends.cli import main as command
        from curta.training import trainer

        step = trainer.step

        def traced(*arguments: Any, **settings: Any) -> Any:
            with walk(of_step):
                return step(*arguments, **settings)

        trainer.step = traced
        code = command(sys.argv[1:])
    before = None
    print("\nOne training step:")
    for path, function in of_step:
        if path != before:
            print(path)
        print(f"    {function}")
        before = path
    for name, entered in ("one training step", of_step), ("the command", of_command | of_step):
        files = Counter(path.parts[0] for path in {path for path, _ in entered})
        print(f"\n{name}: {len(entered)} functions in {files.total()} files")
        print(", ".join(f"{folder} {count}" for folder, count in files.items()))
    return code


if __name__ == "__main__":
    sys.exit(main())
