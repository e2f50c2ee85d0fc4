"""Names with a number in them: what is written down, and what is made when it is asked for."""

import pytest

from curta.config.families import Families


def doubled(name: str) -> int | None:
    return 2 * int(name) if name.isdecimal() else None


def test_what_is_made_is_found_and_not_listed() -> None:
    known = Families({"one": 1}, doubled)
    assert (known["one"], known["7"], known.get("7"), known.get("x"), known.get("x", 5)) == (
        1, 14, 14, None, 5,
    )  # fmt: skip
    assert ("7" in known, "x" in known, 7 in known) == (True, False, False)
    assert (list(known), len(known), dict(known)) == (["one"], 1, {"one": 1})
    with pytest.raises(KeyError):
        known["x"]


def test_entries_are_added_and_a_copy_stays_what_it_was() -> None:
    known = Families({"one": 1}, doubled)
    before = known.copy()
    known |= {"two": 2}
    known["7"] = 0
    assert (known["7"], list(known)) == (0, ["one", "two", "7"])
    assert (before["7"], list(before)) == (14, ["one"])
