"""A trained run that answers problems without JAX: one member as a NumPy `WindowWriter`."""

from collections.abc import Iterable, Sequence

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.evaluation import bulk
from curta.problems.operations import Answer
from curta.problems.problem import Problem, check_limits, parse
from curta.programs.machine import store
from curta.reference import WindowWriter
from curta.runs import folders
from curta.runs.folders import Folder


class Calculator:
    """One member of a windowed run, as of its newest whole checkpoint.

    It answers as `Run` does, reads nothing but data from the run's folder, and runs none of its
    code.
    """

    def __init__(self, folder: Folder, member: int) -> None:
        """Read the member; UserError for a folder that is damaged, or not trained yet."""
        self.folder = folder
        self.name, where = folder.name, f"run {folder.name!r}"
        recipe = folder.state_recipe()
        folders.check_member(member, folder.name, len(folder.read_info().seeds))
        self.machine, windows = store.read(folder.machine, folder.name)
        store.check_operators(self.machine, [task.operator for task in recipe.tasks], where)
        weights = folder.read_weights(recipe)[member]
        try:
            self.model = WindowWriter(recipe.model, weights, self.machine, windows)
        except (KeyError, IndexError, ValueError):
            raise UserError(
                f"{where} is damaged: its weights do not fit its recipe and machine.json"
            ) from None

    def accept(self, problems: Iterable[str | Problem]) -> list[Problem]:
        """Return the problems, read and checked; UserError for one that this run cannot answer."""
        parsed = [parse(problem, self.machine.formats) for problem in problems]
        for problem in parsed:
            check_limits(problem, self.machine.limits, f"run {self.name!r}")
        return parsed

    def write(self, problems: Sequence[Problem]) -> list[list[int]]:
        """Return the tokens that the model writes after each problem."""
        self.accept(problems)
        return self.model.write([self.machine.prompt_tokens(problem) for problem in problems])

    def answers(self, text: str) -> list[str] | None:
        """Return the answers to the lines of a text, if all are plain; see `bulk`."""
        return bulk.answers(self.machine, self.model.windows, self.model.next_tokens, text)

    def join(self, problems: Sequence[Problem]) -> None:
        """Join the windows that these problems met to the run's list; see `folders.join`."""
        folders.join(self.folder, self.model.index.rows, problems)

    def answer(self, problem: Problem, tokens: Sequence[int]) -> Answer | None:
        """Return the answer in the tokens that were written; None if it is malformed."""
        return self.machine.read_answer(problem, tokens)

    def prompt(self, problem: Problem) -> str:
        """Return the characters of a problem's prompt."""
        return self.decode(self.machine.prompt_tokens(problem))

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the characters of tokens."""
        return "".join(self.machine.tokens[token].symbol for token in tokens)


def open_calculator(folder: Folder, member: int = 0) -> Calculator | None:
    """Return what answers for a run without JAX; None for one that is not windowed."""
    positions = folder.read_recipe_fields().get("positions")
    name = positions.get("name") if isinstance(positions, dict) else None
    return Calculator(folder, member) if name == Window.name else None
