"""The evaluation as printed: every row on one line of a terminal, and what matters in sight."""

import io
from dataclasses import replace
from typing import Any

import pytest

from curta.evaluation.results import (
    Evaluation,
    Generated,
    NamedProblem,
    SliceResult,
    SliceSummary,
    UnevaluatedSize,
    Written,
)
from curta.frontends.cli.display import Screen
from curta.report.tables import comparison_table, exact_match_table, named_table
from curta.runs.results import ComparisonResults, ComparisonRow
from curta.runs.summary import summary_statistics


def row(size: int | str = 20, shares: tuple[float, ...] = (1.0,), **changes: Any) -> SliceResult:
    """Where not all is right, so are as many of the tokens more."""
    found = SliceResult(
        operator="+",
        size=str(size),
        digits=int(str(size).split("/")[0].split("x")[-1].split("..")[-1]),
        slice_name="random",
        count=200,
        exact_match=list(shares),
        token_accuracy=[0.5 + value / 2 for value in shares],
        perplexity=[3 - 2 * value for value in shares],
        generated=Generated(8, list(shares), agrees=True, tokens_per_second=270_000),
        errors=[],
    )
    return replace(found, **changes)


def differing() -> SliceResult:
    found = row()
    return replace(found, generated=replace(found.generated, agrees=False))


def lines(rows: list[SliceResult], terminal: bool = False) -> list[str]:
    """The title, the heading, a rule, then a line for each row unless a cell wraps."""
    out = io.StringIO()
    console = Screen(file=out, width=80, force_terminal=terminal, soft_wrap=not terminal)
    found = Evaluation(seed=1, lengths=rows, examples=[])
    console.print(exact_match_table(found, range(len(rows[0].exact_match))))
    return out.getvalue().rstrip("\n").split("\n")


def cells(line: str) -> list[str]:
    return line.split()


def test_row_holds_median_range_and_speed() -> None:
    _, heading, _, line = lines([row(shares=(1.0, 1.0, 1.0))])
    assert cells(heading) == [
        "op",
        "digits",
        "slice",
        "count",
        "median",
        "min",
        "max",
        "tokens/s",
        "seeds",
    ]
    found = "+ 20 random 200 1.000 1.000 1.000 270,000 all 1.000"
    assert cells(line) == found.split()


def test_operator_and_size_are_named_where_they_change() -> None:
    rows = [
        row(),
        row(slice_name="carry"),
        row(1000),
        row("50/25", operator="//"),
        row("50/25", operator="//", slice_name="trailing zeros"),
        row("50/25", operator="%"),
        row("20x5", operator="sort"),
    ]
    starts = [cells(line.split(" 200 ")[0]) for line in lines(rows)[3:]]
    assert starts == [
        ["+", "20", "random"],
        ["carry"],
        ["1,000", "random"],
        ["//", "50/25", "random"],
        ["trailing", "zeros"],
        ["%", "50/25", "random"],
        ["sort", "20x5", "random"],
    ]


@pytest.mark.parametrize("terminal", [False, True])
def test_no_cell_wraps_at_80_columns_where_eight_seeds_agree(terminal: bool) -> None:
    shares = (1.0,) * 8
    rows = [
        row("100/50", shares, operator="reverse", slice_name="trailing zeros") for _ in range(5)
    ]
    found = lines(rows, terminal)
    assert len(found) == 3 + len(rows)
    assert all(line.rstrip().endswith("all 1.000") for line in found[3:])
    assert "…" not in "".join(found)


def test_every_seed_is_listed_where_seeds_differ() -> None:
    shares = (1.0, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 0.8)
    _, _, _, same, *other = lines([row(shares=(1.0,) * 8), row(shares=shares)])
    assert cells(same)[-2:] == ["all", "1.000"]
    values = [word for line in other for word in cells(line)]
    assert values[-8:] == [f"{value:.3f}" for value in shares]


def test_generation_is_named_only_where_it_differs() -> None:
    assert "written" not in lines([row(), row()])[1]
    _, heading, _, first, second = lines([row(), differing()])
    assert cells(heading)[-1] == "written"
    assert cells(second)[-1] == "DIFFERS"
    assert "DIFFERS" not in first


def test_tokens_are_told_in_place_of_the_speed_where_not_all_is_right() -> None:
    perfect, half = row(slice_name="trailing zeros"), row(shares=(0.5,))
    assert "perplexity" not in lines([perfect, perfect])[1]
    found = lines([perfect, half])
    assert len(found) == 5
    assert max(map(len, found)) <= 72  # room for the column of two seeds
    assert " ".join(cells(found[1])).endswith("max token acc perplexity")
    assert " ".join(cells(found[4])).endswith("200 0.500 0.500 0.500 0.750 2.000")
    assert " ".join(cells(found[3])).endswith("200 1.000 1.000 1.000 1.000 1.000")


def test_one_seed_is_not_listed() -> None:
    title, heading, _, line = lines([row()])
    assert title.strip() == "exact match, 1 seed"
    assert "seeds" not in heading
    assert cells(line)[-1] == "270,000"


def test_plain_output_has_no_control_characters() -> None:
    assert "\x1b" not in "".join(lines([row(), differing()]))
    assert "\x1b[1;31mDIFFERS" in "".join(lines([row(), differing()], terminal=True))


def of_members(digits: int, members: list[float]) -> SliceSummary:
    figures = [summary_statistics(members)] * 3
    return SliceSummary("+", f"{digits}", digits, "random", 50, *figures)


def compared(name: str, lengths: list[SliceSummary], **changes: Any) -> ComparisonRow:
    found = ComparisonRow(
        name=name,
        run=name,
        recipe="addition",
        changes={},
        structure="",
        settings={},
        status="finished",
        lengths=lengths,
        unplaced=[],
        steps=1000,
        parameters=123_456,
        training_seconds=61.4,
    )
    return replace(found, **changes)


def test_a_comparison_fits_a_terminal_and_says_what_could_not_be_evaluated() -> None:
    slices = [
        of_members(digits, members)
        for digits in (10, 20, 50)
        for members in ([1.0, 0.5, 0.75], [1.0, 1.0, 0.25])
    ]
    far = UnevaluatedSize("+", "100", 100, "too long")
    wrong = UnevaluatedSize("+", "100", 100, "every seed is wrong at 50 digits")
    rows = [
        compared("addition reversed rope", slices, unplaced=[far]),
        compared("window", [*slices, of_members(100, [1.0, 1.0, 1.0])]),
        compared("[b]", [], status="waiting", parameters=None, training_seconds=None),
        compared("wrong", slices, unevaluated=(wrong,)),
    ]
    out = io.StringIO()
    table = comparison_table(ComparisonResults("c", "", "", [0, 1, 2], [], rows))
    Screen(file=out, width=80, soft_wrap=True).print(table)
    text = out.getvalue()
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text
    assert "median and range of 3 seeds" in text
    assert "no" in text
    assert "positions" in text
    window = next(line for line in text.splitlines() if line.startswith("window"))
    assert window.split() == [
        "window",
        "123,456",
        "1,000",
        "61",
        "0.500",
        "0.500",
        "0.500",
        "1.000",
    ]
    assert text.count("0.25..1.00") == 9
    assert list(table.notes) == [
        "wrong was not evaluated on + at 100 digits: every seed is wrong at 50 digits."
    ]
    assert text.count("waiting") == 4
    assert "[b]" in text


def named(truth: str, *after: str | None, before: str | None = None) -> NamedProblem:
    """What each of some members wrote; nothing that can be read where there is no answer."""

    def one(answer: str | None) -> Written:
        return Written("7[b]  +" if answer is None else f"{answer}$", answer, None)

    return NamedProblem(
        "+", f"{truth}+0", truth, [one(before) for _ in after], [one(answer) for answer in after]
    )


def named_lines(rows: list[NamedProblem], seeds: list[int]) -> list[str]:
    out = io.StringIO()
    Screen(file=out, width=80).print(named_table(rows, seeds))
    return out.getvalue().splitlines()


def test_named_problems_are_told_with_what_was_written_and_the_verdict() -> None:
    rows = [named("46", "46"), named("5", "6", before="5"), named("8", None)]
    title, heading, _, right, wrong, malformed = named_lines(rows, [3])
    assert title.strip() == "named problems"
    assert heading.split() == ["problem", "truth", "before", "after"]
    assert right.split() == ["46+0", "46", "invalid:", "7[b]", "+", "46", "right"]
    assert wrong.split() == ["5+0", "5", "5", "6", "WRONG"]
    assert "invalid: 7[b]  +" in malformed.split("8 ")[1]
    assert malformed.split()[-1] == "WRONG"


def test_of_several_seeds_the_first_is_shown_and_the_right_ones_are_counted() -> None:
    title, heading, _, line = named_lines([named("46", None, "46", "46")], [4, 1, 7])
    assert title.strip() == "named problems, as seed 4 writes them"
    assert heading.split()[-3:] == ["right", "of", "all"]
    assert line.split()[-3:] == ["2", "of", "3"]


def test_no_figure_is_cut_for_a_long_slice() -> None:
    name = "held out, spaced-worked-apart"
    told = {
        "digits": 4,
        "slice_name": name,
        "token_accuracy": [0.9, 0.8, 1.0],
        "perplexity": [1.1, 920.354, 1.0],
    }
    printed = "\n".join(lines([row("1000..9999", (0.25, 0.16, 1.0), **told)], terminal=True))
    assert "…" not in printed
    for figure in ("0.250", "0.160", "1.000", "0.900"):
        assert figure in printed
