"""Tables as CSV files, which a spreadsheet opens and runs nothing of."""

import csv
from collections.abc import Iterable
from datetime import datetime
from io import StringIO
from typing import Final

from django.http import HttpResponse
from django.utils.translation import gettext as _

# What makes a spreadsheet take a cell for a formula (OWASP, CSV injection);
# the last four are signs of full width.
_BEGINS_A_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_BYTE_ORDER_MARK: Final = "\ufeff"  # without it Excel does not read UTF-8


def neutral(value: object) -> str:
    """Write a value so that a spreadsheet runs nothing of it; what looks like a formula gets an apostrophe.

    Numbers are none, and stay numbers below zero, too.
    """
    text = str(value)
    if isinstance(value, (int, float)):
        return text
    return f"'{text}" if text.startswith(_BEGINS_A_FORMULA) else text


def neutral_sql(text: str) -> str:
    """Write `neutral` as SQL over an expression of type text; null stays null."""
    signs = ", ".join(f"U&'\\{ord(sign):04x}'" for sign in _BEGINS_A_FORMULA)
    return f"CASE WHEN left({text}, 1) IN ({signs}) THEN chr(39) || {text} ELSE {text} END"


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Write a table as the text of such a file, its first row the heads of the columns."""
    out = StringIO()
    out.write(_BYTE_ORDER_MARK)
    csv.writer(out).writerows([neutral(value) for value in row] for row in rows)
    return out.getvalue()


def csv_file(name: str, rows: Iterable[Iterable[object]], *, exported_by: str, at: datetime) -> HttpResponse:
    """Answer with a file to be saved, the first row the heads of the columns, that says whose copy it is.

    `name` is without its ending; the minute of `at` follows it, on the clock of its zone.  Who exported it, and when,
    is the head of a last column that has nothing in it.  CSV knows no remarks (RFC 4180): a line above the heads is
    taken for them, and one below the rows for a row.  A column at the end moves none of the others: who reads by names
    or by places finds what there was without it, and sorting and filtering in a spreadsheet leaves it where it is.
    """
    heads, *others = rows
    mark = _("Exported %(at)s by %(name)s") % {"at": at.isoformat(timespec="minutes"), "name": exported_by}
    marked = [[*heads, mark], *([*row, ""] for row in others)]
    whole = f"{name}-{at:%Y-%m-%d-%H%M}-{at.tzname()}"
    disposition = {"Content-Disposition": f'attachment; filename="{whole}.csv"'}
    return HttpResponse(csv_text(marked), content_type="text/csv; charset=utf-8", headers=disposition)
