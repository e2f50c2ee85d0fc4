"""The pictures of README and docs: all made by the script, all shown, none large."""

import re
from pathlib import Path

import pytest
from PIL import Image

from docs import pictures

ROOT = Path(__file__).parents[2]


def test_every_picture_is_made_by_the_script_shown_in_a_text_and_not_large() -> None:
    texts = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        (text.parent / name).resolve()
        for text in texts
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", text.read_text("utf-8"))
    }
    assert shown == set(pictures.IMAGES.iterdir())
    assert {path.stem for path in shown} == {*pictures.BROWSER, *pictures.DRAWN}
    for path in shown:
        assert path.stat().st_size < pictures.MOST
        with Image.open(path) as image:
            assert image.width <= 1100


@pytest.mark.parametrize("name", pictures.DRAWN)
def test_a_picture_is_drawn_of_the_results_as_they_are(name: str) -> None:
    with Image.open(pictures.IMAGES / f"{name}.png") as image:
        drawn = image.info.get("results")
    assert drawn == pictures.digest(pictures.DRAWN[name][0]), f"python -m docs.pictures {name}"
