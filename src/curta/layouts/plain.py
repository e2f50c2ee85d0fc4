"""`123+45=168$`: as people write it, most significant digit first."""

from .sums import SumLayout


class Plain(SumLayout):
    name = "plain"
    summary = "digits in the usual order; index within each number as coordinate"
    axes = ("index",)
    reverse = False
