"""The notebooks of the five sources, at their smallest size, as a fresh kernel runs them."""

from pathlib import Path

import pytest

from .running import outputs, printed, read, run

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "pictures", "last"),
    [
        ("five_operations", 2, "999*999 = "),
        ("digit_encoder", 4, "here, 1 digits: exact match"),
        ("spaced_addition", 3, "1000+1000 = "),
        ("looped_abacus", 3, "here, grid of 3 by the same"),
        ("component_ladder", 2, "answers  72+90="),
    ],
)
def test_it_runs_and_shows_what_it_says(
    name: str, pictures: int, last: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIZE", "tiny")
    done = run(read(name), tmp_path)
    kinds = {"image/png", "image/svg+xml"}
    shown = [one for one in outputs(done) if one.get("data", {}).keys() & kinds]
    assert len(shown) == pictures
    assert last in printed(done)
    assert "reported" in printed(done) or name == "spaced_addition"  # its source kept no figures
