"""What runs cost on this machine, on which nothing else should run: `make results-scaling`.

`benchmarks.cost` measures the constants and says what follows from them.
"""

from collections.abc import Iterable

from benchmarks import cost
from docs.evidence import Results, study
from docs.shared import markdown, recipe_fields

NAME, RECIPE = "scaling", "addition"
RUNS, NODES, MEMBERS = 1000, 100, 4096


def main() -> None:
    settings = lambda name: {"recipe": recipe_fields(name, {})}
    study(__doc__, NAME, [RECIPE], [0], settings, cost.measured)


def tables(results: Results) -> dict[str, Iterable[str]]:
    costs = results.read(NAME)[RECIPE]
    members = f"{cost.SEVERAL} members"
    return {
        "stages": markdown(("seconds", "first run", "later run", members), cost.stages(costs)),
        "steps": markdown(("members", "step, ms", "memory"), cost.steps(costs)),
        "runs": markdown(("", ""), cost.of_runs(costs, RUNS, NODES)),
        "population": markdown(("", ""), cost.of_population(costs, MEMBERS)),
    }


if __name__ == "__main__":
    main()
