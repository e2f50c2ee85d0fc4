"""Recipes by name, and whether their parts fit: operations, programs, layouts, encodings.

`config.recipe` reads the fields of a recipe one by one; here is what needs to know more. Names
are checked before what takes a second to import: JAX, for layouts and encodings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from curta.config import files, recipe
from curta.config.errors import UserError, quoted, unknown
from curta.config.limits import check_path
from curta.config.positions import Window
from curta.config.recipe import Recipe
from curta.layouts import LAYOUTS, layout_named
from curta.model import unread
from curta.model.positions import encoding, user
from curta.problems import problem
from curta.problems.operations import operation_named
from curta.problems.sizes import OperandLimits
from curta.programs.user import generic, registry, userfiles

if TYPE_CHECKING:
    from curta.layouts import Layout, ShapeBounds


def load(name: str) -> Recipe:
    """A shipped recipe by name, any recipe by its file, or that of a program, by name or file."""
    return parse(read(name), where=f"recipe {name!r}")


def resolve(
    name: str,
    overrides: Mapping[str, Any],
    where: str,
    common: Mapping[str, Any] = MappingProxyType({}),
    needs: Mapping[str, unread.Need] = unread.NEEDS,
) -> Recipe:
    """A recipe to train, fields of it changed; its programs must be known in this process.

    Raises UserError for a field that is set and that no part of such a recipe reads. A field
    that loses its meaning by an override alone goes back to its default, and so does one that is
    set for several recipes in `common`.
    """
    fields = recipe.with_overrides(own := read(name), {**common, **overrides})
    found = stated(fields, where)
    others = () if found.layout else found.evaluation.layouts
    with _named(where):
        for program in (*found.programs, *others):
            registry.programs_of(program)
        check(found)
        for path in (lost := unread.unread(found, needs)):
            if path in overrides or path in unread.unread(stated(own, where), needs):
                raise lost[path]
            fields = unread.without(fields, path)
    found = stated(fields, where) if lost else found
    return recipe.with_summary(found, _stated_or_none(own, where), name, {**common, **overrides})


def read(name: str) -> dict[str, Any]:
    """The fields of a recipe as its file has them; of a program's, those of `generic`.

    Files that a recipe names lie beside its own.
    """
    check_path(name)
    path = Path(name)
    if path.suffix == ".py":
        return generic.fields(userfiles.load(path).programs, [name])
    if path.suffix == ".toml":
        text = files.read_text(path, f"recipe {str(path)!r}")
        return _beside(recipe.tables(text, f"recipe {name!r}"), path.parent)
    if name not in recipe.shipped_names():
        if programs := registry.known(name):
            return generic.fields(programs, [name])
        raise unknown("recipe", name, [*recipe.shipped_names(), *registry.names()], "curta recipes")
    return recipe.shipped(name)


def parse(fields: Mapping[str, Any], where: str) -> Recipe:
    """Checks every field, and that all fit; a UserError names the first that is wrong.

    Files of the user's that it names are executed.
    """
    found = stated(fields, where)
    with _named(where):
        check(found)
    return found


def check_kept(fields: Mapping[str, Any], where: str) -> None:
    """Raises UserError for a recipe from a run, a comparison or an export that names a file.

    They have their files by tags. A path would be read, and executed, unasked.
    """
    positions, evaluation = fields.get("positions"), fields.get("evaluation")
    named = [fields.get("program")]
    named += [positions.get("name")] if isinstance(positions, Mapping) else []
    named += [evaluation.get("layouts")] if isinstance(evaluation, Mapping) else []
    for one in named:
        for name in one if isinstance(one, list | tuple) else [one]:
            if isinstance(name, str) and name.endswith(".py"):
                raise UserError(f"{where} names the file {name!r}, as no recipe of a run does")


def stated(fields: Mapping[str, Any], where: str) -> Recipe:
    """As `parse`, every field checked by itself alone."""
    return recipe.parse(user.taken(_loaded(fields), where), where)


def _stated_or_none(fields: Mapping[str, Any], where: str) -> Recipe | None:
    """As `stated`; None for fields that are a recipe only once some of them are changed."""
    try:
        return stated(fields, where)
    except UserError:
        return None


def check(of: Recipe) -> None:
    """Raises UserError for problems, texts or positions that models of a recipe cannot have."""
    _check_names(of)
    from curta.problems import tasks

    for task, share in zip(of.tasks, of.shares, strict=True):
        tasks.check(task)
        if of.training.order == "fixed" and tasks.trained_count(task) < share:
            raise UserError(f"training.order 'fixed': there are fewer problems than {share} a step")
    layout = None if of.layout is None else layout_named(of.layout)
    if layout is not None:
        _check_layout(of, layout)
    check_named(of, layout)
    operators = [task.operator for task in of.tasks]
    watched = {"training.evaluate_digits": of.training.evaluate_digits}
    for field, sizes in ({"evaluation.digits": of.evaluation.digits} | watched).items():
        for operator in sizes if isinstance(sizes, dict) else ():
            if operator not in operators:
                raise UserError(
                    f"{field}: {unknown('operator of this recipe', operator, operators)}"
                )


def _check_names(of: Recipe) -> None:
    """Raises UserError for an operator or a layout that there is not."""
    for task in of.tasks:
        operation_named(task.operator)
    for name in (of.layout, *of.evaluation.layouts) if of.layout is not None else ():
        LAYOUTS.check(name)


def _check_layout(of: Recipe, layout: "Layout") -> None:
    """Raise UserError if the layout has no such problems, or the model no such positions."""
    from curta.problems import task_sizes

    if isinstance(of.positions, Window):
        raise UserError(f"positions 'window' need a program; {layout.name!r} is a layout")
    if not of.model.causal:
        for task in of.tasks:
            _check_prompt(of, layout.bounds(task.operator, task_sizes.widest(task)))
    if not user.is_known(of.positions):
        return
    if of.training.loss == "numeric" and layout.digits != [*range(10)]:
        raise UserError(f"training.loss 'numeric' needs digits: layout {layout.name!r} has others")
    positions = encoding(of, layout)
    for task in of.tasks:
        layout.accept(task.operator, task_sizes.widest(task))
        positions.check(layout.bounds(task.operator, task_sizes.widest(task)), training=True)
    for name in of.evaluation.layouts:
        layout.other(name)


def check_problems(
    of: Recipe, layout: "Layout | None", problems: Sequence[problem.Problem], title: str
) -> None:
    """Check problems that models of a recipe are to answer; messages call these `title`.

    Without a layout, problems of programs are checked as far as their formats say.
    Raises UserError with the first problem that has an operator, a number of operands, a base or
    a length of which these models know nothing.
    """
    if layout is None:
        limits, positions = _program_limits(of), None
    else:
        limits = {task.operator: layout.limits[task.operator] for task in of.tasks}
        # Under a window a text of any length has its positions; those of a file need its code.
        unbounded = isinstance(of.positions, Window) or not user.is_known(of.positions)
        positions = None if unbounded else encoding(of, layout)
    for asked in problems if limits else ():
        problem.check_limits(asked, limits, title)
        if layout is None or positions is None:
            continue
        try:
            bounds = layout.bounds_of([asked])
            positions.check(bounds)
            if not of.model.causal:
                _check_prompt(of, bounds)
        except UserError as error:
            raise UserError(f"{quoted(str(asked))}: {error}") from None


def check_named(of: Recipe, layout: "Layout | None") -> None:
    """Check the problems that a recipe's evaluation names."""
    with _named("evaluation.named"):
        asked = [problem.parse(text) for text in of.evaluation.named]
        check_problems(of, layout, asked, "this recipe")


def _program_limits(of: Recipe) -> dict[str, OperandLimits]:
    """The limits of a recipe's programs; none where the code of one is not known here."""
    formats = {p.operator: p.format for name in of.programs for p in registry.known(name)}
    if any(task.operator not in formats for task in of.tasks):
        return {}
    limits = {task.operator: formats[task.operator].limits for task in of.tasks}
    bases = {task.operator: task.base for task in of.tasks if task.base != 10}
    return {o: one._replace(base=bases.get(o, one.base)) for o, one in limits.items()}


def _check_prompt(of: Recipe, bounds: "ShapeBounds") -> None:
    """Raises UserError if a prompt is shorter than what is to be written over it."""
    if bounds.completion > bounds.prompt:
        raise UserError(
            f"without model.causal an answer is written over its prompt, which is too"
            f" short in layout {of.layout!r}: {bounds.prompt} for {bounds.completion} tokens"
        )


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Says of what a UserError is."""
    try:
        yield
    except UserError as error:
        raise UserError(f"{where}: {error}") from None


def _loaded(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields, with the tags of programs' files, which are executed."""

    def tag(name: Any) -> Any:
        named = isinstance(name, str) and name.endswith(".py")
        return userfiles.load(name).tag if named else name

    return _with_programs(fields, tag)


def _beside(fields: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The fields of a recipe's file; files named in it are looked for in its folder."""

    def place(name: Any) -> Any:
        return str(folder / name) if isinstance(name, str) and name.endswith(".py") else name

    found, positions = _with_programs(fields, place), fields.get("positions")
    if isinstance(positions, dict) and "name" in positions:
        found["positions"] = positions | {"name": place(positions["name"])}
    return found


def _with_programs(fields: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """The fields, each program's name changed."""
    named = fields.get("program")
    if named is None:
        return dict(fields)
    changed = [change(name) for name in named] if isinstance(named, list | tuple) else change(named)
    return dict(fields) | {"program": changed}
