"""A table in its three forms: what CSV gives back, what LaTeX prints, what stands on a screen."""

from typing import Any

import pytest

from curta.config.table import Column, Table, cell


def table(rows: list[list[Any]], **changes: Any) -> Table:
    columns = [
        Column("op", "operator", words=True, once=True),
        Column("digits", once=True),
        Column("share", style=lambda share, row: "red" if share == 0 else ""),
        Column("both", text=lambda pair: f"{pair}", in_csv=False),
        Column("low", on_screen=False),
    ]
    return Table("a title", columns, rows, **changes)


def row(operator: str = "+", digits: int = 1000, share: float | None = 0.25) -> list[Any]:
    return [operator, digits, share, "0.2 to 0.3", 0.123456]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1.0, "1.000"), (0.0, "0.000"), (0.9996, ">0.999"), (0.9994, "0.999"), (0.0004, "<0.001"),
     (1.0004, "1.000"), (-0.0004, ">-0.001"), ([1.0, 0.9999], "1.000 >0.999")],
)  # fmt: skip
def test_only_all_is_one_and_only_none_is_nothing(value: Any, shown: str) -> None:
    assert cell(value) == shown


def test_csv_repeats_what_a_screen_leaves_out_and_has_what_is_not_shown() -> None:
    lines = table([row(), row(), row("-", share=None)]).csv().splitlines()
    assert lines == [
        "operator,digits,share,low",
        "+,1000,0.25,0.123456",
        "+,1000,0.25,0.123456",
        "-,1000,,0.123456",
    ]


def test_latex_is_a_tabular_with_booktabs() -> None:
    lines = table([row("*"), row("//", share=-0.5)], notes=["50 % of\nall"]).latex().splitlines()
    assert lines == [
        "% a title",
        "% 50 % of all",
        "% The rules need \\usepackage{booktabs}.",
        "\\begin{tabular}{lrrr}",
        "\\toprule",
        "op & digits & share & both \\\\",
        "\\midrule",
        "{*} & 1,000 & 0.250 & 0.2 to 0.3 \\\\",
        "// & 1,000 & $-$0.500 & 0.2 to 0.3 \\\\",
        "\\bottomrule",
        "\\end{tabular}",
    ]
