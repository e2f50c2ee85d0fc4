"""Sorting by selection: again and again, the least number above those that are sorted.

`sort 20,7,7=` is written (numbers as long as the longest; a pass through all of them a line)

    20,07,07 =  ><20  , ><07  , >==  , 07 |     the least number so far: 20, then 07
    ><20  , ===07  , ===07  , 20 |              07 is sorted twice; the least above it is 20
    ===20  ,  ,  , $                            and above 20 there is none

A pass sorts one number. It compares every number with that one: a smaller one is passed over, an
equal one is written in the answer, and a greater one becomes the least so far if it is less than
that. The next pass sorts the least that this one found.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program

AXES = ("place", "row", "turn", "version")


@program(
    "sorting",
    "sort",
    axes=AXES,
    prompt=(
        Given("number", "place", ("turn", "version"), high_first=True, filled=True, many="row"),
        Sign("=", everywhere=AXES),
    ),
    answer=Answer("answer", high_first=True, many="row"),
    broadcast={
        "number between": ("place", "turn", "version"),
        "next": ("place", "version"),
        "above": ("place", "version"),
        "take": ("place", "version"),
        "out": ("place", "version"),
        "level": ("version",),
        "lower": ("version",),
        "pivot": ("row", "version"),
        "least": ("row", "turn"),
        "answer": ("turn", "version"),
    },
)
def sorting(paper: Paper, *numbers: list[int]) -> None:
    """Numbers in ascending order."""
    rows = [number[::-1] for number in numbers]
    least: list[int] = []
    while True:
        pivot, least = least, []
        for row in rows:
            if not pivot or _compared(paper, "level", row, pivot) > 0:
                paper.home("place").move(place=-1).write("above", ">")
                if not least or _compared(paper, "lower", row, least) < 0:
                    least = row
                    paper.home("place").move(place=-1, version=+1).write("take", "<")
                    _copy(paper, "least", row)
            elif row == pivot:
                paper.home("place").move(place=-1).write("out", "=")
                _copy(paper, "answer", row)
            paper.home("place").move(place=-1, row=+1).write("next", ",")
        if not least:
            return paper.end()
        _copy(paper.move(turn=+1), "pivot", least)
        paper.home("place", "row").move(place=-1, version=+1).write("next", "|")


def _compared(paper: Paper, role: str, row: list[int], other: list[int]) -> int:
    """From the highest place on, with a sign for each that is equal: below 0, 0, above 0."""
    for x, y in zip(row, other, strict=True):
        if x != y:
            return x - y
        paper.move(place=+1).write(role, "=")
    return 0


def _copy(paper: Paper, role: str, row: list[int]) -> None:
    for digit in row:
        paper.move(place=+1).write(role, digit)
