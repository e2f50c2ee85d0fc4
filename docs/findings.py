"""What the instruments say of three of our own models: `make results-findings`.

Each model has three seeds. A claim says what is to be seen in it, by which figure, and from which
value on it holds; those that are refuted stay. Every claim is a result of its own in
docs/results/findings.json, with the figure of each seed.

window     `addition`: one layer under a window, trained on sums of at most ten digits
coupled    the same lengths, one layer with Position Coupling, trained until 0.99 is right
memoriser  500 of the sums up to 99 + 99, four layers, shown until they are known by heart

`python -m docs.findings window` asks the claims of one model, `window-carry` a single one.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from docs import ladder
from docs.evidence import RESULTS, Results, arguments
from docs.instruments import (
    COUNT,
    FAR,
    Shares,
    at_digits,
    best_carry,
    carry,
    costliest,
    curves_of_parts,
    curves_of_places,
    curves_of_training,
    explained,
    gap,
    growth,
    loss_of_places,
    mean_of,
    near,
    over_control,
    without,
    worst,
)
from docs.shared import finished, markdown, recipe_fields, spread

FILE, SEEDS = "findings", 3


def _coupled() -> tuple[str, dict[str, Any]]:
    recipe, changes = ladder.changed("Position Coupling", 0.002, 8000)
    return recipe, changes | {"training.stop_at": ladder.ENOUGH}


MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "window": ("addition", {}),
    "coupled": _coupled(),
    "memoriser": ("sources/announced", {
        "task.held_out": 9500, "task.twins_together": True, "model.dropout": 0.0,
        "training.steps": 1000, "training.batch": 64, "training.validate_every": 100,
        "training.evaluate_every": 100, "training.validation": 1000, "evaluation.held_out": 1000,
    }),
}  # fmt: skip
"""Recipe and changes of each."""


@dataclass(frozen=True)
class Claim:
    """What is said of a model, and the figure that confirms or refutes it."""

    words: str
    figure: str
    """What is measured, as the table says it."""
    measure: Callable[[Any], Shares]
    """The figure of each seed of a run."""
    least: float | None = None
    most: float | None = None
    shown: str = ""
    """The command that prints the figure, or what it is taken from; {} is the run's name."""

    def holds(self, value: float) -> bool:
        """Whether a seed's figure confirms it."""
        return value >= self.least if self.least is not None else value <= (self.most or 0.0)

    @property
    def bound(self) -> str:
        return f"≥ {self.least:g}" if self.least is not None else f"≤ {self.most:g}"


def main() -> None:
    options = arguments(__doc__, [*MODELS, *CLAIMS])
    chosen = [name for name in CLAIMS if {name, name.partition("-")[0]} & {*options.names}]
    for name in chosen:
        keep(name, options)
    for model in {name.partition("-")[0] for name in chosen}:
        curves = partial(_curves, model)
        RESULTS.keep(FILE, f"{model}: curves", curves, range(SEEDS), asked(model), options)


def _curves(model: str) -> dict[str, Any]:
    return CURVES[model](run_of(model))


def keep(name: str, options: Any) -> None:
    claim, model = CLAIMS[name], name.partition("-")[0]
    settings = asked(model) | {"bound": claim.bound, "figure": claim.figure, "count": COUNT}

    def measure() -> dict[str, Any]:
        return {"seeds": [round(float(one), 5) for one in claim.measure(run_of(model))]}

    RESULTS.keep(FILE, name, measure, range(SEEDS), settings, options)


def asked(model: str) -> dict[str, Any]:
    return {"recipe": recipe_fields(*MODELS[model])}


def run_of(model: str) -> Any:
    return finished(f"findings-{model}", MODELS[model][0], SEEDS, MODELS[model][1])


CURVES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "window": curves_of_parts, "coupled": curves_of_places, "memoriser": curves_of_training,
}  # fmt: skip
"""What the picture of each model is drawn from."""

EVALUATED = "`curta evaluate {}`"
ABLATED = "`curta probe {} ablation`"
READ = "`curta probe {} linear`"
AMID, EMBEDDING = "state amid layer 0", "embedding"

CLAIMS: dict[str, Claim] = {
    "window-gap": Claim(
        "It answers problems that it never saw as it does those of its training.",
        "exact match, trained less held out", gap, most=0.01, shown=EVALUATED,
    ),
    "window-far": Claim(
        "It has learned no length: sums twenty times longer than any in training are right.",
        "exact match at 200 digits", partial(at_digits, 200), least=0.99,
        shown="`curta evaluate {} digits=200 count=1000`",
    ),
    "window-digits": Claim(
        "It needs the first operand's digit at the place to come.",
        "right digits without it", partial(without, "neighbour a place+1"), most=0.25,
        shown=ABLATED,
    ),
    "window-before": Claim(
        "Its digit at the place before serves the carry alone: without it most digits stay right.",
        "right digits without it", partial(without, "neighbour a"), least=0.5, shown=ABLATED,
    ),
    "window-itself": Claim(
        "It must look at the token just written, since that says whether there was a carry.",
        "right digits without attention to it", partial(without, "neighbour itself"), most=0.9,
        shown=ABLATED,
    ),
    "window-mlp": Claim(
        "Attention gathers, the MLP adds: without it digits are guessed.",
        "right digits without it", partial(without, "layer 0 MLP"), most=0.2, shown=ABLATED,
    ),
    "window-carry": Claim(
        "Attention alone has the carry: one plane separates carry from no carry before the MLP.",
        "carry read after attention, the worst digit", partial(carry, AMID, min), least=0.99,
        shown=READ,
    ),
    "window-token": Claim(
        "The token just written does not say the carry by itself.",
        "carry read from the embedding, the best digit", partial(carry, EMBEDDING, max), most=0.9,
        shown=READ,
    ),
    "window-neuron": Claim(
        "The neuron that matters most computes the sum: it is a function of x + y + carry.",
        "share of its variance explained so", partial(explained, "x + y + carry"), least=0.9,
        shown="`curta probe {} neuron`",
    ),
    "window-lookup": Claim(
        "That neuron depends on the two digits and the carry, and on nothing else in its window.",
        "share of its variance explained so",
        partial(explained, "a place+1, b place+1, carry"), least=0.95,
        shown="`curta probe {} neuron`",
    ),
    "coupled-within": Claim(
        "It is right within its training.",
        "exact match at 10 digits", partial(at_digits, 10), least=0.9,
        shown="`curta evaluate {} digits=10 count=1000`",
    ),
    "coupled-beyond": Claim(
        "It generalises a little: some sums of twice that length are right.",
        "exact match at 20 digits", partial(at_digits, 20), least=0.01,
        shown="`curta evaluate {} digits=20 count=1000`",
    ),
    "coupled-far": Claim(
        "It does not generalise far.",
        "exact match at 30 digits", partial(at_digits, FAR), most=0.5,
        shown="`curta evaluate {} digits=30 count=1000`",
    ),
    "coupled-carry": Claim(
        "It has the carry after its one attention, as the window model does.",
        "carry read after attention, the worst digit", partial(carry, AMID, min), least=0.99,
        shown=READ,
    ),
    "coupled-heads": Claim(
        "One of its heads is vital.",
        "right digits without the costliest head", partial(costliest, part="head"), most=0.5,
        shown=ABLATED,
    ),
    "coupled-low": Claim(
        "In a sum of 30 digits it still writes the ten lowest digits right, given what is before.",
        "right digits, places 0 to 9", partial(mean_of, "right", 0, 10), least=0.95,
    ),
    "coupled-high": Claim(
        "There it is the far places, beyond the ten of training, that go wrong.",
        "right digits, places 0 to 9 less places 20 to 29", partial(loss_of_places, "right"),
        least=0.05,
    ),
    "coupled-looks": Claim(
        "At far places no head finds the two digits any more.",
        "attention on them, the best head, places 20 to 29",
        partial(mean_of, "looked", 20, FAR), most=0.5,
    ),
    "coupled-places": Claim(
        "It goes wrong at a few places more than everywhere.",
        "share of wrong digits at the worst three of 30 places", worst, least=0.4,
    ),
    "memoriser-gap": Claim(
        "It knows its problems and next to no others.",
        "exact match, trained less held out", gap, least=0.9, shown=EVALUATED,
    ),
    "memoriser-near": Claim(
        "It is not blind: its answers to other sums are near, within ten, more often than not.",
        "answers within ten of the right one", near, least=0.5,
    ),
    "memoriser-growth": Claim(
        "Training on makes it worse on others: it gets sure of wrong answers.",
        "validation loss at the end, by its least", growth, least=1.5,
            ),
    "memoriser-carry": Claim(
        "Since it cannot add, no linear probe finds a carry in it.",
        "carry read from the best state", best_carry, most=0.6, shown=READ,
    ),
    "memoriser-control": Claim(
        "What a probe reads there, it reads of any function of the same digits.",
        "carry read after the first attention, less its control tasks", over_control, most=0.05,
        shown=READ,
    ),
    "memoriser-deeper": Claim(
        "Its layers lose the carry on the way instead of making use of it.",
        "carry read after the last layer", partial(carry, "state after layer 3", max), most=0.8,
        shown=READ,
    ),
}  # fmt: skip
"""By name, which begins with the model's."""

HEAD = ("claim", "figure", "holds if", "measured", "verdict", "command")


def tables(results: Results) -> dict[str, Iterable[str]]:
    """The claims of each model, with what was found."""
    known = results.read(FILE)
    lines = {
        model: [
            _line(name, known[name]["seeds"]) for name in CLAIMS if _is_told(name, model, known)
        ]
        for model in MODELS
    }
    return {f"{FILE}, {model}": markdown(HEAD, rows) for model, rows in lines.items() if rows}


def _is_told(name: str, model: str, known: dict[str, Any]) -> bool:
    return name.startswith(f"{model}-") and name in known


def _line(name: str, found: Shares) -> list[str]:
    claim = CLAIMS[name]
    seen = (
        claim.shown.format(f"{FILE}-{name.partition('-')[0]}")
        or f"`python -m docs.findings {name}`"
    )
    return [claim.words, claim.figure, claim.bound, spread(found, 2), verdict(claim, found), seen]


def verdict(claim: Claim, found: Shares) -> str:
    """Whether it is confirmed in all seeds, in some, or refuted.

    >>> claim = Claim("", "", list, least=0.5)
    >>> verdict(claim, [0.5, 0.9]), verdict(claim, [0.1, 0.9]), verdict(claim, [0.1, 0.2])
    ('confirmed', '1 of 2', 'refuted')
    """
    count = sum(map(claim.holds, found))
    return {len(found): "confirmed", 0: "refuted"}.get(count, f"{count} of {len(found)}")


if __name__ == "__main__":
    main()
