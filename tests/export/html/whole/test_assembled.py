"""Which models have a page over whole texts, and what is said of the others."""

import re
from dataclasses import replace

import pytest

from curta.config.errors import UserError
from curta.config.positions import UserEncoding
from curta.export.html import at_work, render_page
from curta.export.html.assembled import MODULES as WINDOWED
from curta.export.html.scripts import PACKAGE
from curta.export.html.whole.assembled import MODULES, POSITIONS, reason
from curta.export.html.whole.weights import PARAMETERS
from curta.model.positions import BUILDERS as ENCODINGS
from curta.model.transformer import parameters
from curta.report.document import own
from tests import tiny
from tests.export.made import drawn

from .. import made


def test_a_model_under_a_window_has_the_page_with_squared_paper() -> None:
    assert 'id="squared"' in render_page(made.carried(*made.shipped("addition")), 0)


def test_a_window_without_norms_has_a_page_over_whole_texts() -> None:
    text = render_page(made.carried(*made.shipped("addition", model__norm="none")), 0)
    assert 'id="parts"' in text
    assert 'id="squared"' not in text


def test_a_model_that_is_too_large_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    of = tiny.dense()
    model = drawn(of)
    count = parameters(model)
    monkeypatch.setattr("curta.export.html.whole.weights.PARAMETERS", count)
    render_page(made.carried(of, model), 0)
    monkeypatch.setattr("curta.export.html.whole.weights.PARAMETERS", count - 1)
    with pytest.raises(UserError, match=f"no page of this run: it has {count:,} param") as caught:
        render_page(made.carried(of, model), 0)
    assert "\n" not in str(caught.value)
    assert PARAMETERS == 500_000


def test_positions_of_a_users_own_are_refused_in_one_line() -> None:
    own_positions = replace(tiny.dense(), positions=UserEncoding(file="decay.py#0"))
    with pytest.raises(UserError, match="its positions come from a file of code"):
        render_page(made.carried(own_positions, drawn(tiny.dense())), 0)
    assert reason("rope") is None


def test_every_encoding_is_in_the_page() -> None:
    names = {builder.partition(".build_")[2] for builder in ENCODINGS.values()}
    known = names - {"user", "position_coupling"}
    assert set(POSITIONS) == known | {"base", "registry"}


@pytest.mark.parametrize("modules", [MODULES, WINDOWED], ids=["whole texts", "under a window"])
def test_what_modules_call_their_own_is_called_so_once(modules: tuple[str, ...]) -> None:
    """All modules of a page are one script: a name that two of them have would be an error."""
    pattern = r"^(?:export )?(?:function|class|const|let) (\w+)"
    names = [name for one in modules for name in re.findall(pattern, own(one, PACKAGE), re.M)]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("modules", [MODULES, WINDOWED], ids=["whole texts", "under a window"])
def test_modules_import_what_they_call_of_each_other(modules: tuple[str, ...]) -> None:
    """In one script a name is known without, but not where modules are loaded as such."""
    texts = {name: own(name, PACKAGE) for name in modules}
    exported = r"^export (?:function|class|const) (\w+)"
    homes = {name: one for one in modules for name in re.findall(exported, texts[one], re.M)}
    for one, text in texts.items():
        imported = " ".join(re.findall(r"^import ([^;]*);", text, re.M))
        called = set(re.findall(r"(?<![.\w])(\w+)\((?![^()]*\) \{)", text)) & set(homes)
        foreign = {name for name in called if homes[name] != one}
        assert foreign <= set(re.findall(r"\w+", imported)), one


def test_a_report_says_where_a_model_over_whole_texts_calculates() -> None:
    of = tiny.dense()
    body = at_work([made.carried(of, drawn(of), "mine")]).body
    assert "This model does not calculate here: positions are &#39;rope&#39;" in body
    assert "In a page of its own it does, which <code>curta page</code> writes." in body
