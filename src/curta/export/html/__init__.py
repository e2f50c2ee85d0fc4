"""One page that carries a member's weights and calculates with them, token by token.

What a page can calculate is a program under a window (`positions.name = "window"`, one attention
layer): its machine is data, which `machine.js` runs. `folded.py` is the weights, `design.py` all
else that the page must know, and the `.js` files the page itself.
"""

from curta.export.html.assembled import Carried, at_work, render_page
from curta.export.html.folded import reason

__all__ = ["Carried", "at_work", "reason", "render_page"]
