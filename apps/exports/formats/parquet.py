"""Parquet files by pyarrow, one row group at a time, from the CSV of COPY, which Arrow's own parser reads."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from apps.exports.formats.columns import Column, ColumnType

GROUP_ROWS: Final = 20_000  # of a row group, which is held in memory
_BLOCK_BYTES: Final = 1024 * 1024  # parsed at a time


def write(path: Path, columns: Sequence[Column], chunks: Iterable[bytes], *, metadata: dict[str, str]) -> None:
    """Write the chunks of a CSV file as a Parquet file with `metadata` in its schema.

    Raises:
        OSError: the file cannot be written.
    """
    # pyarrow takes about 50 MB of memory, so it is loaded only for Parquet files.
    import pyarrow as pa  # noqa: PLC0415  # loaded only where it is used: it is slow to import
    import pyarrow.parquet as pq  # noqa: PLC0415  # loaded only where it is used: it is slow to import

    schema = pa.schema([(column.name, _stored_as(pa, column.kind)) for column in columns], metadata=metadata)
    with pq.ParquetWriter(path, schema, compression="zstd") as out:
        waiting: list[Any] = []
        rows = 0
        for block in _blocks(chunks):
            waiting.append(_parsed(pa, block, columns))
            rows += waiting[-1].num_rows
            if rows >= GROUP_ROWS:
                out.write_table(pa.concat_tables(waiting).replace_schema_metadata(metadata))
                waiting, rows = [], 0
        if waiting:
            out.write_table(pa.concat_tables(waiting).replace_schema_metadata(metadata))


def _blocks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Join chunks into blocks to parse, without the header of the file.

    Arrow would read a stream in a thread of its own, outside of this thread's transaction.
    """
    parts: list[bytes] = []
    size = 0
    for number, chunk in enumerate(chunks):
        parts.append(chunk.partition(b"\r\n")[2] if number == 0 else chunk)
        size += len(parts[-1])
        if size >= _BLOCK_BYTES:
            yield b"".join(parts)
            parts, size = [], 0
    if size:
        yield b"".join(parts)


def _parsed(pa: Any, block: bytes, columns: Sequence[Column]) -> Any:
    import pyarrow.csv as pa_csv  # noqa: PLC0415  # slow to import

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


def _read_as(pa: Any, kind: ColumnType) -> Any:
    match kind:
        case ColumnType.COUNT:
            return pa.int64()
        case ColumnType.AMOUNT:
            return pa.decimal128(12, 2)
        case ColumnType.NUMBER:
            return pa.float64()
        case ColumnType.FLAG:
            return pa.bool_()
        case ColumnType.DATE:
            return pa.date32()
        case ColumnType.INSTANT:
            return pa.timestamp("us", tz="UTC")
        case ColumnType.LOCAL:
            return pa.timestamp("us")
        case _:
            return pa.string()


def _stored_as(pa: Any, kind: ColumnType) -> Any:
    return pa.list_(pa.string()) if kind is ColumnType.WORDS else _read_as(pa, kind)


def _typed(pa: Any, table: Any, columns: Sequence[Column]) -> Any:
    """Split lists at semicolons; other columns have their types already."""
    import pyarrow.compute as pc  # noqa: PLC0415  # slow to import

    arrays = [
        pc.split_pattern(array, ";") if column.kind is ColumnType.WORDS else array
        for column, array in zip(columns, table.columns, strict=True)
    ]
    return pa.table(arrays, names=table.column_names)
