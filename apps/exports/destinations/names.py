"""Names of files and folders that mean the same to every program on the way, and nothing else to any."""

import re
from typing import Final

MOST_FOLDER: Final = 500  # characters
# No quote, backslash, wildcard or control character; none begins like an option or is a way up.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}", re.ASCII)
_SEGMENT: Final = re.compile(r"(?!\.\.?$)(?! )[A-Za-z0-9 ._=+@,-]{1,255}(?<! )", re.ASCII)


def check_name(name: str) -> None:
    """Judge the name of a file.

    Raises:
        ValueError: it is something else than letters, digits, `.`, `_` and `-`, the first of them a letter or digit.
    """
    if not _NAME.fullmatch(name):
        raise ValueError("name of a file")


def is_folder(text: str, *, absolute: bool) -> bool:
    """Say whether a text is a folder: "" for the first one, or names with `/` between; `absolute`: `/` may begin it."""
    if len(text) > MOST_FOLDER:
        return False
    if absolute:
        if text == "/":
            return True
        text = text.removeprefix("/") or text
    return not text or all(map(_SEGMENT.fullmatch, text.split("/")))
