"""What a report reads: the files of a run folder, as they lie on disk.

The types name the keys of the JSON files. A young run lacks some of them, so
every key may be absent; the page shows what is there.
"""

import contextlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, NotRequired, TypedDict

from curta.probes.pictures import Picture

FORMAT = 2
"""Version of the folder layout that this reader understands."""

Span = tuple[int, int]
"""The lowest and the highest of some count."""


class Info(TypedDict, total=False):
    """`run.json`: what was trained, on what, and how far it came."""

    format: int
    name: str
    recipe: str
    seeds: list[int]
    status: str
    created: str
    versions: dict[str, str]
    device: str
    parameters: int
    steps: int
    training_seconds: float
    compile_seconds: float
    operators: list[str]
    stopped: dict[str, int]
    structure: str


class Metric(TypedDict):
    """A line of `metrics.jsonl`: one member, mean over the steps since the line before."""

    step: int
    member: int
    loss: float | None
    exact: float | None
    seconds: float
    validation_loss: NotRequired[float]
    validation_exact: NotRequired[float]
    validation_tokens: NotRequired[float]


class Generated(TypedDict):
    """Exact match when the model writes the answer itself, on fewer problems, and how fast."""

    count: int
    exact: list[float]
    agrees: bool
    tokens_per_second: int


class Slip(TypedDict):
    """The first wrong token of a text, and both texts from `start` on.

    `at` and `start` count characters from 0, `token` counts tokens.
    """

    at: int
    start: int
    written: str
    right: str
    token: NotRequired[int]


class Error(TypedDict):
    """A problem that a member wrote wrong, and where it began to be so."""

    problem: str
    truth: str
    answer: str | None
    member: int
    slip: Slip


class Length(TypedDict):
    """Exact match for one operator, size and category, one value per member.

    `size` is as the recipe has it: `20`, `50/25` or `20x5`, or the values of a table's
    operands, `0..99`; `digits` are those of the longest operand. `token_accuracy` is the
    share of right tokens, `perplexity` that of the right answer.
    """

    operator: str
    size: str
    digits: int
    category: str
    count: int
    exact: list[float]
    token_accuracy: NotRequired[list[float]]
    perplexity: NotRequired[list[float]]
    generated: Generated
    errors: NotRequired[list[Error]]


class Grid(TypedDict):
    """Exact match by member, digits of the first and digits of the second operand."""

    operator: str
    max_digits: int
    digits: list[int]
    count: int
    exact: list[list[list[float]]]


class Table(TypedDict):
    """How many of all problems with two operands from 0 to `limit` each member has right."""

    operator: str
    limit: int
    count: int
    right: list[int]


class Split(TypedDict):
    """How many problems of one operator are trained on, held out, and both."""

    operator: str
    training: int
    held_out: int
    overlap: int


class Example(TypedDict):
    """A problem with its truth and what a member wrote; None if no answer can be read in that."""

    problem: str
    truth: str
    answer: str | None
    text: str
    member: int
    slip: NotRequired[Slip | None]


class Written(TypedDict):
    """What one member wrote after a problem, and the answer in it; None if it is malformed."""

    text: str
    answer: str | None
    slip: NotRequired[Slip | None]


class Named(TypedDict):
    """A problem that the recipe names, and what every member wrote before training and after."""

    operator: str
    problem: str
    truth: str
    before: list[Written]
    after: list[Written]


class Evaluation(TypedDict):
    """`evaluation.json`: everything measured after training."""

    seed: NotRequired[int]
    num_recurrences: NotRequired[int]
    lengths: list[Length]
    grid: NotRequired[Grid]
    tables: NotRequired[list[Table]]
    splits: NotRequired[list[Split]]
    named: NotRequired[list[Named]]
    examples: NotRequired[list[Example]]


class Probed(TypedDict):
    """`probes/NAME.json`: what one probe found, as a table and as a picture to be drawn."""

    summary: str
    step: int
    members: list[int]
    options: dict[str, Any]
    notes: list[str]
    columns: list[str]
    rows: list[dict[str, Any]]
    picture: Picture | None


class Trained(NamedTuple):
    """The problems of one operator that were trained on; without `operands`, as many as usual."""

    first: Span
    others: Span
    operands: Span | None

    @property
    def lengths(self) -> Span:
        """Digits of the shortest and of the longest operand."""
        return min(self.first[0], self.others[0]), max(self.first[1], self.others[1])


@dataclass(frozen=True)
class Run:
    """A run as read from its folder; its evaluation has no lengths until there is one."""

    name: str
    info: Info
    recipe: str
    metrics: list[Metric]
    evaluation: Evaluation
    probes: dict[str, Probed]

    @property
    def trained(self) -> dict[str, Trained]:
        """What was trained on, by operator: run.json knows only the widest range of all."""
        try:
            found = tomllib.loads(self.recipe).get("task", [])
        except tomllib.TOMLDecodeError:
            return {}
        tasks = found if isinstance(found, list) else [found]
        return {task["operator"]: _trained(task) for task in tasks}

    @property
    def stopped(self) -> dict[int, int]:
        """Step at which each stopped member's loss was no longer finite."""
        return {int(member): step for member, step in self.info.get("stopped", {}).items()}


def read_run(folder: Path) -> Run:
    """Reads the folder; only `run.json` must exist."""
    info = _read_info(folder / "run.json")
    return Run(
        name=info.get("name", folder.resolve().name),
        info=info,
        recipe=_text(folder / "recipe.toml"),
        metrics=list(_metrics(folder / "metrics.jsonl")),
        evaluation=_read_evaluation(folder / "evaluation.json"),
        probes=_read_probes(folder / "probes"),
    )


def _trained(task: dict[str, Any]) -> Trained:
    """The recipe leaves out `second` and `operands` where they are as usual."""
    if "values" in task:
        low, high = (len(str(value)) for value in task["values"])
        return Trained((low, high), (low, high), None)
    first, others, operands = task["digits"], task.get("second"), task.get("operands")
    return Trained(_span(first), _span(others or first), _span(operands) if operands else None)


def _span(bounds: list[int]) -> Span:
    low, high = bounds
    return low, high


def _read_info(path: Path) -> Info:
    if not path.is_file():
        raise FileNotFoundError(f"{path.parent} is not a run folder: it has no {path.name}")
    info: Info = _parse(_text(path), path, 1)
    found = info.get("format", FORMAT)
    if found != FORMAT:
        raise ValueError(f"{path}: format {found} is not format {FORMAT}, the one known here")
    return info


def _read_evaluation(path: Path) -> Evaluation:
    if not path.is_file():
        return {"lengths": []}
    evaluation: Evaluation = _parse(_text(path), path, 1)
    return evaluation


def _read_probes(folder: Path) -> dict[str, Probed]:
    """What each probe found, by its name."""
    return {path.stem: _parse(_text(path), path, 1) for path in sorted(folder.glob("*.json"))}


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _metrics(path: Path) -> Iterator[Metric]:
    """Every line; a last one without its newline counts only if it is already whole."""
    *lines, last = _text(path).split("\n")
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield _parse(line, path, number)
    with contextlib.suppress(json.JSONDecodeError):
        yield json.loads(last)


def _parse(text: str, path: Path, line: int) -> Any:
    """JSON, or an error that names the file: the parser alone knows only the text."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}, line {line + error.lineno - 1}: {error.msg}") from error
