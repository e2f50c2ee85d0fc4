"""The check digit of Damm, from a table without a pattern: all single and swapped digits show."""

from curta import Answer, Given, Paper, Sign, program

TABLE = (
    "0317598642", "7092154863", "4206871359", "1750983426", "6123045978",
    "3674209581", "5869720134", "8945362017", "9438617205", "2581436790",
)  # fmt: skip
"""Damm, Total anti-symmetrische Quasigruppen (thesis, Marburg 2004)."""


def check_digit(n: int) -> int:
    """Return the check digit, from the highest digit on."""
    check = 0
    for digit in str(n):
        check = int(TABLE[check][int(digit)])
    return check


@program(
    "damm",
    axes=("place",),
    prompt=(Given("n", along="place", high_first=True), Sign("=")),
    answer=Answer("check"),
    truth=check_digit,
    sizes=(1, 8),
)
def damm(paper: Paper, n: list[int]) -> None:
    """The check digit of Damm; the digit so far is written on every square."""
    check = 0
    for digit in reversed(n):
        check = int(TABLE[check][digit])
        paper.move(place=+1).write("so far", check)
    paper.write("check", check).end()
