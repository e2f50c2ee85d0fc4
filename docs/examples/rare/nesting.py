"""How deep each digit stands, where 1 opens and 2 closes, between none and nine."""

from curta import Answer, Given, Paper, Sign, program


def step(depth: int, digit: int) -> int:
    """The depth after a digit."""
    return min(9, depth + 1) if digit == 1 else max(0, depth - 1) if digit == 2 else depth


def all_depths(n: int) -> int:
    """The same in plain Python: after 1113, from the right, it is 3210."""
    depth, depths = 0, ""
    for digit in str(n)[::-1]:
        depth = step(depth, int(digit))
        depths += str(depth)
    return int(depths[::-1])


@program(
    "nesting",
    axes=("place",),
    prompt=(Given("n", along="place"), Sign("=")),
    answer=Answer("depth"),
    truth=all_depths,
    sizes=(1, 8),
)
def nesting(paper: Paper, n: list[int]) -> None:
    """The depth after each digit, at most nine."""
    depth = 0
    for digit in n:
        depth = step(depth, digit)
        paper.move(place=+1).write("depth", depth)
    paper.end()
