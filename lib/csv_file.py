"""Tables as CSV files, which a spreadsheet opens and runs nothing of."""

import csv
from collections.abc import Iterable
from io import StringIO
from typing import Final

from django.http import HttpResponse

# What makes a spreadsheet take a cell for a formula (OWASP, CSV injection; console.md, P4 of section 5).
_BEGINS_A_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_BYTE_ORDER_MARK: Final = "\ufeff"  # without it Excel does not read UTF-8


def neutral(value: object) -> str:
    """Write a value so that it stands in a spreadsheet as text; what looks like a formula gets an apostrophe."""
    text = str(value)
    return f"'{text}" if text.startswith(_BEGINS_A_FORMULA) else text


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Write a table as the text of such a file, its first row the heads of the columns."""
    out = StringIO()
    out.write(_BYTE_ORDER_MARK)
    csv.writer(out).writerows([neutral(value) for value in row] for row in rows)
    return out.getvalue()


def csv_file(name: str, rows: Iterable[Iterable[object]]) -> HttpResponse:
    """Answer with a file to be saved: `name` without its ending, the first row the heads of the columns."""
    disposition = {"Content-Disposition": f'attachment; filename="{name}.csv"'}
    return HttpResponse(csv_text(rows), content_type="text/csv; charset=utf-8", headers=disposition)
