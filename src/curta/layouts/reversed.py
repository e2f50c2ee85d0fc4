"""`321+54=861$`: every number least significant digit first.

Written so, an answer digit needs nothing that is still to be written.
Source: Lee et al., Teaching Arithmetic to Small Transformers, arXiv 2307.03381.
"""

from curta.layouts.direct import DirectLayout


class Reversed(DirectLayout):
    name = "reversed"
    summary = "least significant digit first; index within each number as coordinate"
    axes = ("index",)
