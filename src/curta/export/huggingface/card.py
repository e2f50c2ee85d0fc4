"""The model's card: what it is, how it is used, what was found, and where it ends."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from curta.config.errors import UserError
from curta.config.positions import Window
from curta.evaluation.results import SliceSummary
from curta.export.base import Exported
from curta.export.huggingface.base import Family
from curta.export.huggingface.parts import Constant, Parts
from curta.export.huggingface.tokenizer import texts
from curta.layouts import Layout
from curta.layouts.program import ProgramLayout
from curta.model.transformer import parameters
from curta.problems import tasks
from curta.problems.operations import OPERATIONS
from curta.problems.problem import Problem, answer_text, parse
from curta.runs.folders import structure, versions


def card(member: Exported, family: Family, parts: Parts, config: Mapping[str, Any]) -> str:
    """README.md: a header for the Hub, then text."""
    own = bool(family.code(member.model))
    sections = [
        _header(),
        f"# {member.run}",
        _about(member, family, own),
        "## Use\n\n" + _use(member, own),
        "## What it is given\n\n" + structure(member.recipe),
        "## Training\n\n" + "\n".join(_training(member)),
        "## Results\n\n" + _results(member),
        "## Limits\n\n" + "\n".join(f"- {limit}" for limit in _limits(member, config, own)),
        "## Back to Curta\n\n" + _back(parts),
    ]
    return "\n\n".join(sections) + "\n"


def _header() -> str:
    tags = "\n".join(f"- {tag}" for tag in ("arithmetic", "curta"))
    return f"---\nlibrary_name: transformers\npipeline_tag: text-generation\ntags:\n{tags}\n---"


def _about(member: Exported, family: Family, own: bool) -> str:
    summary = f"{member.recipe.summary}. " if member.recipe.summary else ""
    code = (
        "Its class, `modeling_curta.py`, is in this folder: read it before you trust it."
        if own
        else "That class is the library's own: no code comes with this folder."
    )
    return (
        f"{summary}A transformer of {parameters(member.model):,} parameters, seed {member.seed} of"
        f" run `{member.run}`, as `{family.architecture}`. {code} Made by Curta"
        f" {versions()['curta']} from `recipe.toml`."
    )


def _use(member: Exported, own: bool) -> str:
    program = isinstance(member.model.layout, ProgramLayout)
    return _use_of_program(member) if program else _use_of_layout(member, own)


def _use_of_layout(member: Exported, own: bool) -> str:
    layout, operators = member.model.layout, [task.operator for task in member.recipe.tasks]
    given = f"""given = tokenizer({layout.prompt(_asked(operators[0]))!r}, return_tensors="pt")
print(tokenizer.decode(model.generate(**given)[0]))"""
    rows = [_example(layout, operator) for operator in operators]
    table = "\n".join(["| problem | prompt | right completion |", "|---|---|---|", *rows])
    about = (
        f"A token is a character. Texts are those of Curta's layout `{layout.name}`:"
        f" {layout.summary}. `$` ends a text."
    )
    return f"{_opened(own)}\n{given}\n```\n\n{about}\n\n{table}"


def _use_of_program(member: Exported) -> str:
    """How problems are put, which are no text that people write, and what a token is."""
    layout, operator = member.model.layout, member.recipe.tasks[0].operator
    problem = _asked(operator)
    operands = ", ".join(map(str, problem.operands))
    given = f"""given = model.prompt({operator!r}, {operands})
written = model.generate(given)
print(model.answer({operator!r}, written[0], given.shape[1])){_right(problem)}
print(tokenizer.decode(written[0]))  # a token on each line"""
    lines = "".join(texts(layout)[token] for token in layout.prompt_tokens(problem))
    return f"""{_opened(own=True)}
{given}
```{_several(problem)}

The model writes what a program writes on squared paper, symbol after symbol. A token is a line:
its symbol, the part that it plays, and how the pen moves to it on each axis
({", ".join(layout.axes)}), from where it stood or from `home`. The prompt of `{problem}` is

```
{lines}```

`$` ends a text. Operators are {", ".join(f"`{task.operator}`" for task in member.recipe.tasks)};
`asking_curta.py` is all that `prompt` and `answer` do, and needs nothing but Python."""


def _several(problem: Problem) -> str:
    """What to know of numbers that are several operands."""
    if not problem.operation.compound:
        return ""
    operands = ", ".join(map(str, problem.operands))
    return (
        f"\n\nThe operands of `{problem}` are {operands}, in the order of the prompt below: those"
        " that stand there from their first digit on are written backward by people."
    )


def _opened(own: bool) -> str:
    trust = ", trust_remote_code=True" if own else ""
    return f"""```python
from transformers import AutoModelForCausalLM, AutoTokenizer

folder = "."  # this folder, or its name on the Hub
tokenizer = AutoTokenizer.from_pretrained(folder{trust})
model = AutoModelForCausalLM.from_pretrained(folder{trust})"""


def _asked(operator: str) -> Problem:
    return parse(OPERATIONS[operator].example)


def _right(problem: Problem) -> str:
    """The right answer as a comment; nothing where the program's code is not known."""
    try:
        truth = problem.truth
    except UserError:
        return ""
    exact = f"{truth}, which is " if isinstance(truth, Fraction) else ""
    return f"  # {exact}{answer_text(truth)}"


def _example(layout: Layout, operator: str) -> str:
    problem = _asked(operator)
    prompt, text = layout.prompt(problem), layout.write(problem)
    asked = f"`{problem}` = {answer_text(problem.truth)}"
    return f"| {asked} | `{prompt}` | `{text.removeprefix(prompt)}` |"


def _training(member: Exported) -> Iterator[str]:
    steps = member.summary.training.steps if member.summary else 0
    training = member.recipe.training
    if isinstance(member.recipe.positions, Window):
        yield (
            f"{steps:,} steps of {training.batch:,} windows, of those in {training.problems:,}"
            " problems:\n"
        )
    else:
        yield f"{steps:,} steps of {training.batch:,} problems:\n"
    for task in member.recipe.tasks:
        low, high = min(a for a, _ in tasks.spans(task)), max(b for _, b in tasks.spans(task))
        counts = " to ".join(map(str, dict.fromkeys(tasks.counts(task))))
        yield (
            f"- {OPERATIONS[task.operator].name} (`{task.operator}`) of {counts} operands of"
            f" {low} to {high} digits"
        )


def _results(member: Exported) -> str:
    rows = member.summary.results.lengths if member.summary else []
    if not rows:
        return "The run was not evaluated."
    head = ["| operation | size | slice | count | exact match |", "|---|---|---|---|---|"]
    about = "Exact match of this member, evaluated by Curta's own program:\n\n"
    return about + "\n".join(head + [_row(row, member.number) for row in rows])


def _row(row: SliceSummary, number: int) -> str:
    found = row.exact_match.members[number]
    share = "none" if found is None else f"{found:.3f}"
    return f"| `{row.operator}` | {row.size} | {row.slice_name} | {row.count} | {share} |"


def _limits(member: Exported, config: Mapping[str, Any], own: bool) -> Iterator[str]:
    recipe = member.recipe
    yield "It knows the operations and the writing above, and nothing else."
    yield "At sizes that are not in the table above nobody has looked."
    if "n_positions" in config:
        yield f"A text has at most {config['n_positions']} tokens."
    if own:
        yield (
            "No keys and values are remembered: each written token reads the whole text again."
            " `position_ids` and packed rows are refused; padding may stand on either side."
        )
    if recipe.model.dropout:
        yield f"In training, the library drops out a share of {recipe.model.dropout}, as Curta did."
    if recipe.positions.name in ("abacus", "coupled", "position-coupling", "randomised", "fire"):
        yield "Curta's training may displace positions at random; training in the library does not."


def _back(parts: Parts) -> str:
    text = "`curta import huggingface DIR` makes a run of this folder, also after fine-tuning."
    if not any(isinstance(part, Constant) for part in parts):
        return text
    return f"""{text} Curta's models do
without some weights of this class, such as biases, which must stay as they are:

```python
fixed = model.config.curta["fixed"]
for name, weight in model.named_parameters():
    weight.requires_grad = name not in fixed
```"""
