"""Problems that models read while their values are recorded and replaced."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from curta.config.errors import UserError
from curta.evaluation import generation, teacher_forcing
from curta.evaluation.scoring import Models
from curta.layouts import Layout, ShapeBounds, Text
from curta.layouts.program import ProgramLayout
from curta.model.inspection import SiteChange, kind, record_activations
from curta.model.positions.window import WindowEncoding
from curta.model.transformer import Transformer
from curta.probes.inside import texts
from curta.probes.inside.interventions import Intervention, matching
from curta.probes.inside.replacing import Donors, Scene, changes, neighbours, sees, selected
from curta.probes.inside.texts import Texts, Tokens, model_input
from curta.problems.problem import Problem, parse
from curta.training.records import padded_texts

Values = Mapping[str, Float[np.ndarray, "members problems *axes"]]
"""The values of sites."""

STATES = ("embedding", "middle", "after")
"""Kinds of sites that are states."""

SPARE = 16
"""Tokens more than are right to write, after which a text without end is given up."""


class Question:
    """Some problems, some models, and the interventions under which these read them.

    Raises UserError for a problem that cannot be written, a site that there is not, a selection
    that selects nothing.
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
        sources = {one.source: parse(one.source) for one in interventions if one.source}
        every = list(dict.fromkeys([*problems, *sources.values()]))
        bounds = texts.bounds_of(models, every)
        self.bounds = ShapeBounds(bounds.prompt, bounds.completion + spare, bounds.extents)
        self.shapes = self._shapes()
        """The shape of every site in one text of one member, in the order of the pass."""
        self.groups = [
            [
                Intervention(site, one.how, one.source, one.where, one.seed)
                for site in matching(one.site, list(self.shapes))
            ]
            for one in interventions
        ]
        """Each intervention on every site that it names."""
        self.interventions = [one for group in self.groups for one in group]
        tokens = {problem: self.layout.tokens_of(problem) for problem in every}
        self.written = [tokens[problem] for problem in problems]
        """The true text of each problem."""

        # Every text is read once, for the values that interventions take from it. A decoder never
        # reads the last token.
        cut = -1 if self.config.causal else None
        whole = self.texts([(line[:cut], prompt) for line, prompt in tokens.values()])
        sites = {one.site for one in self.interventions if one.how != "zero"}
        values = self._pass(whole, sites, {}) if sites else {}
        row = {problem: number for number, problem in enumerate(every)}
        self.donors = Donors(
            whole,
            values,
            np.array([row[problem] for problem in problems]),
            {text: row[problem] for text, problem in sources.items()},
        )
        scene = self.scene(self.whole) if self.interventions else None
        for one in self.interventions:
            if scene and not selected(scene, one, self.shapes[one.site]).any():
                raise UserError(f"{one}: it selects nothing in these problems")

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

    def texts(self, written: Sequence[Tokens]) -> Texts:
        """Lay out written texts."""
        return Texts.of(self.layout, self.config, written, self.bounds)

    def scene(self, given: Texts) -> Scene:
        """Return texts with what each query sees of a window, if the models have one."""
        if not isinstance(self.models.stacked.positions, WindowEncoding):
            return Scene(self.layout, given, None)
        cells = _cells(self.models.member(0), given.text, self.layout, self.bounds)
        return Scene(self.layout, given, np.asarray(cells))

    def values(
        self, given: Texts, sites: Sequence[str], only: Sequence[Intervention] | None = None
    ) -> Values:
        """Return the values of sites, under all interventions or only some, in these texts."""
        return self._pass(given, {*sites}, self._changes(given, only))

    def likeliest(self, given: Texts) -> Int[np.ndarray, "members problems positions"]:
        """Return the token that each member would write after each position."""
        pieces = self._pieces(given, {"logits"}, self._changes(given, None))
        return np.concatenate([piece["logits"].argmax(axis=-1) for piece in pieces], axis=1)

    def read_states(
        self, states: Float[np.ndarray, "members states width"], final_norm: bool = True
    ) -> Float[np.ndarray, "members states vocabulary"]:
        """Return each member's logits for its own states, as if they were its last ones."""
        return np.asarray(_read(self.models.stacked, jnp.asarray(states), final_norm))

    def _changes(self, given: Texts, only: Sequence[Intervention] | None) -> dict[str, SiteChange]:
        chosen = self.interventions if only is None else only
        return changes(chosen, self.scene(given), self.donors, self.shapes) if chosen else {}

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shapes = dict[str, tuple[int, ...]]()

        def look(model: Transformer, tokens: Array, count: Array) -> None:
            text = Text(tokens, count, count)
            where = model_input(self.layout, model.config, text, self.bounds)
            values = record_activations(model, *where, self.bounds)
            shapes.update({site: value.shape[1:] for site, value in values.items()})

        one = jax.ShapeDtypeStruct((1,), jnp.int32)
        tokens = jax.ShapeDtypeStruct((1, self.bounds.total), jnp.int32)
        jax.eval_shape(look, self.models.member(0), tokens, one)
        return shapes

    def _pass(self, given: Texts, sites: set[str], changed: Mapping[str, SiteChange]) -> Values:
        pieces = [*self._pieces(given, sites, changed)]
        return {site: np.concatenate([piece[site] for piece in pieces], axis=1) for site in sites}

    def _pieces(
        self, given: Texts, sites: set[str], changed: Mapping[str, SiteChange]
    ) -> Iterator[dict[str, np.ndarray]]:
        """Yield the values of some texts after the other, as many at once as fit the caches."""
        call = partial(_recorded, layout=self.layout, bounds=self.bounds, sites=frozenset(sites))
        members, count = self.models.members, len(given.lengths)
        most = 1 << max(0, (teacher_forcing.BUDGET // self.bounds.total**2).bit_length() - 1)
        size = min(most, 1 << (count - 1).bit_length())

        def some(array: np.ndarray, axis: int, rows: np.ndarray) -> np.ndarray:
            """The rows of an array that has a row for each text, or one for all."""
            return array if array.shape[axis] == 1 else np.take(array, rows, axis=axis)

        for start in range(0, count, size):
            numbers = np.arange(start, min(start + size, count))
            rows = np.resize(numbers, size)  # the last batch is filled up with its own
            masks, values = dict[str, np.ndarray](), dict[str, np.ndarray]()
            for site, change in changed.items():
                masks[site] = some(np.asarray(change.mask), 0, rows)
                each = np.asarray(change.values)
                values[site] = some(np.broadcast_to(each, (members, *each.shape[1:])), 1, rows)
            piece = call(self.models.stacked, given.rows(rows).text, masks, values)
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
        model, own = model_and_values
        changed = {site: SiteChange(masks[site], own[site]) for site in own}
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
    """Return a part of a model as people say it.

    >>> part_name("recurrence.1.layer.0.attention.heads", 2), part_name("layer.1.mlp.output")
    ('recurrence 1 layer 0 head 2', 'layer 1 MLP')
    >>> part_name("layer.0.after"), part_name("layer.0.middle"), part_name("layer.0.mlp.inner")
    ('state after layer 0', 'state amid layer 0', 'layer 0 neurons')
    """
    what = kind(site)
    where = " ".join(site.removesuffix(what).split("."))
    states = {"before": "before", "middle": "amid", "after": "after"}
    if what in states:
        return f"state {states[what]} {where.strip()}"
    others = {"attention.heads": f"head {head}", "mlp.output": "MLP", "mlp.inner": "neurons"}
    return where + others.get(what, what)


class AnswerDigits(NamedTuple):
    """The digits of all answers, one after the other; `number` counts those of one from 0.

    They are counted as they are written: in most texts, the least significant first.
    """

    problem: Int[np.ndarray, " digits"]
    query: Int[np.ndarray, " digits"]
    """The position at which the model predicts it."""
    number: Int[np.ndarray, " digits"]
    token: Int[np.ndarray, " digits"]

    @classmethod
    def of(cls, question: Question) -> "AnswerDigits":
        """Find them: of 57+68=125 the 5, 2 and 1, wherever they stand in its text.

        Where a layout has no role for the answer's digits, they are all tokens but the end.
        """
        layout, written = question.layout, question.written
        text = padded_texts(written, question.bounds.total, 0)
        roles, cells = np.asarray(layout.where(text).role), list[tuple[int, int, int, int]]()
        names = [role.name for role in layout.roles]
        for row, (tokens, prompt) in enumerate(written):
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

    def at(self, values: Shaped[np.ndarray, "members problems positions *axes"]) -> np.ndarray:
        """Return the values where digits are predicted: members by digits, and further axes."""
        mine: np.ndarray = values[:, self.problem, self.query]
        return mine

    def of_problems(self, start: int, count: int) -> "AnswerDigits":
        """Return the digits of some problems, which are counted from 0 then."""
        mine = (self.problem >= start) & (self.problem < start + count)
        chosen = AnswerDigits(*(column[mine] for column in self))
        return chosen._replace(problem=chosen.problem - start)

    def means(
        self, values: Shaped[np.ndarray, "members digits"]
    ) -> list[tuple[int, int, Float[np.ndarray, " members"]]]:
        """Return for each number of a digit how many there are, and the mean of their values."""
        numbers = range(int(self.number.max(initial=-1)) + 1)
        return [
            (n, int((self.number == n).sum()), values[:, self.number == n].mean(axis=1))
            for n in numbers
        ]


def write_under(
    models: Models, problems: Sequence[Problem], interventions: Sequence[Intervention]
) -> list[list[list[int]]]:
    """Return the tokens that each member writes after each problem's prompt, up to its end.

    Before each token the whole text so far is read again, under the interventions at those of its
    tokens that they select; values are taken from true texts. A dense model has no room for more
    tokens than are right for problems of this size.
    """
    spare = 0 if models.memo is None else SPARE
    by_member = list[list[list[int]]]()
    for member in range(models.members):
        question = Question(models.only(member), problems, interventions, spare)
        prompts = [prompt for _, prompt in question.written]
        lines: list[list[int]] = [tokens[:prompt] for tokens, prompt in question.written]
        end, open_rows = question.layout.end, set(range(len(lines)))
        for _ in range(question.bounds.completion):
            given = question.texts(list(zip(lines, prompts, strict=True)))
            likeliest = question.likeliest(given)[0]
            if not question.config.causal:  # an encoder writes all tokens at once
                written = likeliest[:, : question.bounds.completion].tolist()
                lines = [
                    line + generation.ended(row, end)
                    for line, row in zip(lines, written, strict=True)
                ]
                break
            for row in sorted(open_rows):
                lines[row].append(int(likeliest[row, len(lines[row]) - 1]))
            open_rows = {row for row in open_rows if lines[row][-1] != end}
            if not open_rows:
                break
        by_member.append([line[p:] for line, p in zip(lines, prompts, strict=True)])
    return by_member
