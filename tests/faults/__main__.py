"""`make faults`: all campaigns with their full counts; writes docs/results/faults.json.

    python -m tests.faults [NAME=COUNT ...]

With names only those campaigns are run, and the figures of the others are kept.
"""

import importlib
import os
import signal
import sys
import time
from typing import Any

from docs import evidence
from tests.faults.outcome import Outcome

COUNTS = {"kills": 200, "damage": 1_000, "malformed": 5_000, "power": 200}

CHUNKS = {"kills": 50, "damage": 100, "power": 50}
"""Cases that are tried at a time: a campaign that is ended early has the figures of those."""

UNOPTIMISED = (
    "--xla_backend_optimization_level=0",
    "--xla_cpu_use_fusion_emitters=false",
    "--xla_cpu_parallel_codegen_split_count=1",
)
"""As in the ordinary suite: programs are compiled in a seventh of the time."""


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
        failed += len(campaign(name, count).failures)
    return int(failed > 0)


def campaign(name: str, count: int, seed: int = 1) -> Outcome:
    """One campaign, a chunk after another, each with a seed of its own; its figures are kept."""
    module, found = importlib.import_module(f"tests.faults.{name}"), Outcome()
    begun, seeds = evidence.begin(), []
    chunk = CHUNKS.get(name, count)
    for start in range(0, count, chunk):
        seeds.append(seed + start // chunk)
        found.join(module.run(min(chunk, count - start), seeds[-1]))
        figures = _figures(found, time.perf_counter() - begun)
        evidence.RESULTS.enter("faults", name, figures, seeds, {"count": count}, begun)
        print(f"{name}: {found.cases:,} cases, {len(found.failures)} failures", flush=True)
    print("\n".join(found.failures))
    return found


def _figures(found: Outcome, seconds: float) -> dict[str, Any]:
    ended = dict(sorted(found.ended.items()))
    figures = {"cases": found.cases, "seconds": round(seconds)}
    return figures | {"ended": ended, "failures": found.failures}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
