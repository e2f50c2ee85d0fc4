"""`123+045=0168$`: as people write it, operands zero-padded to one width, the answer to one more.

So the index of a digit tells its place, without the answer being turned. For contrast with
`padded`, in which both are done.
"""

from curta.layouts.direct import SumLayout


class PlainPadded(SumLayout):
    name = "plain-padded"
    summary = "zero-padded, digits in the usual order; index within each number as coordinate"
    axes = ("index",)
    reverse = False
    reverse_operands = False
    padded = True
