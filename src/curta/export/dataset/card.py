"""The card of a data set: what `datasets.load_dataset` reads, and what a person should know."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from curta.config.recipe import Recipe
from curta.export.dataset.columns import Columns, square
from curta.export.dataset.splits import BUCKETS, HELD, TEST_ID, TEST_OOD, TRAIN, VALIDATION
from curta.export.formats import format_named
from curta.layouts import Layout
from curta.runs.folders import versions


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
    return "\n\n".join(
        [
            _header(summary.rows, format_named(form).suffix),
            f"# {recipe.summary or layout.name}",
            f"{_writing(recipe, layout)}. Made by Curta {versions()['curta']} from `recipe.toml`"
            f" (`curta data`, seed {seed}).",
            _splits(summary),
            *(_origin(recipe)),
            "Each line is a prompt and its completion." if form == "text" else _columns(columns),
        ]
    )


def _writing(recipe: Recipe, layout: Layout) -> str:
    if not recipe.programs:
        return f"Problems in the layout `{layout.name}`: {layout.summary}"
    names = ", ".join(f"`{name}`" for name in recipe.programs)
    return f"Problems as the program {names} writes them: {layout.summary}"


def _header(rows: Mapping[str, int], suffix: str) -> str:
    files = [
        f"  - split: {split}\n    path: data/{split}-*.{suffix}" for split in MEANING if rows[split]
    ]
    lines = ["---", "configs:", "- config_name: default", "  data_files:", *files, "---"]
    return "\n".join(lines)


def _splits(summary: Summary) -> str:
    lines = [f"| {name} | {summary.rows[name]:,} | {text} |" for name, text in MEANING.items()]
    table = "\n".join(["| split | rows | problems |", "|---|---|---|", *lines])
    pairs = ", ".join(f"{a} and {b} {count}" for (a, b), count in summary.overlaps.items())
    return f"{table}\n\nRows whose problem stands in another split too, counted: {pairs}."


def _origin(recipe: Recipe) -> list[str]:
    """How it comes that the splits do not overlap."""
    texts = []
    if any(task.values for task in recipe.tasks):
        texts.append(
            "Problems of a finite table come at most once each. A split is a range of places in"
            " the table's random order, so no two splits share a problem; mirrored ones, such as"
            " 1+2 and 2+1, are different problems."
        )
    if not all(task.values for task in recipe.tasks):
        texts.append(
            "Problems are drawn at random, so short ones may come several times within a split."
            f" A hash of the operands puts every problem into one of {BUCKETS} buckets, of which"
            f" {len(HELD)} are held out, one for each held-out split; all others are trained on."
            " The hash knows neither seed nor the order of the operands: data sets made with"
            " other seeds agree on the splits, and a mirrored problem stands in the same split."
            " Larger problems than any of training are never drawn for training."
        )
    return texts


def _columns(columns: Columns) -> str:
    some = "some have more than 18 digits, or a point"
    number = f"decimal string, since {some}" if columns.decimal else "int64"
    answer = f"list of numbers ({number})" if columns.several else number
    lines = [
        "| `prompt` | string | what the model is given |",
        "| `completion` | string | what it is to write, with its end sign |",
        "| `operator` | string | |",
        f"| `operands` | list of numbers ({number}) | |",
        f"| `answer` | {answer} | true is 1, false 0 |",
    ]
    if columns.program is not None:
        squares = ", ".join(f"`{square(axis)}`" for axis in columns.program.axes)
        lines += [
            "| `prompt_tokens` | int32 | how many of the tokens are the prompt's |",
            "| `tokens` | list of int32 | the whole text, as `machine.json` numbers its tokens |",
            "| `roles` | list of strings | the part that each token plays |",
            f"| {squares} | list of int32 | the square on which each token stands |",
        ]
    return "\n".join(["| column | type | |", "|---|---|---|", *lines]) + "\n"
