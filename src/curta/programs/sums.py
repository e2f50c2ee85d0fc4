"""The sum of many numbers, one after the other: `12+39+50=` is `21+93+05=1¹5|10¹1$`.

Row after row is the sum so far: the first row is the first number itself, and each further
one adds a number to the row above. The last row is the answer. A digit that carries has a
small 1 beside it.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "sums",
    "+",
    axes=("place", "row"),
    prompt=(
        Given("sum", "place"),
        Sign("+"),
        Given("number", "place", many="row", between="+"),
        Sign("=", at={"row": 1}),
    ),
    answer=Answer("answer"),
)
def sums(paper: Paper, total: list[int], *numbers: list[int], base: int = 10) -> None:
    """The sum of two numbers or more, row by row."""
    for left, number in zip(range(len(numbers) - 1, -1, -1), numbers, strict=True):
        role, carry = "sum" if left else "answer", 0
        width = max(len(total), len(number))
        total = total + [0] * (width - len(total))
        for place, digit in enumerate(number + [0] * (width - len(number))):
            carry, total[place] = divmod(total[place] + digit + carry, base)
            paper.move(place=+1).write(role, total[place], carry=carry)
        if carry:
            paper.move(place=+1).write(role, carry)
            total.append(carry)
        if left:
            paper.home("place").move(place=-1, row=+1).write("next", "|")
    paper.end()
