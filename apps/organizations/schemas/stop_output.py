"""Output serializers of stops: all stored keys, in their order."""

from typing import Any

from apps.organizations.rules.stops import STAIR_EQUIPMENT
from lib.api import fields
from lib.api.serializers import OutShape


class AsKept(OutShape):
    """Output of a part that `AsShown` has read."""

    def get_fields(self) -> dict[str, Any]:
        named = super().get_fields()
        for field in named.values():
            field.source = None
        return named


class StopContactOut(AsKept):
    name = fields.Text()
    phone = fields.Text()
    ext = fields.Text()
    role = fields.Text()


class StopOut(AsKept):
    """A pickup, a drop-off or a home address; all keys are always present."""

    facility_id = fields.Text(allow_null=True)
    name = fields.Text()
    address_line1 = fields.Text()
    address_line2 = fields.Text()
    city = fields.Text()
    state = fields.Text()
    postal_code = fields.Text()
    lat = fields.Number(allow_null=True)
    lng = fields.Number(allow_null=True)
    entrance_id = fields.Text(allow_null=True)
    entrance_text = fields.Text()
    unit = fields.Text()
    room = fields.Text()
    instructions = fields.Text()
    contact = StopContactOut(allow_null=True)
    steps = fields.Integer()
    elevator = fields.Boolean()
    stair_equipment = fields.Choice(choices=STAIR_EQUIPMENT)
    load_minutes = fields.Integer(allow_null=True)
