"""Identifiers of records and requests: UUIDv7, which sort by the time they were made (RFC 9562, section 5.7)."""

import uuid

from uuid_utils import compat


def uuid7() -> uuid.UUID:
    """Make an identifier that sorts after every one made before it in this process."""
    return compat.uuid7()
