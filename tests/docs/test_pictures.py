"""The pictures of README and docs: all made by the script, all shown, none large."""

import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> ModuleType:
    found = importlib.util.spec_from_file_location("pictures", ROOT / "docs" / "pictures.py")
    assert found
    assert found.loader
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def test_every_picture_is_made_by_the_script_and_shown_in_a_text(script: ModuleType) -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        (text.parent / name).resolve()
        for text in texts
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text.read_text("utf-8"))
    }
    assert shown == set(script.IMAGES.iterdir())
    assert {path.name for path in shown} == {f"{name}.png" for name in script.PICTURES}


def test_none_is_large(script: ModuleType) -> None:
    for path in script.IMAGES.iterdir():
        assert path.stat().st_size < script.MOST
        with Image.open(path) as image:
            assert image.width <= 1100


def test_a_picture_keeps_its_looks_with_fewer_colours(script: ModuleType) -> None:
    ramp = Image.linear_gradient("L").resize((900, 600)).convert("RGB")
    buffer = io.BytesIO()
    ramp.save(buffer, "PNG")
    with Image.open(io.BytesIO(script.small(buffer.getvalue()))) as found:
        difference = np.asarray(found.convert("RGB"), int) - np.asarray(ramp, int)
    assert abs(difference).max() <= 4
