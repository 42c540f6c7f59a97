"""Ids of records and requests: UUIDv7, which sort by creation time (RFC 9562, section 5.7)."""

import datetime as dt
import uuid
from typing import Any, Final

from uuid_utils import compat

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND: Final = dt.timedelta(milliseconds=1)


def uuid7() -> uuid.UUID:
    """Return an id that sorts after all ids created before in this process."""
    return compat.uuid7()


def moment_of(id: uuid.UUID) -> dt.datetime:
    """Return the creation time of a UUIDv7 in UTC, rounded down to a millisecond."""
    return _EPOCH + (id.int >> 80) * _MILLISECOND


def oldest_of(moment: dt.datetime) -> uuid.UUID:
    """Return the smallest UUIDv7 of an instant: ids created before it sort below, later ones above."""
    milliseconds = (moment - _EPOCH) // _MILLISECOND
    return uuid.UUID(int=(milliseconds << 80) | (0x7 << 76) | (0b10 << 62))


def uuid_or_none(text: Any) -> uuid.UUID | None:
    """Parse an id; None if it is not one."""
    try:
        return uuid.UUID(text)
    except (ValueError, AttributeError, TypeError):
        return None
