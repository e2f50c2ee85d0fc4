"""The problems of a task: drawn on the device for training, as Python ints for tests.

Both are random numbers of which an operation's special cases turn a share into rare problems. They
differ in the source of random bits, and test problems have exactly the requested size.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt

from curta.config.errors import refuse_if
from curta.config.sections import size_digits
from curta.config.task import Task
from curta.problems.arithmetic import ARITHMETIC, NumberBatch, below, cut
from curta.problems.numerals import to_int, to_text
from curta.problems.operations import operation_named
from curta.problems.problem import Problem
from curta.problems.problem_table import LARGEST, ProblemTable, fingerprint, shuffled
from curta.problems.sizes import AnswerHistogram, Split
from curta.problems.task_sizes import counts, operation, sizes, spans

Share = float | Float[Array, ""]

AT_ONCE = 1 << 15
"""Problems of a fixed set that are hashed together."""

ROWS_AT_ONCE = 1 << 20
"""Rows of a table that are computed together."""

COUNTED, BINS = 100_000, 20
"""Most problems of a part in a histogram of answers, and its bins."""

RANDOM = "random"
"""The name of the slice of random problems."""


def draw(task: Task, key: PRNGKeyArray, batch: int, step: Int[Array, ""] | int = 0) -> NumberBatch:
    """Draw a batch for training; a function of `key`, and of `step` if rare problems fade.

    All randomness comes from one draw of bits: another would add to every step, and more to
    compilation than the rest of this function.
    """
    if count := trained_count(task):
        numbers = below(jax.random.bits(key, (batch, task.smallest_of)), count)
        if task.smallest_of == 1:
            return numbered(task, numbers[:, 0])
        # The smallest last operand in every second row: of 5//90, 7//8 and 712//450, 3//61 these
        # are 5//90 and 3//61.
        pairs = table(task).pairs(task.held_out + numbers.ravel())
        chosen = jnp.argmin(pairs[:, 1].reshape(numbers.shape), axis=1).at[::2].set(0)
        return numbered(task, jnp.take_along_axis(numbers, chosen[:, None], axis=1)[:, 0])
    bits = jax.random.bits(key, (batch, _bits(task)))
    low, high = jnp.array(spans(task)).T[:, None]
    sizes = low + below(bits[:, 2 : 2 + len(spans(task))], high - low + 1)
    return _from_bits(task, sizes, bits, special_share(task, step))


def epoch_batch(
    task: Task, order: UInt[Array, ""], batch: int, step: Int[Array, ""] | int
) -> NumberBatch:
    """Return a batch of a finite set in epochs, each a random order of all problems.

    `order` is a random number of the member; each epoch has another order.
    """
    count = trained_count(task)
    turns = jnp.uint32(step) * batch + jnp.arange(batch, dtype=jnp.uint32)
    seeds = order + turns // count
    return numbered(task, shuffled(turns % count, count, seeds))


def fixed_batch(task: Task, batch: int, step: Int[Array, ""] | int) -> NumberBatch:
    """Return a batch of a finite set that is cut into batches once, which repeat in order.

    The remainder is never used: of 7,200 problems in batches of 256, the last 32.
    """
    batches = trained_count(task) // batch
    return numbered(task, step % batches * batch + jnp.arange(batch))


def numbered(task: Task, numbers: Int[Array, " batch"]) -> NumberBatch:
    """Return the problems with these numbers, from 0, of the finite set of a task."""
    if task.values:
        return table(task).numbers(task.held_out + numbers)
    keys = jax.vmap(partial(jax.random.fold_in, jax.random.key(task.split)))(numbers)
    bits = jax.vmap(lambda key: jax.random.bits(key, (_bits(task),)))(keys)
    sizes = []
    for low, high in spans(task):
        sizes.append(low + numbers % (high - low + 1))
        numbers = numbers // (high - low + 1)
    return _from_bits(task, jnp.stack(sizes, axis=1), bits, task.special)


def _bits(task: Task) -> int:
    """Return the random words of a problem: operands, case, sizes, and two for each digit."""
    operands, width = len(spans(task)), max(high for _, high in spans(task))
    return 2 + operands * (1 + 2 * width)


def _from_bits(
    task: Task, sizes: Int[Array, "batch operands"], bits: UInt[Array, "batch bits"], special: Share
) -> NumberBatch:
    operands, (few, many) = sizes.shape[1], counts(task)
    is_present = jnp.arange(operands)[None] < few + below(bits[:, :1], many - few + 1)
    lengths = jnp.where(is_present, sizes, 0)
    # Case 0 is a random problem, else the number of a special case: two halves of one word.
    share = special * (1 << 16)
    bound = round(share) if isinstance(share, float) else jnp.round(share).astype(jnp.int32)
    is_special = below(bits[:, 1] >> 16, 1 << 16) < bound
    number = 1 + below(bits[:, 1] & 0xFFFF, len(ARITHMETIC[task.operator].cases))
    cases = jnp.where(is_special, number, 0)
    return _from_lengths(task.operator, lengths, bits[:, 2 + operands :], cases, task.zero)


def table(task: Task) -> ProblemTable:
    """Return all problems of a task with `values` in random order; the first are held out."""
    assert task.values
    return ProblemTable(task.operator, *task.values, task.split, task.held_out, task.twins_together)


def trained(task: Task) -> range:
    """Return the places, in the order of a table, of the problems that are trained on."""
    return range(task.held_out, task.held_out + trained_count(task)) if task.values else range(0)


def trained_count(task: Task) -> int:
    """Return the size of the finite set that is trained on; 0 if problems are drawn without end."""
    return task.rows or (table(task).rows - task.held_out if task.values else 0)


def slices(operator: str) -> list[str]:
    """Return the slices of test problems: random ones, and each special case."""
    operation = operation_named(operator)
    return [RANDOM, *(ARITHMETIC[operator] if operation.on_device else operation).cases]


def problems(
    operator: str, slice_name: str, size: Sequence[int], count: int, seed: int
) -> list[Problem]:
    """Return `count` test problems whose operands have `size` digits; a pure function.

    Special cases may shorten operands, never lengthen them.
    """
    operation = operation_named(operator)
    if not operation.on_device:
        tests = operation.tests(slice_name, size, f"{seed} {slice_name} {tuple(size)}")
        return [Problem(operator, operands) for operands in islice(tests, count)]
    case = slices(operator).index(slice_name)
    rng = np.random.default_rng([seed, *slice_name.encode(), *operator.encode(), *size])
    bits = rng.integers(0, 1 << 32, (count, 2 * len(size) * max(size)), np.uint32)
    lengths = np.tile(np.array(size, np.int32), (count, 1))
    return as_problems(
        operator, _jitted_from_lengths(operator, lengths, bits, np.full(count, case, np.int32))
    )


def sample(task: Task, count: int) -> list[Problem]:
    """Return training problems in Python, always the same ones.

    For a fixed set (`task.rows`) they are other problems of the same sizes.
    """
    task = task if task.values else dataclasses.replace(task, rows=0)
    if not operation(task).on_device:
        training = operation(task).training(sizes(task), "sample", task.special)
        return [Problem(task.operator, operands) for operands in islice(training, count)]
    return as_problems(task.operator, _draw(task, jax.random.key(0), count))


def as_size(size: int | str, operator: str) -> tuple[int, ...]:
    """Return the digits of each operand of this size: see `size_digits`."""
    return size_digits(size, operation_named(operator).least)


def held_out(task: Task, places: range) -> list[Problem]:
    """Return problems that are never trained on, by their places in the order of the table.

    If twins stay together, places move to the next boundary between pairs, so that no two splits
    have 40+68 and 68+40.
    """
    assert places.stop <= task.held_out
    places = table(task).held_range(places.start, len(places))
    return _at(task, jnp.arange(places.start, places.stop))


def held_out_drawn(task: Task, count: int, seed: int) -> list[Problem]:
    """Draw different held-out problems of a table, a function of `seed`."""
    rng = np.random.default_rng([task.split, seed])
    places = rng.choice(task.held_out, count, replace=False)
    return _at(task, jnp.asarray(places))


def _at(task: Task, places: Int[Array, " places"]) -> list[Problem]:
    """Return the problems at these places in the order of a table."""
    pairs = np.asarray(table(task).pairs(places)).tolist()
    return [Problem(task.operator, tuple(pair)) for pair in pairs]


def trained_problems(task: Task, count: int) -> list[Problem]:
    """Return some problems of a finite set that is trained on, always the same ones."""
    total = trained_count(task)
    numbers = shuffled(jnp.arange(min(count, total)), total, seed=1)
    return as_problems(task.operator, numbered(task, numbers))


def fresh_problems(task: Task, count: int) -> list[Problem]:
    """Return at most `count` problems like those of a fixed set (`task.rows`) but not in it.

    Their twins are not in it either. Compared by hashes, so a few others may be left out, too.
    """
    endless = dataclasses.replace(task, rows=0)
    candidates = _draw(endless, jax.random.key(1), 4 * count)
    hashes = np.asarray(fingerprint(candidates))
    is_trained = np.zeros(len(hashes), bool)
    for _, trained_hashes in _hashes(task):
        is_trained |= np.isin(hashes, trained_hashes)
    _, first = np.unique(hashes, return_index=True)
    fresh = [number for number in np.sort(first).tolist() if not is_trained[number]]
    problems = as_problems(task.operator, candidates)
    return [problems[number] for number in fresh[:count]]


def _hashes(task: Task) -> Iterator[tuple[Int[np.ndarray, " some"], UInt[np.ndarray, " some"]]]:
    """Yield the numbers and hashes of a fixed set's problems, in chunks."""
    total = trained_count(task)
    hash_problems = jax.jit(lambda numbers: fingerprint(numbered(task, numbers)))
    for start in range(0, total, AT_ONCE):
        numbers = np.minimum(start + np.arange(AT_ONCE), total - 1)
        yield numbers, np.asarray(hash_problems(jnp.asarray(numbers)))


def set_split(task: Task, tested: Sequence[Problem]) -> Split:
    """Count the test problems that are in a fixed set (`task.rows`), and those whose twin is.

    The set is searched by hashes; problems of equal hash are then compared exactly.
    """
    hashes = np.asarray(fingerprint(as_numbers([problem.operands for problem in tested])))
    same_hash = [numbers[np.isin(trained, hashes)] for numbers, trained in _hashes(task)]
    numbers = jnp.asarray(np.unique(np.concatenate(same_hash)))
    trained_operands = {*_ints(numbered(task, numbers))}
    overlap = sum(problem.operands in trained_operands for problem in tested)
    twins = [p.operands[::-1] for p in tested if p.operands != p.operands[::-1]]
    mirrored = sum(twin in trained_operands for twin in twins) if operation(task).commutes else 0
    return Split(task.operator, trained_count(task), len(tested), overlap, mirrored)


def validation(task: Task, count: int) -> list[Problem]:
    """Return the problems of a validation.

    They are the first held-out problems of a table, if there are any; another set of the same kind
    for a fixed set (`task.rows`), which may share problems with it; and otherwise drawn like those
    of training, without rare problems if these fade.
    """
    if task.special_until:
        task = dataclasses.replace(task, special=0.0, special_until=0)
    if task.held_out:
        return held_out(task, range(count))
    if task.rows and not task.values:
        other = dataclasses.replace(task, split=task.split + 1)
        return as_problems(task.operator, numbered(other, jnp.arange(count)))
    return sample(dataclasses.replace(task, smallest_of=1), count)


def split(task: Task, rows_trained: Bool[np.ndarray, " rows"] | None = None) -> Split:
    """Count how the table of a task is split.

    `rows_trained` says which rows are trained on, by default all that may be.
    """
    rows = table(task)
    is_trained = trained_rows(task) if rows_trained is None else rows_trained
    held = np.unique(rows.row_of(np.asarray(rows.pairs(jnp.arange(task.held_out)))))
    mirrored = len(with_trained_twin(task, held_out(task, range(task.held_out)), is_trained))
    return Split(
        task.operator, int(is_trained.sum()), len(held), int(is_trained[held].sum()), mirrored
    )


def answer_histograms(
    task: Task,
    places_by_part: Mapping[str, range],
    rows_trained: Bool[np.ndarray, " rows"] | None = None,
) -> tuple[AnswerHistogram, ...]:
    """Return histograms of the answers of parts of a table, given as places, in the same bins.

    Of the places that may be trained on, only rows in `rows_trained` count, by default all.
    """
    rows, answers = table(task), dict[str, np.ndarray]()
    for name, places in places_by_part.items():
        is_trained = places == trained(task)
        places = places if is_trained else rows.held_range(places.start, len(places))
        first = places[:COUNTED]
        pairs = np.asarray(rows.pairs(jnp.arange(first.start, first.stop)))
        if rows_trained is not None and is_trained:
            pairs = pairs[rows_trained[rows.row_of(pairs)]]
        truth = operation(task).truth
        answers[name] = np.array([truth(a, b) for a, b in pairs.tolist()], float)
    answers = {name: values for name, values in answers.items() if values.size}
    if not answers:
        return ()
    edges = np.histogram_bin_edges(np.concatenate(list(answers.values())), BINS)
    return tuple(
        AnswerHistogram(
            part=name,
            problems=len(values),
            least=int(values.min()),
            most=int(values.max()),
            mean=round(float(values.mean()), 1),
            deviation=round(float(values.std()), 1),
            edges=edges.round(6).tolist(),
            counts=np.histogram(values, edges)[0].tolist(),
        )
        for name, values in answers.items()
    )


def trained_rows(task: Task) -> Bool[np.ndarray, " rows"]:
    """Return for each row of a table whether it may be trained on."""
    rows, places = table(task), trained(task)
    is_trained = np.zeros(rows.rows, bool)
    for start in range(places.start, places.stop, ROWS_AT_ONCE):
        block = jnp.arange(start, min(start + ROWS_AT_ONCE, places.stop))
        is_trained[np.asarray(rows.row(block))] = True
    return is_trained


def with_trained_twin(
    task: Task, problems: Sequence[Problem], rows_trained: Bool[np.ndarray, " rows"] | None = None
) -> list[Problem]:
    """Return those of a table's problems whose twin is trained on; none if order matters."""
    if not problems or not operation(task).commutes:
        return []
    rows = table(task)
    is_trained = trained_rows(task) if rows_trained is None else rows_trained
    pairs = np.array([problem.operands for problem in problems])
    row, twin = rows.row_of(pairs), rows.row_of(pairs[:, ::-1])
    has_trained_twin = is_trained[twin] & (twin != row) & (twin >= 0)
    return [problems[number] for number in np.flatnonzero(has_trained_twin).tolist()]


def check(task: Task) -> None:
    """Raise UserError if the operation does not take these operands, or has no such table."""
    few, many = counts(task)
    name, modulus = operation(task).name, operation(task).modulus
    takes = operation(task).takes
    refuse_if(
        not (takes(few) and takes(many)), f"task.operands {few}..{many}: not what {name} takes"
    )
    if not task.values:
        return
    low, high = task.values
    refuse_if(not takes(2), f"{name} has no table: it does not take two operands")
    rows = table(task).rows if low <= high else 0
    refuse_if(
        not 1 <= rows <= LARGEST,
        f"task.values {low}..{high}: a table has 1 to {LARGEST:,} problems",
    )
    refuse_if(
        modulus and high >= modulus,
        f"task.values {low}..{high}: modulo {modulus} some operands are equal",
    )
    refuse_if(
        task.held_out + max(task.rows, 1) > rows,
        f"task.held_out and task.rows are more than the table's {rows:,} problems",
    )


def special_share(task: Task, step: Int[Array, ""] | int) -> Share:
    """Return the share of rare problems in the batch of a step.

    >>> fading = Task(special=0.8, special_until=1000)
    >>> [round(float(special_share(fading, step)), 2) for step in (0, 500, 1000, 1500)]
    [0.8, 0.4, 0.0, 0.0]
    """
    if not task.special_until:
        return task.special
    return task.special * jnp.maximum(0.0, 1.0 - step / task.special_until)


def _from_lengths(
    operator: str,
    lengths: Int[Array, "batch operands"],
    bits: UInt[Array, "batch bits"],
    cases: Int[Array, " batch"],
    zero: bool = True,
) -> NumberBatch:
    """Return problems from random words, two for each digit: its value, and noise for cases.

    Without `zero`, operands of one digit are 1 to 9.
    """
    arithmetic = ARITHMETIC[operator]
    values, noise = jnp.split(bits.reshape(*lengths.shape, -1), 2, axis=-1)
    digits = below(values, 10)
    if not zero:
        digits = jnp.where(lengths[..., None] == 1, 1 + below(values, 9), digits)
    plain = cut(NumberBatch(digits, lengths))
    numbers = plain
    for number, case in enumerate(arithmetic.cases.values(), 1):
        is_case = cases == number
        special = case(plain, noise)
        numbers = NumberBatch(
            jnp.where(is_case[:, None, None], special.digits, numbers.digits),
            jnp.where(is_case[:, None], special.lengths, numbers.lengths),
        )
    return arithmetic.admit(numbers)


_draw = jax.jit(draw, static_argnums=(0, 2))
_jitted_from_lengths = jax.jit(_from_lengths, static_argnums=0)


def as_problems(operator: str, numbers: NumberBatch) -> list[Problem]:
    """Return the problems of an operator with these operands."""
    return [Problem(operator, operands) for operands in _ints(numbers)]


def _ints(numbers: NumberBatch) -> list[tuple[int, ...]]:
    """Return the operands of each problem as Python ints."""
    digits, lengths = map(np.asarray, numbers)
    characters = (digits[..., ::-1] + ord("0")).astype(np.uint8)
    return [
        tuple(to_int(row.tobytes().decode()) for row in operands[lengths[number] > 0])
        for number, operands in enumerate(characters)
    ]


def as_numbers(values: Sequence[Sequence[int]]) -> NumberBatch:
    """Return operands as arrays of digits."""
    rows = [[to_text(value) for value in operands] for operands in values]
    count = max(map(len, rows))
    texts = [text for row in rows for text in (*row, *[""] * (count - len(row)))]
    width = max(map(len, texts))
    characters = "".join(text.rjust(width, "0") for text in texts)
    digits = np.frombuffer(characters.encode(), np.uint8).reshape(len(values), count, width) - 48
    lengths = np.array([len(text) for text in texts]).reshape(len(values), count)
    return NumberBatch(jnp.asarray(digits[..., ::-1], jnp.int32), jnp.asarray(lengths, jnp.int32))
