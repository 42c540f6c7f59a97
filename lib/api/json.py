"""JSON in and out, strictly: UTF-8, no NaN, no repeated keys, no NUL bytes, bounded in size and depth."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import IO, Any, Final

import orjson
from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer

from lib.errors import Code, DomainError

MAX_DEPTH: Final = 20  # nesting depth of arrays and objects

# All strings of a document from left to right; keys are those followed by a colon.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"(\s*:)?', re.DOTALL)


class MalformedBody(DomainError):
    """The body is not a valid JSON document."""

    code = Code.MALFORMED_REQUEST


class BodyTooLarge(DomainError):
    """The body exceeds the limit of its route."""

    code = Code.PAYLOAD_TOO_LARGE
    template = _("The body exceeds %(limit)s bytes.")


def loads(body: bytes) -> Any:
    """Parse one document.

    Raises:
        MalformedBody: it is not JSON, not UTF-8, too deep, repeats a key or holds a NUL byte.
    """
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise MalformedBody(_("The body is not valid JSON in UTF-8.")) from None
    keys = _inspect(document, 1)
    if keys != sum(1 for match in _STRING.finditer(body) if match.group(1)):
        raise MalformedBody(_("The body repeats a key of an object."))
    return document


def _inspect(value: Any, depth: int) -> int:
    """Count the keys in `value`, and refuse what orjson accepts but the API does not."""
    if isinstance(value, str):
        if "\0" in value:
            raise MalformedBody(_("The body holds a NUL byte."))
        return 0
    if not isinstance(value, (dict, list)):
        return 0
    if depth > MAX_DEPTH:
        raise MalformedBody(_("The body is nested more than %(most)s levels deep."), most=MAX_DEPTH)
    if isinstance(value, list):
        return sum(_inspect(item, depth + 1) for item in value)
    for key in value:
        if "\0" in key:
            raise MalformedBody(_("The body holds a NUL byte."))
    return len(value) + sum(_inspect(item, depth + 1) for item in value.values())


def _default(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)  # decimals are JSON numbers by contract
    if isinstance(value, Promise):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no JSON form.")


def dumps(value: Any) -> bytes:
    """Render a document; aware instants become UTC with `Z`, decimals numbers."""
    return orjson.dumps(value, default=_default, option=orjson.OPT_UTC_Z | orjson.OPT_NON_STR_KEYS)


def canonical(value: Any) -> bytes:
    """Render with sorted keys: documents that differ only in spacing and order give equal bytes."""
    return orjson.dumps(value, default=_default, option=orjson.OPT_UTC_Z | orjson.OPT_SORT_KEYS)


class JsonParser(BaseParser):
    """Strict JSON.  `max_body_bytes` of the view limits the size."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> Any:
        """Read and parse the body.

        Raises:
            BodyTooLarge: it is longer than the view allows; the rest is not read.
            MalformedBody: see `loads`.
            UnsupportedMediaType: its content type names a character set other than UTF-8.
        """
        charset = re.search(r'charset\s*=\s*"?([\w-]+)', media_type or "", re.IGNORECASE)
        if charset and charset.group(1).lower() not in ("utf-8", "utf8"):
            raise UnsupportedMediaType(media_type or "")
        view = (parser_context or {}).get("view")
        limit: int = getattr(view, "max_body_bytes", settings.API_MAX_BODY_BYTES)
        body = stream.read(limit + 1)
        if len(body) > limit:
            raise BodyTooLarge(limit=limit)
        return loads(body)


class JsonRenderer(BaseRenderer):
    """JSON by orjson."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: Any, accepted_media_type: str | None = None, renderer_context: Mapping[str, Any] | None = None
    ) -> bytes:
        return b"" if data is None else dumps(data)
