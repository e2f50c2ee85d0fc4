"""The exam as it is printed: every row on one line of a terminal, and what matters in sight."""

import io
from typing import Any

import pytest
from rich.console import Console

from curta.frontends.cli.display import comparison_table, exam_table, named_table


def row(size: int | str = 20, exact: tuple[float, ...] = (1.0,), **changes: Any) -> dict[str, Any]:
    generated = {"count": 8, "exact": list(exact), "agrees": True, "tokens_per_second": 270_000}
    digits = int(str(size).split("/")[0].split("x")[-1])
    return {
        "operator": "+",
        "size": str(size),
        "digits": digits,
        "category": "random",
        "count": 200,
        "exact": list(exact),
        "generated": generated,
    } | changes


def differing(**changes: Any) -> dict[str, Any]:
    found = row(**changes)
    found["generated"]["agrees"] = False
    return found


def lines(rows: list[dict[str, Any]], terminal: bool = False) -> list[str]:
    """The title, the heading, a rule, then a line for each row unless a cell wraps."""
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=terminal, soft_wrap=not terminal)
    console.print(exam_table({"lengths": rows}, range(len(rows[0]["exact"]))))
    return out.getvalue().rstrip("\n").split("\n")


def cells(line: str) -> list[str]:
    return line.split()


def test_row_holds_median_range_and_speed() -> None:
    _, heading, _, line = lines([row(exact=(0.5, 1.0, 0.75))])
    assert cells(heading) == [
        "op",
        "digits",
        "kind",
        "count",
        "median",
        "min",
        "max",
        "tokens/s",
        "seeds",
    ]
    found = "+ 20 random 200 0.750 0.500 1.000 270,000 0.500 1.000 0.750"
    assert cells(line) == found.split()


def test_operator_and_size_are_named_where_they_change() -> None:
    rows = [
        row(),
        row(category="carry"),
        row(1000),
        row("50/25", operator="//"),
        row("50/25", operator="//", category="trailing zeros"),
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
    exact = (1.0,) * 8
    rows = [row("100/50", exact, operator="reverse", category="trailing zeros") for _ in range(5)]
    found = lines(rows, terminal)
    assert len(found) == 3 + len(rows)
    assert all(line.rstrip().endswith("all 1.000") for line in found[3:])
    assert "…" not in "".join(found)


def test_every_seed_is_listed_where_seeds_differ() -> None:
    exact = (1.0, 0.9, 1.0, 1.0, 1.0, 1.0, 1.0, 0.8)
    _, _, _, same, *other = lines([row(exact=(1.0,) * 8), row(exact=exact)])
    assert cells(same)[-2:] == ["all", "1.000"]
    values = [word for line in other for word in cells(line)]
    assert values[-8:] == [f"{value:.3f}" for value in exact]


def test_generation_is_named_only_where_it_differs() -> None:
    assert "written" not in lines([row(), row()])[1]
    _, heading, _, first, second = lines([row(), differing()])
    assert cells(heading)[-1] == "written"
    assert cells(second)[-1] == "DIFFERS"
    assert "DIFFERS" not in first


def tokens(*exact: float, **changes: Any) -> dict[str, Any]:
    """A row with what was found token by token."""
    shares = [0.5 + value / 2 for value in exact]
    return row(exact=exact, token_accuracy=shares, perplexity=[3 - 2 * v for v in exact], **changes)


def test_tokens_are_told_in_place_of_the_speed_where_not_all_is_right() -> None:
    perfect, half = tokens(1.0, category="trailing zeros"), tokens(0.5)
    assert "perplexity" not in lines([perfect, perfect])[1]
    found = lines([perfect, half])
    assert len(found) == 5
    assert max(map(len, found)) <= 72  # room for the column of two seeds
    assert " ".join(cells(found[1])).endswith("max token acc perplexity")
    assert " ".join(cells(found[4])).endswith("200 0.500 0.500 0.500 0.750 2.000")
    assert " ".join(cells(found[3])).endswith("200 1.000 1.000 1.000 1.000 1.000")


def test_tokens_are_not_told_of_an_exam_that_did_not_count_them() -> None:
    assert "perplexity" not in lines([row(exact=(0.5,))])[1]


def test_one_seed_is_not_listed() -> None:
    title, heading, _, line = lines([row()])
    assert title.strip() == "exact match, 1 seed"
    assert "seeds" not in heading
    assert cells(line)[-1] == "270,000"


def test_plain_output_has_no_control_characters() -> None:
    assert "\x1b" not in "".join(lines([row(), differing()]))
    assert "\x1b[1;31mDIFFERS" in "".join(lines([row(), differing()], terminal=True))


def compared(name: str, exams: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    known = {"status": "finished", "steps": 1000, "parameters": 123_456, "training_seconds": 61.4}
    return {"name": name, "exams": exams, "unplaced": []} | known | changes


def test_a_comparison_fits_a_terminal_and_says_what_could_not_be_examined() -> None:
    exams = [
        {"operator": "+", "size": f"{digits}", "digits": digits, "members": members}
        for digits in (10, 20, 50)
        for members in ([1.0, 0.5, 0.75], [1.0, 1.0, 0.25])
    ]
    far = {"operator": "+", "size": "100", "digits": 100}
    rows = [
        compared("addition reversed rope", exams, unplaced=[far]),
        compared("window", [*exams, far | {"members": [1.0, 1.0, 1.0]}]),
        compared("[b]", [], status="waiting", parameters=None, training_seconds=None),
    ]
    out = io.StringIO()
    table = comparison_table({"seeds": [0, 1, 2], "rows": rows})
    Console(file=out, width=80, soft_wrap=True).print(table)
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
    assert text.count("0.25..1.00") == 6
    assert text.count("waiting") == 4
    assert "[b]" in text


def named(truth: str, *after: str | None, before: str | None = None) -> dict[str, Any]:
    """What each of some members wrote; nothing that can be read where there is no answer."""

    def one(answer: str | None) -> dict[str, Any]:
        return {"text": "7[b]  +" if answer is None else f"{answer}$", "answer": answer}

    wrote = {"before": [one(before) for _ in after], "after": [one(answer) for answer in after]}
    return {"operator": "+", "problem": f"{truth}+0", "truth": truth} | wrote


def named_lines(rows: list[dict[str, Any]], seeds: list[int]) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=80).print(named_table({"named": rows}, seeds))
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


def test_without_named_problems_there_is_no_table() -> None:
    assert named_table({"lengths": []}, [0]) is None


def test_no_figure_is_cut_for_a_long_category() -> None:
    name = "held out, spaced-worked-apart"
    told = {"size": "1000..9999", "category": name}
    told |= {"token_accuracy": [0.9, 0.8, 1.0], "perplexity": [1.1, 920.354, 1.0]}
    printed = "\n".join(lines([row(4, (0.25, 0.16, 1.0)) | told], terminal=True))
    assert "…" not in printed
    for figure in ("0.250", "0.160", "1.000", "0.900"):
        assert figure in printed
