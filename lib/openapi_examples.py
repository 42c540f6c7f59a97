"""Examples for the OpenAPI document, generated from its schemas.

A serializer may set `example`, with API names as keys, if generated values would be odd or invalid: the whole body for
an `In`, because optional keys may exclude each other, and only some of the keys for others.
"""

from typing import Any, Final

UUID_EXAMPLE: Final = "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f"

_BY_NAME: Final[dict[str, Any]] = {
    "name": "St. Brigid Hospital",
    "firstName": "Orla",
    "lastName": "Doe",
    "addressLine1": "200 W Monroe St",
    "city": "Chicago",
    "state": "IL",
    "postalCode": "60606",
    "lat": 41.8809,
    "lng": -87.6338,
    "apiVersion": "2026-11-20",
    "keyId": "A1b2C3d4E5f6",
    "token": "clt_A1b2C3d4E5f6_0123456789abcdefghijABCDEFGHIJ01234567890abcde",
    "createdBy": "system",
    "email": "rider@example.org",
    "language": "en",
    "notify": ["ride.driver_arrived"],
    "scopes": ["rides:read"],
    "allowedCidrs": ["192.0.2.0/24"],
}
_BY_FORMAT: Final = {
    "uuid": UUID_EXAMPLE,
    "date-time": "2026-11-20T14:00:00Z",
    "date": "2026-11-20",
    "email": "rides@example.org",
    "uri": "https://example.org",
}


def example_of(schema: dict[str, Any], schemas: dict[str, Any], name: str = "") -> Any:
    """Return an example of a schema; `schemas` are the components it may refer to, `name` is its key in the parent."""
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rsplit("/", 1)[1]], schemas, name)
    for wrapper in ("allOf", "oneOf", "anyOf"):
        if wrapper in schema:
            return example_of(next(option for option in schema[wrapper] if option.get("type") != "null"), schemas, name)
    if "examples" in schema:
        return schema["examples"][0]
    if "enum" in schema:
        return next(choice for choice in schema["enum"] if choice is not None)
    return _of_type(schema, schemas, name)


def _of_type(schema: dict[str, Any], schemas: dict[str, Any], name: str) -> Any:
    types = schema.get("type", "object")
    kind = next(option for option in types if option != "null") if isinstance(types, list) else types
    if kind == "object":
        return {key: example_of(part, schemas, key) for key, part in schema.get("properties", {}).items()}
    if name in _BY_NAME and isinstance(_BY_NAME[name], _PYTHON[kind]):
        return _BY_NAME[name]
    if kind == "array":
        return [example_of(schema.get("items", {}), schemas)]
    if kind == "boolean":
        return schema.get("default", True)
    return _number(schema) if kind in ("integer", "number") else _text(schema)


_PYTHON: Final[dict[str, Any]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
}


def _number(schema: dict[str, Any]) -> Any:
    if schema.get("default") is not None:
        return schema["default"]
    return min(max(1, schema.get("minimum", 1)), schema.get("maximum", 1_000_000))


def _text(schema: dict[str, Any]) -> str:
    if schema.get("format") in _BY_FORMAT:
        return str(_BY_FORMAT[schema["format"]])
    text = "text".ljust(schema.get("minLength", 0), "x")
    return text[: schema.get("maxLength", len(text))]
