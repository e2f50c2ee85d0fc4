"""Which models have a page, what is said of the others, and that its modules fit together."""

from dataclasses import replace

import pytest

from curta.config.errors import UserError
from curta.config.positions import UserEncoding
from curta.export.html.page import PARAMETERS, at_work, page_refusal, render_page
from curta.model.transformer import parameters
from tests import tiny
from tests.export.made import drawn

from . import made


def test_a_model_that_is_too_large_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    of = tiny.dense()
    model = drawn(of)
    count = parameters(model)
    monkeypatch.setattr("curta.export.html.page.PARAMETERS", count)
    render_page(made.carried(of, model), 0)
    monkeypatch.setattr("curta.export.html.page.PARAMETERS", count - 1)
    with pytest.raises(UserError, match=f"no page of this run: it has {count:,} param") as caught:
        render_page(made.carried(of, model), 0)
    assert "\n" not in str(caught.value)
    assert PARAMETERS == 500_000


def test_positions_of_a_users_own_are_refused() -> None:
    own_positions = replace(tiny.dense(), positions=UserEncoding(file="decay.py#0"))
    with pytest.raises(UserError, match="its positions come from a file of code"):
        render_page(made.carried(own_positions, drawn(tiny.dense())), 0)
    assert page_refusal("rope") is None


def test_a_report_says_where_a_model_over_whole_texts_calculates() -> None:
    of = tiny.dense()
    body = at_work([made.carried(of, drawn(of), "mine")]).body
    assert "This model does not calculate inside a report, which can run only" in body
    assert "To try one, make a page:<br><code>curta page mine</code>" in body
