"""What the instruments say of three of our own models: `make results-findings`.

Each model has three seeds. A claim says what is to be seen in it, by which figure, and from which
value on it holds; those that are refuted stay. Every claim is a result of its own in
docs/results/findings.json, with the figure of each seed.

window     `addition`: one layer under a window, trained on sums of at most ten digits
coupled    the same lengths, one layer with Position Coupling, trained until 0.99 is right
memoriser  500 of the sums up to 99 + 99, four layers, shown until they are known by heart

`python -m docs.findings window` measures the claims of one model, `window-carry` a single one.
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
        curves, settings = partial(curves_of, model), settings_of(model)
        RESULTS.keep(FILE, f"{model}: curves", curves, range(SEEDS), settings, options)


def curves_of(model: str) -> dict[str, Any]:
    return CURVES[model](run_of(model))


def keep(name: str, options: Any) -> None:
    claim, model = CLAIMS[name], name.partition("-")[0]
    settings = settings_of(model) | {"bound": claim.bound, "figure": claim.figure, "count": COUNT}

    def measure() -> dict[str, Any]:
        return {"seeds": [round(float(share), 5) for share in claim.measure(run_of(model))]}

    RESULTS.keep(FILE, name, measure, range(SEEDS), settings, options)


def settings_of(model: str) -> dict[str, Any]:
    return {"recipe": recipe_fields(*MODELS[model])}


def run_of(model: str) -> Any:
    return finished(f"findings-{model}", MODELS[model][0], SEEDS, MODELS[model][1])


CURVES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "window": curves_of_parts, "coupled": curves_of_places, "memoriser": curves_of_training,
}  # fmt: skip
"""What the picture of each model is drawn from."""

AMID, EMBEDDING = "state amid layer 0", "embedding"

CLAIMS: dict[str, Claim] = {
    "window-gap": Claim(
        "Unseen problems are answered like trained ones.",
        "exact match, trained less held out", gap, most=0.01,
    ),
    "window-far": Claim(
        "It solves sums twenty times longer than in training.",
        "exact match at 200 digits", partial(at_digits, 200), least=0.99,
    ),
    "window-digits": Claim(
        "It needs the first operand's next digit.",
        "right digits without it", partial(without, "neighbour a place+1"), most=0.25,
    ),
    "window-before": Claim(
        "That operand's digit here serves the carry alone.",
        "right digits without it", partial(without, "neighbour a"), least=0.5,
    ),
    "window-itself": Claim(
        "It must look at the token just written, for the carry.",
        "right digits without attention to it", partial(without, "neighbour itself"), most=0.9,
    ),
    "window-mlp": Claim(
        "Without the MLP digits are guessed.",
        "right digits without it", partial(without, "layer 0 MLP"), most=0.2,
    ),
    "window-carry": Claim(
        "Before the MLP one plane separates carry from no carry.",
        "carry read after attention, the worst digit", partial(carry, AMID, min), least=0.99,
    ),
    "window-token": Claim(
        "The token just written alone does not give the carry.",
        "carry read from the embedding, the best digit", partial(carry, EMBEDDING, max), most=0.9,
    ),
    "window-neuron": Claim(
        "The costliest neuron is a function of x + y + carry.",
        "share of its variance explained so", partial(explained, "x + y + carry"), least=0.9,
    ),
    "window-lookup": Claim(
        "It depends on the two digits and the carry alone.",
        "share of its variance explained so",
        partial(explained, "a place+1, b place+1, carry"), least=0.95,
    ),
    "coupled-within": Claim(
        "It solves its training lengths.",
        "exact match at 10 digits", partial(at_digits, 10), least=0.9,
    ),
    "coupled-beyond": Claim(
        "It solves some sums twice as long.",
        "exact match at 20 digits", partial(at_digits, 20), least=0.01,
    ),
    "coupled-far": Claim(
        "It does not generalise far.",
        "exact match at 30 digits", partial(at_digits, FAR), most=0.5,
    ),
    "coupled-carry": Claim(
        "Its attention has the carry, as in the window model.",
        "carry read after attention, the worst digit", partial(carry, AMID, min), least=0.99,
    ),
    "coupled-heads": Claim(
        "One head is vital.",
        "right digits without the costliest head", partial(costliest, part="head"), most=0.5,
    ),
    "coupled-low": Claim(
        "The ten lowest of 30 digits stay correct.",
        "right digits, places 0 to 9", partial(mean_of, "right", 0, 10), least=0.95,
    ),
    "coupled-high": Claim(
        "Places beyond the ten of training go wrong.",
        "right digits, places 0 to 9 less places 20 to 29", partial(loss_of_places, "right"),
        least=0.05,
    ),
    "coupled-looks": Claim(
        "At far places no head finds the two digits.",
        "attention on them, the best head, places 20 to 29",
        partial(mean_of, "looked", 20, FAR), most=0.5,
    ),
    "coupled-places": Claim(
        "Errors sit at a few places.",
        "share of wrong digits at the worst three of 30 places", worst, least=0.4,
    ),
    "memoriser-gap": Claim(
        "It knows its problems and hardly others.",
        "exact match, trained less held out", gap, least=0.9,
    ),
    "memoriser-near": Claim(
        "Its wrong answers are near.",
        "answers within ten of the right one", near, least=0.5,
    ),
    "memoriser-growth": Claim(
        "More training makes it surer of wrong answers.",
        "validation loss at the end, by its least", growth, least=1.5,
            ),
    "memoriser-carry": Claim(
        "No linear probe finds a carry in it.",
        "carry read from the best state", best_carry, most=0.6,
    ),
    "memoriser-control": Claim(
        "A probe reads any function of the digits as well.",
        "carry read after the first attention, less its control tasks", over_control, most=0.05,
    ),
    "memoriser-deeper": Claim(
        "Its layers lose the carry on the way.",
        "carry read after the last layer", partial(carry, "state after layer 3", max), most=0.8,
    ),
}  # fmt: skip
"""By name, which begins with the model's."""

HEAD = ("claim", "holds if", "measured", "verdict")


def tables(results: Results) -> dict[str, Iterable[str]]:
    """Return the claims of each model, with their figures."""
    numbers = results.read(FILE)
    rows = {
        model: [
            _row(claim, numbers[name]["seeds"])
            for name, claim in CLAIMS.items()
            if name.startswith(f"{model}-")
        ]
        for model in MODELS
    }
    return {f"{FILE}, {model}": markdown(HEAD, claims) for model, claims in rows.items()}


def _row(claim: Claim, figures: Shares) -> list[str]:
    condition = f"{claim.figure} {claim.bound}"
    return [claim.words, condition, spread(figures, 2), verdict(claim, figures)]


def verdict(claim: Claim, figures: Shares) -> str:
    """Return whether a claim is confirmed in all seeds, in some, or refuted.

    >>> claim = Claim("", "", list, least=0.5)
    >>> verdict(claim, [0.5, 0.9]), verdict(claim, [0.1, 0.9]), verdict(claim, [0.1, 0.2])
    ('confirmed', '1 of 2', 'refuted')
    """
    count = sum(map(claim.holds, figures))
    return {len(figures): "confirmed", 0: "refuted"}.get(count, f"{count} of {len(figures)}")


if __name__ == "__main__":
    main()
