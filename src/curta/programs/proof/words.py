"""Languages of papers: sets of lines of columns, as automata in arrays.

A paper with one axis is read as a *word*, column after column, with any number of blank columns
on both sides. A column is a row of numbers, its *letter*:

    mark    which of the squares this is to which a move home leads, by number
    pen     the token that was written last, if the pen is here
    ...     the token of each role that stands here

Each is -1 for none, so a blank column is -1 throughout; it has the number 0. In `21+43=`, once
the answer's first digit is written, the column of square 0 is (mark 0, pen `6`, a `2`, b `4`).

A `Words` has edges that read one letter and write another, so that it is both a language (what
comes out) and a record of how a sweep of the pen changed each paper of an earlier language (what
went in). Its first and last states have edges to themselves for blank columns.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Int

from curta.config.errors import UserError
from curta.programs.machine.recording import WindowIndex, distinct, fingerprint

MARK, PEN, ROLES = 0, 1, 2
"""Columns of a letter; those of roles come last."""

BLANK = 0
"""The number of the letter of an empty column."""

Column = Int[np.ndarray, " _"]
Rows = Int[np.ndarray, "_ _"]
Mask = Bool[np.ndarray, " _"]


MOST_STATES = 2_000
"""The most states of a language that was widened."""


class UnprovableError(UserError):
    """Raised for programs outside the method; their lists stay saturated."""


@dataclass(frozen=True, eq=False)
class Words:
    """An automaton with letters on its edges; `first` and `last` have an entry for each state."""

    source: Int[np.ndarray, " edges"]
    read: Int[np.ndarray, " edges"]
    write: Int[np.ndarray, " edges"]
    target: Int[np.ndarray, " edges"]
    first: Bool[np.ndarray, " states"]
    last: Bool[np.ndarray, " states"]

    @property
    def empty(self) -> bool:
        return not len(self.source)

    def reverse(self) -> "Words":
        """Return the same words from their other end."""
        return Words(self.target, self.read, self.write, self.source, self.last, self.first)

    def with_blanks_before(self) -> "Words":
        """Return words whose first states have edges to themselves for blank columns."""
        looped = self.source[(self.source == self.target) & (self.write == BLANK)]
        new = np.setdiff1d(np.flatnonzero(self.first), looped)
        blanks = np.full(len(new), BLANK)
        source, target = (np.append(ends, new) for ends in (self.source, self.target))
        read, write = (np.append(letters, blanks) for letters in (self.read, self.write))
        return Words(source, read, write, target, self.first, self.last)

    def trim(self) -> "Words":
        """Return the states and edges that lie on a way from a first to a last state."""
        live = _reached(self.first, self.source, self.target)
        live &= _reached(self.last, self.target, self.source)
        keep = live[self.source] & live[self.target]
        names = np.cumsum(live) - 1
        edges = (names[self.source[keep]], self.read[keep], self.write[keep])
        return Words(*edges, names[self.target[keep]], self.first[live], self.last[live])

    def rewrite(self, letters: Column) -> "Words":
        """Return words that write `letters[x]` where these write x."""
        return Words(
            self.source, self.read, letters[self.write], self.target, self.first, self.last
        )

    def language(self) -> "Words":
        """Return what comes out, with states merged that nothing tells apart.

        States with the same futures are merged, then those with the same pasts, until nothing
        changes. Merging never loses a word, and merging these adds none.
        """
        words = Words(self.source, self.write, self.write, self.target, self.first, self.last)
        size = (-1, -1)
        while size != (size := (len(words.first), len(words.source))):
            words = words._merge().reverse()._merge().reverse()
        return words

    def _merge(self) -> "Words":
        """Merge states with the same futures, by refining a partition of them.

        The future of a state is hashed: the set of its (letter, part of the target). A collision
        of hashes would merge too much, which only makes the language larger.
        """
        part, count = self.last.astype(np.int64), 0
        while True:
            edges = _distinct_edges(self.source, self.write, part[self.target])
            futures = np.zeros(len(part), np.uint64)
            np.add.at(futures, edges[:, 0], fingerprint(edges[:, 1:]))
            codes = fingerprint(np.stack([part, futures.astype(np.int64)], axis=1))
            _, part = np.unique(codes, return_inverse=True)
            if count == (count := int(part.max(initial=-1)) + 1):
                break
        edges = _distinct_edges(part[self.source], self.write, part[self.target])
        source, letter, target = edges[distinct(edges)[0]].T if len(edges) else edges.T
        first, last = np.zeros((2, count), bool)
        first[part[self.first]] = last[part[self.last]] = True
        return Words(source, letter, letter, target, first, last)

    def widen(self, letters: WindowIndex, fine: bool) -> "Words":
        """Return more words, by an automaton of few states with one way for each word.

        Sets of states are merged as they arise where they agree on what may come next: whether the
        word may end here, whether the pen or a mark is still ahead, and which cells of letters may
        be filled; if `fine`, which letters may follow, and which of these may be the last ones. As
        names are finite, so is the automaton, and widening again and again comes to an end. Raises
        UnprovableError for too many states.
        """
        filled = np.concatenate([letters.rows[:, :PEN], letters.rows[:, PEN:] >= 0], axis=1)
        _, name = np.unique(filled, axis=0, return_inverse=True)
        name = np.arange(len(filled)) if fine else name.ravel()
        edges = np.stack([self.source, self.write, self.target], axis=1)
        source, letter, target = edges[distinct(edges)[0]].T
        order = np.argsort(letter, kind="stable")
        source, letter, target = source[order], letter[order], target[order]

        # states from which a mark or the pen is still ahead, and those with only blanks ahead
        marked = (letters.rows[letter][:, [MARK, PEN]] >= 0).any(axis=1)
        ahead, blank = np.zeros(len(self.first), bool), letter == BLANK
        ahead[source[marked]] = True
        ahead = _reached(ahead, target, source)
        ending = _reached(self.last, target[blank], source[blank])
        # all that a name is made of, a bit for each
        _, follows = np.unique(name[letter], return_inverse=True)
        count = 1 + follows.max(initial=0)
        bits = np.zeros((len(ahead), 2 + 2 * count), bool)
        bits[:, 0], bits[:, 1] = self.last, ahead
        bits[source, 2 + follows] = True
        if fine:
            lasts = ending[target]
            bits[source[lasts], 2 + count + follows[lasts]] = True
        traits = np.packbits(bits, axis=1)

        start = np.bitwise_or.reduce(traits[self.first], axis=0)
        numbers, holds, waiting = {start.tobytes(): 0}, [self.first.copy()], [0]
        steps: dict[int, tuple[Column, Column]] = {}
        while waiting:
            if len(numbers) > MOST_STATES:
                raise UnprovableError("there are too many different rows")
            number = waiting.pop()
            edge = np.flatnonzero(holds[number][source])
            begins = np.flatnonzero(np.diff(letter[edge], prepend=-1))
            names = np.bitwise_or.reduceat(traits[target[edge]], begins, axis=0)
            names, inverse = np.unique(names, axis=0, return_inverse=True)
            inverse = inverse.ravel()
            to = np.array([numbers.setdefault(trait.tobytes(), len(numbers)) for trait in names])
            steps[number] = letter[edge[begins]], to[inverse]
            # sets of states with one name are merged
            of_edge = np.repeat(inverse, np.diff([*begins, len(edge)]))
            reached = np.zeros((len(to), len(ahead)), bool)
            reached[of_edge, target[edge]] = True
            for state, states in zip(to.tolist(), reached, strict=True):
                if state == len(holds):
                    holds.append(np.zeros_like(self.first))
                if (states & ~holds[state]).any():
                    holds[state] |= states
                    waiting += [] if state in waiting else [state]
        source = np.concatenate([np.full(len(x), number) for number, (x, _) in steps.items()])
        letter, target = (np.concatenate([step[n] for step in steps.values()]) for n in (0, 1))
        last = np.array([bool(trait[0] & 128) for trait in numbers])
        return Words(source, letter, letter, target, np.arange(len(last)) == 0, last).trim()

    def where(self, digits: Rows, factor: int, base: int, less: bool) -> "Words":
        """Return the words with a number that is less than `factor` times another one, or not.

        A letter has a row of `digits`, one of each number, the lowest first in a word. What is
        carried of their difference is from -factor to 0: less than 0 behind a word whose number is
        less.

        >>> digits = np.array([[0, 0], [1, 0], [0, 1]])  # blank, 1 over 0, 0 over 1
        >>> edges = (np.array([0, 0]), np.array([1, 2]), np.array([1, 2]), np.array([1, 1]))
        >>> one = Words(*edges, np.array([True, False]), np.array([False, True]))
        >>> one.where(digits, 1, 10, less=True).write.tolist()
        [2]
        """
        first, second = digits.T
        # the state is how much is carried, less than 0: 3 for a carry of -3
        carries, same = range(1 + factor), np.arange(len(digits))
        steps = [(n, same, -((first - factor * second - n) // base)) for n in carries]
        return self.translate(steps, [n for n in carries if (n > 0) == less])

    def alike(self, letters: Mask, others: Mask, alike: bool) -> "Words":
        """Return the words whose `letters`, if they have any, are the `others`; or those not."""
        same = np.arange(len(letters))
        # The state is 1 if one of the letters came, and 2 more if they differed from the others
        steps = [(state, same, state | letters | 2 * (letters != others)) for state in range(4)]
        return self.translate(steps, [0, 1, 2] if alike else [3])

    def move_pen(self, by: int, token: int, letters: WindowIndex) -> "Words":
        """Return words with the pen `by` columns further on, where it holds this token."""
        if by < 0:
            return self.reverse().move_pen(-by, token, letters).reverse()
        if not by:
            return self
        same, used = np.arange(len(letters)), np.unique(self.write)
        lifted, set_down = np.zeros((2, len(same)), np.int64)
        for column, pen in ((lifted, -1), (set_down, token)):
            rows = letters.rows[used]
            rows[:, PEN] = pen
            column[used] = letters.number(rows)
        # States: before the old place, 1 to `by` columns behind it, behind the new place.
        is_pen = letters.rows[: len(same), PEN] >= 0
        between = [np.where(is_pen, -1, same)] * (by - 1) + [np.where(is_pen, -1, set_down)]
        steps = [(0, np.where(is_pen, lifted, same), is_pen.astype(np.int64))]
        steps += [(n, write, np.full_like(same, n + 1)) for n, write in enumerate(between, 1)]
        steps += [(by + 1, np.where(is_pen, -1, same), np.full_like(same, by + 1))]
        return self.translate(steps, [by + 1])

    def translate(
        self, steps: Sequence[tuple[int, Column, Column]], last: Sequence[int]
    ) -> "Words":
        """Rewrite the words letter by letter, by a reader that begins in state 0.

        Each step is one of the reader's states, then, by letter, what it writes (-1 discards the
        word) and its next state. Only words that leave it in a `last` state are returned.
        """
        count, pieces = 1 + max(state for state, _, _ in steps), list[Rows]()
        for state, letters, following in steps:
            write = letters[self.write]
            source, target = self.source * count + state, self.target * count
            edges = [source, self.read, write, target + following[self.write]]
            pieces.append(np.stack(edges, axis=1)[write >= 0])
        source, read, write, target = np.concatenate(pieces).T
        first, final = (np.isin(np.arange(count), states) for states in (0, last))
        ends = np.outer(self.first, first).ravel(), np.outer(self.last, final).ravel()
        return Words(source, read, write, target, *ends).trim()

    @staticmethod
    def union(many: Sequence["Words"]) -> "Words":
        """Return the words of all of these."""
        sizes = np.cumsum([0, *(len(words.first) for words in many)])
        pairs = list(zip(many, sizes.tolist(), strict=False))
        return Words(
            np.concatenate([words.source + begin for words, begin in pairs]),
            np.concatenate([words.read for words in many]),
            np.concatenate([words.write for words in many]),
            np.concatenate([words.target + begin for words, begin in pairs]),
            np.concatenate([words.first for words in many]),
            np.concatenate([words.last for words in many]),
        )

    def contains(self, other: "Words") -> bool:
        """Return whether all that the other writes is written here too, state by set of states."""
        everything = frozenset(np.flatnonzero(self.first).tolist())
        waiting = [(state, everything) for state in np.flatnonzero(other.first).tolist()]
        visited, steps = set(waiting), dict[frozenset[int], dict[int, set[int]]]()
        while waiting:
            state, among = waiting.pop()
            if not among or (other.last[state] and not any(self.last[at] for at in among)):
                return False
            if among not in steps:
                steps[among] = defaultdict(set)
                for letter, target in (edge for at in among for edge in self.after[at]):
                    steps[among][letter].add(target)
            for letter, target in other.after[state]:
                pair = target, frozenset(steps[among].get(letter, ()))
                if pair not in visited:
                    visited.add(pair)
                    waiting.append(pair)
        return True

    @cached_property
    def after(self) -> list[list[tuple[int, int]]]:
        """The letters and targets of the edges from each state."""
        edges: list[list[tuple[int, int]]] = [[] for _ in self.first]
        columns = (self.source, self.write, self.target)
        for source, letter, target in zip(*(c.tolist() for c in columns), strict=True):
            edges[source].append((letter, target))
        return edges

    def source_of(self, word: Sequence[int]) -> list[int] | None:
        """Return what goes in where this word comes out; None if it never does."""
        if not all(letter in self._edges_of for letter in word):
            return None
        # forwards all edges on a way from a first state, then backwards one way
        alive, layers = self.first, list[Column]()
        for letter in word:
            edges = self._edges_of[letter]
            layers.append(edges[alive[self.source[edges]]])
            alive = np.zeros(len(self.first), bool)
            alive[self.target[layers[-1]]] = True
        ends = np.flatnonzero(alive & self.last)
        if not len(ends):
            return None
        state, letters = ends[0], list[int]()
        for edges in reversed(layers):
            edge = edges[np.argmax(self.target[edges] == state)]
            letters.append(int(self.read[edge]))
            state = self.source[edge]
        return letters[::-1]

    @cached_property
    def _edges_of(self) -> dict[int, Column]:
        """The edges that write each letter."""
        order = np.argsort(self.write, kind="stable")
        letters, begins = np.unique(self.write[order], return_index=True)
        return dict(zip(letters.tolist(), np.split(order, begins[1:]), strict=True))

    def shortest_end(self, state: int) -> list[int]:
        """Return the letters on the shortest way from a state to the end of a word."""
        letters = list[int]()
        while not self.last[state]:
            letters.append(int(self.write[self._homeward[state]]))
            state = int(self.target[self._homeward[state]])
        return letters

    @cached_property
    def _homeward(self) -> Column:
        """For each state the first edge of the shortest way to the end."""
        distance = np.where(self.last, 0, len(self.last) + 1)
        while True:
            nearer = distance.copy()
            np.minimum.at(nearer, self.source, distance[self.target] + 1)
            if np.array_equal(nearer, distance):
                break
            distance = nearer
        edge, homeward = np.argsort(-distance[self.target]), np.zeros(len(distance), np.int64)
        homeward[self.source[edge]] = edge  # the last one counts, which is the nearest
        return homeward


def _distinct_edges(source: Column, letter: Column, target: Column) -> Rows:
    """Return the distinct triples, sorted. Each is packed into one number, for speed."""
    of_letter, of_target = (int(column.max(initial=0)).bit_length() for column in (letter, target))
    assert int(source.max(initial=0)).bit_length() + of_letter + of_target < 64
    packed = np.sort((source << (of_letter + of_target)) | (letter << of_target) | target)
    packed = packed[np.diff(packed, prepend=-1) > 0]
    below = packed & ((1 << (of_letter + of_target)) - 1)
    columns = packed >> (of_letter + of_target), below >> of_target, below & ((1 << of_target) - 1)
    return np.stack(columns, axis=1)


def _reached(begin: Mask, source: Column, target: Column) -> Mask:
    """Return the states that edges lead to, from these on."""
    seen = begin.copy()
    while (fresh := seen[source] & ~seen[target]).any():
        seen[target[fresh]] = True
    return seen
