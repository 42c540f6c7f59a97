"""A stop: the start or end of a ride, or the home of a rider.

The API and the columns `pickup`, `dropoff`, `home_address` and `saved_places` share one shape, with every key always
present.  The code for a locked door (`accessCode`) is sent with a stop but stored elsewhere, encrypted: it is never
part of the shape.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from lib.errors import Detail
from lib.messages import Message, Template
from lib.messages import gettext_lazy as _

Stop = dict[str, Any]

COORDINATE_DECIMALS: Final = 6  # about 0.1 m
E164: Final = re.compile(r"\+[1-9][0-9]{6,14}")
STAIR_EQUIPMENT: Final = ("none", "ramp", "stair_chair")
ACCESS_CODE: Final = "accessCode"

# Every key of a stop in the order of the output, with its default.
_EMPTY: Final[Stop] = {
    "facilityId": None,
    "name": "",
    "addressLine1": "",
    "addressLine2": "",
    "city": "",
    "state": "",
    "postalCode": "",
    "lat": None,
    "lng": None,
    "entranceId": None,
    "entranceText": "",
    "unit": "",
    "room": "",
    "instructions": "",
    "contact": None,
    "steps": 0,
    "elevator": False,
    "stairEquipment": "none",
    "loadMinutes": None,
}
_EMPTY_CONTACT: Final[Stop] = {"name": "", "phone": "", "ext": "", "role": ""}
KEYS: Final = tuple(_EMPTY)
CONTACT_KEYS: Final = tuple(_EMPTY_CONTACT)
# Maximum length of each key, in characters.
MAX_LENGTHS: Final[dict[str, int]] = {
    "name": 200,
    "addressLine1": 200,
    "addressLine2": 200,
    "city": 100,
    "state": 50,
    "postalCode": 20,
    "entranceText": 200,
    "unit": 50,
    "room": 50,
    "instructions": 500,
    ACCESS_CODE: 200,
}
CONTACT_MAX_LENGTHS: Final[dict[str, int]] = {"name": 100, "phone": 16, "ext": 10, "role": 50}
MAX_STEPS: Final = 500
MAX_LOAD_MINUTES: Final = 240

_ADDRESS_OF_FACILITY: Final = ("name", "addressLine1", "addressLine2", "city", "state", "postalCode", "lat", "lng")

# Keys that identify the place; a change of one of them means another place.
_PLACE: Final = ("facilityId", "addressLine1", "city", "state", "postalCode")


def is_e164(phone: str) -> bool:
    """Return whether `phone` is +, country code and number, 7 to 15 digits in total."""
    return E164.fullmatch(phone) is not None


def coordinate(degrees: Decimal | float | None) -> float | None:
    """Round to `COORDINATE_DECIMALS`."""
    return None if degrees is None else round(float(degrees), COORDINATE_DECIMALS)


def normal(data: Mapping[str, Any]) -> Stop:
    """Normalize a stop: every key present, ids as text, coordinates rounded, no access code.

    Null means the default; unknown keys are dropped (the serializer has refused them before).
    """
    stop = _filled(_EMPTY, data)
    stop |= {key: coordinate(stop[key]) for key in ("lat", "lng")}
    stop |= {key: None if stop[key] is None else str(stop[key]) for key in ("facilityId", "entranceId")}
    stop["contact"] = None if stop["contact"] is None else _filled(_EMPTY_CONTACT, stop["contact"])
    return stop


def access_code(data: Mapping[str, Any]) -> str:
    """Return the access code of a stop in a request, which `normal` leaves out; "" if there is none."""
    return str(data.get(ACCESS_CODE) or "")


def at_facility(stop: Mapping[str, Any], place: Mapping[str, Any]) -> Stop:
    """Fill in a stop's address from its facility; values that the stop has itself stay.

    `place` is the facility as a stop (`place_of` in queries).  A stop with its own address line keeps its whole
    address, because a mixture of two addresses would be wrong.
    """
    if stop["addressLine1"]:
        return dict(stop)
    own_name = {"name": stop["name"] or place["name"]}
    return {**stop, **{key: place[key] for key in _ADDRESS_OF_FACILITY}, **own_name}


def merged(stop: Mapping[str, Any], changes: Mapping[str, Any]) -> Stop:
    """Change a stop by JSON merge patch; the result still has to be normalized.

    Details of the old place are reset unless the changes bring their own: coordinates and entrance if any part of the
    address changes, and the whole address if the facility changes.
    """
    changed_stop = dict(stop)
    moved = {key for key in _PLACE if key in changes and changes[key] != changed_stop.get(key)}
    if moved:
        stale = ("lat", "lng", "entranceId", *(_ADDRESS_OF_FACILITY if "facilityId" in moved else ()))
        changed_stop |= dict.fromkeys(stale)
    contact = changes.get("contact")
    if contact is not None:
        contact = {**(changed_stop.get("contact") or {}), **contact}
    return {**changed_stop, **changes, **({"contact": contact} if "contact" in changes else {})}


def problems(stop: Mapping[str, Any], *, path: str) -> list[Detail]:
    """List why a normalized stop cannot be located; the serializer checks lengths, types and choices.

    Call it after `at_facility`, so that a stop at a facility needs no address of its own.
    """
    violations: list[tuple[str, str, Template]] = []
    if not stop["addressLine1"] and (stop["lat"] is None or stop["lng"] is None):
        violations.append(
            (
                "addressLine1",
                "required",
                _("%(field)s is required where neither facilityId nor lat and lng say the place."),
            )
        )
    elif stop["addressLine1"] and not stop["city"]:
        violations.append(("city", "required", _("%(field)s is required with an address.")))
    for name, partner in (("lat", "lng"), ("lng", "lat")):
        if stop[name] is None and stop[partner] is not None:
            violations.append(
                (
                    name,
                    "required",
                    Message(_("%(field)s goes with %(other)s: give both or neither."), {"other": partner}),
                )
            )
    if stop["entranceId"] is not None and stop["facilityId"] is None:
        violations.append(("entranceId", "invalid", _("%(field)s needs the facilityId of its facility.")))
    contact = stop["contact"]
    if contact is not None and contact["phone"] and not is_e164(contact["phone"]):
        violations.append(
            ("contact.phone", "invalid", _("%(field)s must be a phone number in E.164 form, such as +13125550140."))
        )
    return [Detail(field=f"{path}.{field}", code=code, message=message) for field, code, message in violations]


def _filled(defaults: Mapping[str, Any], data: Mapping[str, Any]) -> Stop:
    return {key: default if data.get(key) is None else data[key] for key, default in defaults.items()}
