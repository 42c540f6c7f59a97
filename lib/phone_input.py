"""Telephone numbers as people type them, brought into E.164."""

import re
from typing import Final

_MARKS: Final = re.compile(r"[\s().\-/\u2010-\u2013]+")
_INTERNATIONAL: Final = re.compile(r"\+[1-9]\d{6,14}", re.ASCII)
_NATIONAL: Final = re.compile(r"1?([2-9]\d{2}[2-9]\d{6})", re.ASCII)  # North American Numbering Plan


def e164(text: str) -> str | None:
    """Read a number, `(312) 555-0140` or `+44 20 7946 0958`; without a plus it is a North American one.

    None for what is no number.
    """
    bare = _MARKS.sub("", text)
    if _INTERNATIONAL.fullmatch(bare):
        return bare
    national = _NATIONAL.fullmatch(bare)
    return f"+1{national[1]}" if national else None
