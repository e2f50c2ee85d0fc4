"""The page as a person has it: what is written and announced, keyboard, reload, screens, print."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Locator, Page, expect

from curta.frontends.api import train
from curta.frontends.cli import main
from curta.frontends.run import Run
from tests import tiny

from ..made import shipped
from ..tabs import fits, numbers, screens
from .made import Made, whole_page

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(tab: Page, tmp_path: Path) -> Page:
    """A page of an untrained adder with two layers that attend."""
    return show(tab, tmp_path)


def show(tab: Page, folder: Path, **changes: object) -> Page:
    layers = {"model__num_attention_layers": 2}
    tab.goto(Made(tiny.dense(**layers | changes)).page(folder).as_uri())
    tab.evaluate("curta.design.tokens = 30")
    return tab


def text(tab: Page) -> Locator:
    return tab.get_by_role("list", name="What was given, and what the model wrote")


def calculate(tab: Page, problem: str) -> None:
    """Types a problem, presses Enter, and waits for the end."""
    tab.get_by_label("Speed").select_option("at once")
    tab.get_by_role("textbox", name="Problem", exact=True).fill("")
    tab.keyboard.type(problem)
    tab.keyboard.press("Enter")
    over(tab)


def over(tab: Page) -> None:
    said = re.compile("^(It wrote|What it wrote|Stopped)")
    expect(tab.locator("#status")).to_have_text(said)


def part(tab: Page, name: str) -> Locator:
    return tab.get_by_role("button", name=f"Take away {name}")


def answers(tab: Page) -> dict[str, str]:
    rows = tab.locator("#answers tr").all()
    return {
        row.locator("th").text_content() or "": row.locator("td").first.text_content() or ""
        for row in rows
    }


def test_a_problem_is_typed_and_what_is_right_is_said(opened: Page) -> None:
    expect(opened.get_by_role("textbox", name="Problem", exact=True)).to_be_focused()
    calculate(opened, "12+34")
    symbols = opened.evaluate(
        "curta.write('12+34').map((token) => curta.design.layout.characters[token]).join('')"
    )
    expect(text(opened)).to_have_text("21+43=" + symbols)
    expect(opened.locator("#status")).to_have_text(re.compile(r"Right is 46\.|without an end"))
    assert answers(opened)["right is"] == "46"
    assert list(answers(opened)) == ["right is", "it wrote"]


def test_a_sum_longer_than_those_of_training_is_said_to_be_so(opened: Page) -> None:
    always_ends(opened)
    calculate(opened, "123456+1")
    said = (
        "What it wrote is no answer. Right is 123457. It was trained on numbers of 1 to 4 digits."
    )
    expect(opened.locator("#status")).to_have_text(said)


def test_modulo_a_number_no_operand_is_too_long(tab: Page, tmp_path: Path) -> None:
    task = [{"operator": "+ mod 97", "digits": [1, 2]}]
    show(tab, tmp_path, layout="residues-97", task=task, positions__name="learned")
    calculate(tab, "200+5 mod 97")
    expect(tab.locator("#status")).to_have_text(re.compile(r"Right is 11\.\s*$"))


def test_digits_are_counted_in_the_base_of_the_operands(tab: Page, tmp_path: Path) -> None:
    of, model = shipped("own", model__norm="none")  # its differences are in base 16
    path = tmp_path / "page.html"
    path.write_text(whole_page(of, model), encoding="utf-8")
    tab.goto(path.as_uri())
    always_ends(tab)
    calculate(tab, "0xfff-0x1")  # 4095
    expect(tab.locator("#status")).to_have_text(re.compile(r"Right is 0xffe\.$"))
    calculate(tab, "0x1000-0x1")
    said = re.compile(r"Right is 0xfff\. It was trained on numbers of 1 to 3 digits\.$")
    expect(tab.locator("#status")).to_have_text(said)


def always_ends(tab: Page) -> None:
    """The end sign is the likeliest token everywhere."""
    tab.evaluate(
        "void (curta.model.logits = ((old) => (...given) => old(...given).map((one, token) =>"
        "token === curta.design.layout.end ? 1e3 : one))(curta.model.logits.bind(curta.model)))"
    )


def test_a_head_is_taken_away_by_a_press_and_given_back_by_another(opened: Page) -> None:
    calculate(opened, "12+34")
    before, button = text(opened).text_content() or "", part(opened, "head 1 of layer 0")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.focus()
    opened.keyboard.press("Enter")
    over(opened)
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    expect(opened.locator("#changes")).to_have_text("Changed: without head 1 of layer 0.")
    assert list(answers(opened)) == ["right is", "as trained", "changed"]
    zeroed = {"zeroed": ["layer.0.attention.heads:head=1"]}
    assert answers(opened)["changed"] == shown(opened, zeroed)
    assert answers(opened)["as trained"] == shown(opened, {})
    expect(opened.locator("#command")).to_have_text(
        "curta probe made activations '12+34' --member 0 zero='layer.0.attention.heads:head=1'"
    )
    opened.keyboard.press("Space")
    over(opened)
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(text(opened)).to_have_text(before)
    expect(opened.locator("#changes")).to_have_text(re.compile("^Nothing is changed"))


def shown(tab: Page, changes: object) -> str:
    """The answer under changes, as the table of answers has it."""
    found = numbers(tab, f"curta.ask('12+34', {changes})")["answer"]
    return "no answer" if found is None else str(found)


def test_an_mlp_is_taken_away_and_all_is_given_back_at_once(opened: Page) -> None:
    calculate(opened, "12+34")
    part(opened, "MLP of layer 1").click()
    part(opened, "head 0 of layer 1").click()
    over(opened)
    said = "Changed: without the MLP of layer 1 and head 0 of layer 1."
    expect(opened.locator("#changes")).to_have_text(said)
    opened.get_by_role("button", name="As trained").click()
    over(opened)
    expect(opened.locator("#parts [aria-pressed=true]")).to_have_count(0)
    expect(opened.get_by_role("button", name="As trained")).to_be_hidden()


def put_in(tab: Page) -> None:
    tab.get_by_role("textbox", name="Other problem").fill("9+75")
    tab.keyboard.press("Enter")
    expect(tab.locator("#places")).to_be_visible()
    tab.get_by_label("What is put in").select_option("layer.0.after")
    tab.locator("#places button").nth(3).click()
    over(tab)


def test_a_state_of_another_problem_is_put_in(opened: Page) -> None:
    calculate(opened, "12+34")
    put_in(opened)
    places = opened.locator("#places button")
    expect(places).to_have_count(6)
    expect(places.nth(1)).to_be_disabled()  # 9 has one digit
    expect(places.nth(3)).to_have_attribute("aria-pressed", "true")
    expect(places.nth(3)).to_be_focused()
    said = "Changed: the state after layer 0 at 4 (token 3) from 9+75."
    expect(opened.locator("#changes")).to_have_text(said)
    patch = "{patch: {site: 'layer.0.after', positions: [3], source: '9+75'}}"
    assert answers(opened)["changed"] == shown(opened, patch)
    options = "--member 0 patch='layer.0.after:position=3=9+75'"
    expect(opened.locator("#command")).to_have_text(
        f"curta probe made activations '12+34' {options}"
    )


def test_a_problem_that_is_none_is_announced_beside_its_field(opened: Page) -> None:
    calculate(opened, "12+34")
    opened.get_by_role("textbox", name="Other problem").fill("9+")
    opened.keyboard.press("Enter")
    expect(opened.locator("#unread")).to_contain_text("(one is missing); write 12+34.")
    expect(opened.locator("#places")).to_be_hidden()
    opened.get_by_role("textbox", name="Problem", exact=True).fill("7*8")
    opened.keyboard.press("Enter")
    expect(opened.locator("#mistake")).to_have_text("This model has no *: it was trained on +.")
    expect(opened.locator("#work")).to_be_hidden()


def test_a_reload_shows_the_same_and_says_what_is_changed(opened: Page) -> None:
    calculate(opened, "12+34")
    part(opened, "head 1 of layer 0").click()
    put_in(opened)
    fragment = unquote(opened.url.partition("#")[2])
    assert "zero=layer.0.attention.heads:head=1" in fragment
    assert "patch=layer.0.after:position=3=9+75" in fragment
    said = opened.locator("#changes").text_content() or ""
    opened.reload()
    opened.evaluate("curta.design.tokens = 30")
    over(opened)
    expect(opened.locator("#changes")).to_have_text(said)
    expect(opened.locator("#parts [aria-pressed=true]")).to_have_count(1)
    expect(opened.locator("#places [aria-pressed=true]")).to_have_count(1)


def test_what_is_typed_is_not_asked_before_it_is_calculated(opened: Page) -> None:
    calculate(opened, "57+68")
    opened.get_by_role("textbox", name="Problem", exact=True).fill("1+1")
    part(opened, "head 1 of layer 0").click()
    over(opened)
    assert unquote(opened.url.partition("#")[2]).startswith("problem=57+68&")
    expect(opened.locator("#command")).to_have_text(
        re.compile(r"^curta probe made activations '57\+68' ")
    )


def test_an_address_without_a_problem_shows_the_field_alone(opened: Page) -> None:
    calculate(opened, "12+34")
    part(opened, "head 1 of layer 0").click()
    put_in(opened)
    opened.evaluate("location.hash = ''")
    expect(opened.locator("#work")).to_be_hidden()
    opened.get_by_label("Speed").select_option("slow")
    opened.get_by_role("textbox", name="Problem", exact=True).fill("12+34")
    opened.keyboard.press("Enter")
    opened.evaluate("location.hash = ''")
    expect(opened.locator("#work")).to_be_hidden()
    calculate(opened, "12+34")
    expect(opened.locator("#parts [aria-pressed=true]")).to_have_count(0)
    expect(opened.locator("#changes")).to_have_text(re.compile("^Nothing is changed"))


def test_an_address_that_names_what_there_is_not_changes_nothing(opened: Page) -> None:
    address = (
        opened.url + "#problem=12%2B34&zero=layer.9.mlp.output&patch=alert(1):position=0=1%2B1"
    )
    opened.goto("about:blank")
    opened.goto(address)
    expect(opened.locator("#changes")).to_have_text(re.compile("^Nothing is changed"))


def test_tokens_are_chosen_and_changed_by_keys(opened: Page) -> None:
    calculate(opened, "12+34")
    text(opened).get_by_role("button").first.focus()
    opened.keyboard.press("ArrowRight")
    expect(opened.locator("#which")).to_have_text("Token 2 of what it wrote")
    opened.keyboard.press("Home")
    opened.keyboard.press("7")
    over(opened)
    expect(text(opened)).to_have_text(re.compile(r"^21\+43=7"))
    expect(opened.locator("#text button").first).to_have_accessible_name(re.compile("your change"))
    expect(opened.locator("#shares button").first).to_have_accessible_name(re.compile("^Write "))


def test_every_head_shows_where_it_looked(opened: Page) -> None:
    calculate(opened, "12+34")
    text(opened).get_by_role("button").nth(2).click()
    rows = opened.locator("#looks tr")
    expect(rows).to_have_count(4)
    expect(opened.locator("#seen th")).to_have_count(1 + 8)
    shares = opened.evaluate(
        "[...document.querySelectorAll('#looks tr')].map((row) => [...row.cells].slice(1)"
        ".reduce((sum, cell) => sum + Number(cell.style.getPropertyValue('--look')), 0))"
    )
    assert shares == pytest.approx([1] * 4)


def test_a_looped_model_shows_each_recurrence(tab: Page, tmp_path: Path) -> None:
    show(tab, tmp_path, model__num_recurrences=2)
    calculate(tab, "12+34")
    rows = tab.locator("#looks")
    last = rows.inner_text()
    tab.get_by_label("Recurrence").select_option("0")
    assert rows.inner_text() != last


def test_an_encoder_shows_all_at_once_and_where_it_looked(tab: Page, tmp_path: Path) -> None:
    show(tab, tmp_path, layout="framed", model__causal=False, positions__name="alibi")
    tab.evaluate("curta.design.tokens = 99")
    calculate(tab, "12+34")
    expect(tab.locator("#seen th")).to_have_count(1 + 43)
    expect(tab.locator("#shares button:enabled")).to_have_count(0)
    part(tab, "head 0 of layer 0").click()
    over(tab)
    assert "changed" in answers(tab)


def test_a_model_ends_where_it_has_no_position_any_more(tab: Page, tmp_path: Path) -> None:
    show(tab, tmp_path, positions__name="learned", positions__length=16, task__digits=[1, 3])
    tab.evaluate("curta.design.layout.end = 99")
    calculate(tab, "12+34")
    said = re.compile("^Stopped after 17 tokens: this model has 16 learned positions. Right is 46.")
    expect(tab.locator("#status")).to_have_text(said)
    tab.get_by_role("textbox", name="Problem", exact=True).fill("123456789+123456789")
    tab.keyboard.press("Enter")
    said_of_it = "That is too long: this model has 16 learned positions."
    expect(tab.locator("#mistake")).to_have_text(said_of_it)
    calculate(tab, "12+34")
    tab.get_by_role("textbox", name="Other problem").fill("123456789+123456789")
    tab.keyboard.press("Enter")
    expect(tab.locator("#unread")).to_have_text(said_of_it)


def test_every_control_has_a_name(opened: Page) -> None:
    calculate(opened, "12+34")
    put_in(opened)
    for role in ("button", "textbox", "combobox"):
        every = opened.get_by_role(role)
        assert every.count() == opened.get_by_role(role, name=re.compile(r"\S")).count() > 0


@pytest.mark.parametrize("tab", screens(360, 1100), indirect=True)
def test_nothing_is_wider_than_the_screen(opened: Page) -> None:
    calculate(opened, "12+123456789012")
    put_in(opened)
    assert fits(opened)


def test_on_paper_there_is_the_calculation_without_the_controls(opened: Page) -> None:
    calculate(opened, "12+34")
    put_in(opened)
    opened.emulate_media(media="print")
    for hidden in ("#form", "#patch", "#parts", "#places"):
        expect(opened.locator(hidden)).to_be_hidden()
    expect(text(opened)).to_be_visible()


LARGE = {
    "model__width": 96, "model__heads": 6, "model__num_layers": 4, "model__num_attention_layers": 4,
    "model__mlp_ratio": 4,
}  # fmt: skip
"""450,000 parameters, close to the most that a page carries."""


def test_a_sum_of_ten_digits_is_written_in_seconds(tab: Page, tmp_path: Path) -> None:
    tab.goto(Made(tiny.dense(**LARGE)).page(tmp_path).as_uri())
    assert 400_000 < tab.evaluate("curta.design.parameters") < 500_000
    seconds = tab.evaluate(
        "(() => { const begun = performance.now(); curta.write('9876543210+1234567890', {}, 12);"
        "return (performance.now() - begun) / 1000; })()"
    )
    assert seconds < 10  # under one where nothing else runs


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A short real training of the recipe that the guide shows failing."""
    folder = tmp_path_factory.mktemp("trained")
    small = tiny.overrides(layout="plain", positions__name="learned", positions__length=64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder))
        return train("addition-plain", 2, **small, evaluate=False)


def test_the_command_writes_a_page_of_one_member(
    run: Run, tab: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["page", str(run.folder.path), "--member", "1"]) == 0
    assert "page-1.html" in capsys.readouterr().out.replace("\n", "")
    tab.goto((run.folder.path / "page-1.html").as_uri())
    for problem in ("1+2", "99+1", "1234567890+9876543210"):
        written = run.write([problem], member=1)[0]
        assert numbers(tab, f"curta.write('{problem}', {{}}, {len(written)})") == written
