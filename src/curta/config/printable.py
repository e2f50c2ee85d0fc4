"""Text from elsewhere, such as a run that was sent: as a terminal, or one line, may be given it."""

MOST = 300
"""Characters of a text that are shown."""


def printable(text: object, most: int = MOST) -> str:
    """The text on one line: what no letter is drawn for is escaped, what is too long is shortened.

    So a name cannot move the cursor, change colours or the window's title, turn the order of
    letters round, or break a line: `\\x1b[2J` is shown as these six characters.
    """
    return letters(shortened(str(text), most))


def shortened(text: str, most: int) -> str:
    """A text of at most so many letters: of a longer one the beginning and the end.

    >>> shortened("a hundred thousand", 13)
    'a hu ... sand'
    """
    if len(text) <= most:
        return text
    end = (most - 5) // 2
    return f"{text[: most - 5 - end]} ... {text[-end:]}"


def letters(text: str, kept: str = "") -> str:
    """All of the text, escaped as by `printable`, but for some letters that are kept."""
    if text.isprintable():
        return text
    return "".join(letter if letter in kept else _shown(letter) for letter in text)


def _shown(letter: str) -> str:
    return letter if letter.isprintable() else letter.encode("unicode_escape").decode()
