"""The contract of an exporter: which runs it can express, and how it writes one member."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from ..model import Transformer
from ..recipe import Recipe


@dataclass(frozen=True)
class Exported:
    """One member of a run, and where it comes from."""

    run: str
    seed: int
    recipe: Recipe
    model: Transformer


class Exporter(ABC):
    """A form for other programs. Stateless; registered by name in `EXPORTERS`."""

    name: str
    summary: str

    @abstractmethod
    def refuse(self, recipe: Recipe) -> str | None:
        """What of such a run cannot be expressed, if there is anything: a field and its value."""

    @abstractmethod
    def write(self, member: Exported, out: Path) -> None:
        """Writes the member to `out`, atomically."""
