"""What a campaign finds: how many cases it tried, and a line for each that went wrong."""

from collections import Counter
from dataclasses import dataclass, field

END = 400
"""Most characters of the beginning and of the end of what went wrong."""


@dataclass
class Outcome:
    """Cases that were tried, those that failed, and how the others ended, counted."""

    cases: int = 0
    failures: list[str] = field(default_factory=list)
    ended: Counter[str] = field(default_factory=Counter)

    def failed(self, case: object, seed: int, why: str) -> None:
        """A case that went wrong, with all that it takes to try it again."""
        long = len(why) > 2 * END
        why = f"{why[:END]} ... {why[-END:]}" if long else why
        self.failures.append(f"case {case}, seed {seed}: {why}")
