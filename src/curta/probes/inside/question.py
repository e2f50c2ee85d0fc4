"""Problems that models read while values are recorded and replaced."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from curta.config.errors import UserError
from curta.evaluation import generation
from curta.evaluation.scoring import BUDGET, Models
from curta.layouts import Layout, ShapeBounds, Text
from curta.layouts.program import ProgramLayout
from curta.model.inspection import SiteChange, kind, record_activations
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from curta.probes.base import Row, summary_statistics
from curta.probes.inside import texts
from curta.probes.inside.interventions import Intervention, matching
from curta.probes.inside.texts import (
    Donors,
    Scene,
    Texts,
    WrittenText,
    changes,
    model_input,
    neighbours,
    sees,
    selected,
)  # fmt: skip
from curta.problems.problem import Problem, parse
from curta.training.records import padded_texts

Values = Mapping[str, Float[np.ndarray, "members problems *axes"]]
"""The values of sites."""

STATES = ("embedding", "middle", "after")
"""Kinds of sites that are states."""

SPARE = 16
"""Tokens beyond the right length after which a text without end is abandoned."""


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
        bounds = texts.bounds_of(models, every)
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
        whole = self.texts([(line[:cut], prompt) for line, prompt in tokens.values()])
        sites = {i.site for i in self.interventions if i.how != "zero"}
        values = self._pass(whole, sites, {}) if sites else {}
        row = {problem: number for number, problem in enumerate(every)}
        self.donors = Donors(
            whole,
            values,
            np.array([row[problem] for problem in problems]),
            {text: row[problem] for text, problem in sources.items()},
        )
        scene = self.scene(self.whole) if self.interventions else None
        for intervention in self.interventions:
            if scene and not selected(scene, intervention, self.shapes[intervention.site]).any():
                raise UserError(f"{intervention}: it selects nothing in these problems")

    @property
    def whole(self) -> Texts:
        """The problems' true texts."""
        return self.donors.texts.rows(self.donors.problem_rows)

    @cached_property
    def digits(self) -> "AnswerDigits":
        """The digits of all answers."""
        return AnswerDigits.of(self)

    def sites(self, *kinds: str) -> list[str]:
        """Return the sites of some kinds, such as "after", in the order of the pass."""
        return [site for site in self.shapes if kind(site) in kinds]

    def visible_neighbours(self) -> list[str]:
        """Return the names of the neighbours that any query sees; none without a window."""
        scene = self.scene(self.whole)
        if scene.cells is None:
            return []
        return [name for name in neighbours(self.layout) if sees(scene, name).any()]

    def texts(self, written: Sequence[WrittenText]) -> Texts:
        """Lay out written texts."""
        return Texts.of(self.layout, self.config, written, self.bounds)

    def scene(self, batch: Texts) -> Scene:
        """Return texts and, if the models have a window, what each query sees of it."""
        if not isinstance(self.models.stacked.positions, WindowEncoding):
            return Scene(self.layout, batch, None)
        cells = _cells(self.models.member(0), batch.text, self.layout, self.bounds)
        return Scene(self.layout, batch, np.asarray(cells))

    def values(
        self, batch: Texts, sites: Sequence[str], only: Sequence[Intervention] | None = None
    ) -> Values:
        """Return the values of sites in these texts, under all interventions or only some."""
        return self._pass(batch, {*sites}, self._changes(batch, only))

    def digit_values(
        self, sites: Sequence[str], only: Sequence[Intervention] | None = None
    ) -> dict[str, Float[np.ndarray, "members digits *axes"]]:
        """Return the values of sites where the digits of all answers are predicted."""
        whole, digits, start = self.whole, self.digits, 0
        values: dict[str, list[np.ndarray]] = {site: [] for site in sites}
        for piece in self._pieces(whole, {*sites}, self._changes(whole, only)):
            count = piece[sites[0]].shape[1]
            mine = (start <= digits.problem) & (digits.problem < start + count)
            for site in sites:
                at_digits = piece[site][:, digits.problem[mine] - start, digits.query[mine]]
                values[site].append(at_digits)
            start += count
        return {site: np.concatenate(pieces, axis=1) for site, pieces in values.items()}

    def likeliest(self, batch: Texts) -> Int[np.ndarray, "members problems positions"]:
        """Return the token that each member would write after each position."""
        pieces = self._pieces(batch, {"logits"}, self._changes(batch, None))
        return np.concatenate([piece["logits"].argmax(axis=-1) for piece in pieces], axis=1)

    def read_states(
        self, states: Float[np.ndarray, "members states width"], final_norm: bool = True
    ) -> Float[np.ndarray, "members states vocabulary"]:
        """Return each member's logits for its own states, as if they were its last states."""
        return np.asarray(_read(self.models.stacked, jnp.asarray(states), final_norm))

    def _changes(self, batch: Texts, only: Sequence[Intervention] | None) -> dict[str, SiteChange]:
        chosen = self.interventions if only is None else only
        return changes(chosen, self.scene(batch), self.donors, self.shapes) if chosen else {}

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

    def _pass(self, batch: Texts, sites: set[str], changed: Mapping[str, SiteChange]) -> Values:
        pieces = [*self._pieces(batch, sites, changed)]
        return {site: np.concatenate([piece[site] for piece in pieces], axis=1) for site in sites}

    def _pieces(
        self, batch: Texts, sites: set[str], changed: Mapping[str, SiteChange]
    ) -> Iterator[dict[str, np.ndarray]]:
        """Yield the values of consecutive texts, as many at once as fit the caches."""
        call = partial(_recorded, layout=self.layout, bounds=self.bounds, sites=frozenset(sites))
        members, count = self.models.members, len(batch.lengths)
        most = 1 << max(0, (BUDGET // self.bounds.total**2).bit_length() - 1)
        size = min(most, 1 << (count - 1).bit_length())

        def take(array: np.ndarray, axis: int, rows: np.ndarray) -> np.ndarray:
            """The rows of an array that has a row for each text, or one for all."""
            return array if array.shape[axis] == 1 else np.take(array, rows, axis=axis)

        for start in range(0, count, size):
            numbers = np.arange(start, min(start + size, count))
            rows = np.resize(numbers, size)  # the last batch is filled up with its own
            masks, values = dict[str, np.ndarray](), dict[str, np.ndarray]()
            for site, change in changed.items():
                masks[site] = take(np.asarray(change.mask), 0, rows)
                each = np.asarray(change.values)
                values[site] = take(np.broadcast_to(each, (members, *each.shape[1:])), 1, rows)
            piece = call(self.models.stacked, batch.rows(rows).text, masks, values)
            yield {site: np.asarray(value)[:, : len(numbers)] for site, value in piece.items()}


@partial(jax.jit, static_argnames=("layout", "bounds", "sites"))
def _recorded(
    stacked: Transformer,
    text: Text,
    masks: Mapping[str, Array],
    values: Mapping[str, Array],
    *,
    layout: Layout,
    bounds: ShapeBounds,
    sites: frozenset[str],
) -> dict[str, Array]:
    tokens, where = model_input(layout, stacked.config, text, bounds)

    def member(model_and_values: tuple[Transformer, Mapping[str, Array]]) -> dict[str, Array]:
        model, member_values = model_and_values
        changed = {site: SiteChange(masks[site], member_values[site]) for site in member_values}
        return record_activations(model, tokens, where, bounds, sites, changed)

    return jax.lax.map(member, (stacked, values))


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


def part_name(site: str, head: int | None = None) -> str:
    """Return the name of a part of a model for people.

    >>> part_name("recurrence.1.layer.0.attention.heads", 2), part_name("layer.1.mlp.output")
    ('recurrence 1 layer 0 head 2', 'layer 1 MLP')
    >>> part_name("layer.0.after"), part_name("layer.0.middle"), part_name("layer.0.mlp.inner")
    ('state after layer 0', 'state amid layer 0', 'layer 0 neurons')
    """
    site_kind = kind(site)
    where = " ".join(site.removesuffix(site_kind).split("."))
    states = {"before": "before", "middle": "amid", "after": "after"}
    if site_kind in states:
        return f"state {states[site_kind]} {where.strip()}"
    others = {"attention.heads": f"head {head}", "mlp.output": "MLP", "mlp.inner": "neurons"}
    return where + others.get(site_kind, site_kind)


class AnswerDigits(NamedTuple):
    """The digits of all answers, one after the other; `number` counts within an answer from 0.

    They are in the order of writing: in most texts, least significant first.
    """

    problem: Int[np.ndarray, " digits"]
    query: Int[np.ndarray, " digits"]
    """The position at which the model predicts it."""
    number: Int[np.ndarray, " digits"]
    token: Int[np.ndarray, " digits"]

    @classmethod
    def of(cls, question: Question) -> "AnswerDigits":
        """Return the digits of a question: in 57+68=125 the 5, 2 and 1, wherever its text has them.

        Where a layout has no role for the answer's digits, they are all tokens but the end.
        """
        layout, true_texts = question.layout, question.true_texts
        text = padded_texts(true_texts, question.bounds.total, 0)
        roles, cells = np.asarray(layout.where(text).role), list[tuple[int, int, int, int]]()
        names = [role.name for role in layout.roles]
        for row, (tokens, prompt) in enumerate(true_texts):
            if isinstance(layout, ProgramLayout):
                answer = layout.machine.formats[question.problems[row].operator].answer
                of_answer = {answer.role, answer.fraction}
            else:
                of_answer = {"answer"} if "answer" in names else {*names} - {"end"}
            numbers = [number for number, name in enumerate(names) if name in of_answer]
            places = np.flatnonzero(np.isin(roles[row, prompt : len(tokens)], numbers))
            start = prompt - 1 if question.config.causal else 0
            cells += [
                (row, start + place, number, tokens[prompt + place])
                for number, place in enumerate(places.tolist())
            ]
        return cls(*np.array(cells, int).reshape(-1, 4).T)

    def rows(self, values: Shaped[np.ndarray, "members digits"]) -> list[Row]:
        """Return for each number of a digit how many there are, and the mean of their values."""
        masks = [self.number == number for number in range(int(self.number.max(initial=-1)) + 1)]
        return [
            {"digit": number, "asked": int(mask.sum())}
            | summary_statistics(values[:, mask].mean(axis=1))
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
