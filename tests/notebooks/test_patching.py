"""The notebook that patches with TransformerLens, as a fresh kernel runs it."""

from pathlib import Path

import pytest

from .running import outputs, printed, read, run

pytest.importorskip("transformer_lens", reason="needs curta[lens]")
pytestmark = pytest.mark.slow


def test_its_figures_are_those_of_the_probe(tmp_path: Path) -> None:
    """The notebook itself compares all 104 of them; here it is looked whether it did."""
    done = run(read("patching"), tmp_path)
    assert not any(output.output_type == "error" for output in outputs(done))
    assert "104 effects, largest difference 0.000" in printed(done)
    pictures = [
        one for one in outputs(done) if one.get("data", {}).keys() & {"image/png", "image/svg+xml"}
    ]
    assert len(pictures) == 2
    assert any("753+862=526" in one.get("data", {}).get("text/plain", "") for one in outputs(done))
