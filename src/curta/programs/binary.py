"""From decimal to binary by halves: `binary 13=` is written `13= 6 1  3 0   1 1    1$`.

Each row is half of the row above, written from left to right, with blanks for leading zeros. The
sign before the next row is the remainder: 13 is odd, so its last binary digit is 1. When a row is
blank throughout, the last digit has been written.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "binary",
    axes=("place", "row"),
    prompt=(Given("half", "place", high_first=True), Sign("=")),
    answer=Answer("bit", base=2),
    truth=int,
    example="binary 13",
)
def binary(paper: Paper, number: list[int]) -> None:
    """The binary digits of a number, the last one first."""
    row = number[::-1]
    while True:
        odd, blank = 0, True
        paper.move(row=+1)
        for place, digit in enumerate(row):
            odd, row[place] = digit % 2, digit // 2 + 5 * odd
            blank = blank and row[place] == 0
            paper.move(place=+1).write("half", " " if blank else row[place])
        if blank:
            break
        paper.home("place").move(place=-1).write("bit", odd)
    paper.write("bit", odd)
    paper.end()
