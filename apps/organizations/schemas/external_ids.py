"""Serializers of external ids."""

from lib.api import fields
from lib.api.serializers import In, OutShape


class ExternalIdIn(In):
    """The id of a record in another system; unique within `system` and the kind of record."""

    system = fields.Text(max_length=100)
    value = fields.Text(max_length=100)
    type = fields.Text(max_length=50, required=False, allow_blank=True)


class ExternalIdOut(OutShape):
    system = fields.Text()
    value = fields.Text()
    type = fields.Text()
