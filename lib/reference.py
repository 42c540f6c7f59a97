"""The OpenAPI document arranged for reading: operations by resource, and fields as flat rows."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

_NAME: Final = re.compile(r"`([^`]+)`")
_DEEPEST: Final = 5  # levels of nested objects that are shown


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One parameter or field; `path` is dotted, `kind` in words."""

    path: str
    kind: str
    required: bool
    description: SafeString


@dataclass(frozen=True, slots=True)
class Failure:
    """The error codes that an operation answers with one status."""

    status: str
    codes: list[str]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path."""

    id: str
    method: str
    path: str
    summary: str
    description: list[SafeString]
    parameters: list[FieldRow]
    body: list[FieldRow]
    body_example: str
    fields: list[FieldRow]
    example: str
    failures: list[Failure]


def sections_of(document: dict[str, Any]) -> dict[str, list[Operation]]:
    """Arrange the operations by tag, in the order of the document."""
    sections: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            sections.setdefault(operation["tags"][0], []).append(_operation(document, path, method, operation))
    return sections


def _operation(document: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> Operation:
    body = _content(operation.get("requestBody", {}))
    good = next(answer for status, answer in operation["responses"].items() if status < "300")
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=_prose(operation.get("description", "")),
        parameters=[
            FieldRow(
                parameter["name"],
                _kind(document, parameter["schema"]),
                parameter.get("required", False),
                _line(parameter.get("description", "") or parameter["schema"].get("description", "")),
            )
            for parameter in operation.get("parameters", [])
        ],
        body=list(_rows(document, body.get("schema", {}))),
        body_example=_example(body),
        fields=list(_rows(document, _content(good).get("schema", {}))),
        example=_example(_content(good)),
        failures=[
            Failure(status, list(_content(answer)["examples"]))
            for status, answer in operation["responses"].items()
            if status >= "300"
        ],
    )


def _prose(text: str) -> list[SafeString]:
    """Split a description into paragraphs, with `names` set as code."""
    return [_line(one) for one in text.split("\n\n") if one]


def _line(text: str) -> SafeString:
    return mark_safe(_NAME.sub(r"<code>\1</code>", escape(text)))  # noqa: S308  # escaped first


def _content(part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = part.get("content", {}).get("application/json", {})
    return found


def _example(content: dict[str, Any]) -> str:
    for example in content.get("examples", {}).values():
        return json.dumps(example["value"], indent=2, ensure_ascii=False)
    return ""


def _resolved(document: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Follow references, also those wrapped in allOf or beside null."""
    if "$ref" in schema:
        named: dict[str, Any] = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return _resolved(document, named)
    for wrapper in ("allOf", "oneOf", "anyOf"):
        if wrapper in schema:
            part = next(one for one in schema[wrapper] if one.get("type") != "null")
            return _resolved(document, part) | {"description": schema.get("description", "")}
    return schema


def _rows(document: dict[str, Any], schema: dict[str, Any], prefix: str = "", depth: int = 1) -> Iterator[FieldRow]:
    schema = _resolved(document, schema)
    required = schema.get("required", [])
    for name, part in schema.get("properties", {}).items():
        inner = _resolved(document, part)
        path = f"{prefix}{name}"
        yield FieldRow(path, _kind(document, part), name in required, _line(part.get("description", "")))
        if depth >= _DEEPEST:
            continue
        if "items" in inner:
            yield from _rows(document, inner["items"], f"{path}[].", depth + 1)
        else:
            yield from _rows(document, inner, f"{path}.", depth + 1)


def _kind(document: dict[str, Any], schema: dict[str, Any]) -> str:
    inner = _resolved(document, schema)
    types = inner.get("type", "anything")
    kind = " or ".join(types) if isinstance(types, list) else str(types)
    if "items" in inner:
        kind = f"list of {_kind(document, inner['items'])}"
    if "enum" in inner:
        kind = "one of " + ", ".join(str(choice) for choice in inner["enum"] if choice is not None)
    return f"{kind} ({inner['format']})" if "format" in inner else kind
