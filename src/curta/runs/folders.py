"""Run folders: all files of a training, readable without this program.

Slow imports stand where they are used, since `curta ask` needs few of them.

runs/NAME/recipe.toml      the resolved recipe
          machine.json     of programs: tokens, windows, prompts
          run.json         seeds, versions, device, times, status
          metrics.jsonl    loss and exact match of every member over training
          checkpoints/     safetensors + JSON
          shown.safetensors  of programs: windows, and which each member was shown
          history/         the characters' vectors at moments of training
          evaluation.json  the results
          evaluating.jsonl  while they are under way: a line for each part that is done
          evaluations/     results with other settings, as digits-500.json, named after these
          check_certificate.py  checks the certificate with NumPy alone
          report.html      and its pictures
"""

import hashlib
import itertools
import json
import os
import platform
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.config import files, limits, system, typed
from curta.config.errors import UserError, notify, quoted, refuse_if, unknown
from curta.config.positions import UserEncoding
from curta.config.recipe import Recipe, dump, shipped_names, tables
from curta.config.sections import EvaluationSettings
from curta.evaluation.results import CERTIFICATE, WINDOWS, Certificate, Evaluation, Gap, SliceResult
from curta.layouts import layout_named
from curta.model import recipes
from curta.model.positions import user
from curta.problems.problem import Problem
from curta.programs.machine import store
from curta.programs.user import registry, run_snapshot, userfiles
from curta.programs.user.run_snapshot import RunCode
from curta.runs import checkpoints, metrics, ownership, provenance
from curta.runs.info import AS_USUAL, STAGES, ComparisonResults, Metric, RunInfo, Stage, Tracking
from curta.training import windows

if TYPE_CHECKING:
    import numpy as np

    from curta.evaluation.suite import Find, Keep, PartResult
    from curta.layouts import Layout
    from curta.programs.machine.recording import Rows

COMPARISON = "comparison.json"
"""The file that only the folder of a comparison has."""

EVALUATIONS = "evaluations"
"""The folder of evaluations with other settings than the recipe's."""

LONGEST = 40
"""Characters of a value that the name of an evaluation repeats."""


def evaluation_name(changes: Mapping[str, Any]) -> str:
    """Return the name of an evaluation with such changes, for a file; empty for the recipe's.

    Numbers and sizes are repeated, any other value becomes a hash.

    >>> evaluation_name({"digits": [500, "50/25"], "count": 20})
    'digits-500_50-25.count-20'
    """
    words = []
    for field, value in changes.items():
        items = value if isinstance(value, list) else [value]
        text = "_".join(str(item).lower().replace("/", "-") for item in items)
        if len(text) > LONGEST or not re.fullmatch(r"[0-9x_-]+|true|false", text):
            text = hashlib.sha256(json.dumps(value).encode()).hexdigest()[:8]
        words.append(f"{field}-{text}")
    return ".".join(words)


class Folder:
    """The files of one run: whoever reads a run reads it here."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        self.checkpoints, self.history = path / "checkpoints", path / "history"
        self.probes = path / "probes"
        """Results of probes, a file each."""
        self.evaluations = path / EVALUATIONS
        """Evaluations with other settings than the recipe's."""
        self.recipe, self.machine = path / "recipe.toml", path / "machine.json"
        """The machine of a run of programs."""
        self.metrics, self.evaluation = path / "metrics.jsonl", path / "evaluation.json"
        self.report = path / "report.html"

    @property
    def address(self) -> str:
        """The name by which commands find the run: `comparison/name` in a comparison.

        It never is a path of this machine: elsewhere than in the runs folder it is the name alone.
        """
        path, runs = self.path.resolve(), root().resolve()
        return path.relative_to(runs).as_posix() if path.is_relative_to(runs) else self.name

    @property
    def argument(self) -> str:
        """The address as one word of a command, for messages: in quotes if a shell needs them."""
        return shlex.quote(self.address)

    def read_info(self) -> RunInfo:
        """Read run.json; UserError if it is missing, damaged or of another version.

        A stage whose process is gone was interrupted.
        """
        info = typed.read(RunInfo, self.path / "run.json", f"run {self.name!r}")
        gone = info.status in STAGES and not ownership.is_owned(self.path)
        return replace(info, status="interrupted") if gone else info

    def update(self, **fields: Any) -> None:
        """Replace fields of run.json; the run is owned meanwhile, or at rest."""
        self.save_info(replace(self.read_info(), **fields))

    def read_code(self) -> RunCode:
        """Return what makes its operators known."""
        info = self.read_info()
        return RunCode(self.path, tuple(info.operators), info.programs, info.files)

    def read_recipe(self) -> Recipe:
        """Read the recipe, and make its operators known."""
        run_snapshot.make_known(self.read_code())
        return recipes.parse(self.read_recipe_fields(), f"recipe {str(self.recipe)!r}")

    def state_recipe(self) -> Recipe:
        """Read the recipe with every field checked alone, which needs no JAX."""
        run_snapshot.make_known(self.read_code())
        return recipes.parse_fields(self.read_recipe_fields(), f"recipe {str(self.recipe)!r}")

    def read_recipe_fields(self) -> dict[str, Any]:
        """Return the tables of recipe.toml; UserError if it is no TOML, or would execute files."""
        where = f"recipe {str(self.recipe)!r}"
        fields = tables(files.read_own(self.recipe, f"run {self.name!r}"), where)
        recipes.check_kept(fields, where)
        return fields

    def read_recipe_text(self) -> str:
        """Return the text of the recipe; empty if there is none."""
        where = f"run {self.name!r}"
        return files.read_own(self.recipe, where) if os.path.lexists(self.recipe) else ""

    def read_metrics(self) -> list[Metric]:
        return metrics.read(self.metrics)

    def read_evaluation(self, name: str = "") -> Evaluation | None:
        """Read the recipe's evaluation, None if there is none yet; or another by its name.

        Raises UserError for a name that none of its evaluations has.
        """
        if name and name not in (names := self.evaluation_names()):
            raise unknown(f"evaluation of run {self.name!r}", name, names)
        path, where = self.evaluation_path(name), f"evaluation of run {self.name!r}"
        return typed.read(Evaluation, path, where) if os.path.lexists(path) else None

    def read_certificate(self) -> Certificate | None:
        """Read the certificate; None if there is none."""
        path, where = self.path / CERTIFICATE, f"certificate of run {self.name!r}"
        return typed.read(Certificate, path, where) if os.path.lexists(path) else None

    def evaluation_path(self, name: str) -> Path:
        """Return where an evaluation lies, by its name; the recipe's for ""."""
        return self.evaluations / f"{name}.json" if name else self.evaluation

    def evaluation_names(self) -> list[str]:
        """Return the names of the evaluations beside the recipe's, such as `digits-500`."""
        return sorted(path.stem for path in self.evaluations.glob("*.json"))

    def save_evaluation(self, evaluation: Evaluation) -> None:
        """Write it as the run's evaluation, or beside that if it has changes."""
        path = self.evaluation_path(evaluation_name(evaluation.changes))
        files.write(path, typed.text(evaluation))

    def save_certificate(self, certificate: Certificate, windows: bytes) -> None:
        """Write the results of `certificate.certify`, and a script that checks them alone."""
        from curta.evaluation import check_certificate

        files.write(self.path / WINDOWS, windows)
        files.write(self.path / CERTIFICATE, typed.text(certificate))
        checker = Path(check_certificate.__file__)
        files.write(self.path / checker.name, checker.read_text("utf-8"))

    def save_info(self, info: RunInfo) -> None:
        files.write(self.path / "run.json", typed.text(info, indent=1))

    # Checkpoints

    def newest_checkpoint(self) -> int:
        """Return the step of the newest checkpoint that is whole; UserError if there is none."""
        step = self._newest_whole()
        if step is None:
            raise UserError(
                f"run {self.name!r} has no checkpoint yet:"
                f" `curta train --resume {self.argument}` trains it"
            )
        return step

    def _newest_whole(self) -> int | None:
        """Notify if the newest checkpoint that run.json names is gone."""
        newest = max(checkpoints.steps(self.checkpoints), default=None)
        saved = self.read_info().checkpoint
        if newest is not None and newest < saved:
            notify(f"run {self.name!r} was trained to step {saved}, but the checkpoint is gone")
        return checkpoints.newest_whole(self.checkpoints)

    def resume(self) -> tuple[int, float]:
        """Return the step to train on from, and the seconds until then; drop all of later steps.

        Raises UserError if there were checkpoints, and there are none any more.
        """
        info, newest = self.read_info(), self._newest_whole()
        if newest is None and info.checkpoint:
            raise UserError(
                f"run {self.name!r} was trained to step {info.checkpoint}, but its checkpoints are"
                " gone: put them back, or train again under another name"
            )
        step = newest or 0
        seconds = metrics.cut(self.metrics, step)
        for moment in checkpoints.steps(self.history, "safetensors"):
            if moment > step:
                checkpoints.file_of(self.history, moment, "safetensors").unlink()
        if step > info.checkpoint:
            # the process was gone after it had written the checkpoint, and before run.json
            members = json.loads(checkpoints.record(self.checkpoints, step)).get("stopped", {})
            stopped = info.stopped | {int(member): int(at) for member, at in members.items()}
            self.update(checkpoint=step, stopped=stopped, training_seconds=round(seconds, 3))
        return step, seconds

    def read_weights(self, recipe: Recipe) -> "list[dict[str, np.ndarray]]":
        """Return every member's weights by path, as of the newest whole checkpoint.

        They are those with which the member did best on validation, where the run keeps these.
        """
        step, seeds = self.newest_checkpoint(), self.read_info().seeds
        owner = checkpoints.owner(recipe, seeds, step)
        arrays = checkpoints.arrays(self.checkpoints, step, owner)
        for name, array in arrays.items():
            if array.shape[:1] != (len(seeds),):
                path = checkpoints.file_of(self.checkpoints, step, "safetensors")
                raise UserError(
                    f"checkpoint {str(path)!r} does not fit the run's seeds at {name!r}"
                )
        scores = arrays.get(".best.score", [-1] * len(seeds))
        prefixes = [".best.model." if score >= 0 else ".model." for score in scores]
        return [
            {path.removeprefix(prefix): array[member] for path, array in arrays.items()
             if path.startswith(prefix)}
            for member, prefix in enumerate(prefixes)
        ]  # fmt: skip


def layout_in(folder: Folder, recipe: Recipe | None = None) -> "Layout":
    """Return the layout of a run; see `texts.layout_of_machine`.

    If a program's code is not known, it has the texts that the run has stored.
    """
    from curta.layouts import texts

    recipe = recipe or folder.read_recipe()
    if recipe.layout is not None:
        return layout_named(recipe.layout)
    where = f"run {folder.name!r}"
    layout = texts.layout_of_machine(recipe, *store.read(folder.machine, folder.name), where)
    if layout.recorder is None:
        layout.recorder = run_snapshot.StoredTexts.of(folder.read_code())
    return layout


def has_code(layout: "Layout") -> bool:
    """Whether the code of a run's programs is here, not only their recorded texts."""
    return not isinstance(layout.recorder, run_snapshot.StoredTexts)


def join(folder: Folder, rows: "Rows", problems: Sequence[Problem]) -> None:
    """Join the windows of problems to the run's list, if `rows`, which models met, are not all in.

    Nothing is joined where the program's code is not known, or another process owns the run.
    """
    with suppress(UserError):
        listed = windows.read(folder.path)
        if listed is None or (listed.index.find(rows) >= 0).all():
            return
        recipe, (machine, near) = folder.state_recipe(), store.read(folder.machine, folder.name)
        recorder = registry.recorder_of(recipe.programs, recipe.tasks, machine)
        if recorder is None:
            return
        longer = listed.with_texts(machine, near, recorder, problems)
        if len(longer.rows) > len(listed.rows):
            with ownership.owned(folder.path):
                windows.save(folder.path, longer)


def root() -> Path:
    """Return the runs folder: $CURTA_RUNS, or `runs` in the current folder."""
    return Path(os.environ.get("CURTA_RUNS") or "runs")


def seeds_of(seeds: int | Sequence[int]) -> list[int]:
    """Return seeds 0, 1, ... up to a count, or the seeds themselves; UserError for bad ones."""
    limits.check_seeds(seeds)
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen or len(set(chosen)) < len(chosen):
        raise UserError(f"at least one seed is needed, and each only once, not {chosen}")
    if not all(-(2**31) <= seed < 2**31 for seed in chosen):
        raise UserError(f"a seed is a whole number of at most 31 bits, not one of {chosen}")
    return chosen


def check_member(member: int, run: str, members: int) -> int:
    """Return the number of a member; raise UserError if the run has no such member."""
    if not 0 <= member < members:
        raise UserError(f"no member {member}: run {run!r} has 0 to {members - 1}")
    return member


def create(
    recipe: Recipe,
    layout: "Layout",
    recipe_name: str,
    seeds: list[int],
    name: str | None = None,
    stages: Sequence[Stage] = (),
    track: Sequence[str] = (),
    tracking: Tracking = AS_USUAL,
    inside: Path | None = None,
) -> Folder:
    """Create a run folder in the runs folder, or inside of another; UserError if it exists.

    Without a name it has the recipe's, numbered. It appears whole, and several that are created at
    the same time get different folders. `stages` are those that follow training.
    """
    from curta.layouts.program import ProgramLayout
    from curta.problems import task_sizes
    from curta.training import devices

    base = Path(recipe_name).stem
    for chosen in [checked(name)] if name else numbered(base):
        with suppress(files.TakenError):
            with files.new_folder((inside or root()) / chosen) as path:
                folder = Folder(path)
                files.write(folder.recipe, dump(recipe))
                if isinstance(layout, ProgramLayout):
                    machine = store.dump(layout.machine, layout.windows)
                    files.write(folder.machine, json.dumps(machine, ensure_ascii=False) + "\n")
                info = RunInfo(
                    name=chosen,
                    recipe=base,
                    seeds=seeds,
                    status="created",
                    created=provenance.now(),
                    versions=provenance.versions(),
                    device=devices.description(),
                    platform=platform.platform(),
                    steps=recipe.training.steps,
                    trained_digits=task_sizes.span(*recipe.tasks),
                    operators=[task.operator for task in recipe.tasks],
                    structure=structure(recipe),
                    stopped={},
                    programs=tuple(recipe.programs),
                    files=run_snapshot.keep(path, recipe),
                    wanted=tuple(stages),
                    track=tuple(track),
                    tracking=tracking,
                    command=provenance.command(),
                    code=provenance.checkouts(),
                )
                folder.save_info(info)
            return Folder(path.with_name(chosen))
    resume = f"`curta train --resume {shlex.quote(str(name))}`"
    raise UserError(f"run {name!r} exists already: choose another name, or {resume}")


def locate(name: str) -> Path:
    """Return the folder of a run or a comparison, however damaged: by name, or by path.

    A run of a comparison is `comparison/name`. Raises UserError if there is none.
    """
    limits.check_path(name)
    places = (Path(name), root() / name)
    for path in places:
        if any(os.path.lexists(path / file) for file in ("run.json", COMPARISON)):
            return path
    path = places[os.sep not in name]
    if path.is_dir():
        return path
    refuse_if(name in shipped_names(), f"{name!r} is not trained yet: `curta train {name}`")
    refuse_if(not names(), f"no run {name!r} in {str(root())!r}: train one with `curta train`")
    raise unknown("run", name, names(), "curta runs")


def find(name: str, trust: bool = False) -> Folder:
    """Find the run of that name in the runs folder, or at that path; its run.json is readable.

    With `trust` the code that came with it is executed.
    """
    path = locate(name)
    if (path / COMPARISON).exists():
        inside = sorted(file.parent.name for file in path.glob("*/run.json"))
        hint = f": name one of its runs, such as {path / inside[0]}" if inside else " without runs"
        raise UserError(f"{name!r} is a comparison{hint}")
    folder = Folder(path)
    info = folder.read_info()
    if trust:
        userfiles.trust(path, info.files)
    return folder


def existing() -> list[str]:
    """Return the names of the runs in the runs folder."""
    return _holding("run.json")


def comparison_path(name: str) -> Path:
    """Return where a comparison of that name or path lies, if there is one."""
    path = Path(name)
    return path if (path / COMPARISON).exists() else root() / name


def read_comparison(path: Path) -> ComparisonResults:
    """Read comparison.json in a comparison's folder."""
    return typed.read(ComparisonResults, path / COMPARISON, f"comparison {path.name!r}")


def is_comparison(name: str) -> bool:
    """Whether a folder of that name or path holds a comparison."""
    return (comparison_path(name) / COMPARISON).exists()


def comparisons() -> list[str]:
    """Return the names of the comparisons in the runs folder."""
    return _holding(COMPARISON)


def names() -> list[str]:
    """Return the names of the runs and the comparisons in the runs folder."""
    return [*existing(), *comparisons()]


def _holding(file: str) -> list[str]:
    """Return the names of the folders with that file; one with a dot first is not complete."""
    paths = root().iterdir() if root().is_dir() else []
    return sorted(p.name for p in paths if p.name[0] != "." and os.path.lexists(p / file))


def structure(recipe: Recipe) -> str:
    """Describe the structure given to the model that a plain transformer has to learn."""
    if recipe.layout is not None:
        layout = layout_named(recipe.layout)
        sentences = [f"Text ({layout.name}): {layout.summary}."]
    else:
        names = ", ".join(map(userfiles.display_name, recipe.programs))
        sentences = [
            f"Program {names}: training texts write out every step of the algorithm.",
            "Squared paper: the squares of the problem's digits, and a move with every token.",
        ]
    settings: Any = recipe.positions
    if isinstance(settings, UserEncoding) and user.is_known(settings):
        settings = user.user_settings(settings)
    summary = (type(settings).__doc__ or "").partition("\n")[0].partition(";")[0]
    summary = summary.rstrip(".").replace("`", "")
    sentences.append(f"Positions ({settings.name}): {summary[:1].lower()}{summary[1:]}.")
    if recipe.model.role_embeddings:
        sentences.append("Roles: a vector for each token's part in the text is added to its own.")
    if recipe.model.compositional_embeddings:
        sentences.append(
            "Tokens: a token's vector is the sum of those of its digit, carry, role and move."
        )
    return " ".join(sentences)


def checked(name: str) -> str:
    """Return the name; UserError if a run folder cannot be called so."""
    fits = name.isprintable() and len(name.encode()) <= limits.NAME and bool(name.strip())
    if not fits or Path(name).name != name or name[0] == ".":
        raise UserError(
            f"{quoted(name)} is no name for a run: use up to {limits.NAME} letters, digits, - and _"
        )
    return name


def numbered(base: str) -> Iterator[str]:
    """Yield names to choose from: `base`, `base-2`, `base-3`, ..."""
    yield base
    yield from (f"{base}-{number}" for number in itertools.count(2))


def removable(name: str) -> Path:
    """Return the folder of a run or a comparison; UserError for anything else, or a link to one."""
    path = locate(name)
    if path.is_symlink():
        raise UserError(f"{str(path)!r} is a link: remove it yourself, or the run that it leads to")
    if not any(os.path.lexists(path / file) for file in ("run.json", COMPARISON)):
        raise unknown("run", name, names(), "curta runs")
    return path


def remove(path: Path) -> None:
    """Remove the folder and all in it; UserError if a process works on it, or on a run in it.

    It is renamed first, so that a removal that is broken off leaves nothing that looks like a run.
    On Windows no folder with an open file in it can be renamed, so the lock is given back before.
    """
    inside = [entry for entry in sorted(path.iterdir()) if not entry.is_symlink()]
    for folder in (*(entry for entry in inside if (entry / "run.json").exists()), path):
        with ownership.owned(folder):
            pass
    with ownership.owned(path) if system.OPENS_FOLDERS else nullcontext():
        try:
            aside = Path(tempfile.mkdtemp(dir=path.parent, prefix=".", suffix=files.PART))
            path.rename(aside / path.name)
        except OSError as error:
            raise UserError(f"cannot remove {str(path)!r}: {error.strerror}") from None
    shutil.rmtree(aside)


# An evaluation that was interrupted continues after the parts that are done.

PARTIAL = "evaluating.jsonl"
"""The parts of the recipe's evaluation that are done, until all are."""


def evaluation_changes(
    recipe: EvaluationSettings,
    settings: EvaluationSettings,
    num_recurrences: int | None,
) -> dict[str, Any]:
    """Return the fields that differ from the recipe's, as JSON has them."""
    usual, chosen = (json.loads(json.dumps(asdict(section))) for section in (recipe, settings))
    changed = {name: value for name, value in chosen.items() if value != usual[name]}
    return changed if num_recurrences is None else changed | {"num_recurrences": num_recurrences}


@dataclass(frozen=True)
class EvaluatedPart:
    """One size, row of a grid, or gap: its name, its results, and a hash of what they depend on."""

    of: str
    name: str
    rows: list[SliceResult] | list[list[float]] | list[Gap]


@contextmanager
def partial_evaluation(path: Path, depends_on: Any) -> "Iterator[Keep]":
    """Yield what evaluates a part and saves it to a file, or returns it if it is there already.

    The file is removed once the block ends well. Its parts count only if they are of the same
    `depends_on`, the weights and the settings.
    """
    text = json.dumps(depends_on, default=str)
    digest = hashlib.sha256(text.encode()).hexdigest()
    saved = [part for part in read_parts(path) if part.of == digest]
    results: dict[str, PartResult] = {part.name: part.rows for part in saved}
    if path.exists():  # without a torn line, to which the next one would be added
        files.write(path, typed.lines(saved))

    def keep(name: str, find: "Find") -> "PartResult":
        if name not in results:
            results[name] = find()
            path.parent.mkdir(exist_ok=True)
            files.append(path, typed.text(EvaluatedPart(digest, name, results[name])))
        return results[name]

    yield keep
    path.unlink(missing_ok=True)


def read_parts(path: Path) -> Iterator[EvaluatedPart]:
    """Yield the parts on whole lines; one that is torn or damaged is evaluated again."""
    where = f"{str(path)!r}"
    for line in files.read_own(path, where).splitlines() if path.exists() else ():
        try:
            yield typed.parse(EvaluatedPart, line, where, path.name)
        except UserError:
            continue
