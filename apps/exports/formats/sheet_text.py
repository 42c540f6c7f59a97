"""Text in the cells of a workbook, in Python and in SQL: a test holds the two together.

XML 1.0 has no place for some characters: ECMA-376 (22.9.2.19, ST_Xstring) writes them as `_xHHHH_`, and text that
looks like that with its first sign as `_x005F_`.  Line breaks are references: a parser makes a line feed of any other,
and a row is one line.
"""

import re
from typing import Final

MOST_CHARACTERS: Final = 32_767  # that a cell holds; longer text is cut
_FORBIDDEN: Final = "\\u0001-\\u0008\\u000B\\u000C\\u000E-\\u001F\\uFFFE\\uFFFF"  # for Python and PostgreSQL alike
_LOOKS_ESCAPED: Final = f"_(?=x[0-9A-Fa-f]{{4}}[_{_FORBIDDEN}])"
_SPECIAL: Final = f"[&<>_\\u000A\\u000D{_FORBIDDEN}]"
_REPLACED: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": "&#10;", "\r": "&#13;"} | {
    chr(code): f"_x{code:04X}_" for code in (*range(1, 9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF)
}
_TABLE: Final = str.maketrans(_REPLACED)


def in_cell(text: str) -> str:
    """Write text as the content of a cell."""
    return re.sub(_LOOKS_ESCAPED, "_x005F_", text[:MOST_CHARACTERS]).translate(_TABLE)


def in_cell_sql(text: str) -> str:
    """Write `in_cell` as SQL over an expression of type text; null stays null."""
    written = f"regexp_replace(left({text}, {MOST_CHARACTERS}), '{_LOOKS_ESCAPED}', '_x005F_', 'g')"
    for sign, instead in _REPLACED.items():
        written = f"replace({written}, U&'\\{ord(sign):04x}', '{instead}')"
    # Most text is neither long nor special, and passes with one look at it.
    rare = f"octet_length({text}) > {MOST_CHARACTERS} OR {text} ~ '{_SPECIAL}'"
    return f"CASE WHEN {rare} THEN {written} ELSE {text} END"
