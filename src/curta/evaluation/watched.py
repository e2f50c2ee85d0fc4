"""What the curves are called that are asked while a run is trained: `+ held out`, `+ mod 97 20`."""

TRAINED, HELD_OUT = "trained", "held out"
"""Problems of training, and others. What else is asked is a size."""


def parted(name: str) -> tuple[str, str]:
    """The operator of a curve, and what was asked.

    >>> parted("+ mod 97 held out"), parted("+ 20")
    (('+ mod 97', 'held out'), ('+', '20'))
    """
    for what in (TRAINED, HELD_OUT):
        if name.endswith(f" {what}"):
            return name.removesuffix(f" {what}"), what
    operator, _, size = name.rpartition(" ")
    return operator, size
