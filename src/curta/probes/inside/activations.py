"""Named activations of members over correct texts, as arrays and as an .npz file."""

import io
import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Int

from curta.config import files, typed
from curta.config.errors import UserError, unknown
from curta.evaluation.scoring import Models
from curta.model.inspection import AXES, kind
from curta.probes.inside.interventions import LISTER, Intervention, matching
from curta.probes.inside.question import Question
from curta.problems.problem import Problem

MOST = 1 << 28
"""The most numbers that are held at once: a gigabyte."""

NO_GOAL = -1
"""Takes the place of a goal where the model predicts nothing."""

ABOUT = "about"
"""The entry of an .npz file that describes the arrays; `likeliest`, `goals` and `neighbours` are
further entries that are not sites."""


@dataclass(frozen=True)
class Position:
    """One token of a text, and the token that should follow it."""

    token: str
    """The symbol of the token."""
    role: str
    """The part that it plays."""
    at: list[int]
    """Its coordinates, in the order of `About.places`."""
    after: str | None = None
    """The correct next token; None where the model predicts nothing. An encoder predicts the tokens
    of the answer at the first positions of the prompt."""


@dataclass(frozen=True)
class About:
    """The description of recorded arrays; as JSON, the entry `about` of an .npz file."""

    FORMAT: ClassVar[int] = 1
    REMEDY: ClassVar[str] = "write it again with `curta probe RUN activations`"

    run: str
    """The name of the run."""
    step: int
    """The step of the checkpoint."""
    members: list[int]
    """The numbers of the members."""
    problems: list[str]
    """The problems."""
    axes: dict[str, list[str]]
    """By site, the names of the array's axes."""
    places: list[str]
    """The names of a token's coordinates."""
    positions: list[list[Position]]
    """The tokens of each problem's text."""
    interventions: list[str]
    """The changes that were made."""
    neighbours: list[str]
    """The names of the squares along the last axis of `Activations.neighbours`."""


@dataclass(frozen=True, eq=False)
class Activations:
    """Recorded values of a model's sites, from `Run.activations`.

    Index it with the name of a site to get the array; iterate over it to get the names. The first
    axis of every array is the member; `about.axes` names all. Beyond the end of a shorter text,
    values are NaN. An unknown name raises UserError.

    Example::

        activations = run.activations(["12+34", "5+6"], "layer.0.*")
        for site in activations:
            print(site, activations[site].shape, activations.about.axes[site])
    """

    about: About
    """The run, the problems, and the axes of each array."""
    arrays: Mapping[str, np.ndarray]
    """The arrays by the names of their sites."""
    likeliest: Int[np.ndarray, "members problems positions"]
    """The token that each member would write after each position, padding included."""
    goals: Int[np.ndarray, "problems positions"]
    """The correct token after each position; -1 where the model predicts nothing."""
    neighbours: Int[np.ndarray, "problems queries neighbours"] | None = None
    """Under a window, the position of each neighbour that a query sees; -1 for an empty square."""

    def __getitem__(self, site: str) -> np.ndarray:
        if site not in self.arrays:
            raise unknown("site", site, self.arrays, LISTER)
        return self.arrays[site]

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    @property
    def exact_match(self) -> Bool[np.ndarray, "members problems"]:
        """Whether every correct token is the likeliest one after the correct tokens before it.

        This is true exactly when the member, under the same interventions, would write the correct
        text.
        """
        right: np.ndarray = ((self.likeliest == self.goals) | (self.goals == NO_GOAL)).all(axis=2)
        return right

    def save(self, path: str | Path) -> Path:
        """Write all arrays and their description to an .npz file, and return its path.

        Args:
            path: Path of the file; `.npz` is added if it is missing.
        """
        out = Path(path) if str(path).endswith(".npz") else Path(f"{path}.npz")
        others = {ABOUT: np.array(typed.text(self.about)), "likeliest": self.likeliest}
        others |= {"goals": self.goals}
        if self.neighbours is not None:
            others["neighbours"] = self.neighbours
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **others, **self.arrays)
        files.write(out, buffer.getvalue())
        return out

    @classmethod
    def load(cls, path: str | Path) -> "Activations":
        """Read a file written by `save`.

        Raises:
            UserError: The file cannot be read, or is of another kind.
        """
        where = f"file {str(path)!r}"
        try:
            content = io.BytesIO(Path(path).read_bytes())
            with np.load(content, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            about, likeliest, goals = (arrays.pop(name) for name in (ABOUT, "likeliest", "goals"))
            description = json.loads(str(about))
        except OSError as error:
            raise UserError(f"cannot read {str(path)!r}: {error.strerror or error}") from None
        except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile):
            raise UserError(
                f"{where} holds no activations: `{LISTER} --out FILE` writes it"
            ) from None
        near = arrays.pop("neighbours", None)
        return cls(typed.of_table(About, description, where, ABOUT), arrays, likeliest, goals, near)


def find(
    models: Models,
    problems: Sequence[Problem],
    sites: str | Sequence[str] = "*",
    interventions: Sequence[Intervention] = (),
    *,
    run: str = "",
    step: int = 0,
    members: Sequence[int] | None = None,
) -> Activations:
    """Record the activations of all the models over the correct texts of problems.

    `sites` are names or patterns, see `interventions.matching`; `members` are the numbers of the
    models in their run. Raises UserError for whatever `Question` refuses, for unknown sites, and
    for more numbers than fit into memory.
    """
    question = Question(models, problems, interventions)
    layout, config, whole = models.layout, models.stacked.config, question.whole
    chosen = matching(sites, list(question.shapes))
    each = sum(int(np.prod(question.shapes[site])) for site in chosen)
    count = each * models.members * len(problems)
    if count > MOST:
        raise UserError(
            f"{count:,} numbers do not fit into memory ({MOST:,} do): name fewer sites, such as"
            " sites='layer.0.*', or fewer problems"
        )
    values = question.values(whole, [*chosen, "logits"])
    longest = int(whole.lengths.max())
    axes = {site: ["member", *AXES[kind(site)]] for site in chosen}
    arrays = dict[str, np.ndarray]()
    for site in chosen:
        # Cut everything beyond the longest text, and put NaN beyond the ends of the others.
        along_text = [axis in ("position", "query", "key") for axis in axes[site]]
        array = values[site][tuple(slice(longest if text else None) for text in along_text)]
        shape = [1] * array.ndim
        shape[1], shape[along_text.index(True)] = len(problems), longest
        present = whole.present[:, :longest].reshape(shape)
        arrays[site] = np.where(present, array, np.float32(np.nan))

    # The right token after each position: for 2+2=4$, a decoder has none three times, then 4 and
    # $; an encoder has 4 and $ first.
    goals = np.full((len(problems), longest), NO_GOAL, np.int32)
    for row, (line, prompt) in zip(goals, question.true_texts, strict=True):
        start = prompt - 1 if config.causal else 0
        row[start : start + len(line) - prompt] = line[prompt:]
    tokens = np.asarray(whole.text.tokens)
    positions = [
        [
            Position(
                layout.characters[tokens[row, place]] if whole.roles[row, place] >= 0 else "",
                layout.roles[whole.roles[row, place]].name if whole.roles[row, place] >= 0 else "",
                whole.coordinates[row, place].tolist(),
                None if goals[row, place] == NO_GOAL else layout.characters[goals[row, place]],
            )
            for place in range(length)
        ]
        for row, length in enumerate(whole.lengths)
    ]
    places = {
        name: np.where(seen.any(axis=2), seen.argmax(axis=2), -1)[:, :longest]
        for name, seen in question.neighbours(whole)
    }
    about = About(
        run=run,
        step=step,
        members=list(range(models.members) if members is None else members),
        problems=[str(problem) for problem in problems],
        axes=axes,
        places=list(layout.axes),
        positions=positions,
        interventions=[str(intervention) for intervention in interventions],
        neighbours=list(places),
    )
    return Activations(
        about,
        arrays,
        np.asarray(values["logits"]).argmax(axis=-1)[:, :, :longest],
        goals,
        np.stack(list(places.values()), axis=-1) if places else None,
    )
