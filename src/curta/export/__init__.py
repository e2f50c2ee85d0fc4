"""Trained runs for other programs. A new form is one file and one line here."""

from pathlib import Path

from ..errors import UserError, unknown
from ..session import Run
from .adderboard import AdderBoard
from .base import Exported, Exporter
from .onnx import Onnx

EXPORTERS: dict[str, Exporter] = {exporter.name: exporter for exporter in (AdderBoard(), Onnx())}

__all__ = ["EXPORTERS", "Exported", "Exporter", "write"]


def write(run: Run, to: str, out: Path, member: int = 0) -> None:
    """One member of a run in the form `to`; UserError if that cannot express it."""
    if to not in EXPORTERS:
        raise unknown("form", to, EXPORTERS)
    reason = EXPORTERS[to].refuse(run.recipe)
    if reason:
        raise UserError(f"{to} cannot express run {run.name!r}: {reason}")
    model = run.model(member)
    EXPORTERS[to].write(Exported(run.name, run.seeds[member], run.recipe, model), out)
