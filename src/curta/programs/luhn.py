"""The check digit of credit cards: `luhn 7992739871=` is `1789372997=2¹96¹51¹82¹10¹73$`.

From the right to the left every second digit counts double, the first one too; of a double
with two digits both are added. The last sign is the check digit, what the sum lacks of the
next ten: 3 after 7.
"""

from curta.problems.numerals import to_text
from curta.programs.machine import Answer, Given, Paper, Sign, program


def check_digit(number: int) -> int:
    """By Luhn's rule."""
    digits = [int(character) for character in reversed(to_text(number))]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[::2])
    return -(doubled + sum(digits[1::2])) % 10


@program(
    "luhn",
    axes=("place",),
    prompt=(Given("number", "place"), Sign("=")),
    answer=Answer("check"),
    truth=check_digit,
    example="luhn 7992739871",
)
def luhn(paper: Paper, number: list[int]) -> None:
    """The sum of all digits without its tens, a small 1 beside it where the digit was doubled."""
    total = 0
    for place, digit in enumerate(number):
        doubled = place % 2 == 0
        total = (total + (digit // 5 + 2 * digit % 10 if doubled else digit)) % 10
        paper.move(place=+1).write("sum", total, carry=int(doubled))
    paper.write("check", -total % 10)
    paper.end()
