"""The benchmarks run, and compare what is the same."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

TORCH = importlib.util.find_spec("torch")  # importing it takes two seconds of every collection
pytestmark = [pytest.mark.slow, pytest.mark.skipif(TORCH is None, reason="needs torch")]

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("name", ["a", "a-learned", "c"])
def test_both_sides_calculate_the_same(name: str) -> None:
    check = importlib.import_module("benchmarks.check")
    configurations = importlib.import_module("benchmarks.configurations").CONFIGURATIONS
    found = check.differences(configurations[name].recipe())
    assert set(found) == {"logits", "loss", "gradients", "updates"}
    assert max(found.values()) < check.TOLERANCE


@pytest.mark.parametrize("name", ["steps", "accuracy", "throughput", "exports", "pages"])
def test_a_quick_form_of_each_runs(name: str) -> None:
    """In a process of its own, in which annotations are not checked."""
    command = [sys.executable, "-m", f"benchmarks.{name}", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n|") > 2
