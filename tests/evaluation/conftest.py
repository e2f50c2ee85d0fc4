"""Members that several tests of this folder evaluate."""

import pytest

from curta.evaluation.scoring import Models
from tests import paper, tiny


@pytest.fixture(scope="package")
def learned() -> Models:
    """Two members under a window that have learned some sums."""
    return paper.trained(tiny.recipe(training__problems=60), 60)
