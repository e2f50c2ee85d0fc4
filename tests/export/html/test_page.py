"""The page as a person has it: keyboard, what is announced, screens, print, and no network."""

import re
from pathlib import Path

import pytest

from curta.frontends.api import train
from curta.frontends.cli import main
from curta.frontends.run import Run
from tests import tiny

from .browser import Tab
from .made import page, shipped

pytestmark = pytest.mark.slow

STATUS = "document.getElementById('status').textContent"
TEXT = "[...document.querySelectorAll('#text li')].map((item) => item.textContent).join('')"


@pytest.fixture
def opened(browser: Tab, tmp_path: Path) -> Tab:
    """A page of an untrained adder, which writes on until something ends it."""
    browser.open(page(tmp_path, *shipped("addition")))
    return browser


def calculate(tab: Tab, problem: str, speed: str = "600") -> None:
    """Types a problem into the field that has the focus, and presses Enter."""
    tab.value(f"document.getElementById('speed').value = '{speed}'")
    tab.value("document.getElementById('problem').value = ''")
    tab.value("document.getElementById('problem').focus()")
    tab.press(*problem, "Enter")


def test_a_problem_is_typed_and_written_token_by_token(opened: Tab) -> None:
    opened.wait("document.activeElement.id === 'problem'")
    calculate(opened, "12+34")
    opened.wait(f"({TEXT}).length > 7")
    first = opened.value("curta.design.machine.tokens[curta.write('12+34', 1)[0]].symbol")
    written = opened.value(TEXT)
    assert written.startswith("21+43=" + first)
    assert len(written) < 40  # slowly
    assert opened.complaints == []


def write_instead(tab: Tab, symbol: str, role: str) -> None:
    """Chooses another token for the one that is looked into."""
    if tab.value("document.getElementById('more').ariaExpanded") == "false":
        tab.value("document.getElementById('more').click()")
    wanted = f"(token) => token.symbol === '{symbol}' && token.role === '{role}'"
    number = tab.value(f"curta.design.machine.tokens.findIndex({wanted})")
    tab.value(f"document.querySelector('#shares [data-token=\"{number}\"]').click()")


def test_a_changed_token_is_gone_on_from_and_an_end_sign_ends(opened: Tab) -> None:
    calculate(opened, "12+34")
    opened.wait(f"({TEXT}).length > 8")
    opened.value("document.getElementById('pause').click()")
    opened.value("document.querySelector('#text button[tabindex=\"0\"]').focus()")
    opened.press("Home")
    write_instead(opened, "7", "sum")
    opened.wait(f"({TEXT}).length > 7")
    assert opened.value(TEXT)[:7] == "21+43=7"
    assert "your change" in opened.value("document.activeElement.ariaLabel")
    opened.press("Home", "8")  # in the same role
    assert opened.value(TEXT)[:7] == "21+43=8"
    opened.wait(f"({TEXT}).length > 7")
    opened.press("Home", "ArrowRight", "$")
    opened.wait(f"{STATUS}.startsWith('It wrote')")
    assert opened.value(TEXT) == "21+43=8$"
    assert opened.value(STATUS) == "It wrote 8, which is wrong. Right is 46."
    assert opened.value("document.getElementById('work').dataset.right") == "false"
    assert opened.value("document.getElementById('pause').disabled")


def test_an_operator_of_ones_own_has_no_verdict(opened: Tab) -> None:
    opened.value("curta.design.operations['+'].known = false")
    calculate(opened, "12+34")
    opened.wait(f"({TEXT}).length > 7")
    write_instead(opened, "7", "sum")
    opened.value("document.getElementById('pause').click()")
    opened.press("End", "$")
    opened.wait(f"{STATUS}.includes('not known')")
    said = r"(It wrote \d+|What it wrote is no answer)\. What is right is not known here\."
    assert re.match(said, opened.value(STATUS))


def test_the_likeliest_alternative_is_what_is_written_and_any_can_be_chosen(opened: Tab) -> None:
    calculate(opened, "12+34")
    opened.wait(f"({TEXT}).length > 6")
    opened.value("document.getElementById('pause').click()")
    shares = "[...document.querySelectorAll('#shares button')]"
    assert opened.value(f"{shares}.length") == 8
    assert opened.value(f"{shares}[0].ariaPressed") == "true"
    opened.value("document.getElementById('more').click()")
    count = opened.value("curta.design.machine.tokens.length")
    assert opened.value(f"{shares}.length") == count
    last = opened.value(f"{shares}[{count - 1}].querySelector('b').textContent")
    before = opened.value(f"({TEXT}).length")
    opened.value(f"{shares}[{count - 1}].click()")
    assert opened.value(TEXT)[before - 1] == last


def test_a_text_without_an_end_is_stopped_and_says_so(opened: Tab) -> None:
    opened.value("curta.design.tokens = 40")
    opened.value(
        "curta.network.calculate = ((old) => (window) => ({ ...old(window), next: 0 }))"
        "(curta.network.calculate.bind(curta.network)); curta.network.memo.clear()"
    )
    calculate(opened, "12+34", speed="0")
    opened.wait("document.getElementById('pause').disabled")
    assert opened.value(STATUS) == "Stopped after 40 tokens, the most that this page writes."


def test_the_paper_can_be_left_for_a_line_of_tokens(opened: Tab) -> None:
    calculate(opened, "12+34")
    opened.wait(f"({TEXT}).length > 6")
    opened.value("document.getElementById('pause').click()")
    seen = "['ruler', 'roles'].map((id) => document.getElementById(id).checkVisibility())"
    assert opened.value(seen) == [True, False]
    opened.value("document.getElementById('squared').click()")
    assert opened.value(seen) == [False, True]


def test_heads_add_up_and_one_of_them_can_be_chosen(opened: Tab) -> None:
    calculate(opened, "12+34")
    opened.wait(f"({TEXT}).length > 6")
    opened.value("document.getElementById('pause').click()")
    rows = "[...document.querySelectorAll('#looks tr')]"
    column = f"{rows}.map((row) => parseFloat(row.children[1].textContent.replace('<', '')))"
    assert sum(opened.value(column)) == pytest.approx(100, abs=0.5)
    tokens = "[...document.querySelectorAll('#text .token, #grid .empty')]"
    blue = f"{tokens}.map((token) => Number(token.style.getPropertyValue('--look')))"
    opened.value(
        "(() => { const head = document.getElementById('head'); head.value = '1';"
        "head.dispatchEvent(new Event('change')); })()"
    )
    assert 0 < sum(opened.value(blue)) <= 1 + 1e-6  # what stands on no line is not drawn


def test_a_mistake_is_announced_and_the_field_keeps_the_focus(opened: Tab) -> None:
    calculate(opened, "12+")
    mistake = "document.getElementById('mistake')"
    assert opened.value(f"{mistake}.textContent") == "An operand is missing; write 12+34."
    assert opened.value(f"{mistake}.getAttribute('role')") == "alert"
    assert opened.value("document.activeElement.ariaInvalid") == "true"
    assert opened.value("document.getElementById('work').hidden")


def test_every_control_has_a_name_and_the_result_is_a_live_region(opened: Tab) -> None:
    calculate(opened, "12+34")
    opened.wait(f"({TEXT}).length > 6")
    opened.value("document.getElementById('pause').click()")
    nodes = opened.call("Accessibility.getFullAXTree")["nodes"]
    roles = [node["role"]["value"] for node in nodes if not node["ignored"]]
    controls = {"button", "textbox", "combobox", "checkbox"}
    assert controls | {"status", "alert", "list", "table", "main"} <= set(roles)
    for node in nodes:
        if not node["ignored"] and node["role"]["value"] in controls:
            assert node["name"]["value"].strip()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 1100])
def test_nothing_is_wider_than_the_screen(opened: Tab, scheme: str, width: int) -> None:
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    opened.call("Emulation.setEmulatedMedia", features=media)
    opened.call(
        "Emulation.setDeviceMetricsOverride",
        width=width, height=800, deviceScaleFactor=1, mobile=width < 500,
    )  # fmt: skip
    calculate(opened, "123456789012345678901234567890+1")
    opened.wait(f"({TEXT}).length > 35")
    assert opened.value("document.documentElement.scrollWidth") <= width
    colour = "getComputedStyle(document.body).backgroundColor"
    assert (opened.value(colour) == "rgb(255, 255, 255)") == (scheme == "light")
    opened.call("Emulation.clearDeviceMetricsOverride")
    opened.call("Emulation.setEmulatedMedia", features=[])


def test_on_paper_there_is_the_calculation_without_the_controls(opened: Tab) -> None:
    calculate(opened, "12+34")
    opened.wait(f"({TEXT}).length > 6")
    opened.call("Emulation.setEmulatedMedia", media="print")
    seen = "['form', 'text'].map((id) => document.getElementById(id).checkVisibility())"
    assert opened.value(seen) == [False, True]
    opened.call("Emulation.setEmulatedMedia", media="")


def test_the_policy_allows_the_pages_own_script_alone(opened: Tab) -> None:
    policy = opened.value("document.querySelector('meta[http-equiv]').content")
    assert re.match(r"default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-", policy)
    opened.value("document.body.append(Object.assign(document.createElement('script'), "
                 "{ textContent: 'globalThis.alien = 1' }))")  # fmt: skip
    assert opened.value("globalThis.alien ?? null") is None
    assert any("Content Security Policy" in line for line in opened.complaints)
    assert [url for url in opened.requests if not url.startswith("file:")] == []


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A short real training, of two members."""
    folder = tmp_path_factory.mktemp("trained")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CURTA_RUNS", str(folder))
        return train("addition", 2, overrides=tiny.overrides(), evaluate=False)


def test_the_command_writes_a_page_of_one_member(
    run: Run, browser: Tab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(run.folder.path)
    assert main(["page", folder, "--member", "1"]) == 0
    assert "page-1.html" in capsys.readouterr().out.replace("\n", "")
    browser.open(run.folder.path / "page-1.html")
    for problem in ("1+2", "99+1"):
        written = run.write([problem], member=1)[0]
        asked = f"curta.write('{problem}', {len(written)})"
        assert browser.value(asked) == written
    assert main(["page", folder, "--out", str(tmp_path / "other.html")]) == 0
    assert (tmp_path / "other.html").read_text() != (run.folder.path / "page-1.html").read_text()
    assert main(["page", folder, "--member", "2"]) == 2
    assert "no member 2" in capsys.readouterr().err
