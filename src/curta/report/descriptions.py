"""Descriptions of slices, and of what figures show.

They stand here and not with the operations, so that a report needs only the files of its run; a
test compares them with the operations' cases.
"""

SLICES = {
    "random": "all digits drawn at random",
    "unequal": "all operands but one are shorter",
    "larger": "the first operand is shorter than the second",
    "equal": "all operands are the same",
    "same length": "all operands have as many digits",
    "one digit": "operands of one digit",
    "ties": "operands of the same length, about half of them the same",
    "in order": "operands of the same length, in ascending order already",
    "near": "all operands are the same but for one digit",
    "carry": "carries that run far, in half of the problems through every place",
    "borrow": "borrows that run across the zeros of the first operand",
    "exact": "the first operand is a multiple of the second",
    "almost": "the first operand is one less than a multiple of the second",
    "nines": "operands of nines but for a few digits; in divisions only the divisor, "
    "and the first operand just reaches a multiple of it",
    "trailing zeros": "operands that end in zeros",
    "few digits": "zeros and one other digit: long runs of the same digit",
    "sparse": "zeros between the first and the last digit of every operand",
    "special": "nines, powers of the base, equal or nearly equal operands, one digit throughout",
    "common factor": "two multiples of one number that is half as long",
    "one is zero": "a number and zero",
    "powers of two": "powers of two",
    "any lengths": "operands of any lengths up to that size",
    "through the point": "fractions that make one whole together, and nines above one point",
    "about a square": "a square, or one less",
    "zero": "one operand is zero",
    "one": "one operand is one",
    "held out": "problems of a table that were never trained on",
}
"""By the name of the slice."""

DESCRIPTIONS = {
    "learning": "Loss on a logarithmic axis and exact match against training step: "
    "one thin line per member and the median as a thick line; validation dashed.",
    "learning-linear": "The same with the loss on a linear axis.",
    "watched": "Exact match against training step, one panel per operator: on problems of "
    "training, on held-out ones, dashed, and by size; one thin line per member, the median thick.",
    "watched-log": "The same against the logarithm of the step.",
    "lengths": "Exact match against operand length on a logarithmic axis, one panel per "
    "operator: every member in its hardest slice and the median over members. "
    "The table above holds the values of every slice.",
    "held-out": "Exact match of held-out problems by how they are written: a bar up to the median "
    "of the members, a dot for each.",
    "answers": "Histogram of the answers, a line for each part of the problems.",
    "grid": "Heat map of the median exact match for every pair of operand lengths.",
    "certificate": "Distinct windows found against recorded tokens, on a logarithmic axis.",
}
"""What each figure of a run shows, for readers who cannot see it."""

COMPARISON_FIGURES = {
    "map": "Heat map of the median exact match out-of-distribution by two things that were varied; "
    "the number in a cell is how many members are right throughout.",
    "by": "Loss at the end of training and exact match, in-distribution and out-of-distribution, "
    "of every member, with their median as a line and their range as a band.",
    "lengths": "Exact match in the hardest slice against operand length: a panel for each "
    "entry, the median over members as a line and their range as a band.",
    "learning": "Loss and exact match on training problems against training step: a row "
    "of panels for each entry, the median over members as a line and their range as a band.",
}
"""The same for each kind of figure of a comparison."""
