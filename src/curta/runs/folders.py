"""Run folders: everything about one training, readable without this program.

What takes long to import is imported where it is used: `curta ask` needs little of it.

runs/NAME/recipe.toml      the resolved recipe
          machine.json     of programs: tokens, windows, prompts
          run.json         seeds, versions, device, times, status
          metrics.jsonl    loss and exact match of every member over training
          checkpoints/     safetensors + JSON
          shown.safetensors  of programs: windows, and which each member was shown
          history/         the characters' vectors at moments of training
          evaluation.json  what was found
          evaluations/     what was found with other settings
          check_certificate.py  checks the certificate with NumPy alone
          report.html      and its pictures
"""

import dataclasses
import datetime
import itertools
import json
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from curta.config import files, system, typed
from curta.config.errors import UserError, quoted, unknown
from curta.config.limits import check_path, is_name
from curta.config.positions import UserEncoding
from curta.config.recipe import Recipe, dump, shipped_names, tables
from curta.layouts import layout_named
from curta.model import recipes
from curta.model.positions import user
from curta.problems.problem import Problem
from curta.programs.machine import store
from curta.programs.user import registry, run_snapshot, userfiles
from curta.programs.user.run_snapshot import RunCode
from curta.runs import evaluations, metrics, ownership, provenance
from curta.runs.info import AS_USUAL, STAGES, Metric, RunInfo, Stage, Tracking
from curta.training import windows

if TYPE_CHECKING:
    from curta.evaluation.results import Certificate, Evaluation
    from curta.layouts import Layout
    from curta.programs.machine.recording import Rows
    from curta.runs.results import ComparisonResults

COMPARISON = "comparison.json"
"""The file by which the folder of a comparison is known."""


class Folder:
    """The files of one run: whoever reads a run reads it here."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        self.checkpoints, self.history = path / "checkpoints", path / "history"
        self.probes = path / "probes"
        """Where probes keep what they found, a file each."""
        self.evaluations = path / evaluations.FOLDER
        """Evaluations with other settings than the recipe's."""
        self.recipe, self.machine = path / "recipe.toml", path / "machine.json"
        """The machine of a run of programs."""
        self.metrics, self.evaluation = path / "metrics.jsonl", path / "evaluation.json"

    @property
    def address(self) -> str:
        """What commands call the run."""
        return address(self.path)

    def read_info(self) -> RunInfo:
        """What run.json says; UserError if it is missing, damaged or of another version.

        A stage whose process is gone was interrupted.
        """
        info = typed.read(RunInfo, self.path / "run.json", f"run {self.name!r}")
        gone = info.status in STAGES and not ownership.is_owned(self.path)
        return dataclasses.replace(info, status="interrupted") if gone else info

    def update(self, **fields: Any) -> None:
        """Replace fields of run.json; the run is owned meanwhile, or at rest."""
        self.save_info(dataclasses.replace(self.read_info(), **fields))

    def read_code(self) -> RunCode:
        """What is needed to make its operators known."""
        info = self.read_info()
        return RunCode(self.path, tuple(info.operators), info.programs, info.files)

    def trust(self) -> None:
        """Execute the code that came with the run."""
        userfiles.trust(self.path, self.read_info().files)

    def read_recipe(self) -> Recipe:
        """Its operators are made known, by the formats of its machine if need be."""
        run_snapshot.make_known(self.read_code())
        return recipes.parse(self.read_recipe_fields(), f"recipe {str(self.recipe)!r}")

    def state_recipe(self) -> Recipe:
        """As `read_recipe`, every field checked by itself alone: that needs no JAX."""
        run_snapshot.make_known(self.read_code())
        return recipes.parse_fields(self.read_recipe_fields(), f"recipe {str(self.recipe)!r}")

    def read_recipe_fields(self) -> dict[str, Any]:
        """The tables of recipe.toml; UserError if it is no TOML, or would have files executed."""
        where = f"recipe {str(self.recipe)!r}"
        fields = tables(files.read_own(self.recipe, f"run {self.name!r}"), where)
        recipes.check_kept(fields, where)
        return fields

    def read_recipe_text(self) -> str:
        """The recipe as it was written; empty if there is none."""
        where = f"run {self.name!r}"
        return files.read_own(self.recipe, where) if os.path.lexists(self.recipe) else ""

    def read_metrics(self) -> list[Metric]:
        return metrics.read(self.metrics)

    def read_evaluation(self, name: str = "") -> "Evaluation | None":
        """The recipe's, None as long as there is none; or a further one by its name.

        Raises UserError for a name that none of its evaluations has.
        """
        if name and name not in (known := self.evaluation_names()):
            raise unknown(f"evaluation of run {self.name!r}", name, known)
        path = evaluations.path_of(self.path, name)
        if not os.path.lexists(path):
            return None
        from curta.evaluation.results import Evaluation

        return typed.read(Evaluation, path, f"evaluation of run {self.name!r}")

    def read_certificate(self) -> "Certificate | None":
        """None if it has none."""
        from curta.evaluation.results import CERTIFICATE, Certificate

        path = self.path / CERTIFICATE
        if not os.path.lexists(path):
            return None
        return typed.read(Certificate, path, f"certificate of run {self.name!r}")

    def evaluation_names(self) -> list[str]:
        """Of the evaluations beside the recipe's, such as `digits-500`."""
        return evaluations.names(self.path)

    def save_evaluation(self, found: "Evaluation") -> Path:
        """Writes it as the run's own, or beside that if it has changes; returns its path."""
        path = evaluations.path_of(self.path, evaluations.named(found.changes))
        files.write(path, typed.text(found))
        return path

    def save_certificate(self, found: "Certificate", windows: bytes) -> None:
        """Write what `certificate.certify` gives, and beside it what checks it without Curta."""
        from curta.evaluation import check_certificate
        from curta.evaluation.results import CERTIFICATE, WINDOWS

        files.write(self.path / WINDOWS, windows)
        files.write(self.path / CERTIFICATE, typed.text(found))
        checker = Path(check_certificate.__file__)
        files.write(self.path / checker.name, checker.read_text("utf-8"))

    def save_info(self, info: RunInfo) -> None:
        files.write(self.path / "run.json", typed.text(info, indent=1))


def layout_in(folder: Folder, recipe: Recipe | None = None) -> "Layout":
    """The layout of a run, as its folder has it; see `texts.layout_of_machine`.

    Where a program's code is not known, it has the texts that the run has kept.
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


def join(folder: Folder, rows: "Rows", problems: Sequence[Problem]) -> int:
    """Join the windows of these problems to the run's list, if `rows`, which models met, are not
    all listed; return how many are new.

    Nothing is joined where the program's code is not known, or another process owns the run.
    """
    with suppress(UserError):
        listed = windows.read(folder.path)
        if listed is None or (listed.index.find(rows) >= 0).all():
            return 0
        recipe, (machine, near) = folder.state_recipe(), store.read(folder.machine, folder.name)
        recorder = registry.recorder_of(recipe.programs, recipe.tasks, machine)
        if recorder is None:
            return 0
        joined = listed.with_texts(machine, near, recorder, problems)
        if new := len(joined.rows) - len(listed.rows):
            with ownership.owned(folder.path):
                windows.save(folder.path, joined)
        return new
    return 0


def root() -> Path:
    """Where runs are kept: $CURTA_RUNS, or `runs` in the current folder."""
    return Path(os.environ.get("CURTA_RUNS") or "runs")


def seeds_of(seeds: int | Sequence[int]) -> list[int]:
    """Seeds 0, 1, ... up to a count, or the seeds themselves, if they can be used."""
    chosen = list(range(seeds)) if isinstance(seeds, int) else list(seeds)
    if not chosen or len(set(chosen)) < len(chosen):
        raise UserError(f"at least one seed is needed, and each only once, not {chosen}")
    if not all(-(2**31) <= seed < 2**31 for seed in chosen):
        raise UserError(f"a seed is a whole number of at most 31 bits, not one of {chosen}")
    return chosen


def create(
    recipe: Recipe,
    layout: "Layout",
    recipe_name: str,
    seeds: list[int],
    name: str | None = None,
    wanted: Sequence[Stage] = (),
    track: Sequence[str] = (),
    tracking: Tracking = AS_USUAL,
    inside: Path | None = None,
) -> Folder:
    """Create a run folder in the runs folder, or inside of another; UserError if it exists.

    Without a name it has the recipe's, numbered. It appears whole: of several that are made at
    the same time each has a folder of its own. `wanted` are the stages that follow training.
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
                    created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
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
                    wanted=tuple(wanted),
                    track=tuple(track),
                    tracking=tracking,
                    command=provenance.command(),
                    code=provenance.checkouts(),
                )
                folder.save_info(info)
            return Folder(path.with_name(chosen))
    raise UserError(
        f"run {name!r} exists already: choose another name, or `curta train --resume {name}`"
    )


def address(path: Path) -> str:
    """What `find` knows a run by: its name, or `comparison/name`; its name where it lies elsewhere.

    A path of this machine is never among them.
    """
    where, known = path.resolve(), root().resolve()
    return where.relative_to(known).as_posix() if where.is_relative_to(known) else path.name


def of_comparison(path: Path, name: str) -> Path:
    """The path, or where no run is, that of the run `comparison/name` in the runs folder."""
    here, there = (os.path.lexists(one / "run.json") for one in (path, root() / name))
    return root() / name if there and not here else path


def find(name: str) -> Folder:
    """The run of that name in the runs folder, or at that path; checked to be whole.

    One of a comparison is `comparison/name`.
    """
    check_path(name)
    path = Path(name) if system.is_path(name) or Path(name, "run.json").exists() else root() / name
    path = of_comparison(path, name)
    if not path.is_dir():
        if name in shipped_names():
            raise UserError(f"{name!r} is not trained yet: `curta train {name}`")
        if not existing():
            raise UserError(f"no run {name!r} in {str(root())!r}: train one with `curta train`")
        raise unknown("run", name, existing(), "curta runs")
    if is_comparison(name):
        inside = sorted(one.parent.name for one in path.glob("*/run.json"))
        hint = f": name one of its runs, such as {path / inside[0]}" if inside else " without runs"
        raise UserError(f"{name!r} is a comparison{hint}")
    folder = Folder(path)
    folder.read_info()
    for place in (folder.checkpoints, folder.history, folder.probes, folder.evaluations):
        if place.is_symlink() or (place.exists() and not place.is_dir()):
            raise UserError(f"run {folder.name!r} is damaged: {place.name} is no folder of its own")
    return folder


def existing() -> list[str]:
    """Names of the runs in the runs folder."""
    return _holding("run.json")


def comparison_path(name: str) -> Path:
    """Where a comparison of that name or path lies, if there is one."""
    path = Path(name)
    return path if (path / COMPARISON).exists() else root() / name


def read_comparison(path: Path) -> "ComparisonResults":
    """What comparison.json holds in a comparison's folder."""
    from curta.runs.results import ComparisonResults

    return typed.read(ComparisonResults, path / COMPARISON, f"comparison {path.name!r}")


def is_comparison(name: str) -> bool:
    """Whether a folder of that name or path holds a comparison."""
    return (comparison_path(name) / COMPARISON).exists()


def comparisons() -> list[str]:
    """Names of the comparisons in the runs folder."""
    return _holding(COMPARISON)


def _holding(file: str) -> list[str]:
    """Names of the folders with that file, or with anything that is called so.

    What begins with a dot is still being made.
    """
    found = root().iterdir() if root().is_dir() else []
    return sorted(p.name for p in found if p.name[0] != "." and os.path.lexists(p / file))


def structure(recipe: Recipe) -> str:
    """What the model is given that a plain transformer would have to find, in one sentence."""
    if recipe.layout is not None:
        layout = layout_named(recipe.layout)
        phrases = [f"layout {layout.name}: {layout.summary}"]
    else:
        names = ", ".join(map(userfiles.shown, recipe.programs))
        phrases = [
            f"program {names}: the algorithm's steps are what it is trained on",
            "squared paper: the squares of the prompt, and a move with every token",
        ]
    settings: Any = recipe.positions
    if isinstance(settings, UserEncoding) and user.is_known(settings):
        settings = user.user_settings(settings)
    summary = (type(settings).__doc__ or "").partition("\n")[0].rstrip(".").replace("`", "")
    phrases.append(f"positions {settings.name}: {summary}")
    phrases += [
        f"{name}: {_plainly(value)}"
        for name, value in vars(settings).items()
        if name != "name" and value != {}
    ]
    if recipe.model.role_embeddings:
        phrases.append("role_embeddings: the part that each token plays in the layout is embedded")
    if recipe.model.compositional_embeddings:
        phrases.append(
            "compositional_embeddings: a token is embedded as its digit, its carry, its role"
            " and its move"
        )
    return "; ".join(phrases) + "."


def _plainly(value: Any) -> str:
    """A setting as a reader has it: `place 0..1`, or `sum (place 0..1, row -1..0)`."""
    if isinstance(value, tuple):
        return "..".join(map(str, value))
    if not isinstance(value, dict):
        return str(value)
    inner = {key: _plainly(item) for key, item in value.items()}
    nested = any(isinstance(item, dict) for item in value.values())
    shown = (
        f"{key} ({text})" if nested and text else f"{key} {text}" for key, text in inner.items()
    )
    return ", ".join(text.rstrip() for text in shown)


def checked(name: str) -> str:
    """The name, if a run folder can be called so."""
    if not is_name(name):
        raise UserError(f"{quoted(name)} is no name for a run: use letters, digits, - and _")
    return name


def told_apart(first: Path, second: Path) -> tuple[str, str]:
    """The names of two folders; where these are the same, the shortest ends of their paths.

    >>> told_apart(Path("/runs/rope/addition"), Path("/runs/abacus/addition"))
    ('rope/addition', 'abacus/addition')
    """
    paths = [path.absolute().parts for path in (first, second)]
    for count in range(1, max(map(len, paths)) + 1):
        one, other = ("/".join(parts[-count:]) for parts in paths)
        if one != other:
            return one, other
    return first.name, second.name


def numbered(base: str) -> Iterator[str]:
    """Names to choose from: `base`, `base-2`, `base-3`, ..."""
    yield base
    yield from (f"{base}-{number}" for number in itertools.count(2))
