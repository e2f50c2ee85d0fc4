"""Problems that models read while values are recorded and replaced."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Shaped

from curta.config.errors import UserError, unknown
from curta.config.sections import ModelConfig
from curta.evaluation import generation
from curta.evaluation.scoring import BUDGET, Models, room_for
from curta.layouts import Layout, ShapeBounds, Text, TokenPositions
from curta.layouts.base import prompt_batch
from curta.layouts.program import ProgramLayout
from curta.model.inspection import AXES, SiteChange, kind, record_activations
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from curta.probes.base import Row, summary_columns
from curta.probes.inside.interventions import ITSELF, Intervention, as_list, matching
from curta.problems.problem import Problem, parse
from curta.programs.machine.machine import neighbour_name
from curta.training.records import padded_texts

Mask = Bool[np.ndarray, "..."]

Piece = Callable[[np.ndarray, int], np.ndarray]
"""A function of the values of a site in consecutive texts, and of the number of the first text."""

WrittenText = tuple[list[int], int]
"""A written text, and the number of tokens in its prompt."""

SPARE = 16
"""Tokens beyond the right length after which a text without end is abandoned."""


class Texts(NamedTuple):
    """Texts, a row each; positions from `lengths` on are padding.

    A decoder reads all tokens but the last, and predicts the next one at each of them. An encoder
    reads the prompt, and predicts the i-th token of the completion at the i-th position.
    """

    text: Text
    lengths: Int[np.ndarray, " problems"]
    roles: Int[np.ndarray, "problems positions"]
    coordinates: Int[np.ndarray, "problems positions axes"]

    @property
    def present(self) -> Bool[np.ndarray, "problems positions"]:
        """Which positions are not padding."""
        mask: np.ndarray = np.arange(self.roles.shape[1]) < self.lengths[:, None]
        return mask

    def take(self, rows: Int[np.ndarray, " rows"]) -> "Texts":
        """Return some of the texts."""
        text = Text(*(array[rows] for array in self.text))
        return Texts(text, *(array[rows] for array in self[1:]))


class Question:
    """Some problems, some models, and the interventions under which the models read them.

    Raises UserError for a problem that cannot be written, an unknown site, or a selection that
    selects nothing.
    """

    def __init__(
        self,
        models: Models,
        problems: Sequence[Problem],
        interventions: Sequence[Intervention] = (),
        spare: int = 0,
    ) -> None:
        """`spare` is room for tokens beyond those of the true texts."""
        if not problems:
            raise UserError("no problem is given, such as 12+34")
        self.models, self.problems, self.config = models, list(problems), models.stacked.config
        self.layout: Layout = models.layout
        sources = {i.source: parse(i.source) for i in interventions if i.source}
        every = list(dict.fromkeys([*problems, *sources.values()]))
        bounds = bounds_of(models, every)
        self.bounds = ShapeBounds(bounds.prompt, bounds.completion + spare, bounds.extents)
        self.shapes = self._shapes()
        """The shape of every site in one text of one member, in the order of the pass."""
        self.groups = [
            [replace(intervention, site=site) for site in matching(intervention.site, self.shapes)]
            for intervention in interventions
        ]
        """Each intervention on every site that it names."""
        self.interventions = [intervention for group in self.groups for intervention in group]
        tokens = {problem: self.layout.tokens_of(problem) for problem in every}
        self.true_texts = [tokens[problem] for problem in problems]
        """The true text of each problem."""

        # Every text is read once, for the values that interventions take from it. A decoder never
        # reads the last token.
        cut = -1 if self.config.causal else None
        self.every = self.texts([(line[:cut], prompt) for line, prompt in tokens.values()])
        """The true texts of all problems and sources, each once."""
        row = {problem: number for number, problem in enumerate(every)}
        self.rows = np.array([row[problem] for problem in problems])
        """The row of each problem among them."""
        self.source_rows = {text: row[problem] for text, problem in sources.items()}
        sites = {i.site for i in self.interventions if i.how != "zero"}
        self.every_values = self._pass(self.every, sites, {}) if sites else {}
        for intervention in self.interventions:
            if not self._selected(intervention, self.whole).any():
                raise UserError(f"{intervention}: it selects nothing in these problems")

    @property
    def whole(self) -> Texts:
        """The problems' true texts."""
        return self.every.take(self.rows)

    @cached_property
    def digits(self) -> "AnswerDigits":
        """The digits of all answers: in 57+68=125 the 5, 2 and 1, wherever its text has them.

        Where a layout has no role for the answer's digits, they are all tokens but the end.
        """
        layout, cells = self.layout, list[tuple[int, int, int, int]]()
        text = padded_texts(self.true_texts, self.bounds.total, 0)
        roles, names = np.asarray(layout.where(text).role), [role.name for role in layout.roles]
        for row, (tokens, prompt) in enumerate(self.true_texts):
            if isinstance(layout, ProgramLayout):
                answer = layout.machine.formats[self.problems[row].operator].answer
                of_answer = {answer.role, answer.fraction}
            else:
                of_answer = {"answer"} if "answer" in names else {*names} - {"end"}
            numbers = [number for number, name in enumerate(names) if name in of_answer]
            places = np.flatnonzero(np.isin(roles[row, prompt : len(tokens)], numbers))
            start = prompt - 1 if self.config.causal else 0
            cells += [
                (row, start + place, number, tokens[prompt + place])
                for number, place in enumerate(places.tolist())
            ]
        return AnswerDigits(*np.array(cells, int).reshape(-1, 4).T)

    def sites(self, *kinds: str) -> list[str]:
        """Return the sites of some kinds, such as "after", in the order of the pass."""
        return [site for site in self.shapes if kind(site) in kinds]

    @property
    def states(self) -> list[str]:
        """The sites that are states of the model."""
        return self.sites("embedding", "middle", "after")

    @staticmethod
    def part_name(site: str, head: int | None = None) -> str:
        """Return the name of a part of a model for people.

        >>> name = Question.part_name
        >>> name("recurrence.1.layer.0.attention.heads", 2), name("layer.1.mlp.output")
        ('recurrence 1 layer 0 head 2', 'layer 1 MLP')
        >>> name("layer.0.after"), name("layer.0.middle"), name("layer.0.mlp.inner")
        ('state after layer 0', 'state amid layer 0', 'layer 0 neurons')
        """
        site_kind = kind(site)
        where = " ".join(site.removesuffix(site_kind).split("."))
        states = {"before": "before", "middle": "amid", "after": "after"}
        if site_kind in states:
            return f"state {states[site_kind]} {where.strip()}"
        others = {"attention.heads": f"head {head}", "mlp.output": "MLP", "mlp.inner": "neurons"}
        return where + others.get(site_kind, site_kind)

    def texts(self, lines: Sequence[WrittenText]) -> Texts:
        """Lay out written texts, complete or partial."""
        lengths = [len(tokens) for tokens, _ in lines]
        if not self.config.causal:
            lengths = [max(prompt, len(tokens) - prompt) for tokens, prompt in lines]
            lines = [(tokens[:prompt], prompt) for tokens, prompt in lines]
        text = padded_texts(lines, self.bounds.total, 0)
        where = model_input(self.layout, self.config, text, self.bounds)[1]
        roles, coordinates = np.asarray(where.role), np.asarray(where.coordinates)
        return Texts(text, np.array(lengths), roles, coordinates)

    @cached_property
    def neighbour_cells(self) -> dict[str, Int[np.ndarray, " roles"]]:
        """The cell of each role's window that a neighbour fills, or -1, by the neighbour's name.

        Cell 0 is the query itself. There are none unless the models see windows.
        """
        layout, roles = self.layout, len(self.layout.roles)
        if not isinstance(self.models.stacked.positions, WindowEncoding):
            return {}
        assert isinstance(layout, ProgramLayout)
        cells = {ITSELF: np.zeros(roles, int)}
        for number, role in enumerate(layout.roles):
            for cell, neighbour in enumerate(layout.windows.get(role.name, ()), 1):
                name = neighbour_name(layout.axes, neighbour)
                cells.setdefault(name, np.full(roles, -1))[number] = cell
        return cells

    def neighbours(
        self, batch: Texts
    ) -> Iterator[tuple[str, Bool[np.ndarray, "problems queries keys"]]]:
        """Yield the neighbours of all windows, and where a key is that neighbour of a query."""
        if not self.neighbour_cells:
            return
        # the cell of each query's window that each key fills; another number if it fills none
        model = self.models.member(0)
        filled = np.asarray(_cells(model, batch.text, self.layout, self.bounds))
        for name, cells in self.neighbour_cells.items():
            cell = np.where(batch.roles >= 0, cells[batch.roles], -1)
            yield name, filled == cell[..., None]

    def values(
        self, batch: Texts, sites: Sequence[str], only: Sequence[Intervention] | None = None
    ) -> dict[str, Float[np.ndarray, "members problems *axes"]]:
        """Return the values of sites in these texts, under all interventions or only some."""
        return self._pass(batch, {*sites}, self._changes(batch, only))

    def digit_values(
        self, sites: Sequence[str], only: Sequence[Intervention] | None = None
    ) -> dict[str, Float[np.ndarray, "members digits *axes"]]:
        """Return the values of sites where the digits of all answers are predicted."""
        digits = self.digits

        def at_digits(values: np.ndarray, start: int) -> np.ndarray:
            rows = digits.problem - start
            mine = (rows >= 0) & (rows < values.shape[1])
            return values[:, rows[mine], digits.query[mine]]

        whole = self.whole
        by_site = self._pass(whole, {*sites}, self._changes(whole, only), at_digits)
        return {site: by_site[site] for site in sites}

    def likeliest(self, batch: Texts) -> Int[np.ndarray, "members problems positions"]:
        """Return the token that each member would write after each position."""
        best: Piece = lambda logits, start: logits.argmax(axis=-1)
        return self._pass(batch, {"logits"}, self._changes(batch), best)["logits"]

    def read_states(
        self, states: Float[np.ndarray, "members states width"], final_norm: bool = True
    ) -> Float[np.ndarray, "members states vocabulary"]:
        """Return each member's logits for its own states, as if they were its last states."""
        return np.asarray(_read(self.models.stacked, jnp.asarray(states), final_norm))

    def _changes(
        self, batch: Texts, only: Sequence[Intervention] | None = None
    ) -> dict[str, SiteChange]:
        """Return the change at each site; of several interventions on a value, the last counts."""
        by_site = dict[str, SiteChange]()
        for intervention in self.interventions if only is None else only:
            site, mask = intervention.site, self._selected(intervention, batch)
            if intervention.how == "zero":
                shape = (self.models.members, len(mask), *(1,) * (mask.ndim - 1))
                change = SiteChange(mask, np.zeros(shape, np.float32))
            elif intervention.how == "mean":
                change = self._role_means(site, mask, batch)
            else:
                change = self._transplant(intervention, mask, batch)
            if site in by_site:
                values = np.where(change.mask, change.values, by_site[site].values)
                change = SiteChange(by_site[site].mask | change.mask, values)
            by_site[site] = change
        return by_site

    def _selected(self, intervention: Intervention, texts: Texts) -> Mask:
        """Return a mask that broadcasts to the values of the site in these texts.

        Raises UserError for an axis or a name that the site does not have, and for an index beyond
        its axis; a mask may be empty.
        """
        site, names = intervention.site, [role.name for role in self.layout.roles]
        axes = AXES[kind(site)]
        sizes = dict(zip(axes, (len(texts.lengths), *self.shapes[site]), strict=True))
        places = "query" if "query" in axes else "position"
        by_name = {"role": names}
        if places == "query":
            by_name["key_role"] = names
            if self.neighbour_cells:
                by_name["neighbour"] = list(self.neighbour_cells)

        def along(mask: Mask, *those: str) -> Mask:
            """The mask of these axes, with 1 on the others: ("key",) of 5 becomes (1, 1, 1, 5)."""
            return mask.reshape([mask.shape[those.index(a)] if a in those else 1 for a in axes])

        mask = along(texts.present, "problem", places)
        for axis, selection in intervention.where.items():
            items = as_list(selection)
            if axis in axes:
                for index in items:
                    if not isinstance(index, int) or not 0 <= index < sizes[axis]:
                        raise UserError(f"{site} has {axis} 0 to {sizes[axis] - 1}, not {index}")
                mask = mask & along(np.isin(np.arange(sizes[axis]), items), axis)
                continue
            if axis not in by_name:
                raise unknown(f"selection of {site}", axis, [*axes, *by_name])
            for item in items:
                if item not in by_name[axis]:
                    raise unknown(axis.removeprefix("key_"), item, by_name[axis])
            if axis == "neighbour":
                seen = [mask for name, mask in self.neighbours(texts) if name in items]
                mask = mask & along(np.logical_or.reduce(seen), "problem", "query", "key")
            else:
                of_roles = np.isin(texts.roles, [names.index(str(item)) for item in items])
                mask = mask & along(of_roles, "problem", places if axis == "role" else "key")
        return mask

    def _role_means(self, site: str, mask: Mask, texts: Texts) -> SiteChange:
        """Replace values by the mean over all tokens of the same role in all problems.

        Tokens of a role that no problem has keep their values.
        """
        if "position" not in AXES[kind(site)]:
            raise UserError(
                f"{site} has no mean: its queries see different keys; zero, resample, patch"
            )
        present = self.whole.present
        values = self.every_values[site][:, self.rows][:, present]
        roles = self.whole.roles[present]
        means = np.zeros((len(values), *texts.roles.shape, *values.shape[2:]), np.float32)
        has = np.isin(texts.roles, roles)
        for role in np.unique(roles):
            means[:, texts.roles == role] = values[:, roles == role].mean(axis=1)[:, None]
        return SiteChange(mask & has.reshape(*has.shape, *(1,) * (mask.ndim - 2)), means)

    def _transplant(self, edit: Intervention, mask: Mask, texts: Texts) -> SiteChange:
        """Replace values by those of corresponding tokens in the source, or in other problems."""
        count = len(self.rows)
        if edit.source is not None:
            rows = np.full(count, self.source_rows[edit.source])
        elif count < 2:
            raise UserError(f"{edit}: give several problems, from which others' values are drawn")
        else:
            step = np.random.default_rng(edit.seed).integers(1, count, count)
            rows = self.rows[(np.arange(count) + step) % count]
        places = aligned(self.layout, texts, self.every, rows)
        values, has, index = self.every_values[edit.site][:, rows], places >= 0, places.clip(0)
        if "position" in AXES[kind(edit.site)]:
            index = index.reshape(1, *index.shape, *(1,) * (values.ndim - 3))
            moved = np.take_along_axis(values, index, axis=2)
            return SiteChange(mask & has.reshape(*has.shape, *(1,) * (mask.ndim - 2)), moved)
        # attention weights (members, problems, heads, queries, keys): both queries and keys move
        moved = np.take_along_axis(values, index[None, :, None, :, None], axis=3)
        moved = np.take_along_axis(moved, index[None, :, None, None, :], axis=4)
        return SiteChange(mask & has[:, None, :, None] & has[:, None, None], moved)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = dict[str, tuple[int, ...]]()

        def look(model: Transformer, tokens: Array, count: Array) -> None:
            text = Text(tokens, count, count)
            where = model_input(self.layout, model.config, text, self.bounds)
            values = record_activations(model, *where, self.bounds)
            shapes.update({site: value.shape[1:] for site, value in values.items()})

        count_shape = jax.ShapeDtypeStruct((1,), jnp.int32)
        tokens = jax.ShapeDtypeStruct((1, self.bounds.total), jnp.int32)
        jax.eval_shape(look, self.models.member(0), tokens, count_shape)
        return shapes

    def _pass(
        self,
        batch: Texts,
        sites: set[str],
        changes: Mapping[str, SiteChange],
        piece: Piece = lambda values, start: values,
    ) -> dict[str, np.ndarray]:
        """Return what `piece` makes of the values of consecutive texts, joined.

        A piece is as many texts as fit the caches.
        """
        call = partial(_recorded, layout=self.layout, bounds=self.bounds, sites=frozenset(sites))
        count, values = len(batch.lengths), defaultdict[str, list[np.ndarray]](list)
        most = 1 << max(0, (BUDGET // self.bounds.total**2).bit_length() - 1)
        size = min(most, 1 << (count - 1).bit_length())
        for start in range(0, count, size):
            numbers = np.arange(start, min(start + size, count))
            rows = np.resize(numbers, size)  # the last piece is filled up with its own texts
            mine = {
                site: SiteChange(change.mask[rows], change.values[:, rows])
                for site, change in changes.items()
            }
            recorded = call(self.models.stacked, batch.take(rows).text, mine)
            for site, value in recorded.items():
                values[site].append(piece(np.asarray(value)[:, : len(numbers)], start))
        return {site: np.concatenate(pieces, axis=1) for site, pieces in values.items()}


@partial(jax.jit, static_argnames=("layout", "bounds", "sites"))
def _recorded(
    stacked: Transformer,
    text: Text,
    changes: Mapping[str, SiteChange],
    *,
    layout: Layout,
    bounds: ShapeBounds,
    sites: frozenset[str],
) -> dict[str, Array]:
    tokens, where = model_input(layout, stacked.config, text, bounds)

    def member(model_and_values: tuple[Transformer, Mapping[str, Array]]) -> dict[str, Array]:
        model, values = model_and_values
        mine = {site: SiteChange(changes[site].mask, value) for site, value in values.items()}
        return record_activations(model, tokens, where, bounds, sites, mine)

    return jax.lax.map(member, (stacked, {site: each.values for site, each in changes.items()}))


@partial(jax.jit, static_argnames=("layout", "bounds"))
def _cells(model: Transformer, text: Text, layout: Layout, bounds: ShapeBounds) -> Array:
    assert isinstance(model.positions, WindowEncoding)
    where = model_input(layout, model.config, text, bounds)[1]
    visible_keys = model.positions.visible_keys(model.positions.index(where, bounds), where)
    return model.positions.cell_of_keys(visible_keys)


@partial(jax.jit, static_argnames="final_norm")
def _read(stacked: Transformer, states: Array, final_norm: bool) -> Array:
    def member(model_and_states: tuple[Transformer, Array]) -> Array:
        model, h = model_and_states
        config = replace(model.config, final_norm=model.config.final_norm and final_norm)
        return replace(model, config=config).logits(h, jnp.zeros((1, len(h)), jnp.int32))[0]

    return jax.lax.map(member, (stacked, states))


def model_input(
    layout: Layout, config: ModelConfig, text: Text, bounds: ShapeBounds
) -> tuple[Int[Array, "batch time"], TokenPositions]:
    """Return the tokens that a model reads, and their positions."""
    where = layout.where(text)
    if config.causal:
        return text.tokens, where
    return prompt_batch(text.tokens, where, text.prompts, bounds)[:2]


def bounds_of(models: Models, problems: Sequence[Problem]) -> ShapeBounds:
    """Return room for texts of all these problems, of any operators.

    Raises UserError for a problem that the layout cannot write, or that has no positions.
    """
    operator = attrgetter("operator")
    groups = [list(mine) for _, mine in groupby(sorted(problems, key=operator), operator)]
    all_bounds = [room_for(models, mine) or models.layout.bounds_of(mine) for mine in groups]
    extents = zip_longest(*(bounds.extents for bounds in all_bounds), fillvalue=(0, 0))
    return ShapeBounds(
        max(bounds.prompt for bounds in all_bounds),
        max(bounds.completion for bounds in all_bounds),
        tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in extents),
    )


def aligned(
    layout: Layout, texts: Texts, others: Texts, rows: Int[np.ndarray, " problems"]
) -> Int[np.ndarray, "problems positions"]:
    """Return the position of each token's counterpart in another text, one of `rows`; -1 for none.

    The counterpart is the digit of the same role on the same square, or the operator of the same
    role; of several, the one of the same rank. In 21+4= the 4 and = are tokens 3 and 4, in 213+45=
    tokens 4 and 6.
    """

    def keys(texts: Texts, row: int) -> list[tuple[int, ...]]:
        """Role, square (of a digit) and rank of each token."""
        count, ranks, keys = texts.lengths[row], dict[tuple[int, ...], int](), []
        roles, squares = texts.roles[row, :count].tolist(), texts.coordinates[row, :count].tolist()
        for role, square in zip(roles, squares, strict=True):
            key = (role, *square) if role >= 0 and layout.roles[role].digit else (role,)
            ranks[key] = ranks.get(key, -1) + 1
            keys.append((*key, ranks[key]))
        return keys

    places = np.full(texts.roles.shape, -1)
    for row, other in enumerate(rows.tolist()):
        index = {key: place for place, key in enumerate(keys(others, other))}
        counterparts = [index.get(key, -1) for key in keys(texts, row)]
        places[row, : len(counterparts)] = counterparts
    return places


class AnswerDigits(NamedTuple):
    """The digits of all answers, one after the other; `number` counts within an answer from 0.

    They are in the order of writing: in most texts, least significant first.
    """

    problem: Int[np.ndarray, " digits"]
    query: Int[np.ndarray, " digits"]
    """The position at which the model predicts it."""
    number: Int[np.ndarray, " digits"]
    token: Int[np.ndarray, " digits"]

    def rows(self, values: Shaped[np.ndarray, "members digits"]) -> list[Row]:
        """Return for each number of a digit how many there are, and the mean of their values."""
        masks = [self.number == number for number in range(int(self.number.max(initial=-1)) + 1)]
        return [
            {"digit": number, "asked": int(mask.sum())}
            | summary_columns(values[:, mask].mean(axis=1))
            for number, mask in enumerate(masks)
        ]


def write_under(
    models: Models, problems: Sequence[Problem], interventions: Sequence[Intervention]
) -> list[list[list[int]]]:
    """Return the tokens that each member writes after each problem's prompt, up to its end.

    Before each token the whole text so far is read again, under the interventions at those of its
    tokens that they select; values come from true texts. A dense model has no room for more tokens
    than are right for problems of this size.
    """
    spare = 0 if models.memo is None else SPARE
    by_member = list[list[list[int]]]()
    for member in range(models.members):
        question = Question(models.only(member), problems, interventions, spare)
        prompts = [prompt for _, prompt in question.true_texts]
        lines: list[list[int]] = [tokens[:prompt] for tokens, prompt in question.true_texts]
        end, open_rows = question.layout.end, set(range(len(lines)))
        for _ in range(question.bounds.completion):
            batch = question.texts(list(zip(lines, prompts, strict=True)))
            likeliest = question.likeliest(batch)[0]
            if not question.config.causal:  # an encoder writes all tokens at once
                completions = likeliest[:, : question.bounds.completion].tolist()
                lines = [
                    line + generation.ended(row, end)
                    for line, row in zip(lines, completions, strict=True)
                ]
                break
            for row in sorted(open_rows):
                lines[row].append(int(likeliest[row, len(lines[row]) - 1]))
            open_rows = {row for row in open_rows if lines[row][-1] != end}
            if not open_rows:
                break
        by_member.append([line[p:] for line, p in zip(lines, prompts, strict=True)])
    return by_member
