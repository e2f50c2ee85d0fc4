"""The page as a person has it: keyboard, what is announced, screens, print, and no network."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from curta.frontends.api import train
from curta.frontends.cli import main
from curta.frontends.run import Run
from tests import tiny

from .made import page, shipped
from .tabs import expect_complaint, fits, screens

pytestmark = pytest.mark.slow


@pytest.fixture
def opened(tab: Page, tmp_path: Path) -> Page:
    """A page of an untrained adder, which writes on until something ends it."""
    tab.goto(page(tmp_path, *shipped("addition")).as_uri())
    return tab


def text(tab: Page) -> Locator:
    return tab.get_by_role("list", name="What was given, and what the model wrote")


def calculate(tab: Page, problem: str, speed: str = "slow", tokens: int = 7) -> None:
    """Types a problem, presses Enter, and waits until more than so many tokens stand there."""
    tab.get_by_label("Speed").select_option(speed)
    tab.get_by_role("textbox", name="Problem").fill("")
    tab.keyboard.type(problem)
    tab.keyboard.press("Enter")
    longer(tab, tokens)


def longer(tab: Page, tokens: int) -> None:
    expect(text(tab).get_by_role("listitem").nth(tokens)).to_be_attached()


def paused(tab: Page, problem: str = "12+34", tokens: int = 6) -> Page:
    """The page in the middle of a problem."""
    calculate(tab, problem, tokens=tokens)
    tab.get_by_role("button", name="Pause").click()
    return tab


def test_a_problem_is_typed_and_written_token_by_token(opened: Page) -> None:
    expect(opened.get_by_role("textbox", name="Problem")).to_be_focused()
    calculate(opened, "12+34")
    first = opened.evaluate("curta.design.machine.tokens[curta.write('12+34', 1)[0]].symbol")
    written = text(opened).text_content() or ""
    assert written.startswith("21+43=" + first)
    assert len(written) < 40  # slowly


def shares(tab: Page) -> Locator:
    """What might stand in a place, as buttons."""
    return tab.get_by_role("list", name="What might stand here").get_by_role("button")


def write_instead(tab: Page, symbol: str, role: str) -> None:
    """Chooses another token for the one that is looked into."""
    more = tab.locator("#more")
    if more.get_attribute("aria-expanded") == "false":
        more.click()
    tab.get_by_role("button", name=re.compile(f"^Write {symbol}, {role}[,:]")).first.click()


def test_a_changed_token_is_gone_on_from_and_an_end_sign_ends(opened: Page) -> None:
    paused(opened, tokens=8)
    text(opened).get_by_role("button").last.focus()
    opened.keyboard.press("Home")
    write_instead(opened, "7", "sum")
    longer(opened, 7)
    expect(text(opened)).to_have_text(re.compile(r"^21\+43=7"))
    expect(opened.locator(":focus")).to_have_accessible_name(re.compile("your change"))
    for key in ("Home", "8"):  # in the same role
        opened.keyboard.press(key)
    expect(text(opened)).to_have_text(re.compile(r"^21\+43=8"))
    longer(opened, 7)
    for key in ("Home", "ArrowRight", "$"):
        opened.keyboard.press(key)
    said = "It wrote 8, which is wrong. Right is 46."
    expect(opened.get_by_role("status")).to_have_text(said)
    expect(text(opened)).to_have_text("21+43=8$")
    expect(opened.locator("#work")).to_have_attribute("data-right", "false")
    expect(opened.locator("#pause")).to_be_disabled()


def test_an_operator_of_ones_own_has_no_verdict(opened: Page) -> None:
    opened.evaluate("curta.design.operations['+'].known = false")
    calculate(opened, "12+34")
    write_instead(opened, "7", "sum")
    opened.get_by_role("button", name="Pause").click()
    text(opened).get_by_role("button").last.focus()
    opened.keyboard.press("$")
    said = r"^(It wrote \d+|What it wrote is no answer)\. What is right is not known here\."
    expect(opened.get_by_role("status")).to_have_text(re.compile(said))


def test_the_likeliest_alternative_is_what_is_written_and_any_can_be_chosen(opened: Page) -> None:
    paused(opened)
    expect(shares(opened)).to_have_count(8)
    expect(shares(opened).first).to_have_attribute("aria-pressed", "true")
    opened.locator("#more").click()
    expect(shares(opened)).to_have_count(opened.evaluate("curta.design.machine.tokens.length"))
    last = shares(opened).last.locator("b").text_content()
    before = text(opened).text_content() or ""
    shares(opened).last.click()
    expect(text(opened)).to_have_text(re.compile(f"^{re.escape(before[:-1] + str(last))}"))


def always(tab: Page, token: str) -> None:
    """Lets the model write one token for ever."""
    tab.evaluate(
        f"curta.network.calculate = ((old, next) => (window) => ({{ ...old(window), next }}))"
        f"(curta.network.calculate.bind(curta.network), {token}); curta.network.memo.clear()"
    )


def test_a_text_without_an_end_is_stopped_and_says_so(opened: Page) -> None:
    opened.evaluate("curta.design.tokens = 40")
    always(opened, "0")
    calculate(opened, "12+34", speed="at once")
    expect(opened.locator("#pause")).to_be_disabled()
    said = "Stopped after 40 tokens, the most that this page writes."
    expect(opened.get_by_role("status")).to_have_text(said)


def test_the_paper_can_be_left_for_a_line_of_tokens(opened: Page) -> None:
    paused(opened)
    ruler, roles = opened.locator("#ruler"), opened.locator("#roles")
    expect(ruler).to_be_visible()
    expect(roles).to_be_hidden()
    opened.get_by_label("on squared paper").uncheck()
    expect(ruler).to_be_hidden()
    expect(roles).to_be_visible()


def test_heads_add_up_and_one_of_them_can_be_chosen(opened: Page) -> None:
    paused(opened)
    cells = opened.locator("#looks tr > :nth-child(2)").all_text_contents()
    assert sum(float(cell.strip("< %")) for cell in cells) == pytest.approx(100, abs=0.5)
    opened.get_by_label("Looking:").select_option("head 1")
    blue = opened.evaluate(
        "[...document.querySelectorAll('#text .token, #grid .empty')]"
        ".map((token) => Number(token.style.getPropertyValue('--look')))"
    )
    assert 0 < sum(blue) <= 1 + 1e-6  # what stands on no line is not drawn


def test_a_mistake_is_announced_and_the_field_keeps_the_focus(opened: Page) -> None:
    field = opened.get_by_role("textbox", name="Problem")
    field.fill("12+")
    opened.keyboard.press("Enter")
    expect(opened.get_by_role("alert")).to_contain_text("(one is missing); write 12+34.")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(opened.locator("#work")).to_be_hidden()


def test_no_old_verdict_stands_below_a_new_mistake(opened: Page) -> None:
    opened.evaluate("curta.design.tokens = 40")
    calculate(opened, "12+34", speed="at once")
    expect(opened.get_by_role("status")).to_have_text(re.compile("^(It wrote|What it|Stopped)"))
    opened.get_by_role("textbox", name="Problem").fill("7*8")
    opened.keyboard.press("Enter")
    said = "This model has no *: it was trained on +."
    expect(opened.get_by_role("alert")).to_have_text(said)
    expect(opened.locator("#work")).to_be_hidden()
    calculate(opened, "12+35", speed="at once")
    expect(opened.get_by_role("alert")).to_have_text("")
    expect(opened.locator("#work")).to_be_visible()


@pytest.mark.parametrize("tab", screens(390, 1100), indirect=True)
def test_a_long_sum_ends_with_its_low_digits_in_view(opened: Page) -> None:
    always(opened, "curta.design.machine.tokens.findIndex((token) => token.role === 'sum' && "
                   "token.offset[0] === 1 && !token.home[0])")  # fmt: skip
    opened.evaluate("curta.design.tokens = 302")
    calculate(opened, f"{'1' * 100}+{'2' * 100}", speed="at once", tokens=300)
    expect(opened.locator("#pause")).to_be_disabled()
    first = text(opened).get_by_role("listitem").first  # the lowest digit stands first
    expect(first).to_be_in_viewport(ratio=0.99)


def test_every_control_has_a_name_and_the_result_is_a_live_region(opened: Page) -> None:
    paused(opened)
    for role in ("status", "alert", "list", "table", "main"):
        expect(opened.get_by_role(role).first).to_be_attached()
    for role in ("button", "textbox", "combobox", "checkbox"):
        every = opened.get_by_role(role)
        assert every.count() == opened.get_by_role(role, name=re.compile(r"\S")).count() > 0


@pytest.mark.parametrize("tab", screens(320, 1100), indirect=True)
def test_nothing_is_wider_than_the_screen(opened: Page) -> None:
    calculate(opened, "123456789012345678901234567890+1", tokens=35)
    assert fits(opened)


def test_on_paper_there_is_the_calculation_without_the_controls(opened: Page) -> None:
    calculate(opened, "12+34")
    opened.emulate_media(media="print")
    expect(opened.locator("form")).to_be_hidden()
    expect(text(opened)).to_be_visible()


def test_the_policy_allows_the_pages_own_script_alone(opened: Page, complaints: list[str]) -> None:
    policy = opened.locator("meta[http-equiv]").get_attribute("content") or ""
    assert re.match(r"default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-", policy)
    opened.evaluate("document.body.append(Object.assign(document.createElement('script'), "
                    "{ textContent: 'globalThis.alien = 1' }))")  # fmt: skip
    assert opened.evaluate("globalThis.alien ?? null") is None
    expect_complaint(opened, complaints, "Content Security Policy")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A short real training, of two members."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder))
        return train("addition", 2, **tiny.overrides(), evaluate=False)


def test_the_command_writes_a_page_of_one_member(
    run: Run, tab: Page, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(run.folder.path)
    assert main(["page", folder, "--member", "1"]) == 0
    assert "page-1.html" in capsys.readouterr().out.replace("\n", "")
    tab.goto((run.folder.path / "page-1.html").as_uri())
    for problem in ("1+2", "99+1"):
        written = run.write([problem], member=1)[0]
        assert tab.evaluate(f"curta.write('{problem}', {len(written)})") == written
    assert main(["page", folder, "--out", str(tmp_path / "other.html")]) == 0
    assert (tmp_path / "other.html").read_text() != (run.folder.path / "page-1.html").read_text()
    assert main(["page", folder, "--member", "2"]) == 2
    assert "no member 2" in capsys.readouterr().err
