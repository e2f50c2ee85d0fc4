"""What the slices of problems are called on a page.

The descriptions lie here and not with the operations, so that a report needs
nothing but the files of its run; a test holds them against the operations' cases.
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
