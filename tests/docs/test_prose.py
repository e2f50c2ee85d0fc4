"""Measured figures in the pages' sentences, beside the tables that are made from the results."""

import re

import pytest

from tests.docs.test_tables import DIARY, PAGES, ROOT

FIGURE = re.compile(r"(?<![\w.])\d{0,3}\.\d+(?![\w.]*\d)( ?%)?")
"""A decimal, with a sign of percent where it has one; not of a version or a paper's number."""
ASIDE = (
    re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE),
    re.compile(r"`[^`]*`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"<!--.*?-->", re.DOTALL),
)
"""Code, addresses of links and comments: no sentences."""

SETTINGS: dict[str, set[str]] = {
    "README.md": {"2.0", "3.11"},  # a licence and a Python
    "docs/architecture.md": {"0.10", "0.12", "22.05"},  # versions
    "docs/cookbook.md": {"1.9"},  # follows from "200 of 200 are right"
    "docs/first-steps.md": {
        "0.21",
        "1.00",
        "3.11",
        "99.8",
    },  # of the printed report above; a Python
    "docs/glossary.md": {"0.9"},  # nine of ten
    "docs/guide.md": {"1.4", "3.11", "3.75", "98.1"},  # a limit, a Python, an operand, 200 of 200
    "docs/methods.md": {"16.25", "3.75"},  # a worked example
}
"""Decimals that no command measured: versions, definitions, worked examples."""


def split(text: str) -> tuple[str, str]:
    """Sentences and rows of tables."""
    for pattern in ASIDE:
        text = pattern.sub("", text)
    rows = [line.startswith("|") for line in text.splitlines()]
    lines = text.splitlines()
    told = "\n".join(line for line, row in zip(lines, rows, strict=True) if not row)
    return told, "\n".join(line for line, row in zip(lines, rows, strict=True) if row)


def decimals(text: str) -> list[tuple[str, float, float]]:
    """Each decimal as it is written, its value, and half a unit of its last digit."""
    found = []
    for match in FIGURE.finditer(text):
        digits = match[0].removesuffix("%").strip()
        part = 0.01 if match[1] else 1.0
        half = 0.5 * 10.0 ** -len(digits.partition(".")[2])
        found.append((digits, float(digits) * part, half * part))
    return found


def unfounded(text: str) -> list[str]:
    """Decimals of the sentences that, with as many digits, are in none of the text's tables."""
    told, rows = split(text)
    known = [value for _, value, _ in decimals(rows)]
    return [
        digits
        for digits, value, half in decimals(told)
        if not any(abs(value - one) <= half * 1.001 for one in known)
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if page != DIARY])
def test_figures_in_sentences_are_in_a_table(page: str) -> None:
    found = unfounded((ROOT / page).read_text("utf-8"))
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
    ],
)
def test_what_is_unfounded(text: str, expected: list[str]) -> None:
    assert unfounded(text) == expected
