"""Problems put to models with interventions: what is asked of whole texts, and of parts."""

from collections.abc import Mapping, Sequence

import numpy as np

from curta.config.errors import UserError
from curta.evaluation.scoring import Models
from curta.layouts import Layout, ShapeBounds
from curta.probes.inside import passes, texts
from curta.probes.inside.interventions import Intervention, matching
from curta.probes.inside.replaced import Donors, changes
from curta.probes.inside.selection import Scene, selected
from curta.probes.inside.texts import Texts, Tokens
from curta.problems.problem import Problem, parse


class Question:
    """Some problems, some models, and the interventions under which these are asked.

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
        sources = {one.source: parse(one.source) for one in interventions if one.source}
        every = list(dict.fromkeys([*problems, *sources.values()]))
        bounds = texts.bounds_of(models, every)
        self.bounds = ShapeBounds(bounds.prompt, bounds.completion + spare, bounds.extents)
        self.shapes = passes.shapes(models, self.bounds)
        self.groups = [self._each(given) for given in interventions]
        """Each intervention on every site that it names."""
        self.interventions = [one for group in self.groups for one in group]
        known = {problem: self.layout.tokens_of(problem) for problem in every}
        self.written = [known[problem] for problem in problems]
        """The true text of each problem."""
        row = {problem: number for number, problem in enumerate(every)}
        self.donors = self._donors(
            list(known.values()),
            [row[problem] for problem in problems],
            {text: row[problem] for text, problem in sources.items()},
        )
        self._check()

    @property
    def layout(self) -> Layout:
        return self.models.layout

    def _each(self, given: Intervention) -> list[Intervention]:
        """An intervention on each site that it names."""
        return [
            Intervention(site, given.how, given.source, given.where, given.seed)
            for site in matching(given.site, list(self.shapes))
        ]

    def texts(self, written: Sequence[Tokens]) -> Texts:
        return Texts.of(self.layout, self.config, written, self.bounds)

    def _donors(
        self, written: Sequence[Tokens], given: Sequence[int], sources: Mapping[str, int]
    ) -> Donors:
        """All whole texts, each once, with what is taken from them."""
        every = self.texts([texts.unfinished(self.config, one) for one in written])
        sites = frozenset(one.site for one in self.interventions if one.how != "zero")
        values = passes.passed(self.models, every, self.bounds, sites, {}) if sites else {}
        return Donors(every, values, np.array(given), sources)

    @property
    def whole(self) -> Texts:
        """The given problems' texts."""
        return self.donors.texts.part(self.donors.given)

    def scene(self, given: Texts) -> Scene:
        return Scene(self.layout, given, passes.cells(self.models, given, self.bounds))

    def _check(self) -> None:
        scene = self.scene(self.whole) if self.interventions else None
        for one in self.interventions:
            if scene and not selected(scene, one, self.shapes[one.site]).any():
                raise UserError(f"{one}: it selects nothing in these problems")

    def values(
        self, given: Texts, sites: Sequence[str], only: Sequence[Intervention] | None = None
    ) -> passes.Values:
        """The values of sites, under its interventions or some of them, in the problems' texts."""
        chosen, changed = self.interventions if only is None else only, {}
        if chosen:
            changed = changes(chosen, self.scene(given), self.donors, self.shapes)
        return passes.passed(self.models, given, self.bounds, frozenset(sites), changed)
