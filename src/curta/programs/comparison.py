"""Whether one number is less than another: `12<34=` is written `21<43=<<1$`.

From the right to the left each place says how the numbers compare so far: a place that
differs decides, one that does not leaves it as it was. The last one is the answer, 1 or 0.
"""

from itertools import zip_longest

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "comparison",
    "<",
    axes=("place",),
    prompt=(Given("a", "place"), Sign("<"), Given("b", "place"), Sign("=")),
    answer=Answer("answer", truth=True),
)
def comparison(paper: Paper, a: list[int], b: list[int]) -> None:
    """Less, equal or greater, place by place."""
    so_far = "="
    for x, y in zip_longest(a, b, fillvalue=0):
        if x != y:
            so_far = "<" if x < y else ">"
        paper.move(place=+1).write("so far", so_far)
    paper.write("answer", int(so_far == "<"))
    paper.end()
