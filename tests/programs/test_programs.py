"""Programs: what they write is right, in windows that hold at every length."""

import itertools
import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.problems.operations import OPERATIONS
from curta.problems.sizes import Sizes
from curta.programs import PROGRAMS
from curta.programs.machine import Given, Program, finding
from curta.programs.machine.machine import Machine, Windows
from curta.programs.machine.paper import Vocabulary
from curta.programs.machine.recording import Recording, WindowTable, recorded_windows
from curta.programs.machine.sampling import drawn, refused
from curta.programs.machine.survey import machine_of, prompt_vocabulary
from curta.programs.user import registry

TRAINING = {
    "sums": (5, 8),
    "multiplication": (5, 5),
    "division": (6, 3),
    "modulo": (6, 3),
    "sorting": (4, 5),
    "gcd": (3, 3),
    "isqrt": (6,),
    "decimal": (20,),
    "fractions": (4, 4, 4, 4),
}
"""Digits of the operands; of many, how many there are at most comes second. Else 8 each."""

VARIANTS = PROGRAMS | {
    f"{name} in base {base}": program.in_base(base)
    for name, program in PROGRAMS.items()
    if program.in_base
    for base in (4 if name == "isqrt" else 2, 16)
}
every_program = pytest.mark.parametrize("name", VARIANTS)


def givens(program: Program) -> list[Given]:
    return [part for part in program.prompt if isinstance(part, Given)]


def number(rng: random.Random, digits: int, base: int) -> int:
    """A random number, or one with a pattern: zeros, nines, powers, few different digits."""
    width = rng.randint(1, digits)
    power = base**width
    ordinary = rng.randrange(power // base if width > 1 else 0, power)
    few = sum(rng.choice([0, 0, base - 1]) * base**place for place in range(width))
    special = [0, 1, power - 1, power // base, few, rng.randrange(base) * (power - 1) // (base - 1)]
    return rng.choice(special) if rng.random() < 0.3 else ordinary


def draw(program: Program, rng: random.Random, scale: int = 1) -> tuple[int, ...]:
    """Operands that have an answer, of training's sizes times the scale."""
    sizes = [scale * size for size in TRAINING.get(program.name, (8, 8))]
    parts = givens(program)
    if any(part.many for part in parts):
        sizes = [sizes[0]] * rng.randint(len(parts), sizes[1])
    values = [number(rng, size, program.base) for size in sizes[: max(len(parts), len(sizes))]]
    if not any(part.many for part in parts):
        values = values[: len(parts)]
    if rng.random() < 0.1:
        values = [values[0]] * len(values)
    if program.operator == "gcd":
        factor = rng.randint(1, 99)
        values = [factor * value for value in values]
    refused = OPERATIONS[program.operator].refuse(tuple(values))
    return draw(program, rng, scale) if refused else tuple(values)


def answer(program: Program, operands: tuple[int, ...]) -> object:
    """What is read from the text that the program writes."""
    vocabulary = Vocabulary()
    tokens, prompt = program.record(operands, vocabulary)
    machine = machine_of([program], vocabulary.tokens)
    position = machine.positions(np.array(tokens)).tolist()
    written = [
        (machine.tokens[token], place) for token, place in zip(tokens, position, strict=True)
    ]
    return program.format.read(written[prompt:])


@every_program
@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 2**32), scale=st.integers(1, 3))
def test_the_answer_in_the_text_is_pythons(name: str, seed: int, scale: int) -> None:
    program = VARIANTS[name]
    operands = draw(program, random.Random(seed), scale)
    truth = OPERATIONS[program.operator].truth(*operands)
    found = answer(program, operands)
    assert found == truth
    assert type(found) is type(truth)


@pytest.mark.parametrize("name", [name for name, program in PROGRAMS.items() if program.cases])
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32))
def test_special_cases_are_answered_too(name: str, seed: int) -> None:
    program, rng = PROGRAMS[name], random.Random(seed)
    for case in program.cases.values():
        digits = [rng.randint(1, 8) for _ in givens(program)]
        operands = case(rng, *digits)
        assert all(0 <= v < 10 ** max(digits) for v in operands)
        assert answer(program, operands) == OPERATIONS[program.operator].truth(*operands)


EDGES = [
    ("sums", (1,) * 200), ("sums", (9, 99, 999, 1)), ("subtraction", (10**20, 1)),
    ("multiplication", (0, 0)), ("multiplication", (7, 10**9 - 1)), ("division", (5, 10**9)),
    ("modulo", (10**9 - 1, 1)), ("sorting", (0,)), ("sorting", (3, 3, 3)), ("gcd", (0, 0)),
    ("gcd", (9, 0)), ("gcd", (2**30, 2**29)), ("isqrt", (10**12 - 1,)), ("isqrt", (0,)),
    ("decimal", (2**70,)), ("fractions", (1, 5, 10**30, 0)), ("luhn", (10**4500 + 7,)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands"), EDGES)
def test_the_answers_to_special_problems_are_pythons(name: str, operands: tuple[int, ...]) -> None:
    program = PROGRAMS[name]
    assert answer(program, operands) == OPERATIONS[program.operator].truth(*operands)


def recorded(program: Program, vocabulary: Vocabulary, tokens: int, scale: int) -> Recording:
    """Random problems until so many tokens are there."""
    rng, texts, count = random.Random(scale), [], 0
    while count < tokens:
        texts.append(program.record(draw(program, rng, scale), vocabulary))
        count += len(texts[-1][0])
    return Recording.of(texts)


@cache
def surveyed(name: str) -> tuple[Machine, Windows, Recording, Recording]:
    """The windows found at training's sizes; texts of these sizes, and of three times them."""
    program, vocabulary = VARIANTS[name], prompt_vocabulary(VARIANTS[name])
    small = recorded(program, vocabulary, 40_000 if program.name in TRAINING else 20_000, 1)
    known = len(vocabulary)
    large = recorded(program, vocabulary, 15_000, 3)
    assert len(vocabulary) == known, "the vocabulary grows with the length"
    machine = machine_of([program], vocabulary.tokens)
    return machine, finding.find(machine, small, program.reach), small, large


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PROGRAMS, "multiplication in base 16"])
def test_windows_of_short_problems_decide_long_ones(name: str) -> None:
    machine, windows, *recordings = surveyed(name)
    table = WindowTable(1 + max(map(len, windows.values())))
    for recording in recordings:
        table.add(recorded_windows(machine, recording, windows))
    assert not table.conflicts
    assert max(map(len, windows.values())) <= 6


TEXTS = {
    "addition": ((12, 39), "21+93=15$"),
    "sums": ((12, 39, 50), "21+93+05=1¹5|10¹1$"),
    "carried": ((12, 39), "21+93=.1'5.0$"),
    "fractions": ((5, 12, 57, 3), "05.21+57.3=52.¹61$"),
    "spaced": ((1234, 5678), "1234 + 5678 =2¹1¹96=6912$"),
    "spaced-apart": ((1234, 5678), "1 234 + 5 678=2¹1¹96=6912$"),
    "subtraction": ((12, 34), "21-43=8¹7¹-2¹2¹$"),
    "multiplication": ((12, 34), "21*43=0088004400000|80060103400000|040$"),
    "division": ((65, 4), "65//4=60==120==152=112=27¹1=331=49¹0==550==610==6$"),
    "comparison": ((12, 34), "21<43=<<1$"),
    "sorting": ((20, 7, 7), "20,07,07=><20,><07,>==,07|><20,===07,===07,20|===20,,,$"),
    "gcd": ((6, 4), "6,4=+|22433y322|x311|<<111|=,=1|2:2|-.2$"),
    "isqrt": ((15,), "51=01^b55110|15>01>>34>01>>51<01>>76<00<<3300$"),
    "binary": ((13,), "13= 61 30 11  1$"),
    "decimal": ((13,), "1101=1|3|6|31$"),
    "luhn": ((7992739871,), "1789372997=2¹96¹51¹82¹10¹73$"),
    "copy": ((123,), "321=321$"),
    "reverse": ((123,), "321=123$"),
}
"""As their descriptions have them."""


@pytest.mark.parametrize("name", TEXTS)
def test_a_program_writes_what_its_description_says(name: str) -> None:
    operands, text = TEXTS[name]
    vocabulary = Vocabulary()
    tokens, _ = PROGRAMS[name].record(operands, vocabulary)
    symbols = [token.symbol for token in vocabulary.tokens]
    assert "".join(symbols[token] for token in tokens) == text


def test_every_program_is_found_by_its_name() -> None:
    for name, program in PROGRAMS.items():
        assert registry.programs_of(name) == [program]
        assert program.name == name
        assert program.summary


@pytest.mark.parametrize("name", ["division", "modulo"])
def test_special_problems_of_equal_sizes_have_answers(name: str) -> None:
    """Operands that are nearly equal may be 1 and 0, by which nothing is divided."""
    sizes = Sizes((1, 1), (1, 1), (2, 2))
    for operands in itertools.islice(drawn(PROGRAMS[name], sizes, "equal", 1.0), 500):
        assert refused(PROGRAMS[name], operands) is None
