"""A transformer learns to add, and is certified for numbers of any length: all in one file.

    python examples/one_file.py                # train, list every window, certify, ask
    python examples/one_file.py 999999 1       # ... and add two numbers of your own

1. An *algorithm* writes on squared paper: the digits of a and b stand above each other, lowest
   place first, and below them one digit of the sum after another is written.
2. The next character depends on a *window* of five squares: the character written last, the two
   digits above it, and the two above the next square. There are finitely many windows, however
   long the numbers are, and `list_windows` finds all of them by following the algorithm.
3. A *transformer* (one attention layer, one MLP) learns window -> next character.
4. The *certificate*: the model is asked every window on the list. If it is right on all of them,
   every step of every addition is right, by induction over the steps: also at a million digits.

Needs NumPy and JAX alone. Curta does the same for any algorithm, and finds the windows itself.
"""

import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

BLANK, EQUALS, END = 10, 11, 12  # the other tokens are the digits 0 to 9
TOKENS, SQUARES = 13, 5
WIDTH, HEADS, HIDDEN = 64, 4, 256
Window = tuple[int, ...]
Weights = dict[str, Any]


# The algorithm


def next_token(window: Window) -> int:
    """Return what school arithmetic writes next.

    No carry stands on the paper, but the last digit tells it: below 4 and 8 stands 3, so one was
    carried in (4 + 8 + 1 = 13), and one is carried on.
    """
    last, a, b, next_a, next_b = (0 if token == BLANK else token for token in window)
    carry = 0 if last == EQUALS else (a + b + (last - a - b) % 10) // 10
    if window[3] == window[4] == BLANK:
        return carry or END
    return (next_a + next_b + carry) % 10


def write(a: int, b: int, follow: Callable[[Window], int]) -> tuple[list[int], list[Window]]:
    """Write `follow(window)` until the end; return the tokens and the windows seen."""
    rows = [[int(digit) for digit in reversed(str(number))] for number in (a, b)]
    length = max(map(len, rows)) + 2
    above = [row + [BLANK] * (length - len(row)) for row in rows]
    written, windows, last, here = [], [], EQUALS, (BLANK, BLANK)
    for ahead in zip(*above, strict=True):
        windows.append((last, *here, *ahead))
        last, here = follow(windows[-1]), ahead
        written.append(last)
        if last == END:
            break
    return written, windows


def list_windows() -> list[Window]:
    """Return every window that two numbers of any length can lead to, sorted.

    The square after the next holds any digit or is blank; a number that has ended stays so.
    """
    digits = range(10)
    windows = {(EQUALS, BLANK, BLANK, a, b) for a in digits for b in digits}
    new = list(windows)
    while new:
        window = new.pop()
        a, b = window[3:]
        if (written := next_token(window)) != END:
            after_a = [BLANK] if a == BLANK else [*digits, BLANK]
            after_b = [BLANK] if b == BLANK else [*digits, BLANK]
            following = {(written, a, b, x, y) for x in after_a for y in after_b} - windows
            windows |= following
            new.extend(following)
    return sorted(windows)


# The transformer


def first_weights(key: jax.Array) -> Weights:
    """Draw normal weights, scaled by the number of terms each matrix adds up."""
    shapes = {
        "tokens": (TOKENS, WIDTH), "squares": (SQUARES, WIDTH),
        "query": (WIDTH, WIDTH), "key": (WIDTH, WIDTH), "value": (WIDTH, WIDTH),
        "out": (WIDTH, WIDTH), "up": (WIDTH, HIDDEN), "down": (HIDDEN, WIDTH),
        "head": (WIDTH, TOKENS),
    }  # fmt: skip
    weights = {}
    for name, shape in shapes.items():
        key, own = jax.random.split(key)
        scale = 1 if name in ("tokens", "squares") else shape[0] ** -0.5
        weights[name] = scale * jax.random.normal(own, shape)
    return weights


def norm(x: Any, xp: Any) -> Any:
    return x / xp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def logits(w: Weights, windows: Any, xp: Any = jnp) -> Any:
    """windows: (batch, 5) tokens -> (batch, 13) logits of the next token; xp: NumPy or JAX."""
    x = w["tokens"][windows] + w["squares"]  # batch x squares x width
    h = norm(x, xp)
    q = (h[:, 0] @ w["query"]).reshape(-1, HEADS, WIDTH // HEADS)
    k = (h @ w["key"]).reshape(-1, SQUARES, HEADS, WIDTH // HEADS)
    v = (h @ w["value"]).reshape(-1, SQUARES, HEADS, WIDTH // HEADS)
    scores = xp.einsum("bhf,bshf->bhs", q, k) * (WIDTH // HEADS) ** -0.5
    shares = xp.exp(scores - scores.max(-1, keepdims=True))
    shares = shares / shares.sum(-1, keepdims=True)
    x = x[:, 0] + xp.einsum("bhs,bshf->bhf", shares, v).reshape(len(windows), -1) @ w["out"]
    x = x + xp.maximum(norm(x, xp) @ w["up"], 0) @ w["down"]
    return norm(x, xp) @ w["head"]


def loss(w: Weights, windows: jax.Array, targets: jax.Array) -> jax.Array:
    predicted = jax.nn.log_softmax(logits(w, windows))
    return -jnp.take_along_axis(predicted, targets[:, None], 1).mean()


@jax.jit
def train_on(state: Any, windows: Any, targets: Any, rate: float, key: jax.Array) -> Any:
    """Take 200 steps of Adam, each on 512 windows drawn at random."""

    def step(state: Any, key: jax.Array) -> Any:
        w, mean, square, t = state
        rows = jax.random.randint(key, (512,), 0, len(windows))
        value, gradient = jax.value_and_grad(loss)(w, windows[rows], targets[rows])
        t = t + 1
        mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mean, gradient)
        square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, square, gradient)
        size = rate * jnp.sqrt(1 - 0.99**t) / (1 - 0.9**t)
        w = jax.tree.map(lambda p, m, s: p - size * m / (jnp.sqrt(s) + 1e-8), w, mean, square)
        return (w, mean, square, t), value

    return jax.lax.scan(step, state, jax.random.split(key, 200))


# Training until certified


def certify(w: Weights, windows: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, float]:
    """Return by how much the right token leads at each window, and the effect of rounding.

    Margins are computed in float64; rounding is the largest difference from float32's logits.
    """
    exact = logits({name: np.asarray(p, np.float64) for name, p in w.items()}, windows, np)
    rounding = float(np.abs(exact - np.asarray(logits(w, windows))).max())
    right = np.take_along_axis(exact, targets[:, None], 1)[:, 0]
    np.put_along_axis(exact, targets[:, None], -np.inf, 1)
    return right - exact.max(1), rounding


def train(seed: int = 0, rounds: int = 60) -> Weights:
    """Train on nine windows of ten; once those are right, show the wrong ones as well."""
    windows = np.array(list_windows())
    targets = np.array([next_token(tuple(window)) for window in windows.tolist()])
    shown = np.random.default_rng(seed).random(len(windows)) < 0.9
    print(f"{len(windows):,} windows can occur; {shown.sum():,} of them are shown in training")
    w = first_weights(jax.random.key(seed))
    zeros = jax.tree.map(jnp.zeros_like, w)
    state = (w, zeros, zeros, 0)
    for number in range(1, rounds + 1):
        rate = 0.003 * max(0.05, 1 - number / 20)
        key = jax.random.key(1000 * seed + number)
        rows = np.resize(np.flatnonzero(shown), len(windows))  # always the same shape
        state, losses = train_on(state, windows[rows], targets[rows], rate, key)
        margins, rounding = certify(state[0], windows, targets)
        wrong = margins < 100 * rounding
        print(f"step {200 * number:5}  loss {losses[-20:].mean():.5f}  wrong: {wrong.sum():,}")
        if not wrong.any():
            print(f"certified: margins of {margins.min():.2f} and more, rounding {rounding:.0e}")
            return jax.tree.map(np.asarray, state[0])
        if not (wrong & shown).any():
            shown |= wrong  # repair
    raise SystemExit("not certified: train for more rounds")


def add(w: Weights, a: int, b: int) -> int:
    """Return the sum as the model writes it, one window after another."""
    written, _ = write(a, b, lambda window: int(logits(w, np.array([window]), np).argmax()))
    return int("".join(map(str, reversed(written[:-1]))))


if __name__ == "__main__":
    weights = train()
    sys.set_int_max_str_digits(0)
    long = np.random.default_rng(1).integers(1, 10, (2, 1000))
    pairs = [(57, 68), (999_999, 1), [int("".join(map(str, row))) for row in long]]
    pairs += [list(map(int, sys.argv[1:3]))] if len(sys.argv) == 3 else []
    for a, b in pairs:
        answer = add(weights, a, b)
        text = f"{a} + {b} = {answer}" if a < 10**30 else f"two numbers of {len(str(a))} digits"
        print(f"{text}: {'right' if answer == a + b else 'wrong'}")
