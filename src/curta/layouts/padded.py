"""`321+540=8610$`: reversed, operands zero-padded to one width, the answer to one more."""

from curta.layouts.direct import SumLayout


class Padded(SumLayout):
    name = "padded"
    summary = "reversed and zero-padded; index within each number as coordinate"
    axes = ("index",)
    padded = True
