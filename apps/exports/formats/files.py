"""Whole files of exported rows, in any format: their names, their types, and how each is written."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from apps.exports.formats import parquet, workbook
from apps.exports.formats.columns import Column
from apps.exports.formats.copy_stream import Form, Progress, Source, pieces

CONTENT_TYPES: Final[Mapping[str, str]] = {
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "parquet": "application/vnd.apache.parquet",
}
# Formats whose rows PostgreSQL writes, and that can be sent while they come.
STREAMED: Final[Mapping[str, Form]] = {"ndjson": Form.NDJSON, "csv": Form.CSV, "xlsx": Form.SHEET}
_READ: Final = 262_144  # bytes


@dataclass(frozen=True, slots=True)
class Table:
    """What a file is made of: columns, where rows come from, and what the file says of itself.

    `show` says how much of a sealed value is shown; `seconds` is how long the database may take.  With `identified`,
    progress is reported with the id and the version of each row.
    """

    name: str
    columns: Sequence[Column]
    source: Source
    show: Callable[[str], str]
    seconds: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    identified: bool = False

    def pieces(self, form: Form, progress: Progress | None = None) -> Iterator[bytes]:
        """Give the rows as the bytes of one of the forms of COPY; see `copy_stream.pieces`."""
        return pieces(
            self.columns,
            self.source,
            form,
            show=self.show,
            seconds=self.seconds,
            progress=progress,
            identified=self.identified,
        )

    def streamed(self, format: str, progress: Progress | None = None) -> Iterator[bytes]:
        """Give the bytes of a file of one of the formats of `STREAMED`, as its rows come."""
        rows = self.pieces(STREAMED[format], progress)
        return workbook.pieces(self.name, [column.name for column in self.columns], rows) if format == "xlsx" else rows


def write(path: Path, format: str, table: Table, *, progress: Progress | None = None) -> None:
    """Write a file and sync it to the disk.  `progress` is called as rows come, and stops everything by raising.

    Raises:
        OSError: the folder does not take it.
    """
    path.touch(mode=0o600)  # for the eyes of the service alone, whoever writes it
    if format in STREAMED:
        with path.open("wb") as file:
            file.writelines(table.streamed(format, progress))
    else:
        parquet.write(path, table.columns, table.pieces(Form.PLAIN, progress), metadata=dict(table.metadata))
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def read(path: Path) -> Iterator[bytes]:
    """Give a file piece by piece."""
    with path.open("rb") as file:
        while piece := file.read(_READ):
            yield piece


def digest(path: Path) -> str:
    """Give the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
