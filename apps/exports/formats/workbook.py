"""XLSX workbooks (ECMA-376) as a stream: rows that PostgreSQL wrote as XML go into a ZIP file that is sent meanwhile.

ZIP64 is never used.  The standard library has to decide on it before the first row, and then writes an entry header
that Excel takes for a broken file.  A sheet that would exceed two gigabytes continues on another sheet instead.

XML 1.0 does not allow some characters: ECMA-376 (22.9.2.19, ST_Xstring) writes them as `_xHHHH_`, and text that
looks like that with its first underscore as `_x005F_`.  Line breaks are character references: a parser turns any other
line break into a line feed, and each row is one line.  Decrypted values are escaped in Python (`in_cell`), all other
text in SQL (`in_cell_sql`); a test compares the two.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile

MAX_ROWS: Final = 1_048_576  # of a sheet, including its header row
MAX_BYTES: Final = 2_000_000_000  # of the rows of a sheet; `zipfile` accepts 2,147,483,647 for an entry
MAX_CHARACTERS: Final = 32_767  # of a cell; longer text is cut
_LEVEL: Final = 1  # of deflate
_FORBIDDEN: Final = "\\u0001-\\u0008\\u000B\\u000C\\u000E-\\u001F\\uFFFE\\uFFFF"  # for Python and PostgreSQL alike
_LOOKS_ESCAPED: Final = f"_(?=x[0-9A-Fa-f]{{4}}[_{_FORBIDDEN}])"
_SPECIAL: Final = f"[&<>_\\u000A\\u000D{_FORBIDDEN}]"
_REPLACEMENTS: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": "&#10;", "\r": "&#13;"} | {
    chr(code): f"_x{code:04X}_" for code in (*range(1, 9), 11, 12, *range(14, 32), 0xFFFE, 0xFFFF)
}
_TABLE: Final = str.maketrans(_REPLACEMENTS)

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


def in_cell(text: str) -> str:
    """Escape text as the content of a cell."""
    return re.sub(_LOOKS_ESCAPED, "_x005F_", text[:MAX_CHARACTERS]).translate(_TABLE)


def in_cell_sql(text: str) -> str:
    """Write `in_cell` as SQL over an expression of type text; null stays null."""
    escaped = f"regexp_replace(left({text}, {MAX_CHARACTERS}), '{_LOOKS_ESCAPED}', '_x005F_', 'g')"
    for character, replacement in _REPLACEMENTS.items():
        escaped = f"replace({escaped}, U&'\\{ord(character):04x}', '{replacement}')"
    # Most text is neither long nor special: one test lets it pass.
    rare = f"octet_length({text}) > {MAX_CHARACTERS} OR {text} ~ '{_SPECIAL}'"
    return f"CASE WHEN {rare} THEN {escaped} ELSE {text} END"


class _Buffer:
    """An unseekable file that collects written bytes so that the caller can stream them."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._parts.append(data)
        return len(data)

    def flush(self) -> None:
        """Do nothing: nothing is buffered elsewhere."""

    def take(self) -> bytes:
        data = b"".join(self._parts)
        self._parts.clear()
        return data


def chunks(
    name: str,
    header: Sequence[str],
    rows: Iterator[bytes],
    *,
    max_rows: int = MAX_ROWS,
    max_bytes: int = MAX_BYTES,
) -> Iterator[bytes]:
    """Yield a workbook in chunks as its rows arrive; `rows` are chunks of whole rows, one per line.

    `name` is the name of the sheet, `header` the names of the columns, which need no escaping.  Nothing is yielded
    before the first rows, or the end of the rows: until then a failure can still be an error response.
    """
    out = _Buffer()
    number = 0
    with ZipFile(out, "w", ZIP_DEFLATED, compresslevel=_LEVEL) as book:  # type: ignore[call-overload]  # enough
        book.writestr("_rels/.rels", _XML + _relations(("officeDocument", "xl/workbook.xml")))
        for number, parts in groupby(_on_sheets(rows, max_rows - 1, max_bytes), key=itemgetter(0)):
            with book.open(f"xl/worksheets/sheet{number}.xml", "w") as sheet:
                sheet.write(_head(header, number).encode())
                for _, part in parts:
                    sheet.write(part)
                    if chunk := out.take():
                        yield chunk
                sheet.write(b"</sheetData></worksheet>")
        for path, content in _contents(name, number).items():
            book.writestr(path, _XML + content)
    yield out.take()


def _on_sheets(chunks: Iterator[bytes], max_rows: int, max_bytes: int) -> Iterator[tuple[int, bytes]]:
    """Yield the number of a sheet, from 1, and rows on it; without any rows, an empty part of the first sheet."""
    number, count, size = 1, 0, 0
    for chunk in chain([next(chunks, b"")], chunks):
        rows = chunk.splitlines(keepends=True) or [b""]
        while rows:
            if count == max_rows or (count and size + len(chunk) > max_bytes):
                number, count, size = number + 1, 0, 0
            room = max_rows - count
            part, rows = rows[:room], rows[room:]
            count += len(part)
            size += sum(map(len, part))
            yield number, b"".join(part)


def _head(header: Sequence[str], number: int) -> str:
    """Write a sheet up to its first row of values."""
    selected = ' tabSelected="1"' if number == 1 else ""
    cells = "".join(f'<c t="inlineStr"><is><t>{column}</t></is></c>' for column in header)
    return (
        f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView{selected} workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/><selection pane="bottomLeft"/>'
        f'</sheetView></sheetViews><sheetFormatPr defaultRowHeight="15"/><sheetData><row>{cells}</row>\n'
    )


def _contents(name: str, sheets: int) -> dict[str, str]:
    """Write the parts that list the sheets: how many there are is known after the last row."""
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
    """Write the relationships of a part: types and paths, with the ids rId1 and so on."""
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{_RELATIONS}/{kind}" Target="{path}"/>'
        for number, (kind, path) in enumerate(targets, start=1)
    )
    return f'<Relationships xmlns="{_FORMATS}/package/2006/relationships">{listed}</Relationships>'
