"""Recipes by name, and whether their parts fit: operations, programs, layouts, encodings.

`config.recipe` reads the fields of a recipe one by one; here is what needs to know more. Names
are checked before what takes a second to import: JAX, for layouts and encodings.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
from curta.programs.user import registry, userfiles

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
    resolved = stated(fields, where)
    others = () if resolved.layout else resolved.evaluation.layouts
    with _named(where):
        for program in (*resolved.programs, *others):
            registry.programs_of(program)
        check(resolved)
        for path in (lost := unread.unread(resolved, needs)):
            if path in overrides or path in unread.unread(stated(own, where), needs):
                raise lost[path]
            fields = unread.without(fields, path)
    resolved = stated(fields, where) if lost else resolved
    before: Recipe | None = None
    with suppress(UserError):  # some fields are a recipe only once others are changed
        before = stated(own, where)
    return recipe.with_summary(resolved, before, name, {**common, **overrides})


def read(name: str) -> dict[str, Any]:
    """The fields of a recipe as its file has them; of a program's, those of `registry`.

    Files that a recipe names lie beside its own.
    """
    check_path(name)
    path = Path(name)
    if path.suffix == ".py":
        return registry.recipe_fields(userfiles.load(path).programs, [name])
    if path.suffix == ".toml":
        text = files.read_text(path, f"recipe {str(path)!r}")
        fields = recipe.tables(text, f"recipe {name!r}")
        fields = _with_names(fields, lambda file: str(path.parent / file))
        positions = fields.get("positions")
        if isinstance(positions, dict) and str(positions.get("name", "")).endswith(".py"):
            fields["positions"] = positions | {"name": str(path.parent / positions["name"])}
        return fields
    if name not in recipe.shipped_names():
        if programs := registry.known(name):
            return registry.recipe_fields(programs, [name])
        raise unknown("recipe", name, [*recipe.shipped_names(), *registry.names()], "curta show")
    return recipe.shipped(name)


def parse(fields: Mapping[str, Any], where: str) -> Recipe:
    """Checks every field, and that all fit; a UserError names the first that is wrong.

    Files of the user's that it names are executed.
    """
    parsed = stated(fields, where)
    with _named(where):
        check(parsed)
    return parsed


def check_kept(fields: Mapping[str, Any], where: str) -> None:
    """Raises UserError for a recipe from a run, a comparison or an export that names a file.

    They have their files by tags. A path would be read, and executed, unasked.
    """
    positions, evaluation = fields.get("positions"), fields.get("evaluation")
    named = [fields.get("program")]
    named += [positions.get("name")] if isinstance(positions, Mapping) else []
    named += [evaluation.get("layouts")] if isinstance(evaluation, Mapping) else []
    for names in named:
        for name in names if isinstance(names, list | tuple) else [names]:
            if isinstance(name, str) and name.endswith(".py"):
                raise UserError(f"{where} names the file {name!r}, as no recipe of a run does")


def stated(fields: Mapping[str, Any], where: str) -> Recipe:
    """As `parse`, every field checked by itself alone."""
    return recipe.parse(
        user.taken(_with_names(fields, lambda name: userfiles.load(name).tag), where), where
    )


def check(of: Recipe) -> None:
    """Raises UserError for problems, texts or positions that models of a recipe cannot have."""
    for task in of.tasks:
        operation_named(task.operator)
    for name in (of.layout, *of.evaluation.layouts) if of.layout is not None else ():
        LAYOUTS.check(name)
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


def _with_names(fields: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields with each program that is named by a file changed."""
    rename = lambda name: change(name) if isinstance(name, str) and name.endswith(".py") else name
    names = fields.get("program")
    if names is None:
        return dict(fields)
    several = isinstance(names, list | tuple)
    return dict(fields) | {"program": list(map(rename, names)) if several else rename(names)}
