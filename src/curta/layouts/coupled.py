"""`321+54=861$` with coordinates: digits of equal significance share a place.

The text is that of `reversed`. What is added is structure: `+` stands one place
above the first operand's last digit, `=` at place -1, just below the digit that
is written next, and the end sign one place above the answer.
"""

from curta.layouts.direct import SumLayout
from curta.programs.machine.tokens import HOME


class Coupled(SumLayout):
    name = "coupled"
    summary = "reversed; the place of every digit and sign in the written sum as coordinate"
    axes = ("place",)

    def sign_move(self, character: str, onward: int) -> int:
        return HOME - 1 if character == "=" else onward
