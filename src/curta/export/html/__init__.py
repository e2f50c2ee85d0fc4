"""One page that carries a member's weights and calculates with them, token by token.

`page.py` puts a page together, and the `.js` files are the page itself: `transformer.js` is the
forward pass, `app.js` what a person does.
"""
