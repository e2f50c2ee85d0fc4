"""What quick tests take of all pairs leaves nothing out, and all pairs are tested."""

from tests.covering import covering, parameters

PAIRS = [("a", 1), ("a", 2), ("a", 3), ("b", 3), ("c", 3), ("c", 1)]


def test_each_side_occurs_in_few_pairs() -> None:
    found = covering(PAIRS)
    assert {first for first, _ in found} == {"a", "b", "c"}
    assert {second for _, second in found} == {1, 2, 3}
    assert len(found) < len(PAIRS)


def test_the_others_are_slow() -> None:
    found = parameters(PAIRS)
    assert [getattr(one, "values", one) for one in found] == PAIRS
    slow = [one.values for one in found if hasattr(one, "marks")]
    assert sorted(covering(PAIRS) + slow) == sorted(PAIRS)
