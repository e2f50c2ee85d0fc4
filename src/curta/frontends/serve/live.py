"""The metrics of a run as they are written: what is new since the last question."""

import json
import math
import time
from pathlib import Path
from typing import Any

from curta.runs.folders import Folder

MOST = 1 << 20
"""Most bytes of metrics that one answer covers."""

COLUMNS = ("step", "member", "loss", "exact", "seconds", "validation_loss", "validation_exact")


def since(folder: Path, cursor: str) -> dict[str, Any]:
    """How far a run is, and its records after the cursor of the answer before; all for "".

    A cursor is a file's number and a place in it: a resumed run writes its file anew, which
    is told as `anew`, and then the records are those from its beginning.
    """
    info, lines, cursor, anew, more = Folder(folder).info, *_lines(folder / "metrics.jsonl", cursor)
    told = ("status", "steps", "ended", "seeds", "stopped")
    return {key: info[key] for key in told if key in info} | {
        "examined": (folder / "evaluation.json").exists(),
        "idle": _idle(folder),
        "columns": COLUMNS,
        "records": [[_finite(line.get(name)) for name in COLUMNS] for line in lines],
        "cursor": cursor,
        "anew": anew,
        "more": more,
    }


def _lines(path: Path, cursor: str) -> tuple[list[dict[str, Any]], str, bool, bool]:
    """Whole lines after the cursor, the next cursor, whether from the start, and if more wait."""
    if not path.exists():
        return [], "", True, False
    with path.open("rb") as file:
        number, size = str(path.stat().st_ino), file.seek(0, 2)
        known, _, place = cursor.partition("-")
        start = int(place) if known == number and place.isdecimal() else 0
        start = start if start <= size else 0
        file.seek(start)
        text = file.read(MOST)
    end = text.rfind(b"\n") + 1
    found = [json.loads(line) for line in text[:end].splitlines()]
    return found, f"{number}-{start + end}", start == 0, end > 0 and start + len(text) < size


def _idle(folder: Path) -> float:
    """Seconds since anything was written by the training."""
    written = [folder / name for name in ("run.json", "metrics.jsonl")]
    newest = max(path.stat().st_mtime for path in written if path.exists())
    return round(max(0.0, time.time() - newest), 1)


def _finite(value: Any) -> Any:
    """The value, unless it is none that JSON knows."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
