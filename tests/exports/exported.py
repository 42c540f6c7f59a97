"""Exports as a client receives them, and as rows in any format."""

import csv
import io
import json
from typing import Any, Final
from urllib.parse import urlencode

import openpyxl
import pyarrow.parquet as pq

from apps.exports import tasks
from apps.exports.models import Export
from tests.callers import TokenClient

FORMATS: Final = ("ndjson", "csv", "xlsx", "parquet")


def body_of(response: Any) -> bytes:
    """Return the whole body of an answer, streamed or not."""
    return b"".join(response.streaming_content) if response.streaming else bytes(response.content)


def get(api: Any, file: str, **query: Any) -> Any:
    """Request an immediate export."""
    return api.get(f"/api/exports/{file}?{urlencode(query)}" if query else f"/api/exports/{file}")


def rows_of(content: bytes, format: str) -> list[dict[str, Any]]:
    """Parse a file into rows; values are strings if the format has no types."""
    if format == "ndjson":
        return [json.loads(line) for line in content.splitlines()]
    if format == "csv":
        return list(csv.DictReader(io.StringIO(content.decode(), newline="")))
    if format == "parquet":
        found: list[dict[str, Any]] = pq.read_table(io.BytesIO(content)).to_pylist()
        return found
    head, *rows = openpyxl.load_workbook(io.BytesIO(content)).worksheets[0].iter_rows(values_only=True)
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def exported(api: Any, file: str, **query: Any) -> list[dict[str, Any]]:
    """Export immediately, and parse the file."""
    response = get(api, file, **query)
    content = body_of(response)
    assert response.status_code == 200, content
    return rows_of(content, file.partition(".")[2])


def ask(api: TokenClient, **body: Any) -> Any:
    return api.post("/api/exports", {"dataset": "completions", "format": "csv", **body}, format="json")


def make(api: TokenClient, **body: Any) -> Export:
    """Request an export job and run it."""
    response = ask(api, **body)
    assert response.status_code == 202, response.json()
    tasks.make_exports()
    return Export.objects.get(pk=response.json()["id"])


def link_to(api: TokenClient, export: Export) -> str:
    response = api.get(f"/api/exports/{export.pk}/content")
    assert response.status_code == 200, response.json()
    return str(response.json()["url"].removeprefix("http://localhost:8000"))
