"""A small carry: three numbers added in two steps for each place."""

from curta import Answer, Given, Paper, Sign, program


@program(
    "addthree",
    axes=("place",),
    prompt=(
        Given("a", along="place", filled=True), Sign(";", role="first"),
        Given("b", along="place", filled=True), Sign(";", role="second"),
        Given("c", along="place", filled=True), Sign("="),
    ),
    answer=Answer("sum"),
    truth=lambda a, b, c: a + b + c,
    sizes=(1, 6),
)  # fmt: skip
def two_steps(paper: Paper, a: list[int], b: list[int], c: list[int]) -> None:
    """The sum of three numbers: two digits first, then the third and what is carried."""
    carry = 0
    for x, y, z in zip(a, b, c, strict=True):
        tens, digit = divmod(x + y, 10)
        paper.move(place=+1).write("two", digit, carry=tens)
        more, digit = divmod(digit + z + carry, 10)
        carry = tens + more
        paper.write("sum", digit, carry=carry)
    if carry:
        paper.move(place=+1).write("sum", carry)
    paper.end()
