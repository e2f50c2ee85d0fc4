"""Counts that stand in sentences of the pages, in words: each is what the results say."""

import re
from collections.abc import Callable

import pytest

from docs.evidence import ROOT
from tests.docs import counts
from tests.docs.test_prose import CODE
from tests.docs.test_tables import DIARY, PAGES

Count = Callable[[], tuple[int, ...]]

WORDS = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty", "twenty-one", "twenty-two", "twenty-three",
)  # fmt: skip
NUMBER = f"(?:none|both|all|[0-9]+|{'|'.join(WORDS)})"
OF_SEEDS = re.compile(
    rf"\b{NUMBER} (?:(?:seeds? )?(?:of|in) (?:the |these )?{NUMBER} ?seeds?|seeds? of {NUMBER})\b",
    re.IGNORECASE,
)
"""How often in how many seeds something was found."""

OTHERS = {
    "docs/adderboard.md": {
        *("two seeds of eight", "two of eight seeds"),  # of first trials, not kept: so it says
        "eight seeds of one",  # what was trained
    },
    "docs/results.md": {"one seed of three", "all of eight seeds"},  # of first trials
}
"""Of these no result says anything."""


CLAIMS: tuple[tuple[str, str, Count], ...] = (
    (
        "README.md",
        "for {:d} of them, none of {} models with new seeds makes a mistake in its tests",
        lambda: counts.recipes_without_error()[::2],
    ),
    ("README.md", "for the other {}, {} or {} do", counts.recipes_with_an_error),
    ("README.md", "for {}, the list of windows is proved complete", counts.closed_lists),
    ("docs/results.md", "and so on {} of {} random products of 200 digits", counts.wrong_products),
    (
        "docs/results.md",
        "{} models of greatest common divisors are",
        counts.wrong_roots_and_divisors,
    ),
    (
        "docs/results.md",
        "too much on this budget: {} seeds of {} answer nothing",
        counts.wide_windows,
    ),
    ("docs/results.md", "In {} of the {} lines in which the carry is hidden", counts.hidden_carry),
    ("docs/results.md", "{} of the {} seeds are above the source's", counts.level_with_the_source),
    ("docs/results.md", "differences but for {} in {:,d}", counts.wrong_differences),
    ("docs/results.md", "in all {} it is that of the last", counts.last_epochs),
    ("docs/results.md", "than any of the {} seeds here, by test tokens", counts.behind_the_source),
    ("docs/results.md", "scored again {} seeds of the post-norm variant", counts.ahead_on_training),
    ("docs/results.md", "({:d} of {:d} in every seed)", counts.named_patterns),
    ("docs/results.md", "at 20 digits {} seeds of {} hardly ever copy", counts.copied),
    ("docs/results.md", "{} to {} in ten are right. lists", counts.small_products),
    ("docs/results.md", "has {} to {} in ten of the test lists", counts.lists),
    (
        "docs/results.md",
        "{} seed of {} is right on every held-out sum and {} is behind",
        counts.spaced,
    ),
    ("docs/results.md", "{} seed is best at 12", counts.best_displaced),
    (
        "docs/results.md",
        "{} seed of {} is behind even within its eight digits",
        counts.behind_within,
    ),
    ("docs/results.md", "{} of the fourteen sums in {} seed: larger", counts.below_fifty),
    ("docs/results.md", "every seed here has {:d} or {:d} of them", counts.up_to_fifty),
    ("docs/results.md", "{} of the fourteen were trained on one way", counts.either_way_round),
    ("docs/results.md", "models trained up to 50 have {:d} to {:d} right", counts.one_beyond),
    ("docs/results.md", "of 10 million {} of {}, at its last step", counts.known_in_time),
    (
        "docs/results.md",
        "({} seed each of half a million and of 5 million parameters has {} of the fourteen sums"
        " with l right, and {} of 2 million {} in 200",
        counts.far_sums_of_all,
    ),
    (
        "docs/results.md",
        "{} entries had not learned their training problems",
        counts.not_in_time,
    ),
    (
        "docs/results.md",
        "with T5 {} seeds of {} had",
        lambda: counts.partly_in_time("reversed (T5)"),
    ),
    (
        "docs/results.md",
        "with FIRE {} of {}.",
        lambda: counts.partly_in_time("reversed (FIRE)"),
    ),
    ("docs/results.md", "the {} whose places are those of training alone", counts.without_a_gain),
    ("docs/results.md", "{} of these {} took the largest rate", counts.largest_rates),
    (
        "docs/results.md",
        "{} seeds of position coupling had reached 0.99 while",
        counts.while_rising,
    ),
    ("docs/results.md", "of which {} seeds of {} had not learned", counts.not_learned),
    ("docs/results.md", "each has a gain at {} of its {} lengths of training", counts.twice),
    (
        "docs/findings.md",
        "in {} of {} seeds far places are as right",
        lambda: counts.findings("coupled-high", lambda found: found < 0.01),
    ),
    (
        "docs/findings.md",
        "in {} of {} seeds one head is vital",
        lambda: counts.findings("coupled-heads", lambda found: found <= 0.5),
    ),
    (
        "docs/results.md",
        "in {} of {} seeds they are no worse than the near ones",
        lambda: counts.findings("coupled-high", lambda found: found < 0.01),
    ),
    ("docs/price.md", "no seed of these {} lines is right by then", counts.never_right),
    ("docs/price.md", "than the {} lines that are mostly not right", counts.mostly_not_right),
    ("docs/price.md", "({} of eight seeds are right without, {} with)", counts.roles_in_order),
    ("docs/price.md", "{} of the {} lines took the largest or the smallest", counts.at_the_edge),
    ("docs/price.md", "touches {} lines, none of which has places", counts.searched_in_vain),
    (
        "docs/price.md",
        "*order, places*, of which {} rates needed as many sums",
        counts.tied_in_sums,
    ),
    ("docs/price.md", "{} ties went to the smaller rate", counts.ties),
    (
        "docs/adderboard.md",
        "the recipe is proved in {} seeds of eight, and was in {}",
        lambda: (counts.adders(""), counts.adders("", before=True)),
    ),
    (
        "docs/adderboard.md",
        "{} of them are proved, {} are open and {} is wrong; of *neither* {} are",
        lambda: (
            *(counts.adders(", other seeds", grade) for grade in ("proved", "open", "wrong")),
            counts.adders(", neither, other seeds"),
        ),
    ),
    ("docs/adderboard.md", "is proved in {} or {}", counts.adders_with_free_signs),
    ("docs/adderboard.md", "the table above {} seed of *neither* is", counts.unseen),
)
"""Page, sentence and count: `{}` is a number in words, `{:d}` one in digits."""


class Written(int):
    """A number that a sentence has in words, unless it asks for digits."""

    def __format__(self, spec: str) -> str:
        return super().__format__(spec) if spec else WORDS[self]


def sentences(page: str) -> str:
    """A page on one line, without code and tables."""
    text = CODE.sub("", re.sub(r"<!--.*?-->", "", (ROOT / page).read_text("utf-8")))
    lines = [line for line in text.splitlines() if not line.startswith("|")]
    return " ".join(" ".join(lines).split()).casefold()


def said(sentence: str, count: Count) -> str:
    return sentence.format(*map(Written, count())).casefold()


@pytest.mark.parametrize(("page", "sentence", "count"), CLAIMS)
def test_a_count_in_a_sentence_is_that_of_the_results(
    page: str, sentence: str, count: Count
) -> None:
    assert said(sentence, count) in sentences(page)


@pytest.mark.parametrize("page", [page for page in PAGES if page != DIARY])
def test_every_count_of_seeds_is_claimed(page: str) -> None:
    rest = sentences(page)
    for where, sentence, count in CLAIMS:
        rest = rest.replace(said(sentence, count), "") if where == page else rest
    assert {match[0] for match in OF_SEEDS.finditer(rest)} == OTHERS.get(page, set())
