"""Input serializers of stops: strict, with the keys in which stops are stored."""

from decimal import Decimal
from typing import Any

from apps.organizations.rules.stops import (
    CONTACT_MAX_LENGTHS,
    COORDINATE_DECIMALS,
    MAX_LENGTHS,
    MAX_LOAD_MINUTES,
    MAX_STEPS,
    STAIR_EQUIPMENT,
)
from lib.api import fields
from lib.api.serializers import In


class AsShown(In):
    """A part of a record that is stored as JSON with the camelCase keys of the API, also in `validated_data`."""

    def get_fields(self) -> dict[str, Any]:
        named = super().get_fields()
        for field in named.values():
            field.source = None  # the key in the API is also the key in `validated_data`
        return named


class Degrees(fields.Number):
    """A coordinate, rounded to the decimals of stored places."""

    def __init__(self, *, most: int, **kwargs: Any) -> None:
        super().__init__(
            max_digits=3 + COORDINATE_DECIMALS,
            decimal_places=COORDINATE_DECIMALS,
            min_value=-most,
            max_value=most,
            **kwargs,
        )

    def to_internal_value(self, data: Any) -> Decimal:
        return super().to_internal_value(round(data, COORDINATE_DECIMALS) if isinstance(data, float) else data)


def _line(key: str) -> fields.Text:
    return fields.Text(max_length=MAX_LENGTHS[key], required=False, allow_blank=True)


class StopContactIn(AsShown):
    """The contact at a stop."""

    name = fields.Text(max_length=CONTACT_MAX_LENGTHS["name"], required=False, allow_blank=True)
    phone = fields.Phone(required=False, allow_blank=True)
    ext = fields.Text(max_length=CONTACT_MAX_LENGTHS["ext"], required=False, allow_blank=True)
    role = fields.Text(max_length=CONTACT_MAX_LENGTHS["role"], required=False, allow_blank=True)


class StopIn(AsShown):
    """A pickup, a drop-off or a home address.

    A stop with `facilityId` has the address of that facility, unless it contains an address line.
    """

    facility_id = fields.Uuid(required=False, allow_null=True)
    name = _line("name")
    address_line1 = _line("addressLine1")
    address_line2 = _line("addressLine2")
    city = _line("city")
    state = _line("state")
    postal_code = _line("postalCode")
    lat = Degrees(most=90, required=False, allow_null=True)
    lng = Degrees(most=180, required=False, allow_null=True)
    entrance_id = fields.Uuid(required=False, allow_null=True)
    entrance_text = _line("entranceText")
    unit = _line("unit")
    room = _line("room")
    instructions = fields.Text(max_length=MAX_LENGTHS["instructions"], required=False, allow_blank=True, multiline=True)
    contact = StopContactIn(required=False, allow_null=True)
    steps = fields.Integer(min_value=0, max_value=MAX_STEPS, required=False)
    elevator = fields.Boolean(required=False)
    stair_equipment = fields.Choice(choices=STAIR_EQUIPMENT, required=False)
    load_minutes = fields.Integer(min_value=0, max_value=MAX_LOAD_MINUTES, required=False, allow_null=True)


class StopWithAccessIn(StopIn):
    """A stop of a ride, which may contain an access code."""

    access_code = fields.Text(max_length=MAX_LENGTHS["accessCode"], required=False, allow_blank=True)
