"""`curta show`: how a recipe, or a run, writes problems, and the layers of its model."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from curta.config.errors import UserError, unknown
from curta.frontends.cli import options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from curta.config.recipe import Recipe
    from curta.config.table import Table
    from curta.runs.folders import Folder


@click.command()
@click.argument("recipe", type=options.NAME)
@click.argument("problem", required=False)
@options.trust
@options.tables
@click.option("--steps", is_flag=True, help="Token by token.")
@click.option("--window", is_flag=True, help="What each role sees.")
@click.option("--layers", is_flag=True, help="The model's layers, and their cost.")
def show(
    recipe: str, problem: str | None, trust: bool, steps: bool, window: bool, layers: bool
) -> int:
    """Show how a recipe writes a problem, or its layers.

    RECIPE is the name or path of a recipe, or of a run; PROBLEM is such as 123+45, by
    default an example. Where a recipe
    and a run have one name, it is the recipe: give the run's path, such as runs/addition.
    """
    if steps + window + layers > 1:
        raise UserError("--steps, --window and --layers are three different views: choose one")
    if steps and problem is None:
        raise UserError("--steps needs a problem, such as 12+34")
    if window and problem is not None:
        raise UserError("--window is of all problems: leave out the problem")
    if (form := options.form()) and not (steps or layers):
        raise UserError(f"--{form} is of tables: give --steps or --layers with it")
    found, folder = _recipe(recipe, trust)
    from curta.problems.operations import operation_named
    from curta.problems.problem import parse

    if not (problem or layers or window):
        problem = operation_named(found.tasks[0].operator).example
    asked = None if problem is None else parse(problem)
    from curta.frontends.cli.display import notice
    from curta.frontends.cli.layers import layers_view

    if layers:
        notice(layers_view(found, asked))
    else:
        notice(_paper(found, folder, asked, steps, window))
    return 0


def _paper(
    recipe: "Recipe", folder: "Folder | None", problem: Any, steps: bool, window: bool
) -> "RenderableType | Table":
    """What `show` prints of texts: the windows of a program, a problem as it is written."""
    from curta.frontends.cli.paper import step_by_step, windows_view, written
    from curta.layouts.program import ProgramLayout
    from curta.layouts.texts import layout_of
    from curta.problems.problem import widths
    from curta.runs.folders import layout_in

    layout = layout_of(recipe) if folder is None else layout_in(folder)
    if problem is not None:
        layout.accept(problem.operator, widths(problem), problem.base)
    if isinstance(layout, ProgramLayout) and window:
        return windows_view(layout)
    if window:
        raise UserError(f"--window is of programs, not of layout {layout.name!r}")
    if isinstance(layout, ProgramLayout) and steps:
        return step_by_step(layout, problem)
    return written(layout, problem)


def _recipe(name: str, trust: bool) -> "tuple[Recipe, Folder | None]":
    """A recipe, or else that of a run, with its folder; its operators are made known."""
    from curta.config.recipe import shipped_names
    from curta.model import recipes
    from curta.programs.user import registry
    from curta.runs import folders

    run, recipe = name in folders.existing(), name in shipped_names()
    if run and recipe:
        click.echo(f"the recipe; of the run: curta show {folders.root() / name}", err=True)
    if not ((run and not recipe) or Path(name, "run.json").exists()):
        if trust:
            raise UserError(f"--trust is for a run, and {name!r} is a recipe")
        if not (recipe or registry.known(name) or Path(name).suffix in (".py", ".toml")):
            known = [*shipped_names(), *registry.names(), *folders.existing()]
            raise unknown("recipe or run", name, known, "curta recipes")
        return recipes.resolve(name, {}, f"recipe {name!r}"), None
    folder = folders.find(name)
    if trust:
        folder.trust()
    return folder.read_recipe(), folder
