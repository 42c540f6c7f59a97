"""XLSX in constant memory: rows go to the disk as they come, and no text is ever a formula or a link."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from lib.exporting.columns import Column, Kind

MOST_ROWS: Final = 1_048_576  # of a sheet, its head among them; a longer table goes on on the next sheet
_NUMBERS: Final = frozenset({Kind.COUNT, Kind.AMOUNT, Kind.NUMBER})


def write(
    path: Path, name: str, columns: Sequence[Column], pieces: Iterable[bytes], *, most_rows: int = MOST_ROWS
) -> None:
    """Write a table, whose rows come as pieces of a CSV file, into a workbook with its name on the sheet.

    Scratch files lie in the folder of `path`.

    Raises:
        OSError: the folder does not take it.
    """
    from xlsxwriter import Workbook  # noqa: PLC0415  # most processes never write one

    options = {
        "constant_memory": True,
        "use_zip64": True,  # where it has to be: half a million completions are a sheet of 2 GB
        "tmpdir": str(path.parent),
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    rows = csv.reader(_lines(pieces))
    head = next(rows)
    places = [(place, column.kind) for place, column in enumerate(columns)]
    with Workbook(str(path), options) as book:
        sheet, number = _sheet(book, name, 1, head), 1
        for count, row in enumerate(rows, start=1):
            line = (count - 1) % (most_rows - 1) + 1
            if line == 1 and count > 1:
                number += 1
                sheet = _sheet(book, name, number, head)
            for (place, kind), value in zip(places, row, strict=True):
                if value:
                    _cell(sheet, line, place, kind, value)


def _cell(sheet: Any, line: int, place: int, kind: Kind, value: str) -> None:
    if kind in _NUMBERS:
        sheet.write_number(line, place, float(value))
    elif kind is Kind.FLAG:
        sheet.write_boolean(line, place, value == "true")
    else:
        sheet.write_string(line, place, value[:32_767])  # what a cell holds


def _sheet(book: Any, name: str, number: int, head: Sequence[str]) -> Any:
    sheet = book.add_worksheet(name if number == 1 else f"{name} {number}")
    sheet.freeze_panes(1, 0)
    for place, title in enumerate(head):
        sheet.write_string(0, place, title)
    return sheet


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Cut pieces, which hold whole rows, into what `csv.reader` takes: a row may be several."""
    for piece in pieces:
        yield from io.StringIO(piece.decode(), newline="")
