"""Checks of file and folder names that are safe on every server."""

import re
from typing import Final

MAX_FOLDER: Final = 500  # characters
# No quotes, backslashes, wildcards or control characters; no name looks like an option or leaves the folder.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
_SEGMENT: Final = re.compile(r"(?!\.\.?$)(?! )[A-Za-z0-9 ._=+@,-]{1,255}(?<! )", re.ASCII)


def check_name(name: str) -> None:
    """Check the name of a file.

    Raises:
        ValueError: it has characters other than letters, digits, `.`, `_` and `-`, or does not begin with a letter or
        digit.
    """
    if not _NAME.fullmatch(name):
        raise ValueError("name of a file")


def is_folder(text: str, *, absolute: bool) -> bool:
    """Return whether a text is a folder: "" or names separated by `/`; `absolute` allows a leading `/`."""
    if len(text) > MAX_FOLDER:
        return False
    if absolute:
        if text == "/":
            return True
        text = text.removeprefix("/") or text
    return not text or all(map(_SEGMENT.fullmatch, text.split("/")))
