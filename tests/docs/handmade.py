"""Files of results that no study has measured."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docs.evidence import Results


def kept(folder: Path, file: str, numbers: Mapping[str, Any]) -> Results:
    """A file with these numbers, by name, and nothing that says where they are from."""
    records = {name: {"header": {}, "numbers": found} for name, found in numbers.items()}
    (folder / f"{file}.json").write_text(json.dumps(records), "utf-8")
    return Results(folder)
