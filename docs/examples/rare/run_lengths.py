"""How long the run of equal digits is that ends at each digit, as far as nine."""

from curta import Answer, Given, Paper, Sign, program


def run_lengths_of(n: int) -> int:
    """The same in plain Python: of 1222 it is 3211, since the lowest digit stands first."""
    digits, lengths = str(n)[::-1], list[int]()
    for place, digit in enumerate(digits):
        same = place > 0 and digits[place - 1] == digit
        lengths.append(min(9, lengths[-1] + 1) if same else 1)
    return int("".join(map(str, lengths))[::-1])


@program(
    "runlengths",
    axes=("place",),
    prompt=(Given("n", along="place"), Sign("=")),
    answer=Answer("length"),
    truth=run_lengths_of,
    sizes=(1, 8),
)
def run_lengths(paper: Paper, n: list[int]) -> None:
    """For each digit the length of its run so far, at most nine."""
    length = 0
    for place, digit in enumerate(n):
        length = min(9, length + 1) if place and n[place - 1] == digit else 1
        paper.move(place=+1).write("length", length)
    paper.end()
