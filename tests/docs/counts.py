"""What the results count, for the sentences of the pages: see test_claims.py."""

from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

from docs import adderboard, ladder, price
from docs.evidence import RESULTS


def how_many(of: Any) -> int:
    """How many of these are true."""
    return sum(map(bool, of))


def programs(name: str) -> tuple[list[int], list[dict[str, Any]]]:
    """Wrong windows of every seed of a recipe, and what it was asked."""
    found = RESULTS.read("programs")[name]
    return [one["wrong"] for one in found["certificate"]["members"]], found["lengths"]


def without_error(name: str) -> bool:
    """Whether no seed is wrong on any window or any problem."""
    wrong, asked = programs(name)
    return not any(wrong) and all(min(one["exact_match"]) == 1 for one in asked)


def recipes_without_error() -> tuple[int, ...]:
    names = [*RESULTS.read("programs")]
    return how_many(map(without_error, names)), len(names), len(programs("addition")[0])


def recipes_with_an_error() -> tuple[int, ...]:
    """How many, and the least and the most models of one that are wrong on a window or problem."""
    models = []
    for name in RESULTS.read("programs"):
        windows, problems = programs(name)
        correct = np.array([one["exact_match"] for one in problems]).min(axis=0) == 1
        models.append(how_many((np.array(windows) > 0) | ~correct))
    wrong = [count for count in models if count]
    return len(wrong), min(wrong), max(wrong)


def closed_lists() -> tuple[int, ...]:
    found = RESULTS.read("programs").values()
    return (how_many(one["certificate"]["grade"] == "closed" for one in found),)


def failing(name: str, sizes: tuple[str, ...]) -> int:
    """Seeds without a wrong window that have a wrong answer at one of these sizes."""
    wrong, asked = programs(name)
    rows = np.array([one["exact_match"] for one in asked if one["size"] in sizes])
    return how_many((rows < 1).any(axis=0) & (np.array(wrong) == 0))


def wrong_roots_and_divisors() -> tuple[int, ...]:
    assert failing("calculator", ("30",)) == failing("gcd", ("8",)) == 1
    return (failing("gcd", ("30",)),)


def wrong_products() -> tuple[int, ...]:
    """Random products of 200 digits that the seed with a wrong window has not right."""
    wrong, asked = programs("multiplication")
    (one,) = (row for row in asked if (row["size"], row["slice"]) == ("200", "random"))
    share = one["exact_match"][wrong.index(1)]
    return round((1 - share) * one["count"]), one["count"]


def wide_windows() -> tuple[int, ...]:
    rows = np.array([*RESULTS.read("controls")["multiplication"]["rows"]["wide"].values()])
    return how_many((rows == 0).all(axis=0)), rows.shape[1]


def hidden_carry() -> tuple[int, ...]:
    """Lines with the carry hidden and tokens whole; the median is clearly below its best again."""
    found = RESULTS.read("phase-diagram")["phase-diagram"]
    lines = [
        np.median(cells, axis=1)
        for name, cells in zip(found["lines"], found["cells"], strict=True)
        if "parts" not in name and "carry written" not in name and "worked out" not in name
    ]
    return how_many(line[-2:].max() < line.max() - 0.01 for line in lines), len(lines)


SMALL = tuple(f"small, seed {seed}" for seed in range(3))


def operations(name: str) -> dict[str, float]:
    found: dict[str, float] = RESULTS.read("operations")[name]["result"]
    return found


def level_with_the_source() -> tuple[int, ...]:
    means = [sum(operations(name).values()) / 5 for name in SMALL]
    return how_many(mean > 0.9929 for mean in means), len(means)


def wrong_differences() -> tuple[int, ...]:
    """Of all differences that were asked, in thousands, one is wrong in the seed that has any."""
    shares = [operations(name)["-"] for name in SMALL]
    (wrong,) = (1 - share for share in shares if share < 1)
    return round(wrong * 4000), 4000


SUMS = ("digit-encoder", "digit-encoder-post-norm")


def encoders(name: str) -> dict[str, Any]:
    found: dict[str, Any] = RESULTS.read("encoder")[name]
    return found


def last_epochs() -> tuple[int, ...]:
    """Seeds whose last epoch has most tokens right."""
    tables = [
        np.array([epoch["token accuracy"] for epoch in one["epochs"]])
        for one in RESULTS.read("encoder").values()
    ]
    assert all((rows.argmax(axis=0) == len(rows) - 1).all() for rows in tables)
    return (sum(rows.shape[1] for rows in tables),)


def behind_the_source() -> tuple[int, ...]:
    last = [one for name in SUMS for one in encoders(name)["epochs"][-1]["token accuracy"]]
    assert max(last) < 0.794
    return (len(last),)


def ahead_on_training() -> tuple[int, ...]:
    assert max(encoders(SUMS[0])["training set again"]) < 0.6875
    return (how_many(one > 0.6875 for one in encoders(SUMS[1])["training set again"]),)


def named_patterns() -> tuple[int, ...]:
    patterns = [one for name in SUMS for one in encoders(name)["probes"]["patterns"]]
    assert not any(one["right"] for one in patterns)
    return 0, len(patterns) // len(SUMS)


def copied() -> tuple[int, ...]:
    shares = encoders("digit-encoder-multiplication")["sizes"]["20, one"]
    return how_many(share < 0.05 for share in shares), len(shares)


def small_products() -> tuple[int, ...]:
    shares = encoders("digit-encoder-multiplication")["sizes"]["1, random"]
    return round(min(shares) * 10), round(max(shares) * 10)


def lists() -> tuple[int, ...]:
    shares = encoders("digit-encoder-sorting-small")["epochs"][-1]["exact match"]
    return round(min(shares) * 10), round(max(shares) * 10)


def spaced() -> tuple[int, ...]:
    """Of both tools: seeds with every sum right, of how many, and seeds behind them."""
    found = RESULTS.read("spaced")
    ours = found["curta"]["id"]["exact"]
    theirs = [found[name]["id"]["exact"][0] for name in ("trl", "trl, seed 1", "trl, seed 2")]
    perfect = {how_many(one == 1 for one in seeds) for seeds in (ours, theirs)}
    behind = {how_many(one < median(seeds) - 0.05 for one in seeds) for seeds in (ours, theirs)}
    return *perfect, len(theirs), *behind


def best_displaced() -> tuple[int, ...]:
    offsets = RESULTS.read("looped")["8"]["offsets"]
    best = np.array([*offsets.values()]).argmax(axis=0)
    return (how_many(best == [*offsets].index("12")),)


def behind_within() -> tuple[int, ...]:
    shares = RESULTS.read("looped")["8"]["equal"]["8"]
    return how_many(share < 0.9 for share in shares), len(shares)


BELOW, UP_TO = ("operands below 50", "operands up to 50")


def ranges(which: str) -> list[dict[str, Any]]:
    return [one for name, one in RESULTS.read("components").items() if name.startswith(which)]


def below_fifty() -> tuple[int, ...]:
    """Of the fourteen sums: how many are right, and in how many seeds any is."""
    shares = [share for one in ranges(BELOW) for share in one["shares"]["at L, one beyond"]]
    return round(max(shares) * 14), how_many(shares)


def up_to_fifty() -> tuple[int, ...]:
    shares = [share for one in ranges(UP_TO) for share in one["shares"]["at L, one beyond"]]
    return round(min(shares) * 14), round(max(shares) * 14)


def either_way_round() -> tuple[int, ...]:
    (count,) = {one["trained on"] for one in ranges(UP_TO)}
    assert all(min(one["of the others"]) == 1 for one in ranges(UP_TO))
    return count, 14 - count


def one_beyond() -> tuple[int, ...]:
    shares = [share for one in ranges(UP_TO) for share in one["shares"]["L to 2L, one beyond"]]
    assert not any(any(one["shares"]["L to 2L, one beyond"]) for one in ranges(BELOW))
    return round(min(shares) * 50), round(max(shares) * 50)


def known_in_time() -> tuple[int, ...]:
    """Seeds of 10 million parameters that had .99 of their validation problems, all at the end."""
    found = RESULTS.read("sizes")["10M"]
    assert {step for step in found["enough"] if step} == {found["steps"]}
    return how_many(found["enough"]), len(found["enough"])


def far_sums(size: str, where: str, of: int) -> tuple[int, ...]:
    """Seeds of a size with any right there, and how many; nothing else beyond its range is."""
    found = {k: v for k, v in RESULTS.read("sizes")[size]["range"].items() if not k.startswith("b")}
    assert [name for name, shares in found.items() if any(shares)] == [where]
    return how_many(found[where]), round(max(found[where]) * of)


def far_sums_of_all() -> tuple[int, ...]:
    at = {far_sums(size, "at L, one beyond", 14) for size in ("0.5M", "5M")}
    beyond = far_sums("2M", "L to 2L, one beyond", 200)
    (found,) = at
    return (*found, *beyond)


def until() -> dict[str, list[dict[str, Any]]]:
    return ladder.complete(ladder.entries(RESULTS), "until")


def learned() -> dict[str, int]:
    """In how many seeds each entry has learned its training problems."""
    return {
        name: how_many(one["training"] >= ladder.ENOUGH for one in seeds)
        for name, seeds in until().items()
    }


def not_in_time() -> tuple[int, ...]:
    """Entries that have in no seed."""
    return (how_many(found == 0 for found in learned().values()),)


def partly_in_time(name: str) -> tuple[int, ...]:
    """Seeds of an entry that have, of how many."""
    return learned()[name], len(ladder.SEEDS)


def without_a_gain() -> tuple[int, ...]:
    """Entries that have in all, and have nothing of 15 digits in any seed."""
    each = [until()[name] for name, found in learned().items() if found == len(ladder.SEEDS)]
    return (how_many(not any(seed["sizes"]["15"]["random"] for seed in seeds) for seeds in each),)


def largest_rates() -> tuple[int, ...]:
    known = ladder.entries(RESULTS)
    taken = [ladder.best_rate(one) for one in known.values()]
    return how_many(rate == max(ladder.RATES) for rate in taken), len(taken)


def while_rising() -> tuple[int, ...]:
    """Seeds of Position Coupling that ended before their rate had come to its peak."""
    name = "Position Coupling"
    warm = ladder.COMMON["optimizer.warmup"] * ladder.entries(RESULTS)[name]["steps"]
    return (how_many(seed["steps"] < warm for seed in until()[name]),)


def not_learned() -> tuple[int, ...]:
    whole = ladder.complete(ladder.entries(RESULTS), "whole")["Abacus, up to 30 digits"]
    return how_many(seed["training"] < ladder.ENOUGH for seed in whole), len(whole)


def twice() -> tuple[int, ...]:
    """For each method: lengths of training with a gain, of which it was trained on so many."""
    whole = ladder.complete(ladder.entries(RESULTS), "whole")
    found = set()
    for name in ("Position Coupling", "Abacus"):
        at = ((name, "20"), (f"{name}, up to 30 digits", "60"))
        gains = [median(s["sizes"][size]["random"] for s in whole[one]) > 0.5 for one, size in at]
        found.add((how_many(gains), len(gains)))
    (both,) = found
    return both


def findings(claim: str, holds: Callable[[float], bool]) -> tuple[int, ...]:
    seeds = RESULTS.read("findings")[claim]["seeds"]
    return how_many(map(holds, seeds)), len(seeds)


PRICES = [name.removesuffix(": rates") for name in RESULTS.read("price") if ": rates" in name]


def prices(name: str) -> list[int | None]:
    """Sums until right, of every seed of a line."""
    kept = RESULTS.read("price").items()
    return [one["sums"] for key, one in kept if key.startswith(f"{name}: seed")]


def taken(name: str) -> float:
    """A line's rate: that with which most was right at the end, where none came to be right."""
    return price.best_rate(RESULTS.read("price")[f"{name}: rates"])


def never_right() -> tuple[int, ...]:
    assert all(not any(prices(name)) for name in ("nothing", "padding", "roles"))
    return (how_many(not any(prices(name)) for name in PRICES),)


def mostly_not_right() -> tuple[int, ...]:
    return (how_many(sum(one is None for one in prices(name)) > 4 for name in PRICES),)


def roles_in_order() -> tuple[int, ...]:
    return tuple(how_many(prices(name)) for name in ("order", "order, roles"))


def at_the_edge() -> tuple[int, ...]:
    edges = {min(price.RATES), max(price.RATES)}
    return how_many(taken(name) in edges for name in PRICES), len(PRICES)


def searched_in_vain() -> tuple[int, ...]:
    """Lines of which no rate was right in the search."""
    vain = [name for name in PRICES if not any(sums for _, sums, _ in tried(name))]
    assert not any("places" in name for name in vain)
    return (len(vain),)


def tied_in_sums() -> tuple[int, ...]:
    """Best rates of *order, places* that needed as many sums."""
    sums = [sums for _, sums, _ in tried("order, places") if sums]
    return (sums.count(min(sums)),)


def ties() -> tuple[int, ...]:
    """Lines of which two rates came to the same in all that decides: the smaller is taken."""
    found = [(name, [one[1:] for one in tried(name)]) for name in PRICES]
    best = [rates.count(min(rates, key=_cost)) for _, rates in found]
    return (how_many(one > 1 for one in best),)


def tried(name: str) -> list[tuple[str, int | None, float]]:
    """Rates of a line's search, sums until right, and exact match at the end."""
    rates = RESULTS.read("price")[f"{name}: rates"]
    return [(rate, one["sums"], one["exact match"]) for rate, one in rates.items()]


def _cost(one: tuple[int | None, float]) -> tuple[float, float]:
    return one[0] or float("inf"), -one[1]


def adders(name: str, grade: str = "proved", before: bool = False) -> int:
    found = adder_seeds(name, before)
    assert len(found) == (16 if name.endswith("other seeds") else 8)
    return how_many(adderboard.grade(one) == grade for one in found)


def adder_seeds(name: str, before: bool = False) -> list[dict[str, Any]]:
    begins = adderboard.BEFORE if before else ""
    found: list[dict[str, Any]] = RESULTS.read("adderboard")[f"{begins}mlp_ratio 4{name}"]["seeds"]
    return found


def adders_with_free_signs() -> tuple[int, ...]:
    """The least and the most that are proved of a design, in both measurements."""
    designs = ", nothing shared", ", own way out"
    found = [adders(name, before=before) for name in designs for before in (False, True)]
    return min(found), max(found)


def unseen() -> tuple[int, ...]:
    """Seeds of *neither* that are right on the board's sums and wrong on another."""
    found = adder_seeds(", neither")
    return (how_many(s["exact_match"] == 1 and adderboard.grade(s) == "wrong" for s in found),)
