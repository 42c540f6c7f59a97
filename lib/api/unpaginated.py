"""Short lists without pagination, in the shape of a page that has no next one."""

from collections.abc import Sequence
from typing import Any

from lib.api import fields
from lib.api.serializers import OutShape


class WholePageOut(OutShape):
    limit = fields.Integer()
    has_more = fields.Boolean()
    next_cursor = fields.Text(allow_null=True)


def unpaginated(rows: Sequence[Any]) -> dict[str, Any]:
    """Wrap all rows of a list for a shape with `data` and `page`."""
    return {"data": rows, "page": {"limit": len(rows), "has_more": False, "next_cursor": None}}
