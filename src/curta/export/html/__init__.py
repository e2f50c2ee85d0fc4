"""One page that carries a member's weights and calculates with them, token by token.

Under a window (`positions.name = "window"`) a page shows squared paper: `folded.py` is the weights,
`design.py` all else that it must know, and the `.js` files the page itself. Models that see whole
texts have pages of their own, in `whole/`.
"""

from curta.export.html.assembled import Carried, at_work, carried, render_page, write_page

__all__ = ["Carried", "at_work", "carried", "render_page", "write_page"]
