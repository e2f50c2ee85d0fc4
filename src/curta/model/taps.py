"""Taps: named sites of the forward pass where a value can be read, or another put in its place.

The model calls `tap(site, value)` and goes on with what that returns. Without a tap that is
`untouched`, which returns the value itself: the compiled program is as if there were no sites.
"""

from collections.abc import Callable

from jaxtyping import Array

Tap = Callable[[str, Array], Array]
"""Given the name of a site and its value, the value that the model goes on with."""


def untouched(site: str, value: Array) -> Array:
    """No tap at all."""
    return value


def below(tap: Tap, prefix: str) -> Tap:
    """The same tap for sites whose names lack what they begin with, such as `layer.0.`."""
    if tap is untouched:
        return untouched
    return lambda site, value: tap(prefix + site, value)
