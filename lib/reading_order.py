"""In which order the API's document tells of its operations: what readers look for first."""

from collections.abc import Callable
from typing import Any, Final

_TOPICS: Final = (
    "rides",
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


def reading_order(endpoint: tuple[str, str, str, Callable[..., Any]]) -> tuple[int, str, int]:
    """Make the sort key of (path, pattern, method, view); topics that are not listed come last."""
    path, _, method, _ = endpoint
    topic = path.removeprefix("/api/").split("/")[0]
    place = _TOPICS.index(topic) if topic in _TOPICS else len(_TOPICS)
    return place, path, _METHODS.index(method)
