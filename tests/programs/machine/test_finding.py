"""Windows that are found: the needed neighbour is there, needless ones are not."""

from curta.programs.machine import Answer, Given, Paper, Sign, program
from curta.programs.machine.finding import displacements, find
from curta.programs.machine.recording import WindowTable, recorded_windows
from tests.programs.machine.made_up import following, random_operands, recorded


def test_the_one_neighbour_that_tells_is_found() -> None:
    machine, recording = recorded(following, random_operands(400))
    assert find(machine, recording) == {
        "equals": (("number", (1,)),),
        "answer": (("number", (1,)),),
    }


@program(
    "largest",
    axes=("place", "row"),
    prompt=(Given("n", "place", many="row"), Sign("=")),
    answer=Answer("best"),
)
def largest(paper: Paper, *numbers: list[int]) -> None:
    """The largest of several numbers, which no few squares around a digit tell."""
    for digit in max(numbers, key=lambda one: (len(one), one[::-1])):
        paper.move(place=+1).write("best", digit)
    paper.end()


def test_no_neighbour_is_in_a_window_twice() -> None:
    drawn = random_operands(900)
    several = [tuple(one[0] for one in drawn[n : n + 3]) for n in range(0, 900, 3)]
    machine, recording = recorded(largest, several)
    for near in find(machine, recording).values():
        assert len(set(near)) == len(near)


@program(
    "echo",
    axes=("place", "row"),
    prompt=(Given("a", "place"), Sign(","), Given("b", "place", everywhere=("row",)), Sign("=")),
    answer=Answer("answer"),
)
def echo(paper: Paper, a: list[int], b: list[int]) -> None:
    """The second number again, on another row, and a sign that depends on nothing."""
    paper.home("place").move(place=-1, row=+1).write("begin", ":")
    for digit in b:
        paper.move(place=+1).write("answer", digit)
    paper.end()


def test_what_does_not_tell_anything_is_left_out() -> None:
    operands = [
        (one[0], other[0])
        for one, other in zip(random_operands(300), random_operands(300, seed=1), strict=True)
    ]
    machine, recording = recorded(echo, operands)
    windows = find(machine, recording)
    assert windows == {
        "equals": (),
        "begin": (("b", (1, 0)),),
        "answer": (("b", (1, 0)),),
    }
    table = WindowTable(2)
    table.add(recorded_windows(machine, recording, windows))
    assert not table.conflicts


def test_the_nearest_displacements_come_first() -> None:
    every = displacements(2, 1)
    assert every[0] == (0, 0)
    assert len(every) == 9
    assert [sum(map(abs, each)) for each in every] == [0, 1, 1, 1, 1, 2, 2, 2, 2]
