"""The product of two numbers: a row for each digit of the second, as on paper.

`12*34=` is `21*43=` and then, a row a line, a place of four signs between blanks,

      0088 0044 0000 0        12 * 4 = 048, on top of nothing: 048
    |8  0060 1034 0000 0      12 * 3 = 036, on top of 04, its lowest digit being done: 040
    |  040 $                  so 12 * 34 is 0408

A place is what the sum carries here, what the product carries here, the product's digit, and
the sum's digit: product and the row above. The lowest digit of each sum is one of the answer: it
is written first in the next row. When no digit is left, the rest of the last sum is copied. A row
ends with one more 0, where there is no digit to multiply.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "multiplication",
    "*",
    axes=("place", "row"),
    prompt=(
        Given("a", "place", everywhere=("row",)),
        Sign("*", everywhere=("place", "row")),
        Given("b", "row", everywhere=("place",)),
        Sign("="),
    ),
    answer=Answer("answer"),
    sizes=(1, 6),
)
def multiplication(paper: Paper, a: list[int], b: list[int], *, base: int = 10) -> None:
    """The product, by rows: each multiplies `a` by one digit and adds the row above."""
    above = [0] * (len(a) + 1)
    for row, digit in enumerate(b):
        if row:
            paper.write("answer", above[0])
        sum_carry = carry = 0
        sums = []
        for x, over in zip([*a, 0], [*above[1:], 0], strict=True):
            paper.move(place=+1).write("kept", sum_carry).write("carry", carry)
            carry, part = divmod(x * digit + carry, base)
            sum_carry, total = divmod(part + over + sum_carry, base)
            paper.write("part", part).write("sum", total)
            sums.append(total)
        paper.move(place=+1).write("kept", 0)
        paper.home("place").move(place=-1, row=+1).write("next", "|")
        above = sums
    for total in above:
        paper.move(place=+1).write("answer", total)
    paper.end()
