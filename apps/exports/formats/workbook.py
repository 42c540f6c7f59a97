"""XLSX (ECMA-376) as it comes: rows that PostgreSQL wrote as XML go into a ZIP file that is given on meanwhile.

ZIP64 is never used.  The standard library has to decide on it before the first row, and then writes a head of the
entry that Excel takes for a broken file.  A sheet that would pass two gigabytes goes on on the next one instead.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

from apps.exports.formats.columns import Column

MOST_ROWS: Final = 1_048_576  # of a sheet, its head among them; a longer table goes on on the next sheet
MOST_BYTES: Final = 2_000_000_000  # of the rows of a sheet; `zipfile` takes 2,147,483,647 for all of an entry
_LEVEL: Final = 1  # of deflate

_XML: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_FORMATS: Final = "http://schemas.openxmlformats.org"
_MAIN: Final = f"{_FORMATS}/spreadsheetml/2006/main"
_RELATIONS: Final = f"{_FORMATS}/officeDocument/2006/relationships"
_TYPE: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_STYLES: Final = (
    f'<styleSheet xmlns="{_MAIN}">'
    '<fonts count="1"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


class _Taken:
    """A file that cannot be sought in: what was written to it is taken away again."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._held.append(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: all is at hand."""

    def take(self) -> bytes:
        taken = b"".join(self._held)
        self._held.clear()
        return taken


def pieces(
    name: str,
    columns: Sequence[Column],
    rows: Iterator[bytes],
    *,
    most_rows: int = MOST_ROWS,
    most_bytes: int = MOST_BYTES,
) -> Iterator[bytes]:
    """Give a workbook with its name on the sheet piece by piece, as rows come: pieces of whole ones, a line each.

    Nothing is given before there are rows, or none are to come: until then a failure can still be told.
    """
    out = _Taken()
    number = 0
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as book:  # type: ignore[call-overload]  # enough
        book.writestr("_rels/.rels", _XML + _relations(("officeDocument", "xl/workbook.xml")))
        for number, parts in groupby(_on_sheets(rows, most_rows - 1, most_bytes), key=itemgetter(0)):
            with book.open(f"xl/worksheets/sheet{number}.xml", "w") as sheet:
                sheet.write(_head(columns, number).encode())
                for _, part in parts:
                    sheet.write(part)
                    if taken := out.take():
                        yield taken
                sheet.write(b"</sheetData></worksheet>")
        for path, content in _contents(name, number).items():
            book.writestr(path, _XML + content)
    yield out.take()


def _on_sheets(pieces: Iterator[bytes], most_rows: int, most_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Say on which sheet rows stand, counted from 1; where there are none, nothing stands on the first."""
    number, count, size = 1, 0, 0
    for piece in chain([next(pieces, b"")], pieces):
        rows = piece.splitlines(keepends=True) or [b""]
        while rows:
            if count == most_rows or (count and size + len(piece) > most_bytes):
                number, count, size = number + 1, 0, 0
            room = most_rows - count
            part, rows = rows[:room], rows[room:]
            count += len(part)
            size += sum(map(len, part))
            yield number, b"".join(part)


def _head(columns: Sequence[Column], number: int) -> str:
    """Write a sheet up to its first row of values; names of columns are ours, and need no escaping."""
    selected = ' tabSelected="1"' if number == 1 else ""
    cells = "".join(f'<c t="inlineStr"><is><t>{column.name}</t></is></c>' for column in columns)
    return (
        f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView{selected} workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/><selection pane="bottomLeft"/>'
        f'</sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/><sheetData><row>{cells}</row>\n'
    )


def _contents(name: str, sheets: int) -> dict[str, str]:
    """Write the parts that tell what the workbook has: known only when its last row is."""
    numbers = range(1, sheets + 1)
    listed = "".join(
        f'<sheet name="{name if number == 1 else f"{name} {number}"}" sheetId="{number}" r:id="rId{number}"/>'
        for number in numbers
    )
    parts = {"xl/workbook.xml": "sheet.main", "xl/styles.xml": "styles"} | {
        f"xl/worksheets/sheet{number}.xml": "worksheet" for number in numbers
    }
    types = "".join(f'<Override PartName="/{path}" ContentType="{_TYPE}.{kind}+xml"/>' for path, kind in parts.items())
    return {
        "xl/styles.xml": _STYLES,
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_RELATIONS}"><bookViews><workbookView/></bookViews>'
        f"<sheets>{listed}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": _relations(
            *(("worksheet", f"worksheets/sheet{number}.xml") for number in numbers), ("styles", "styles.xml")
        ),
        "[Content_Types].xml": f'<Types xmlns="{_FORMATS}/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{types}</Types>',
    }


def _relations(*targets: tuple[str, str]) -> str:
    """Write which parts belong to a part: kinds and paths, named rId1 and so on."""
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{_RELATIONS}/{kind}" Target="{path}"/>'
        for number, (kind, path) in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{_FORMATS}/package/2006/relationships">{listed}</Relationships>'
