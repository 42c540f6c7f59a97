"""CSV files that are safe to open in a spreadsheet: no cell is run as a formula."""

import csv
from collections.abc import Iterable
from datetime import datetime
from io import StringIO
from typing import Final

from django.http import HttpResponse
from django.utils.translation import gettext as _

from lib import dates, zone_labels
from lib.clocks import clock

# Characters at the start of a cell that make spreadsheets read it as a formula (OWASP, CSV injection); the last four
# are full-width signs.
_BEGINS_A_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_BYTE_ORDER_MARK: Final = "\ufeff"  # without it Excel does not read UTF-8


def neutral(value: object) -> str:
    """Return a value as text that a spreadsheet does not run: text that looks like a formula gets an apostrophe.

    Numbers are not changed, even negative ones.
    """
    text = str(value)
    if isinstance(value, (int, float)):
        return text
    return f"'{text}" if text.startswith(_BEGINS_A_FORMULA) else text


def neutral_sql(text: str) -> str:
    """Return SQL for `neutral` over an expression of type text; null stays null."""
    signs = ", ".join(f"U&'\\{ord(sign):04x}'" for sign in _BEGINS_A_FORMULA)
    return f"CASE WHEN left({text}, 1) IN ({signs}) THEN chr(39) || {text} ELSE {text} END"


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return a table as CSV text; the first row contains the column headers."""
    out = StringIO()
    out.write(_BYTE_ORDER_MARK)
    csv.writer(out).writerows([neutral(value) for value in row] for row in rows)
    return out.getvalue()


def csv_file(name: str, rows: Iterable[Iterable[object]], *, exported_by: str, at: datetime) -> HttpResponse:
    """Return a CSV file as a download, with the name of the person who exported it; the first row contains the headers.

    `name` has no extension; the minute of `at`, in its time zone, is appended.  The person and the time of the export
    are the header of an additional, empty last column.  CSV has no comments (RFC 4180): a line above the headers would
    be read as the headers, and one below the rows as a row.  A column at the end moves no other column, so readers by
    name or by position are not affected, and sorting and filtering in a spreadsheet do not move it.
    """
    heads, *data_rows = rows
    exported_at = f"{dates.dated_day(at.date())}, {clock(at)} {zone_labels.short(at)}"
    mark = _("Exported %(at)s by %(name)s") % {"at": exported_at, "name": exported_by}
    marked = [[*heads, mark], *([*row, ""] for row in data_rows)]
    file_name = f"{name}-{at:%Y-%m-%d-%H%M}-{zone_labels.short(at)}"
    disposition = {"Content-Disposition": f'attachment; filename="{file_name}.csv"'}
    return HttpResponse(csv_text(marked), content_type="text/csv; charset=utf-8", headers=disposition)
