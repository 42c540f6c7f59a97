"""Export files in each format: content types, streaming and writing."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apps.exports.formats import parquet, workbook
from apps.exports.formats.columns import Column
from apps.exports.formats.copy_stream import Progress, RowFormat, Source, chunks

CONTENT_TYPES: Final[Mapping[str, str]] = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}
# Formats that can be sent while PostgreSQL writes their rows.
STREAMED: Final[Mapping[str, RowFormat]] = {"ndjson": RowFormat.NDJSON, "csv": RowFormat.CSV, "xlsx": RowFormat.SHEET}
_READ_BYTES: Final = 262_144


@dataclass(frozen=True, slots=True)
class Table:
    """The content of a file: columns, the source of its rows, and metadata.

    `mask` hides part of a decrypted value; `seconds` limits the time of the database.  With `identified`, progress is
    reported with the id and the version of each row.
    """

    name: str
    columns: Sequence[Column]
    source: Source
    mask: Callable[[str], str]
    seconds: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    identified: bool = False

    def chunks(self, row_format: RowFormat, progress: Progress | None = None) -> Iterator[bytes]:
        """Yield the rows in a format of COPY; see `copy_stream.chunks`."""
        return chunks(
            self.columns,
            self.source,
            row_format,
            mask=self.mask,
            seconds=self.seconds,
            progress=progress,
            identified=self.identified,
        )

    def stream(self, format: str, progress: Progress | None = None) -> Iterator[bytes]:
        """Yield the file in one of the formats of `STREAMED`, as its rows arrive."""
        rows = self.chunks(STREAMED[format], progress)
        return workbook.chunks(self.name, [column.name for column in self.columns], rows) if format == "xlsx" else rows


def write(path: Path, format: str, table: Table, *, progress: Progress | None = None) -> None:
    """Write a file and sync it to the disk.  `progress` is called as rows arrive; an exception in it ends the export.

    Raises:
        OSError: the file cannot be written.
    """
    path.touch(mode=0o600)  # readable by the service only
    if format in STREAMED:
        with path.open("wb") as file:
            file.writelines(table.stream(format, progress))
    else:
        parquet.write(path, table.columns, table.chunks(RowFormat.PLAIN, progress), metadata=dict(table.metadata))
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def read(path: Path) -> Iterator[bytes]:
    """Yield the content of a file in chunks."""
    with path.open("rb") as file:
        while chunk := file.read(_READ_BYTES):
            yield chunk


def digest(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
