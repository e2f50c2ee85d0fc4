"""Texts as a model reads them, and which of their values interventions select and replace."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Int

from curta.config.errors import UserError, unknown
from curta.config.model import ModelConfig
from curta.evaluation.scoring import Models, room_for
from curta.layouts import Layout, ShapeBounds, Text, TokenPositions
from curta.layouts.batches import prompt_batch
from curta.layouts.program import ProgramLayout
from curta.model.inspection import AXES, SiteChange, kind
from curta.probes.inside.interventions import ITSELF, Intervention, Selection, as_list
from curta.problems.problem import Problem
from curta.programs.machine.machine import neighbour_name
from curta.training.records import padded_texts

Mask = Bool[np.ndarray, "..."]

WrittenText = tuple[list[int], int]
"""A written text, and the number of tokens in its prompt."""

NO_GOAL = -1
"""In place of a goal, where the model predicts nothing."""


class Texts(NamedTuple):
    """Texts, a row each; positions from `lengths` on are padding.

    A decoder reads all tokens but the last, and predicts the next one at each of them. An encoder
    reads the prompt, and predicts the i-th token of the completion at the i-th position.
    """

    text: Text
    lengths: Int[np.ndarray, " problems"]
    roles: Int[np.ndarray, "problems positions"]
    coordinates: Int[np.ndarray, "problems positions axes"]

    @classmethod
    def of(
        cls, layout: Layout, config: ModelConfig, texts: Sequence[WrittenText], bounds: ShapeBounds
    ) -> "Texts":
        """Lay out written texts, complete or partial."""
        lengths = [len(tokens) for tokens, _ in texts]
        if not config.causal:
            lengths = [max(prompt, len(tokens) - prompt) for tokens, prompt in texts]
            texts = [(tokens[:prompt], prompt) for tokens, prompt in texts]
        text = padded_texts(texts, bounds.total, 0)
        where = model_input(layout, config, text, bounds)[1]
        return cls(text, np.array(lengths), np.asarray(where.role), np.asarray(where.coordinates))

    @property
    def present(self) -> Bool[np.ndarray, "problems positions"]:
        """Which positions are not padding."""
        mask: np.ndarray = np.arange(self.roles.shape[1]) < self.lengths[:, None]
        return mask

    def rows(self, rows: Int[np.ndarray, " rows"]) -> "Texts":
        """Return some of the texts."""
        text = Text(*(array[rows] for array in self.text))
        return Texts(text, *(array[rows] for array in self[1:]))


def model_input(
    layout: Layout, config: ModelConfig, text: Text, bounds: ShapeBounds
) -> tuple[Int[Array, "batch time"], TokenPositions]:
    """Return the tokens that a model reads, and their positions."""
    where = layout.where(text)
    if config.causal:
        return text.tokens, where
    prompt = prompt_batch(text.tokens, where, text.prompts, bounds)
    return prompt.tokens, prompt.where


def goals(
    config: ModelConfig, texts: Sequence[WrittenText], positions: int
) -> Int[np.ndarray, "problems positions"]:
    """Return the right token to follow each position, where the model predicts one.

    For 2+2=4$, a decoder has nothing three times, then 4 and $; an encoder has 4 and $ first.
    """
    table = np.full((len(texts), positions), NO_GOAL, np.int32)
    for row, (tokens, prompt) in zip(table, texts, strict=True):
        start, completion = (prompt - 1 if config.causal else 0), tokens[prompt:]
        row[start : start + len(completion)] = completion
    return table


def bounds_of(models: Models, problems: Sequence[Problem]) -> ShapeBounds:
    """Return room for texts of all these problems, of any operators.

    Raises UserError for a problem that the layout cannot write, or that has no positions.
    """
    by_operator: dict[str, list[Problem]] = {}
    for problem in problems:
        by_operator.setdefault(problem.operator, []).append(problem)
    all_bounds = [
        room_for(models, mine) or models.layout.bounds_of(mine) for mine in by_operator.values()
    ]
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


class Scene(NamedTuple):
    """Texts to select from, and which cell of each query's window each key fills.

    Cell 0 is the query itself, the others are its role's neighbours in order; a number that is no
    cell stands for what the query does not see.
    """

    layout: Layout
    texts: Texts
    cells: Int[np.ndarray, "problems queries keys"] | None


class Donors(NamedTuple):
    """Texts from which values are taken, each once."""

    texts: Texts
    values: Mapping[str, Float[np.ndarray, "members texts *axes"]]
    problem_rows: Int[np.ndarray, " problems"]
    """The row of each problem."""
    source_rows: Mapping[str, int]
    """The row of each problem that an intervention names as its source."""


def selected(scene: Scene, intervention: Intervention, shape: Sequence[int]) -> Mask:
    """Return a mask that broadcasts to (problems, *shape), with the site's `shape` in one text.

    Raises UserError for an axis or a name that the site does not have, and for an index beyond its
    axis; a mask may be empty.
    """
    site, texts, layout = intervention.site, scene.texts, scene.layout
    axes = AXES[kind(site)]
    sizes = dict(zip(axes, (len(texts.lengths), *shape), strict=True))
    places = "query" if "query" in axes else "position"

    def along(mask: Mask, *names: str) -> Mask:
        """The mask of these axes, with 1 on the others: ("key",) of 5 becomes (1, 1, 1, 5)."""
        return mask.reshape([mask.shape[names.index(a)] if a in names else 1 for a in axes])

    def of_roles(chosen: Selection) -> Bool[np.ndarray, "problems positions"]:
        names = [role.name for role in layout.roles]
        for item in as_list(chosen):
            if item not in names:
                raise unknown("role", item, names)
        return np.isin(texts.roles, [names.index(str(item)) for item in as_list(chosen)])

    def of_neighbours(chosen: Selection) -> Bool[np.ndarray, "problems queries keys"]:
        names_of_neighbours = neighbours(layout)
        for item in as_list(chosen):
            if item not in names_of_neighbours:
                raise unknown("neighbour", item, names_of_neighbours)
        return np.logical_or.reduce([sees(scene, str(item)) for item in as_list(chosen)])

    selectors = ["role"] if places in axes else []
    selectors += ["key_role"] if places == "query" else []
    selectors += ["neighbour"] if places == "query" and scene.cells is not None else []
    mask = along(texts.present, "problem", places)
    for name, chosen in intervention.where.items():
        if name in axes:
            for index in as_list(chosen):
                if not isinstance(index, int) or not 0 <= index < sizes[name]:
                    raise UserError(f"{site} has {name} 0 to {sizes[name] - 1}, not {index}")
            mask = mask & along(np.isin(np.arange(sizes[name]), as_list(chosen)), name)
        elif name not in selectors:
            raise unknown(f"selection of {site}", name, [*axes, *selectors])
        elif name == "neighbour":
            mask = mask & along(of_neighbours(chosen), "problem", "query", "key")
        else:
            mask = mask & along(of_roles(chosen), "problem", places if name == "role" else "key")
    return mask


def neighbours(layout: Layout) -> dict[str, Int[np.ndarray, " roles"]]:
    """Return the neighbours in any role's window, by name: their cell by role, or -1."""
    assert isinstance(layout, ProgramLayout)
    cells = {ITSELF: np.zeros(len(layout.roles), int)}
    for number, role in enumerate(layout.roles):
        for cell, neighbour in enumerate(layout.windows.get(role.name, ()), 1):
            name = neighbour_name(layout.axes, neighbour)
            cells.setdefault(name, np.full(len(layout.roles), -1))[number] = cell
    return cells


def sees(scene: Scene, name: str) -> Bool[np.ndarray, "problems queries keys"]:
    """Return where a key is the neighbour of this name for a query."""
    assert scene.cells is not None
    roles = scene.texts.roles
    cell = np.where(roles >= 0, neighbours(scene.layout)[name][roles], -1)
    return scene.cells == cell[..., None]


def changes(
    interventions: Sequence[Intervention],
    scene: Scene,
    donors: Donors,
    shapes: Mapping[str, tuple[int, ...]],
) -> dict[str, SiteChange]:
    """Return the change at each site; of several interventions on a value, the last counts."""
    by_site = dict[str, SiteChange]()
    for intervention in interventions:
        mask = selected(scene, intervention, shapes[intervention.site])
        if intervention.how == "zero":
            change = SiteChange(mask, np.zeros((1,) * (mask.ndim + 1), np.float32))
        elif intervention.how == "mean":
            change = _role_means(intervention.site, mask, scene.texts, donors)
        else:
            change = _transplant(intervention, mask, scene, donors)
        if intervention.site in by_site:
            before, here = by_site[intervention.site], np.asarray(change.mask)
            values = np.where(here[None], change.values, before.values)
            change = SiteChange(np.asarray(before.mask) | here, values)
        by_site[intervention.site] = change
    return by_site


def _role_means(site: str, mask: Mask, texts: Texts, donors: Donors) -> SiteChange:
    """Replace values by the mean over all tokens of the same role in all problems.

    Tokens of a role that no problem has keep their values.
    """
    if "position" not in AXES[kind(site)]:
        raise UserError(
            f"{site} has no mean: its queries see different keys; zero, resample, patch"
        )
    problem_texts = donors.texts.rows(donors.problem_rows)
    values = donors.values[site][:, donors.problem_rows][:, problem_texts.present]
    roles = problem_texts.roles[problem_texts.present]
    means = np.zeros((len(values), *texts.roles.shape, *values.shape[2:]), np.float32)
    has = np.isin(texts.roles, roles)
    for role in np.unique(roles):
        means[:, texts.roles == role] = values[:, roles == role].mean(axis=1)[:, None]
    return SiteChange(mask & has.reshape(*has.shape, *(1,) * (mask.ndim - 2)), means)


def _transplant(edit: Intervention, mask: Mask, scene: Scene, donors: Donors) -> SiteChange:
    """Replace values by those of the corresponding tokens in the source, or in other problems."""
    count = len(donors.problem_rows)
    if edit.source is not None:
        rows = np.full(count, donors.source_rows[edit.source])
    elif count < 2:
        raise UserError(f"{edit}: give several problems, from which others' values are drawn")
    else:
        step = np.random.default_rng(edit.seed).integers(1, count, count)
        rows = donors.problem_rows[(np.arange(count) + step) % count]
    places = aligned(scene.layout, scene.texts, donors.texts, rows)
    values, has, index = donors.values[edit.site][:, rows], places >= 0, np.maximum(places, 0)
    if "position" in AXES[kind(edit.site)]:
        index = index.reshape(1, *index.shape, *(1,) * (values.ndim - 3))
        moved = np.take_along_axis(values, index, axis=2)
        return SiteChange(mask & has.reshape(*has.shape, *(1,) * (mask.ndim - 2)), moved)
    # attention weights (members, problems, heads, queries, keys): both queries and keys move
    moved = np.take_along_axis(values, index[None, :, None, :, None], axis=3)
    moved = np.take_along_axis(moved, index[None, :, None, None, :], axis=4)
    return SiteChange(mask & has[:, None, :, None] & has[:, None, None], moved)
