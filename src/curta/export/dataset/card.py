"""The card of a data set: what `datasets.load_dataset` reads, and what a person should know."""

from dataclasses import dataclass, field

from curta.config.recipe import Recipe
from curta.export.dataset.columns import Columns, square
from curta.export.dataset.splits import BUCKETS, HELD, TEST_ID, TEST_OOD, TRAIN, VALIDATION
from curta.export.formats import format_named
from curta.layouts import Layout
from curta.report.rendering import render_text
from curta.runs.provenance import versions


@dataclass
class Summary:
    """What was written: rows of each split, and how many of them stand in another one too."""

    rows: dict[str, int] = field(default_factory=dict)
    overlaps: dict[tuple[str, str], int] = field(default_factory=dict)

    @property
    def overlap(self) -> int:
        return sum(self.overlaps.values())


MEANING = {
    TRAIN: "drawn as the recipe trains",
    VALIDATION: "drawn alike, held out",
    TEST_ID: "drawn alike, held out from both",
    TEST_OOD: "larger than any in training, or written otherwise: the recipe's `[evaluation]`",
}


def card(
    recipe: Recipe, layout: Layout, summary: Summary, columns: Columns, form: str, seed: int
) -> str:
    """README.md: a header for the `datasets` library, then text."""
    axes = columns.program.axes if columns.program is not None else ()
    return render_text(
        "export/dataset.md",
        recipe=recipe,
        layout=layout,
        summary=summary,
        columns=columns,
        form=form,
        seed=seed,
        meaning=MEANING,
        suffix=format_named(form).suffix,
        version=versions()["curta"],
        buckets=BUCKETS,
        held=len(HELD),
        apart=any(task.held_out and not task.twins_together for task in recipe.tasks),
        squares=[square(axis) for axis in axes],
    )
