"""The page's forward pass against Python's at every site; its logits: `test_conformance.py`."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests import tiny
from tests.designs import DESIGNS

from .made import agree

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["window, two axes", "abacus, inside, looped", "alibi, learned"])
def test_every_site_has_pythons_values(name: str, tab: Page, tmp_path: Path) -> None:
    problems = ("7*8", "12*345") if "axes" in name else ("7+8", "12+345", "999+1", "0+0")
    agree(tab, tmp_path, tiny.recipe(**DESIGNS[name]), problems)


def test_places_below_those_of_the_operands(tab: Page, tmp_path: Path) -> None:
    """A prompt of `spaced` begins at place -3."""
    agree(tab, tmp_path, tiny.with_encoding("coupled", program="spaced"))
