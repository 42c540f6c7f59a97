"""Identifiers of records and requests: UUIDv7, which sort by the time they were made (RFC 9562, section 5.7)."""

import datetime as dt
import uuid
from typing import Any, Final

from uuid_utils import compat

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MILLISECOND: Final = dt.timedelta(milliseconds=1)


def uuid7() -> uuid.UUID:
    """Make an identifier that sorts after every one made before it in this process."""
    return compat.uuid7()


def moment_of(id: uuid.UUID) -> dt.datetime:
    """Give the instant at which a UUIDv7 was made, to the millisecond below, in UTC."""
    return _EPOCH + (id.int >> 80) * _MILLISECOND


def oldest_of(moment: dt.datetime) -> uuid.UUID:
    """Give the smallest UUIDv7 of an instant: ids made before it sort below, those made after it above."""
    milliseconds = (moment - _EPOCH) // _MILLISECOND
    return uuid.UUID(int=(milliseconds << 80) | (0x7 << 76) | (0b10 << 62))


def uuid_or_none(text: Any) -> uuid.UUID | None:
    """Read an id; None for anything that is not one."""
    try:
        return uuid.UUID(text)
    except (ValueError, AttributeError, TypeError):
        return None
