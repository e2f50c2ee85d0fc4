"""A depth axis: do brackets balance? The digit 1 opens, 2 closes, all others stand between."""

from curta import Answer, Given, Paper, Sign, program


def balanced(n: int) -> bool:
    """The same in plain Python, from the highest digit on."""
    depth = 0
    for digit in str(n):
        depth += {"1": 1, "2": -1}.get(digit, 0)
        if depth < 0:
            return False
    return depth == 0


def nested(rng, digits: int) -> tuple[int]:
    """Draw a number whose brackets balance."""
    depth, text = 0, ""
    for left in range(digits, 0, -1):
        open_one = "1" if depth + 2 <= left else ""
        digit = "2" if depth == left else rng.choice(open_one + "3" + "2" * (depth > 0))
        depth += {"1": 1, "2": -1}.get(digit, 0)
        text += digit
    return (int(text),)


@program(
    "brackets",
    axes=("place", "depth"),
    prompt=(
        Given("n", along="place", everywhere=("depth",), high_first=True),
        Sign("=", at={"place": -1, "depth": -1}, everywhere=("place",)),
    ),
    answer=Answer("verdict", truth=True),
    truth=balanced,
    sizes=(1, 8),
    cases={"balanced": nested},
)
def brackets(paper: Paper, n: list[int]) -> None:
    """Whether brackets balance; the pen goes out where one opens, and back where it closes."""
    paper.move(depth=+1).write("begin", "|")
    depth = 0
    for digit in reversed(n):
        paper.move(place=+1, depth={1: +1, 2: -1}.get(digit, 0))
        depth += {1: +1, 2: -1}.get(digit, 0)
        if depth < 0:
            break
        paper.write("digit", digit)
    paper.write("verdict", int(depth == 0)).end()
