"""From binary to decimal by doubling: `decimal 0b1101=` is written `1101=1|3|6=31$`.

Each row is twice the row above, and one more if the next binary digit is 1.
"""

from curta.programs.machine import Answer, Given, Paper, Sign, program


@program(
    "decimal",
    axes=("place", "row"),
    prompt=(Given("bit", "row", everywhere=("place",), base=2, high_first=True), Sign("=")),
    answer=Answer("answer"),
    truth=int,
    example="decimal 0b1101",
)
def decimal(paper: Paper, bits: list[int]) -> None:
    """The decimal digits of a binary number."""
    row: list[int] = []
    for left in range(len(bits) - 1, -1, -1):
        role, carry, twice = "sum" if left else "answer", bits[left], []
        for digit in row:
            paper.move(place=+1).write(role, (2 * digit + carry) % 10)
            twice.append((2 * digit + carry) % 10)
            carry = digit // 5
        if carry or not row:
            paper.move(place=+1).write(role, carry)
            twice.append(carry)
        row = twice
        if left:
            paper.home("place").move(place=-1, row=+1).write("next", "|")
    paper.end()
