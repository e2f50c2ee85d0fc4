"""`123+45=168$`: as people write it, most significant digit first."""

from curta.layouts.direct import DirectLayout


class Plain(DirectLayout):
    name = "plain"
    summary = "digits in the usual order; index within each number as coordinate"
    axes = ("index",)
    reverse = False
    reverse_operands = False
