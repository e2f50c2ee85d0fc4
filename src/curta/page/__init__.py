"""One page that carries a member's weights and calculates with them, token by token.

What a page can calculate is the window (`positions.name = "window"`) in a decoder without
loops, over layouts whose prompts and answers are data (`Layout.told`). `folded.py` is the
weights, `design.py` all else that the page must know, `translate.py` a layout's coordinates
as JavaScript, and the `.js` files the page itself.
"""

from .assembled import Carried, at_work, render

__all__ = ["Carried", "at_work", "render"]
