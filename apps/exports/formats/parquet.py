"""Parquet by pyarrow, a row group at a time: the CSV of COPY is read by Arrow's own parser, which knows every type."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from apps.exports.formats.columns import Column, Kind

GROUP: Final = 20_000  # rows that are held at a time
_BLOCK: Final = 1024 * 1024  # bytes that are parsed at a time


def write(path: Path, columns: Sequence[Column], pieces: Iterable[bytes], *, metadata: dict[str, str]) -> None:
    """Write a table, whose rows come as pieces of a CSV file, into a Parquet file with `metadata` in its schema.

    Raises:
        OSError: the folder does not take it.
    """
    # Half a hundred megabytes of library: only who writes such a file pays for it.
    import pyarrow as pa  # noqa: PLC0415  # loaded only where it is used: it is slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415  # loaded only where it is used: it is slow to import

    schema = pa.schema([(column.name, _stored_as(pa, column.kind)) for column in columns], metadata=metadata)
    with pq.ParquetWriter(path, schema, compression="zstd") as out:
        waiting: list[Any] = []
        rows = 0
        for block in _blocks(pieces):
            waiting.append(_parsed(pa, block, columns))
            rows += waiting[-1].num_rows
            if rows >= GROUP:
                out.write_table(pa.concat_tables(waiting).replace_schema_metadata(metadata))
                waiting, rows = [], 0
        if waiting:
            out.write_table(pa.concat_tables(waiting).replace_schema_metadata(metadata))


def _blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Put pieces together to what is parsed at a time, without the head of the file.

    Arrow would read a stream from a thread of its own, in which there is no transaction of ours.
    """
    held: list[bytes] = []
    size = 0
    for number, piece in enumerate(pieces):
        held.append(piece.partition(b"\r\n")[2] if number == 0 else piece)
        size += len(held[-1])
        if size >= _BLOCK:
            yield b"".join(held)
            held, size = [], 0
    if size:
        yield b"".join(held)


def _parsed(pa: Any, block: bytes, columns: Sequence[Column]) -> Any:
    import pyarrow.csv as pa_csv  # noqa: PLC0415  # see above

    table = pa_csv.read_csv(
        pa.BufferReader(block),
        read_options=pa_csv.ReadOptions(column_names=[column.name for column in columns], use_threads=False),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types={column.name: _read_as(pa, column.kind) for column in columns},
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            true_values=["true"],
            false_values=["false"],
        ),
    )
    return _typed(pa, table, columns)


def _read_as(pa: Any, kind: Kind) -> Any:
    match kind:
        case Kind.COUNT:
            return pa.int64()
        case Kind.AMOUNT:
            return pa.decimal128(12, 2)
        case Kind.NUMBER:
            return pa.float64()
        case Kind.FLAG:
            return pa.bool_()
        case Kind.DATE:
            return pa.date32()
        case Kind.INSTANT:
            return pa.timestamp("us", tz="UTC")
        case Kind.LOCAL:
            return pa.timestamp("us")
        case _:
            return pa.string()


def _stored_as(pa: Any, kind: Kind) -> Any:
    return pa.list_(pa.string()) if kind is Kind.WORDS else _read_as(pa, kind)


def _typed(pa: Any, table: Any, columns: Sequence[Column]) -> Any:
    """Make lists of what stands between semicolons; everything else has its type already."""
    import pyarrow.compute as pc  # noqa: PLC0415  # see above

    arrays = [
        pc.split_pattern(array, ";") if column.kind is Kind.WORDS else array
        for column, array in zip(columns, table.columns, strict=True)
    ]
    return pa.table(arrays, names=table.column_names)
