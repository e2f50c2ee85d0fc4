"""A page as a person has it: what is written and announced, keyboard, reload, screens, print."""

import re
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Locator, Page, expect

from tests import tiny

from .made import dense, page, shipped
from .tabs import fits, numbers, screens

pytestmark = pytest.mark.slow


@pytest.fixture
def paper(tab: Page, tmp_path: Path) -> Page:
    """A page of an untrained adder under a window, which writes on until something ends it."""
    tab.goto(page(tmp_path, *shipped("addition")).as_uri())
    return tab


@pytest.fixture
def opened(tab: Page, tmp_path: Path) -> Page:
    """A page of an untrained adder over whole texts, with two layers that attend."""
    return show(tab, tmp_path)


@pytest.fixture(params=["paper", "opened"])
def either(request: pytest.FixtureRequest) -> Page:
    """Both of them."""
    opened_page: Page = request.getfixturevalue(request.param)
    return opened_page


def show(tab: Page, folder: Path, **changes: object) -> Page:
    layers = {"model__num_attention_layers": 2}
    tab.goto(page(folder, *dense(tiny.dense(**layers | changes))).as_uri())
    tab.evaluate("curta.design.tokens = 30")
    return tab


def text(tab: Page) -> Locator:
    return tab.get_by_role("list", name="What was given, and what the model wrote")


def enter(tab: Page, problem: str, speed: str = "at once") -> None:
    """Types a problem, and presses Enter."""
    tab.get_by_label("Speed").select_option(speed)
    tab.get_by_role("textbox", name="Problem", exact=True).fill("")
    tab.keyboard.type(problem)
    tab.keyboard.press("Enter")


def calculate(tab: Page, problem: str) -> None:
    """Types a problem, and waits for the end."""
    tab.evaluate("curta.design.tokens = Math.min(curta.design.tokens, 60)")
    enter(tab, problem)
    over(tab)


def over(tab: Page) -> None:
    said = re.compile("^(It wrote|What it wrote|Stopped)")
    expect(tab.locator("#status")).to_have_text(said)


def longer(tab: Page, tokens: int) -> None:
    expect(text(tab).get_by_role("listitem").nth(tokens)).to_be_attached()


def paused(tab: Page, problem: str = "12+34", tokens: int = 6) -> Page:
    """The page in the middle of a problem."""
    enter(tab, problem, "slow")
    longer(tab, tokens)
    tab.get_by_role("button", name="Pause").click()
    return tab


def test_a_page_opens_on_a_sum_with_a_carry_that_it_writes_at_once(either: Page) -> None:
    problem = either.get_by_role("textbox", name="Problem", exact=True)
    expect(problem).to_have_value("57+68")
    longer(either, 6)
    assert (text(either).text_content() or "").startswith("75+86=")
    assert unquote(either.url).endswith("#problem=57+68")
    either.keyboard.type("1+2")  # takes the place of what was there
    expect(problem).to_have_value("1+2")


def test_the_tour_says_nothing_of_doubt_where_no_token_is_unsure(opened: Page) -> None:
    opened.evaluate("curta.model.tensors.head.data.forEach((_, n, all) => (all[n] *= 1e4))")
    tour = opened.get_by_role("complementary", name="Tour")
    opened.get_by_role("button", name="Take the tour").click()
    expect(tour).to_contain_text("1 of 4")
    tour.get_by_role("button", name="Next").click()
    expect(tour).to_contain_text("Change a digit")


def test_the_tour_shows_five_things_and_can_be_left_at_once(either: Page) -> None:
    tour = either.get_by_role("complementary", name="Tour")
    either.get_by_role("button", name="Take the tour").click()
    for number, words in enumerate(("Here it looks", "This is", "Change a digit", "Remove a head")):
        expect(tour).to_contain_text(f"{number + 1} of 5")
        expect(tour).to_contain_text(words)
        expect(either.locator(".pointed")).to_have_count(1)
        expect(either.locator("#text .changed")).to_have_count(int(number == 2))
        if number == 2 and either.locator("#grid .block").count():  # it stands on its square
            changed = either.locator("#text > :is(.changed, :has(.changed))")
            expect(changed).to_have_attribute("style", re.compile(r"--x: ?\d"))
        expect(either.locator("#parts [aria-pressed=true]")).to_have_count(int(number == 3))
        tour.get_by_role("button", name="Next").click()
    expect(tour).to_contain_text(re.compile(r"Ask [\d,]+ digits"))
    problem = either.get_by_role("textbox", name="Problem", exact=True).input_value()
    digits = int(re.findall(r"Ask ([\d,]+) digits", tour.inner_text())[0].replace(",", ""))
    assert len(problem) == 2 * digits + 1 > 5
    tour.get_by_role("button", name="Done").click()
    expect(tour).to_be_hidden()
    either.get_by_role("button", name="Take the tour").click()
    either.keyboard.press("Escape")
    expect(tour).to_be_hidden()
    expect(either.locator(".pointed")).to_have_count(0)


def part(tab: Page, name: str) -> Locator:
    return tab.get_by_role("button", name=f"Take away {name}")


def answers(tab: Page) -> dict[str, str]:
    rows = tab.locator("#answers tr").all()
    return {
        row.locator("th").text_content() or "": row.locator("td").first.text_content() or ""
        for row in rows
    }


def write_instead(tab: Page, symbol: str, role: str) -> None:
    """Chooses another token for the one that is looked into."""
    more = tab.locator("#more")
    if more.get_attribute("aria-expanded") == "false":
        more.click()
    tab.get_by_role("button", name=re.compile(f"^Write {symbol}, {role}[,:]")).first.click()


def test_a_changed_token_is_gone_on_from_and_an_end_sign_ends(paper: Page) -> None:
    paused(paper, tokens=8)
    text(paper).get_by_role("button").last.focus()
    paper.keyboard.press("Home")
    write_instead(paper, "7", "sum")
    longer(paper, 7)
    expect(text(paper)).to_have_text(re.compile(r"^21\+43=7"))
    expect(paper.locator(":focus")).to_have_accessible_name(re.compile("your change"))
    for key in ("Home", "8"):  # in the same role
        paper.keyboard.press(key)
    expect(text(paper)).to_have_text(re.compile(r"^21\+43=8"))
    longer(paper, 7)
    for key in ("Home", "ArrowRight", "$"):
        paper.keyboard.press(key)
    said = "It wrote 8, which is wrong. Right is 46."
    expect(paper.locator("#status")).to_have_text(said)
    expect(text(paper)).to_have_text("21+43=8$")
    expect(paper.locator("#work")).to_have_attribute("data-right", "false")
    expect(paper.locator("#pause")).to_be_disabled()


def test_every_head_of_every_recurrence_shows_where_it_looked(tab: Page, tmp_path: Path) -> None:
    opened = show(tab, tmp_path, model__num_recurrences=2)
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
    last = opened.locator("#looks").inner_text()
    opened.get_by_label("Recurrence").select_option("0")
    assert opened.locator("#looks").inner_text() != last


def test_a_head_is_taken_away_by_a_press_and_given_back_by_another(either: Page) -> None:
    calculate(either, "12+34")
    before, button = text(either).text_content() or "", part(either, "head 1 of layer 0")
    expect(button).to_have_attribute("aria-pressed", "false")
    button.focus()
    either.keyboard.press("Enter")
    over(either)
    expect(button).to_have_attribute("aria-pressed", "true")
    expect(button).to_be_focused()
    expect(either.locator("#changes")).to_have_text("Changed: without head 1 of layer 0.")
    assert list(answers(either)) == ["right is", "as trained", "changed"]
    zeroed = {"zeroed": ["layer.0.attention.heads:head=1"]}
    assert answers(either)["changed"] == shown(either, zeroed)
    assert answers(either)["as trained"] == shown(either, {})
    expect(either.locator("#command")).to_have_text(
        "curta probe made activations '12+34' --member 0 zero='layer.0.attention.heads:head=1'"
    )
    either.keyboard.press("Space")
    over(either)
    expect(button).to_have_attribute("aria-pressed", "false")
    expect(text(either)).to_have_text(before)
    expect(either.locator("#changes")).to_have_text(re.compile("^No part of the model is changed"))


def shown(tab: Page, changes: object) -> str:
    """The answer under changes, as the table of answers has it."""
    answer = numbers(tab, f"curta.ask('12+34', {changes})")["answer"]
    return "no answer" if answer is None else str(answer)


def put_in(tab: Page) -> None:
    tab.get_by_role("textbox", name="Other problem").fill("9+75")
    tab.keyboard.press("Enter")
    expect(tab.locator("#places")).to_be_visible()
    tab.get_by_label("What is put in").select_option("layer.0.after")
    tab.locator("#places button").nth(3).click()
    over(tab)


def test_a_mistake_is_announced_and_the_field_keeps_the_focus(either: Page) -> None:
    field = either.get_by_role("textbox", name="Problem", exact=True)
    field.fill("12+")
    either.keyboard.press("Enter")
    expect(either.locator("#mistake")).to_contain_text("(one is missing); write 12+34.")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(either.locator("#work")).to_be_hidden()


def test_a_reload_shows_the_same_and_says_what_is_changed(either: Page) -> None:
    """What is typed is not in the address before it is calculated."""
    calculate(either, "12+34")
    either.get_by_role("textbox", name="Problem", exact=True).fill("1+1")
    part(either, "head 1 of layer 0").click()
    put_in(either)
    fragment = unquote(either.url.partition("#")[2])
    assert fragment.startswith("problem=12+34&zero=layer.0.attention.heads:head=1&")
    assert "patch=layer.0.after:position=3=9+75" in fragment
    expect(either.locator("#places button").nth(1)).to_be_disabled()  # 9 has one digit
    expect(either.locator("#places button").nth(3)).to_be_focused()
    said = either.locator("#changes").text_content() or ""
    assert said.endswith("; the state after layer 0 at 4 (token 3) from 9+75.")
    zeroed = "zeroed: ['layer.0.attention.heads:head=1']"
    patch = "patch: {site: 'layer.0.after', positions: [3], source: '9+75'}"
    assert answers(either)["changed"] == shown(either, f"{{{zeroed}, {patch}}}")
    expect(either.locator("#command")).to_contain_text("patch='layer.0.after:position=3=9+75'")
    either.reload()
    either.evaluate("curta.design.tokens = 30")
    over(either)
    expect(either.locator("#changes")).to_have_text(said)
    expect(either.locator("#parts [aria-pressed=true]")).to_have_count(1)
    expect(either.locator("#places [aria-pressed=true]")).to_have_count(1)
    either.get_by_role("button", name="As trained").click()
    over(either)
    expect(either.locator("#parts [aria-pressed=true]")).to_have_count(0)
    expect(either.locator("#places [aria-pressed=true]")).to_have_count(0)


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


@pytest.mark.parametrize("tab", screens(320, 1100), indirect=True)
def test_nothing_is_wider_than_the_screen(tab: Page, either: Page) -> None:
    calculate(either, "12+123456789012")
    put_in(either)
    assert fits(either)
