"""`make faults`: all campaigns with their full counts; writes docs/results/faults.json.

    python -m tests.faults [NAME=COUNT ...]

With names only those campaigns are run, and the figures of the others are kept.
"""

import importlib
import os
import signal
import sys
import time

from docs import evidence
from tests import UNOPTIMISED

COUNTS = {"kills": 200, "damage": 1_000, "malformed": 5_000, "power": 200}

SEED = 1


def main(words: list[str]) -> int:
    """Runs campaigns one after the other; 1 if any case failed."""
    os.environ.setdefault("XLA_FLAGS", " ".join(UNOPTIMISED))
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as in a shell's background jobs
        signal.signal(signal.SIGINT, signal.default_int_handler)
    from curta.training import devices

    devices.configure()
    counts = {name: int(count) for name, _, count in (word.partition("=") for word in words)}
    failed = 0
    for name, count in (counts or COUNTS).items():
        begun = evidence.begin()
        outcome = importlib.import_module(f"tests.faults.{name}").run(count, SEED)
        ended = dict(sorted(outcome.ended.items()))
        figures = {"cases": outcome.cases, "seconds": round(time.perf_counter() - begun)}
        figures |= {"ended": ended, "failures": outcome.failures}
        evidence.RESULTS.enter("faults", name, figures, [SEED], {"count": count}, begun)
        print(f"{name}: {outcome.cases:,} cases, {len(outcome.failures)} failures", flush=True)
        print("\n".join(outcome.failures))
        failed += len(outcome.failures)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
