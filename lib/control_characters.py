"""Characters that are commands to a terminal or a protocol, such as the line break that ends a header of a mail."""

import unicodedata


def has_control(text: str, *, but: str = "") -> bool:
    """Say whether there is one in a text, besides those of `but`."""
    if text.isprintable():  # most texts are, and need no second look
        return False
    return any(unicodedata.category(char) == "Cc" and char not in but for char in text)
