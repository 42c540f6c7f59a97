"""The order of operations in the OpenAPI document: the most important resources first."""

from collections.abc import Callable
from typing import Any, Final

_RESOURCES: Final = (
    "rides",
    "trips",
    "ride-exceptions",
    "riders",
    "drivers",
    "vehicles",
    "credentials",
    "shifts",
    "facilities",
    "events",
    "webhooks",
    "tokens",
    "health",
    "openapi.json",
)
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")


def tag_order(endpoint: tuple[str, str, str, Callable[..., Any]]) -> tuple[int, str, int]:
    """Return the sort key of (path, pattern, method, view); resources that are not listed come last."""
    path, _, method, _ = endpoint
    resource = path.removeprefix("/api/").split("/")[0]
    place = _RESOURCES.index(resource) if resource in _RESOURCES else len(_RESOURCES)
    return place, path, _METHODS.index(method)
