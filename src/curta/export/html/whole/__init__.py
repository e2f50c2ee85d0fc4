"""Pages of models that see whole texts: any positions but a user's own, decoders and encoders.

`weights.py` is the weights, `design.py` all else that the page must know. The `.js` files follow
the files of `model/` one by one; those in `positions/` are the encodings.
"""

from curta.export.html.whole.assembled import page_part, reason

__all__ = ["page_part", "reason"]
