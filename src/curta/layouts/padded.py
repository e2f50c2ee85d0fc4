"""`321+540=8610$`: reversed, operands zero-padded to one width, the answer to one more."""

from curta.layouts.base import END
from curta.layouts.direct import SIGN, DirectLayout


class Padded(DirectLayout):
    name = "padded"
    summary = "reversed and zero-padded; index within each number as coordinate"
    axes = ("index",)
    operators = ("+",)
    most = 2
    characters = "0123456789+=" + END
    roles = DirectLayout.roles[:SIGN]
    padded = True
