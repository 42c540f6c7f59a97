"""Control characters, such as the line break that ends a mail header."""

import unicodedata


def has_control(text: str, *, but: str = "") -> bool:
    """Return whether a text contains a control character that is not in `but`."""
    if text.isprintable():  # true for most texts; skips the slower check
        return False
    return any(unicodedata.category(char) == "Cc" and char not in but for char in text)
