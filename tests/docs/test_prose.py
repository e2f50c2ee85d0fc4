"""Measured figures in the pages' sentences, beside the tables that are made from the results."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
import pytest

from curta.frontends import api
from curta.probes import PROBES
from curta.problems import tasks
from docs import tables
from docs.evidence import RESULTS, ROOT
from tests import adder
from tests.docs import counts
from tests.docs.test_tables import DIARY, PAGES

FIGURE = re.compile(
    r"(?<![\w.,/^*-])"
    r"(?P<digits>\d{0,3}\.\d+|\d{1,3}(?:,\d{3})+|\d{2,})"
    r"(?!\w|[-.,^]\d|[\w.]*\d)"
    r"(?P<percent>(?: (?:to|and) [\d.]+)? ?%)?"
)
"""A number, with a sign of percent where it or its pair has one; no digit alone, and not of a
version, a power, a date or a paper's number."""
CODE = re.compile(r"^ *```.*?^ *```|^    [^\n]*$", re.DOTALL | re.MULTILINE)
ASIDE = (
    CODE,
    re.compile(r"`[^`]*`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"<!--.*?-->", re.DOTALL),
)
"""Code, addresses of links and comments: no sentences."""

SETTINGS: dict[str, set[str]] = {
    "README.md": {"3.11", "99", "30", "16"},  # a Python; operands, digits, layers
    "docs/adderboard.md": {"36", "99", "10,000"},  # of the board, and its random pairs
    "docs/architecture.md": {
        "0.10",
        "0.12",
        "22.05",
        "64",
        "4,096",
        "100",
        "32",
    },  # versions, sizes
    "docs/cookbook.md": {
        "1.9",
        "200",
        "95",
        "99",
        "300",
        "1,800",
        "97",
        "113",
    },  # shares, steps, primes
    "docs/first-steps.md": {"3.11", "94", "9979", "9999"},  # a Python, of a formula, an example
    "docs/glossary.md": {"0.9", "95", "99"},  # nine of ten; levels of confidence
    "docs/guide.md": {
        *("3.11", "3.75", "1947"),  # a Python, an operand, a year
        *("1.4", "98.1"),  # a limit; of a formula, beside it
        *("130", "141", "143", "36", "500,000"),  # exit codes, a base, a limit
    },
    "docs/methods.md": {"99", "1967", "16.25", "3.75", "57", "65"},  # a level, a year, examples
    "docs/price.md": {
        "10",
        "99",
        "64",
        "500",
        "999",
        "1,000",
        "16,000",
        "64,000",
    },  # what was drawn
    "docs/published.md": {"957", "68", "85", "2020", "2021", "200"},  # an example, a limit, years
    "docs/reliability.md": {"300", "500"},  # connections, an HTTP status
    "docs/results.md": {
        *("60,000", "6,000", "12,000"),  # steps
        *("80", "4,096"),  # widths and sizes
        *("200,000", "12,800"),  # problems drawn, or shown between two questions
    },
    "docs/tutorial.md": {"20"},  # a worked example
}
"""Numbers that no command measured: versions, what was asked, definitions, worked examples."""


def _first_page() -> tuple[float, ...]:
    """Programs, probes, disk space, and the five earlier systems: as reported, and trained here."""
    programs, reported = RESULTS.read("programs"), RESULTS.read("sources")
    components, encoder = RESULTS.read("components"), RESULTS.read("encoder")["digit-encoder"]
    addition, spaced = programs["addition"], RESULTS.read("spaced")["curta"]
    windows = addition["certificate"]["windows"]
    assert all(2 * member["held_out"] > windows for member in addition["certificate"]["members"])
    assert spaced["ood"]["exact"] == [0, 0, 0]
    assert max(components["SGD"]["exact match"]) < 0.01
    assert min(components["Adam"]["exact match"]) > 0.99
    better = [seeds for tests in RESULTS.read("better").values() for seeds in tests.values()]
    assert better == [[1, 1, 1]] * len(better)
    table = RESULTS.read("exhaustive").values()
    assert all(set(operation["right"]) == {operation["problems"]} for operation in table)

    full = [RESULTS.read("gpu")[f"five operations, seed {seed}"]["result"] for seed in range(3)]
    operation_means = [sum(result.values()) / 5 for result in full]
    tokens = encoder["epochs"][-1]["token accuracy"]
    shares = (operation_means, tokens, spaced["id"]["exact"], RESULTS.read("looped")["8"]["mean"])
    models = (RESULTS.read("operations")["full"], encoder, spaced, components["Adam"])
    results_name = "exact match of the result digits, held-out problems"
    grid_name = "exact match, mean of the grid of 40 x 40 lengths, by loops"
    return (
        *(len(programs), counts.recipes_without_error()[0], len(PROBES)),
        RESULTS.read("install")["install"]["bytes"] / 1e6,
        *(windows, addition["parameters"]),
        *(model["parameters"] / 1e6 for model in models),
        *(end(seeds) for seeds in shares for end in (min, max)),
        reported["five-operations"][results_name]["overall"],
        reported["digit-encoder"]["token accuracy on test problems, epochs 1 to 3"][-1],
        reported["looped-abacus"][grid_name]["16"],
    )


def _in_both_orders() -> int:
    """Held-out sums of two digits of which the other order is trained on, where that may be."""
    table = {"task.values": [0, 99], "task.held_out": 2000, "task.special": 0}
    (task,) = api.resolve("addition-plain", table).tasks
    return tasks.split(replace(task, twins_together=False)).mirrored


def _cases() -> float:
    """Those of a proof of every sum, in the median."""
    seeds = [seed for one in RESULTS.read("adderboard").values() for seed in one["seeds"]]
    return median(seed["cases"] for seed in seeds if seed["grade"] == "proved")


def _parameters() -> int:
    """Those of the adder that the tests prove."""
    arrays: list[Any] = [adder.ARC, *adder.ATTENTION.values(), *adder.MLP.values()]
    return sum(np.size(array) for array in arrays)


def _trainings() -> tuple[int, int]:
    """The runs of the map of structure and problems, and all their seeds."""
    cells = RESULTS.read("phase-diagram")["phase-diagram"]["cells"]
    return sum(map(len, cells)), sum(len(members) for line in cells for members in line)


MEASURED: dict[str, Callable[[], tuple[float, ...]]] = {
    "README.md": _first_page,
    "docs/adderboard.md": lambda: (_cases(), _parameters()),
    "docs/cookbook.md": lambda: (_in_both_orders(),),
    "docs/guide.md": _trainings,
    "docs/results.md": _trainings,
}
"""What a page's sentences say that stands in no table of it, from the results and from the code."""


def split(text: str) -> tuple[str, str]:
    """Sentences, and what stands in tables or between a table's marks."""
    made = "".join(found[3] for found in tables.MARKED.finditer(text))
    text = tables.MARKED.sub("", text)
    for pattern in ASIDE:
        text = pattern.sub("", text)
    lines = text.splitlines()
    prose = "\n".join(line for line in lines if not line.startswith("|"))
    return prose, made + "\n".join(line for line in lines if line.startswith("|"))


def shown(text: str) -> str:
    """The page's code: printed reports, commands and examples."""
    return "\n".join(found[0] for found in CODE.finditer(text))


def numbers(text: str) -> Iterator[tuple[str, float, float]]:
    """Each as it is written, its value, and how far what is rounded to it may be away."""
    for match in FIGURE.finditer(text):
        digits = match["digits"]
        part = 0.01 if match["percent"] else 1.0
        value = float(digits.replace(",", ""))
        yield digits, value * part, _half(digits, value) * part


def _half(digits: str, value: float) -> float:
    """Half a unit of the last digit; of noughts at the end one in a hundred at most.

    >>> _half(".95", 0.95), _half("56,000", 56000.0), _half("20,000", 20000.0)
    (0.005, 500.0, 200.0)
    """
    whole, _, decimals = digits.replace(",", "").partition(".")
    if decimals:
        return 0.5 * 10.0 ** -len(decimals)
    noughts = len(whole) - len(whole.rstrip("0"))
    return max(0.5, min(0.5 * 10.0**noughts, 0.01 * value)) if noughts else 0.5


def unfounded(text: str, measured: tuple[float, ...] = ()) -> list[str]:
    """Numbers of the sentences, if neither in a table or code of the page nor `measured`."""
    prose, rows = split(text)
    known = [*measured, *(value for _, value, _ in (*numbers(rows), *numbers(shown(text))))]
    return [
        digits
        for digits, value, half in numbers(prose)
        if not any(abs(value - one) <= half * 1.001 for one in known)
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if page != DIARY])
def test_figures_in_sentences_are_in_a_table(page: str) -> None:
    measured = MEASURED.get(page, tuple)()
    found = unfounded((ROOT / page).read_text("utf-8"), measured)
    assert set(found) == SETTINGS.get(page, set())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It has .95.\n\n| a | 0.949 |\n", []),
        ("It has .96.\n\n| a | 0.949 |\n", [".96"]),
        ("It has 95.0 % of all.\n\n| a | 0.9499 |\n", []),
        ("It has 94.0 % of all.\n\n| a | 0.9499 |\n", ["94.0"]),
        ("At `--rate 0.3`, [here](a-0.4.md).\n\n```\n0.5\n```\n", []),
        ("Of version 0.12.1, and 3 of 4.\n", []),
        ("Half, that is 0.5.\n", ["0.5"]),
        ("It has 93 and 98 % of all.\n\n| a | 0.931 | 0.984 |\n", []),
        ("It has 93 to 98 % of all.\n\n| a | 0.94 | 0.984 |\n", ["93"]),
        ("It has 93.1 to 98.4 % of all.\n\n| a | 0.9311 | 0.984 |\n", []),
        ("About 56,000 to 82,000.\n\n| a | 56,312 | 81,499 |\n", ["82,000"]),
        ("More than 20,000.\n\n| a | 20,916 |\n", ["20,000"]),
        ("After 12 steps.\n\n```\ncurta train --training.steps 12\n```\n", []),
        ("On 2026-11-23, of 10^20 pairs; 8 of them.\n", []),
    ],
)
def test_what_is_unfounded(text: str, expected: list[str]) -> None:
    assert unfounded(text) == expected
