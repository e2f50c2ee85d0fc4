"""Check a Curta certificate without Curta: `python check_certificate.py RUN_FOLDER`.

This file needs Python 3.11 and NumPy, and shares no code with the program that wrote the
certificate. `windows.safetensors` lists windows: a token, the tokens that it sees around it, and
the token that is right to write next. The check is that each member of the run gives the right
token the largest logit after every window: in exact arithmetic and, where that can be proved, in
single precision on any machine, whatever the order of its sums. Then `ClosureProof` replays what
shows that no other window can occur, if the certificate says so.

Every number of the forward pass is a ball: a centre, computed in double precision, and a radius,
which bounds the distance of any computation with rounding errors of at most `unit` (Higham,
Accuracy and Stability of Numerical Algorithms, section 3.1).
"""

import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cache, partial
from itertools import product as combinations
from pathlib import Path
from typing import Any

import numpy as np

SINGLE, DOUBLE = 2.0**-23.99, 2.0**-52  # bounds on one rounding, double's own included
FUNCTION = 8  # roundings by which an exponential or a root may be off
SUPPORTED: dict[str, list[Any]] = {
    "norm": ["rms"], "norm_placement": ["pre"], "biases": [[]], "gated": [False],
    "activation": ["relu", "relu2"], "tie_embeddings": [False], "weight_sharing": [[]],
    "embedding": ["table"], "attention_scale": [True],
}  # fmt: skip
Weights = dict[str, np.ndarray]
Ball = Sequence[Any]  # arrays of centres and of radii


class CheckFailedError(Exception):
    """The certificate does not hold, or cannot be checked here."""


def read_arrays(path: Path) -> Weights:
    """Return the arrays of a safetensors file by name: a header in JSON, then plain bytes."""
    content = path.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    types, arrays = {"F32": "<f4", "I32": "<i4", "U16": "<u2", "U8": "u1", "BOOL": "?"}, {}
    for name, entry in json.loads(content[8:start]).items():
        if name != "__metadata__":
            begin, end = (start + offset for offset in entry["data_offsets"])
            array = np.frombuffer(content[begin:end], types[entry["dtype"]])
            arrays[name] = array.reshape(entry["shape"])
    return arrays


def gamma(terms: Any, unit: float) -> Any:
    """Return the relative error of a sum of `terms` products, in any order."""
    return terms * unit / (1 - terms * unit)


def contract(spec: str, x: Ball, y: Ball, unit: float, more: int = 0) -> Ball:
    """Return an einsum of two balls, with so many roundings more than products.

    Terms that are exactly zero add no error.
    """
    sums = partial(np.einsum, spec, optimize=True)
    size, spread = (np.abs(centre) + radius for centre, radius in (x, y))
    terms = more + sums((size > 0).astype(float), (spread > 0).astype(float))
    radius = sums(x[1], spread) + sums(size, y[1]) + gamma(terms, unit) * sums(size, spread)
    return sums(x[0], y[0]), radius


def product(x: Ball, weight: np.ndarray, unit: float) -> Ball:
    """Return x @ weight, whose weights are exact."""
    return contract("wi,io->wo", x, exact(weight), unit)


def exact(array: np.ndarray) -> Ball:
    return array, np.zeros_like(array)


def add(x: Ball, y: Ball, unit: float) -> Ball:
    """Return x + y."""
    centre, radius = x[0] + y[0], x[1] + y[1]
    return centre, radius + unit * (np.abs(centre) + radius)


def normed(x: Ball, gain: np.ndarray, epsilon: float, unit: float) -> Ball:
    """Return x / sqrt(mean(x^2) + epsilon) * gain."""
    centre, radius = x
    square = np.mean(centre**2, -1, keepdims=True) + epsilon
    spread = np.mean(2 * np.abs(centre) * radius + radius**2, -1, keepdims=True)
    spread = spread + gamma(centre.shape[-1] + 3, unit) * (square + spread)
    with np.errstate(invalid="ignore"):  # where rounding could make it divide by zero, no number
        inverse, largest = square**-0.5, (square - spread) ** -0.5 * (1 + FUNCTION * unit)
    radius = radius * largest + np.abs(centre) * (largest - inverse)
    centre = centre * inverse
    return centre * gain, (radius + 3 * unit * (np.abs(centre) + radius)) * np.abs(gain)


def logits(rows: np.ndarray, w: Weights, machine: Any, unit: float) -> Ball:
    """Return the logits after each window, windows x tokens."""
    config, roles = machine["model"], [role["name"] for role in machine["roles"]]
    role = np.array([roles.index(token["role"]) for token in machine["tokens"]])
    heads, cells, epsilon = config["heads"], rows.shape[1], config["norm_epsilon"]
    features = config["width"] // heads

    # A token's vector: the sum of the vectors of its symbol, carry, role and move.
    vectors = exact(w["tokens"])
    if config["compositional_embeddings"]:
        traits = [
            [(0, str(t["symbol"] if t["value"] is None else t["value"])), (1, t["carry"]),
             (2, t["role"]), (3, str((t["home"], t["offset"])))]
            for t in machine["tokens"]
        ]  # fmt: skip
        columns = dict.fromkeys(trait for token_traits in traits for trait in token_traits)
        composition = np.array(
            [[float(trait in token_traits) for trait in columns] for token_traits in traits]
        )
        vectors = product(exact(composition), w["tokens"], unit)
    if config["role_embeddings"]:
        vectors = add(vectors, exact(w["roles"][role]), unit)

    # One query meets the keys of all cells; an empty square has a key and a value of zeros.
    x, tables = normed(vectors, w["attention.gain"][0], epsilon, unit), []
    for name in ("query", "key", "value"):
        table = product(x, w[f"attention.{name}"][0], unit)
        split = [np.pad(t, ((0, 1), (0, 0))).reshape(len(role) + 1, -1, features) for t in table]
        tables.append([np.repeat(t, heads // t.shape[1], 1) for t in split])
    query, key, value = ([table[rows] for table in pair] for pair in tables)
    first = [table[:, 0] for table in query]
    dots = contract("whf,wchf->wch", first, key, unit, more=2)
    dots = [array * features**-0.5 for array in dots]
    bias = w["positions.biases"][0].reshape(heads, len(roles), cells).transpose(1, 2, 0)
    scores, radius = add(dots, exact(bias[role[rows[:, 0]]]), unit)
    sizes = np.array([1 + len(machine["windows"].get(name, ())) for name in roles])
    exists = (np.arange(cells) < sizes[role[rows[:, 0]], None])[..., None]
    largest = np.max(scores, 1, where=exists, initial=-np.inf, keepdims=True)
    scores = np.where(exists, scores - largest, 0)
    share = np.exp(scores) * exists
    share = share / share.sum(1, keepdims=True)
    # A score is off by its radius and by the rounding of its difference to the largest one.
    off = ((radius + unit * (np.abs(scores) + 2 * radius)) * exists).max(1, keepdims=True)
    factor = np.exp(2 * off) * (1 + gamma(2 * FUNCTION + cells + 2, unit)) - 1
    shares = share, (share * factor + 1e-37) * exists
    outputs = contract("wch,wchf->whf", shares, value, unit)
    attended = product([x.reshape(len(rows), -1) for x in outputs], w["attention.out"][0], unit)
    x = add([part[rows[:, 0]] for part in vectors], attended, unit)

    for layer in range(config["num_layers"]):
        hidden = normed(x, w["mlp.gain"][layer], epsilon, unit)
        centre, radius = product(hidden, w["mlp.up"][layer], unit)
        active = centre + radius > 0
        centre, radius = np.maximum(centre, 0), radius * active
        if config["activation"] == "relu2":
            size = (centre + radius) ** 2
            centre, radius = centre**2, size - centre**2 + unit * size
        x = add(x, product((centre, radius), w["mlp.down"][layer], unit), unit)
    return product(normed(x, w["gain"], epsilon, unit), w["head"], unit)


def margins(
    windows: Weights, chosen: np.ndarray, w: Weights, machine: Any, unit: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lead of the right token over all others after each window, and a lower bound."""
    lead, proved = np.empty((2, len(chosen)))
    for start in range(0, len(chosen), 4096):
        block = chosen[start : start + 4096]
        centre, radius = logits(windows["rows"][block], w, machine, unit)
        right = np.arange(len(block)), windows["targets"][block]
        leads = centre[right][:, None] - centre
        leads[right] = np.inf
        lead[start : start + 4096] = leads.min(1)
        proved[start : start + 4096] = (leads - radius).min(1) - radius[right]
    return lead, proved


Cell = tuple[str, tuple[int, ...]]  # a role, and how far from the pen on the axes of rows
Letter = tuple[int, ...]  # a column: its mark, the pen's token, the token of each cell; -1: none


def reach(start: Iterable[Any], step: Callable[[Any], Iterable[Any]]) -> set[Any]:
    """Return all that steps lead to, from the start on."""
    reached = set(start)
    waiting = list(reached)
    while waiting:
        fresh = set(step(waiting.pop())) - reached
        reached |= fresh
        waiting += fresh
    return reached


class Language:
    """Lines of columns: the ways from a first to a last state along edges, each with a letter."""

    def __init__(self, edges: Any, first: Any, last: Any) -> None:
        """`edges` are triples (state, letter, state)."""
        self.first, self.last = set(first), set(last)
        self.after: dict[Any, set[Any]] = defaultdict(set)
        for source, letter, target in edges:
            self.after[source].add((letter, target))

    @property
    def edges(self) -> Iterator[Any]:
        return ((q, x, to) for q, edges in self.after.items() for x, to in edges)

    def reverse(self) -> "Language":
        return Language(((to, x, q) for q, x, to in self.edges), self.last, self.first)

    def trim(self) -> "Language":
        """Return the states from which a line can end."""
        back = self.reverse().after
        live = reach(self.last, lambda q: {to for _, to in back[q]})
        edges = ((q, x, to) for q, x, to in self.edges if to in live)
        return Language(edges, self.first & live, self.last)

    def translate(self, start: Any, step: Any, ended: Any) -> "dict[Any, Language]":
        """Rewrite all lines letter by letter; return the resulting language for each outcome.

        `step(state, letter, to)` returns pairs of a letter to write and the reader's next state;
        `to` is the state of the language behind the letter. `ended(state)` returns the outcome of a
        line that leaves the reader in this state, or None if the line does not count.
        """
        edges, names = list[Any](), dict[Any, int]()
        name = lambda pair: names.setdefault(pair, len(names))

        def follow(pair: Any) -> Iterator[Any]:
            for letter, to in self.after[pair[0]]:
                for output, state in step(pair[1], letter, to):
                    edges.append((name(pair), output, name((to, state))))
                    yield to, state

        first, last = [(q, start) for q in self.first], defaultdict[Any, list[int]](list)
        for q, state in reach(first, follow):
            if q in self.last and (outcome := ended(state)) is not None:
                last[outcome].append(name((q, state)))
        languages = defaultdict[Any, Language](lambda: Language([], [], []))
        for outcome, of in last.items():
            languages[outcome] = Language(edges, map(name, first), of).trim()
        return languages

    def contains(self, other: "Language") -> bool:
        """Return whether all lines of the other are lines of this, by pairs of its states."""
        other = other.trim()

        @cache
        def step(states: frozenset[Any]) -> dict[Letter, set[Any]]:
            steps = defaultdict(set)
            for letter, to in (edge for q in states for edge in self.after[q]):
                steps[letter].add(to)
            return steps

        pairs = reach(
            [(q, frozenset(self.first)) for q in other.first],
            lambda pair: [(to, frozenset(step(pair[1])[x])) for x, to in other.after[pair[0]]],
        )
        return all(states and (q not in other.last or states & self.last) for q, states in pairs)


class ClosureProof:
    """The evidence that no text of one operator has a window that is not listed.

    `table` says which token follows each window. The evidence has a language of papers for each
    key: the pen's token, what is found from everywhere on the axis, and how far operands along
    other axes and on further lines have come into sight. To be shown: it holds all prompts, a sweep
    of the pen over its papers meets listed windows alone, and what a sweep leaves is in the
    language of the next key.
    """

    def __init__(self, machine: Any, form: Any, table: Any, evidence: Weights) -> None:
        self.tokens, self.form = machine["tokens"], form
        self.axes = range(len(machine["axes"]))
        self.names, self.none = machine["axes"], len(self.tokens)
        self.wide = {r["name"]: [a in r["broadcast"] for a in self.names] for r in machine["roles"]}
        self.numbers = {
            (t["symbol"] if t["value"] is None else t["value"], t["role"], t["carry"],
             tuple(t["home"]), tuple(t["offset"])): n
            for n, t in enumerate(self.tokens)
        }  # fmt: skip
        keys = json.loads(evidence["keys"].tobytes())
        roles = [role["name"] for role in machine["roles"]]
        self.axis, self.marks = keys["axis"], keys["marks"]
        self.place = {(roles[r], tuple(m)): n for n, (r, m) in enumerate(keys["cells"], 2)}
        letters = [tuple(row) for row in evidence["letters"].tolist()]
        self.blank = (-1,) * (2 + len(self.place))
        # Blank columns lie around every line, so any number of them is read at either end.
        loops = [("begin", self.blank, "begin"), ("end", self.blank, "end")]
        edges: dict[int, list[Any]] = defaultdict(lambda: [*loops])
        ends = defaultdict[int, list[list[Any]]](lambda: [["begin"], ["end"]])
        for n, q, kind in evidence["ends"].tolist():
            edges[n].append((q, self.blank, "end") if kind else ("begin", self.blank, q))
            ends[n][kind].append(q)
        for n, q, x, to in evidence["edges"].tolist():
            edges[n].append((q, letters[x], to))
        languages = {n: Language(edges[n], *ends[n]) for n in {k["language"] for k in keys["keys"]}}
        self.languages, self.in_step = {}, {}
        for key in keys["keys"]:
            afar = tuple(sorted(((roles[r], tuple(m)), t) for (r, m), t in key["everywhere"]))
            fed = tuple(frozenset(map(tuple, states)) for states in key["feeds"])
            fresh, *lines = key.get("lines", [[], 0, True])
            lines = (tuple(map(tuple, fresh)), *lines)
            self.languages[key["token"], afar, fed, lines] = languages[key["language"]]
            # columns whose numbers are as long as operands that zeros fill up
            step = {(roles[r], tuple(m)) for r, m in key.get("in_step", ())} & {*self.place}
            self.in_step[key["token"], afar, fed, lines] = frozenset(self.place[c] for c in step)
        self.near = {
            role: [(self.cell(other, moved), moved[self.axis]) for other, moved in near]
            for role, near in machine["windows"].items()
        }
        self.table_width = len(next(iter(table)))
        self.table = {
            tuple(-1 if t == self.none else t for t in r): then for r, then in table.items()
        }
        self.follow: dict[str, set[int]] = {}
        for row, target in table.items():
            self.follow.setdefault(self.tokens[row[0]]["role"], set()).add(target)

    def cell(self, role: str, moved: Sequence[int]) -> Cell:
        fixed = self.wide[role]
        return role, tuple(0 if n == self.axis or fixed[n] else moved[n] for n in self.axes)

    def shift(self, cell: Cell, token: int, sign: int = 1) -> Cell:
        """Return where a cell is when the pen has moved with a token; with -1, where it was."""
        pairs = zip(cell[1], self.tokens[token]["offset"], strict=True)
        return self.cell(cell[0], [at - sign * by for at, by in pairs])

    def check(self) -> int:
        """Return the number of sweeps; raise CheckFailedError where something is not shown."""
        self.read_prompt()
        following = lambda role: (self.role(t) for t in self.follow.get(role, ()))
        reached = reach([self.role(self.pen)], following)
        self.check_moves([t for role in reached for t in self.follow.get(role, ())])
        self.later = {
            role: {c[0] for then in reach([role], following) for c, _ in self.near.get(then, ())}
            for role in reached
        }  # roles that are seen now or later

        # Cells that are seen from some role on, then or later; ahead on other axes nothing stands
        # but the prompt.
        near = [c for role in reached for c, _ in self.near.get(role, ())]
        sight = lambda role, along: max((c[1][along] for c in near if c[0] == role), default=0)
        self.sight = [sight(part["role"], along) for part, along in self.feeds]
        ahead = [
            self.stands(part["role"], along, by)
            for (part, along), by in zip(self.feeds, self.sight, strict=True)
        ] + self.standing
        if self.many:
            operand, sign = self.many["role"], self.many["role"] + " between"
            far = sight(operand, self.many_axis)
            self.line_sight = far, max(far, sight(sign, self.many_axis))
            for role, by in zip((operand, sign), self.line_sight, strict=True):
                ahead.append(self.stands(role, self.many_axis, by))
        highest = [max([0, *(c[1][n] for c in ahead)]) for n in self.axes]
        self.live = {role: {c for c, _ in self.near.get(role, ())} for role in reached}
        size = -1
        while size != (size := sum(map(len, self.live.values()))):
            for role in reached:
                for t in self.follow.get(role, ()):
                    before = {self.shift(c, t, -1) for c in self.live[self.role(t)]}
                    self.live[role] |= {
                        c for c in before if all(x <= y for x, y in zip(c[1], highest, strict=True))
                    }
        for role, _ in (unseen := set().union(*self.live.values()) - {*self.place}):
            if not self.wide[role][self.axis]:
                raise CheckFailedError(f"the papers of the proof lack {unseen}")

        begun = [frozenset([(0, False)])] * len(self.feeds)
        lines = [
            self.line[along] + by + 1 for (_, along), by in zip(self.feeds, self.sight, strict=True)
        ]
        if min(lines, default=0) < 0:
            raise CheckFailedError("an operand that comes into sight late is not supported")
        prompts = self.prompts()
        columns = self.place.values() if self.many and self.many["filled"] else ()
        step = {n for n in columns if self.is_in_step(prompts, n, self.operands)}
        first = self.first_lines(self.line)
        self.admit(self.pen, self.everywhere, begun, lines, first, prompts, step)
        for key, language in self.languages.items():
            _, afar, fed, seen = key
            numbers = self.in_step[key] | self.operands
            for fresh in seen[0]:
                language = self.with_line(language, numbers, *fresh)
            for token, papers in self.sweep(key, language):
                more = [(self.shift(c, token), t) for c, t in afar]
                if self.wide[self.role(token)][self.axis]:
                    more.append((self.cell(self.role(token), [0] * len(self.axes)), token))
                lines = [self.tokens[token]["offset"][along] for _, along in self.feeds]
                seen_next, moved = self.next_lines(token, seen), self.moved(token, papers)
                sources = zip(columns, self.sources(token), strict=False)
                step = {n for n, source in sources if self.is_in_step(papers, source, numbers)}
                self.admit(token, more, fed, lines, seen_next, moved, step)
        return len(self.languages)

    def role(self, token: int) -> str:
        return str(self.tokens[token]["role"])

    def alike(self, token: int) -> int:
        """Return the first token of this role with the same move, if it is not seen from afar."""
        same = lambda t: all(
            t[name] == self.tokens[token][name] for name in ("role", "home", "offset")
        )
        wide = self.wide[self.role(token)][self.axis]
        return token if wide else next(n for n, t in enumerate(self.tokens) if same(t))

    def check_moves(self, tokens: Sequence[int]) -> None:
        """Raise CheckFailedError for moves that are not followed."""
        for n in self.axes:
            home = [t for t in tokens if self.tokens[t]["home"][n]]
            offsets = {self.tokens[t]["offset"][n] for t in tokens}
            if n == self.axis:
                fine = {self.tokens[t]["offset"][n] for t in home} <= {*self.marks}
                fine = fine and max([0, *self.marks]) == 0
            else:
                back = home and (any(offsets) or self.line[n])
                if back and self.many and n == self.many_axis:  # all operands come into sight again
                    seen = {c[0] for near in self.near.values() for c, _ in near}
                    back = {role for role in seen if not self.wide[role][n]} - self.many_roles
                fine = min([0, *offsets]) == 0 and not back
            if not fine:
                raise CheckFailedError(f"moves along {self.names[n]} that are not supported")
        steps = {by for near in self.near.values() for _, by in near}
        steps |= {t["offset"][self.axis] for t in self.tokens if not t["home"][self.axis]}
        if not steps <= {-1, 0, 1}:
            raise CheckFailedError("windows and moves further than one column are not supported")

    def digits(self, part: Any, states: Iterable[Any]) -> dict[int, set[Any]]:
        """Return the tokens that an operand may have next (-1: none), and the states after."""
        after = defaultdict[int, set[Any]](set)
        for state in states:
            for tokens, then, _ in self.fill([part], *state):
                after[next(iter(tokens.values()), -1)].add(then)
        return after

    def first_lines(self, place: Sequence[int]) -> list[Any]:
        """Return what may be known of operands on lines seen from this place; see `next_lines`.

        At least one operand is there.
        """
        if not self.many:
            return [((), 0, True)]
        line = place[self.many_axis]
        operands, signs = (line + sight + 1 for sight in self.line_sight)
        if operands < 1:
            raise CheckFailedError("an operand that comes into sight late is not supported")
        ways = []
        for count in range(1, signs + 1):
            fresh = [("first", -line)]
            fresh += [("operand", at - line) for at in range(1, min(count, operands))]
            fresh += [("sign", at - line) for at in range(1, count)]
            ways.append((tuple(fresh), max(0, count - operands), count < signs))
        return ways

    def next_lines(self, token: int, lines: Any) -> list[Any]:
        """Return what may be known of operands on lines when the pen has moved with a token.

        Three things: what has just come into sight, how many operands have their signs in sight and
        not yet themselves, and whether there are no others.
        """
        ways = [((), *lines[1:])]
        if self.many and self.tokens[token]["home"][self.many_axis]:
            return self.first_lines(self.tokens[token]["offset"])
        if self.many and self.later[self.role(token)] & self.many_roles:
            for behind in reversed(range(self.tokens[token]["offset"][self.many_axis])):
                operand, sign = (sight - behind for sight in self.line_sight)
                after = []
                for fresh, ahead, ended in ways:
                    for further in (False,) if ended else (False, True):
                        more = [("operand", operand)] * (ahead + further > 0)
                        more += [("sign", sign)] * further
                        after.append(
                            (fresh + tuple(more), max(0, ahead + further - 1), not further)
                        )
                ways = after
        return ways

    def with_line(self, papers: Language, step: frozenset[int], kind: str, at: int) -> Language:
        """Return papers with any operand, or the sign of one, on a line so far from the pen's.

        One that zeros fill up is as long as the numbers in the columns `step`, if there are any.
        """
        role = self.many["role"] + " between" * (kind == "sign")
        if (place := self.place.get(self.stands(role, self.many_axis, at))) is None:
            return papers
        put = lambda x, token: (*x[:place], token, *x[place + 1 :])
        part = self.many if kind == "first" else self.many | {"follows": True}
        digits = cache(partial(self.digits, part))
        guesses = (False, True) if part["filled"] else (None,)

        def sign(state: None, x: Letter, to: Any) -> list[Any]:
            return [(put(x, self.many_sign) if x[0] == self.marks.index(-1) else x, None)]

        def operand(state: Any, x: Letter, to: Any) -> list[Any]:
            """Write the next digit; the state is how far the operand has come, empty before it, and
            a guess: are there other numbers?
            """
            (states, guess), origin = state, x[0] == self.marks.index(0)
            other = any(x[n] >= 0 for n in step)
            if not states and not origin:
                return [] if other and guess is not None else [(put(x, -1), state)]
            ways = {} if states and origin else digits(states or frozenset([(0, False)]))
            return [
                (put(x, t), (frozenset(then), guess))
                for guess in ([guess] if states else guesses)
                for t, then in ways.items()
                if guess is None or other == (guess and t >= 0)
            ]

        if kind == "sign":
            return papers.translate(None, sign, lambda state: True)[True]
        ended = lambda state: (-1, False) in state[0] or None
        return papers.translate((frozenset(), guesses[0]), operand, ended)[True]

    @staticmethod
    def is_in_step(papers: Language, place: int, step: frozenset[int]) -> bool:
        """Return whether numbers of a column stand on the squares of others, in each paper."""

        def read(state: int, x: Letter, to: Any) -> list[Any]:
            """Note whether there is a number (1), and whether it differs from the others (2)."""
            there = place >= 0 and x[place] >= 0
            return [(x, state | there | 2 * (there != any(x[n] >= 0 for n in step)))]

        return place < 0 or not papers.translate(
            0, read, lambda state: True if state == 3 else None
        )

    def admit(
        self,
        token: int,
        afar: Any,
        fed: Any,
        fresh: Any,
        lines: list[Any],
        papers: Language,
        in_step: Set[int],
    ) -> None:
        """Raise CheckFailedError unless papers are in the languages of all keys they may have.

        Of each operand along another axis so many digits come into sight (`fresh`) after those that
        lead to the states `fed`; of `lines` is all that may be known of operands on lines. Numbers
        of the columns `in_step` are as long as operands that zeros fill up.
        """
        roles, each, languages = self.later[self.role(token)], list[Any](), set()
        for (part, along), states, count, sight in zip(
            self.feeds, fed, fresh, self.sight, strict=True
        ):
            ways: list[Any] = [((), states)]
            for at in range(sight - count + 1, sight + 1):
                cell = self.stands(part["role"], along, at)
                ways = [
                    (cells + ((cell, t),) * (t >= 0), frozenset(then))
                    for cells, states in ways
                    for t, then in self.digits(part, states).items()
                ]
            seen = part["role"] in roles
            each.append([(cells, states if seen else frozenset()) for cells, states in ways])
        for options in combinations(*each):
            cells = [*afar, *(cell for cells, _ in options for cell in cells)]
            cells = sorted((c, t) for c, t in cells if c in self.live[self.role(token)])
            if len(dict(cells)) < len(cells):
                raise CheckFailedError("a role is written twice on one square")
            key = self.alike(token), tuple(cells), tuple(states for _, states in options)
            languages |= {self.languages.get((*key, line)) for line in lines}
            if not all(self.in_step.get((*key, line), in_step) <= in_step for line in lines):
                raise CheckFailedError("a number is not shown to be as long as the operands")
        for language in languages:
            if not (language or Language([], [], [])).contains(papers):
                t = self.tokens[token]
                raise CheckFailedError(
                    f"after {t['symbol']!r} ({t['role']}): papers that the proof lacks"
                )

    def sources(self, token: int) -> list[int]:
        """Return where the cells of each column were before the pen moved with a token, or -1."""
        live, t = self.live[self.role(token)], self.tokens[token]
        # the operands' lines come into sight again, with any operands
        lost = {self.many["role"]} if self.many and t["home"][self.many_axis] else set()
        return [
            self.place.get(self.shift(c, token, -1), -1) if c in live and c[0] not in lost else -1
            for c in self.place
        ]

    def moved(self, token: int, papers: Language) -> Language:
        """Return papers seen from where the pen is when it has moved with a token."""
        t = self.tokens[token]
        home, by = t["home"][self.axis], t["offset"][self.axis]
        source = self.sources(token)

        def move(carried: int, x: Letter, to: Any) -> list[Any]:
            """Write a column without the pen's token, which is carried to the next column."""
            if home:
                pen = token if x[0] == self.marks.index(by) else -1
            else:
                pen = carried if by else x[1]
            cells = (x[n] if n >= 0 else -1 for n in source)
            return [((x[0], pen, *cells), x[1] if by and not home else -1)]

        empty = lambda pen: pen < 0 or None
        if by < 0 and not home:
            return papers.reverse().translate(-1, move, empty)[True].reverse()
        return papers.translate(-1, move, empty)[True]

    def ends(self, token: int, delta: int) -> bool:
        """Return whether a token ends a sweep in this direction."""
        t = self.tokens[token]
        rows = any(by for n, by in enumerate(t["offset"]) if n != self.axis)
        wide, stays = self.wide[t["role"]][self.axis], t["offset"][self.axis] in (0, delta)
        return t["home"][self.axis] or rows or wide or t["role"] == "end" or not stays

    def sweep(self, key: Any, language: Language) -> Iterator[tuple[int, Language]]:
        """Yield the tokens that end a sweep over these papers, and what it leaves.

        What is written on a column depends on what is seen of the next one. So a state is one of
        the language and a table: for each such view the pen's token (-1 before it, -2 - t when t
        has ended the sweep), and what is seen of the column behind. There is a state for each
        letter that may have been written.
        """
        start, everywhere = self.tokens[key[0]], defaultdict(lambda: -1, key[1])
        delta = -1 if start["offset"][self.axis] < 0 and not start["home"][self.axis] else 1
        words = language if delta > 0 else language.reverse()
        ends = [self.ends(token, delta) for token in range(len(self.tokens))]
        roles = reach(
            [start["role"]],
            lambda role: (self.role(t) for t in self.follow.get(role, ()) if not ends[t]),
        )
        # where each neighbour is read: in this column, the one ahead, the one behind, or everywhere
        looks: dict[str, list[Any]] = {
            role: [
                (3, c) if self.wide[c[0]][self.axis] else (by * delta % 3, self.place[c])
                for c, by in self.near.get(role, ())
            ]
            for role in roles
        }
        at_pen = {role: self.place.get(self.cell(role, [0] * len(self.axes)), 0) for role in roles}
        ahead = frozenset([1]) | {n for look in looks.values() for which, n in look if which == 1}
        # behind a role, or one that writes after it on the same column
        still = [not (end or self.tokens[t]["offset"][self.axis]) for t, end in enumerate(ends)]
        same = lambda role: (self.role(t) for t in self.follow.get(role, ()) if still[t])
        behind = {
            role: frozenset(n for r in reach([role], same) for which, n in looks[r] if which == 2)
            for role in roles
        }
        here = {n for look in looks.values() for which, n in look if which == 0}
        read = frozenset({1, *at_pen.values()} - {0} | here.union(*behind.values()))

        @cache
        def part(x: Letter, places: frozenset[int]) -> Letter:
            return tuple(t if n in places else -1 for n, t in enumerate(x))

        @cache
        def put(row: Letter, x: Letter) -> Letter:
            return tuple(row[n] if n in read else t for n, t in enumerate(x))

        @cache
        def column(token: int, back: Letter, x: Letter, coming: Letter) -> tuple[int, Letter]:
            """Return the pen's token when a column is left, and the column then."""
            if token < 0:
                return (coming[1] if token == -1 else token), x
            row = [-1, -1, *x[2:]]
            squares = row, coming, back, everywhere
            for _ in range(len(self.wide) + 1):
                role = self.role(token)
                if place := at_pen[role]:
                    if row[place] not in (-1, token):
                        raise CheckFailedError("a role is written twice on one square")
                    row[place] = token
                window = [token, *(squares[which][place] for which, place in looks[role])]
                window += [-1] * (self.table_width - len(window))
                if (follows := self.table.get(tuple(window))) is None:
                    raise CheckFailedError(f"a window that can occur is not listed: {window}")
                token = follows
                if ends[token]:
                    row[1] = -1 if self.tokens[token]["home"][self.axis] else token
                    return -2 - token, tuple(row)
                if not still[token]:
                    return token, tuple(row)
            raise CheckFailedError("the pen does not leave a square")

        @cache
        def columns(token: int, back: Letter, x: Letter, views: frozenset[Letter]) -> list[Any]:
            """Return all that may become of a column, each with the table behind it."""
            tables = defaultdict(list)
            for coming in views:
                holds, row = column(token, back, x, coming)
                rear = part(row, behind[self.role(holds)]) if holds >= 0 else ()
                tables[row].append((coming, (holds, rear)))
            return [(row, frozenset(table)) for row, table in tables.items()]

        views = {q: frozenset(part(x, ahead) for x, _ in words.after[q]) for q in [*words.after]}
        pen_by_view: Any = cache(dict)

        def write(table: frozenset[Any], x: Letter, to: Any) -> list[Any]:
            if (state := pen_by_view(table).get(part(x, ahead))) is None:
                return []
            rows = columns(*state, part(x, read), views.get(to, frozenset()))
            return [(put(row, x), then) for row, then in rows]

        def ended(table: frozenset[Any]) -> int | None:
            """Return the token that ends the sweep, for those together that have one next key."""
            token = -2 - pen_by_view(table).get(self.blank, (-1, ()))[0]
            if token < 0 or self.role(token) == "end":
                return None
            return token if self.tokens[token]["home"][self.axis] else self.alike(token)

        begin = frozenset([(self.blank, (-1, self.blank))])
        for token, papers in words.translate(begin, write, ended).items():
            yield token, papers if delta > 0 else papers.reverse()

    def read_prompt(self) -> None:
        """Read the format of the prompt: operands side by side, along other axes, and signs."""

        def need(*conditions: bool) -> None:
            if not all(conditions):
                raise CheckFailedError("prompts of this format are not supported")

        prompt_parts, last = self.form["parts"], self.form["parts"][-1]
        for part in prompt_parts:
            part["role"] = part["role"] or {"=": "equals"}.get(part["symbol"], "operator")
        roles = {part["role"] for part in prompt_parts}
        need(last["kind"] == "sign", len(roles) == len(prompt_parts))
        square = lambda sign: [sign["at"].get(a, -(n == 0)) for n, a in enumerate(self.names)]
        self.beside = last["step"] is not None
        self.line = [0 if self.beside or n == self.axis else square(last)[n] for n in self.axes]
        self.chains: list[Any] = []  # parts along the axis; those of a chain follow each other
        self.feeds: list[Any] = []  # operands along other axes
        self.everywhere: list[Any] = []
        self.before: dict[int, dict[Cell, int]] = {}  # signs before square 0
        self.many: Any = None  # any number of operands, one a line
        for part in prompt_parts:
            role, wide = part["role"], self.wide[part["role"]]
            if part["kind"] == "given":
                along = self.names.index(part["along"])
                need(part["multiple"] == 1, not wide[along])
                need(not (part["filled"] and part["follows"]))
                simple = not (part["filled"] or part["gap"] or part["follows"])
                if part["many"]:
                    self.many, self.many_axis = part, self.names.index(part["many"])
                    sign = role + " between"
                    self.many_roles = {role, sign}
                    placed = not (self.wide[sign][self.axis] or self.wide[sign][self.many_axis])
                    seen = any(c[0] == sign for near in self.near.values() for c, _ in near)
                    need(not (part["gap"] or part["follows"]), placed or not seen)
                    need(self.many_axis != self.axis == along)
                    need(not wide[self.axis], not wide[self.many_axis])
                    self.many_sign = next(n for n, t in enumerate(self.tokens) if t["role"] == sign)
                elif along != self.axis:
                    need(wide[self.axis], simple)
                    self.feeds.append((part, along))
                else:
                    self.chains += [] if part["follows"] else [[]]
                    self.chains[-1].append(part)
            elif part["step"] is not None:
                steps = [part["step"].get(a, 0) for a in self.names]
                need(not wide[self.axis], sum(map(abs, steps)) == steps[self.axis] <= 1)
                need(bool(self.chains))
                self.chains[-1].append(part)
            else:
                at = square(part)
                token = self.numbers[part["symbol"], role, 0, (True,) * len(at), tuple(at)]
                cell = self.cell(role, [x - y for x, y in zip(at, self.line, strict=True)])
                need(at[self.axis] < 0 or (wide[self.axis] and part is not last))
                if wide[self.axis]:
                    self.everywhere.append((cell, token))
                else:
                    self.before.setdefault(at[self.axis], {})[cell] = token
                if part is last:
                    self.pen, self.pen_square = token, at[self.axis]
        self.operands = frozenset(
            n for c, n in self.place.items() if self.many and c[0] == self.many["role"]
        )
        if self.beside:
            need(self.chains[-1][-1] is last)
            self.pen, self.pen_square = self.sign(last), 0
        self.standing = [self.stands(p["role"]) for chain in self.chains for p in chain]
        self.standing += [c for c, _ in self.everywhere]
        self.standing += [c for column in self.before.values() for c in column]

    def stands(self, role: str, along: int = -1, at: int = 0) -> Cell:
        """Return a cell of the prompt as the first sweep sees it, `at` lines on along an axis."""
        return self.cell(role, [at if n == along else -by for n, by in enumerate(self.line)])

    def sign(self, part: Any) -> int:
        steps = tuple(part["step"].get(a, 0) for a in self.names)
        return self.numbers[part["symbol"], part["role"], 0, (False,) * len(steps), steps]

    def fill(self, chain: list[Any], n: int, begun: bool) -> Iterator[tuple[Any, Any, Any]]:
        """Yield what a chain of parts may have on one column: tokens by cell, and what is next.

        Of a part that zeros fill up also: does it end here, is it at its head, may the digit stand
        there? No number has a zero at its head, but 0 itself.
        """
        if n < 0:
            yield {}, (-1, False), None
            return
        part, size = chain[n], len(self.axes)

        def end(tokens: dict[Cell, int]) -> tuple[dict[Cell, int], tuple[int, bool]]:
            follows = n + 1
            while follows < len(chain) and chain[follows]["kind"] == "sign":
                if chain[follows]["step"].get(self.names[self.axis], 0):
                    break
                tokens[self.stands(chain[follows]["role"])] = self.sign(chain[follows])
                follows += 1
            return tokens, (follows if follows < len(chain) else -1, False)

        if part["kind"] == "sign":
            yield *end({self.stands(part["role"]): self.sign(part)}), None
            return
        home = not begun and not part["follows"]
        step = tuple(int(a == part["along"] and not home) for a in self.names)
        for digit in range(part["base"]):
            token = self.numbers[digit, part["role"], 0, (home,) * size, step]
            for ends in (False, True):
                head = not begun if part["high_first"] else ends
                zero = ends and not begun and not part.get("positive")
                sound = not head or digit > 0 or zero
                tokens = {self.stands(part["role"]): token}
                if part["gap"] and not begun:
                    gap = part["role"] + " gap"
                    still = ((False,) * size, (0,) * size)
                    tokens[self.stands(gap)] = self.numbers[part["gap"], gap, 0, *still]
                if sound or part["filled"]:
                    tag = (ends, head, sound) if part["filled"] else None
                    yield *(end(tokens) if ends else (tokens, (n, True))), tag

    def prompts(self) -> Language:
        """Return all prompts between blanks: signs before square 0, then chains side by side."""
        ended = (False, tuple((-1, False) for _ in self.chains))
        # two blanks or more at either end: what holds of lines with many blanks is enough
        pairs: list[Any] = [("begin", "margin"), ("margin", "blank"), ("blank", "blank")]
        pairs += [(ended, "rest"), ("rest", "end"), ("end", "end")]
        edges: list[Any] = [(q, self.blank, to) for q, to in pairs]
        origin = (True, tuple((0, False) for _ in self.chains))

        def letter(square: int | None, tokens: dict[Cell, int]) -> Letter:
            pen = self.pen in tokens.values() if self.beside else square == self.pen_square
            mark = self.marks.index(square) if square in self.marks else -1
            return mark, self.pen if pen else -1, *(tokens.get(c, -1) for c in self.place)

        start = min([0, self.pen_square, *self.before, *self.marks])
        for square in range(start, 0):
            to = square + 1 if square < -1 else origin
            edges.append((square, letter(square, self.before.get(square, {})), to))

        def columns(state: Any) -> Iterator[Any]:
            """Add what may stand on a column; yield the states behind it."""
            for options in combinations(
                *(self.fill(c, *s) for c, s in zip(self.chains, state[1], strict=True))
            ):
                tags = [tag for *_, tag in options if tag]
                heads = [sound for _, head, sound in tags if head]
                if len({ends for ends, *_ in tags}) < 2 and (any(heads) or not heads):
                    tokens = {c: t for cells, *_ in options for c, t in cells.items()}
                    to = (False, tuple(after for _, after, _ in options))
                    edges.append((state, letter(0 if state[0] else None, tokens), to))
                    yield to

        reach([origin], columns)
        edges += [("blank", x, to) for q, x, to in edges if q == (start or origin)]
        return Language(edges, ["begin"], ["end"])


def check(run: Path) -> list[str]:
    """Return a sentence per member; raise CheckFailedError if the certificate does not hold."""
    certificate = json.loads((run / "certificate.json").read_text())
    machine = json.loads((run / "machine.json").read_text())
    config = machine["model"] = tomllib.loads((run / "recipe.toml").read_text())["model"]
    windows = read_arrays(run / "windows.safetensors")
    arrays = read_arrays(max((run / "checkpoints").glob("*.safetensors")))
    for field, values in SUPPORTED.items():
        if config[field] not in values:
            raise CheckFailedError(f"models with {field} = {config[field]!r} are not supported")
    rows = windows["rows"]
    counted = sum(role["windows"] for role in certificate["roles"])
    if not len(rows) == len(windows["targets"]) == certificate["windows"] == counted:
        raise CheckFailedError(f"{len(rows):,} windows where certificate.json counts {counted:,}")
    if len(np.unique(rows, axis=0)) < len(rows):
        raise CheckFailedError("a window is listed twice")

    lines, every = [], np.arange(len(rows))
    for number, member in enumerate(certificate["members"]):
        best = ".best.score" in arrays and arrays[".best.score"][number] >= 0
        prefix = ".best.model." if best else ".model."
        w = {name.removeprefix(prefix): array[number].astype(float)
             for name, array in arrays.items() if name.startswith(prefix)}  # fmt: skip
        lead, proved = margins(windows, every, w, machine, SINGLE)
        if np.any(np.abs(windows["margin"][number] - lead) > windows["bound"][number]):
            raise CheckFailedError(f"member {number}: the margins are not those of these weights")
        unproved = np.flatnonzero(~(proved > 0))  # in single precision, so prove the exact margin
        exact = margins(windows, unproved, w, machine, DOUBLE)[1]
        if (wrong := int(np.sum(~(exact > 0)))) or member["wrong"]:
            stated = "as certificate.json says"
            if wrong != member["wrong"]:
                stated = f"certificate.json counts {member['wrong']:,}"
            raise CheckFailedError(f"member {number} is wrong on {wrong:,} windows, {stated}")
        lines.append(
            f"member {number} (seed {member['seed']}): right on all {len(rows):,} windows, by"
            f" {lead.min():.3g} logits or more in exact arithmetic; proved for any"
            f" single-precision arithmetic on {len(rows) - len(unproved):,}"
        )
    if certificate["grade"] != "closed":
        return [*lines, "the list of windows is saturated: it may not be complete"]
    table = dict(zip(map(tuple, rows.tolist()), windows["targets"].tolist(), strict=True))
    sweeps = 0
    for operator in certificate["operators"]:
        names = ("letters", "edges", "ends", "keys")
        evidence = {name: windows[f"closure {operator} {name}"] for name in names}
        sweeps += ClosureProof(machine, machine["formats"][operator], table, evidence).check()
    count = "1 sweep" if sweeps == 1 else f"{sweeps:,} sweeps"
    return [*lines, f"the list of windows is closed: replayed, {count} from all prompts"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python check_certificate.py FOLDER")
    try:
        print("\n".join(check(Path(sys.argv[1]))))
    except CheckFailedError as reason:
        sys.exit(f"refused: {reason}")
