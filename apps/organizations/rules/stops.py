"""A stop: where a ride starts or ends, and where a rider lives.

One shape everywhere: the API shows it, the columns `pickup`, `dropoff`, `home_address` and `saved_places` hold it, and
every key is always present.  How to get past a locked door (`accessCode`) comes in with a stop and is sealed
elsewhere: it never stays in the shape.
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

# Every key of a stop in the order in which it is shown, with its value when nothing is said.
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
# Longest text of each key, in characters.
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

# Keys that say which place it is; a change of one makes it another place.
_PLACE: Final = ("facilityId", "addressLine1", "city", "state", "postalCode")


def is_e164(phone: str) -> bool:
    """Say whether `phone` is written as +, country code and number, 7 to 15 digits in all."""
    return E164.fullmatch(phone) is not None


def coordinate(degrees: Decimal | float | None) -> float | None:
    """Round to the six decimals that a place is known by."""
    return None if degrees is None else round(float(degrees), COORDINATE_DECIMALS)


def normal(given: Mapping[str, Any]) -> Stop:
    """Bring a stop into the one shape: every key, ids as text, coordinates as rounded numbers, no access code.

    Null is the same as left out; keys that a stop has not are dropped (the serializer has refused them before).
    """
    stop = _filled(_EMPTY, given)
    stop |= {key: coordinate(stop[key]) for key in ("lat", "lng")}
    stop |= {key: None if stop[key] is None else str(stop[key]) for key in ("facilityId", "entranceId")}
    stop["contact"] = None if stop["contact"] is None else _filled(_EMPTY_CONTACT, stop["contact"])
    return stop


def access_code(given: Mapping[str, Any]) -> str:
    """Read how to get in, which `normal` leaves out: "" when nothing was said."""
    return str(given.get(ACCESS_CODE) or "")


def at_facility(stop: Mapping[str, Any], place: Mapping[str, Any]) -> Stop:
    """Fill a stop's address from the facility it names; what the stop says itself stays.

    `place` is the facility as a stop (`Facility` -> `place_of` in queries).  A stop with an address line of its own
    keeps its whole address: half of one and half of another lead nowhere.
    """
    if stop["addressLine1"]:
        return dict(stop)
    kept = {"name": stop["name"] or place["name"]}
    return {**stop, **{key: place[key] for key in _ADDRESS_OF_FACILITY}, **kept}


def merged(stop: Mapping[str, Any], changes: Mapping[str, Any]) -> Stop:
    """Change a stop by JSON merge patch; the answer still has to be brought into its normal form.

    What described the old place goes with it: coordinates and door when any line of the address changes, and the whole
    address when the facility does, unless the changes bring their own.
    """
    known = dict(stop)
    moved = {key for key in _PLACE if key in changes and changes[key] != known.get(key)}
    if moved:
        stale = ("lat", "lng", "entranceId", *(_ADDRESS_OF_FACILITY if "facilityId" in moved else ()))
        known |= dict.fromkeys(stale)
    contact = changes.get("contact")
    if contact is not None:
        contact = {**(known.get("contact") or {}), **contact}
    return {**known, **changes, **({"contact": contact} if "contact" in changes else {})}


def problems(stop: Mapping[str, Any], *, path: str) -> list[Detail]:
    """List what keeps a normal stop from being found; lengths, types and choices are the serializer's to judge.

    Asked after `at_facility`, so that a stop at a facility needs no address of its own.
    """
    found: list[tuple[str, str, Template]] = []
    if not stop["addressLine1"] and (stop["lat"] is None or stop["lng"] is None):
        found.append(
            (
                "addressLine1",
                "required",
                _("%(field)s is required where neither facilityId nor lat and lng say the place."),
            )
        )
    elif stop["addressLine1"] and not stop["city"]:
        found.append(("city", "required", _("%(field)s is required with an address.")))
    for one, other in (("lat", "lng"), ("lng", "lat")):
        if stop[one] is None and stop[other] is not None:
            found.append(
                (one, "required", Message(_("%(field)s goes with %(other)s: give both or neither."), {"other": other}))
            )
    if stop["entranceId"] is not None and stop["facilityId"] is None:
        found.append(("entranceId", "invalid", _("%(field)s needs the facilityId of its facility.")))
    contact = stop["contact"]
    if contact is not None and contact["phone"] and not is_e164(contact["phone"]):
        found.append(
            ("contact.phone", "invalid", _("%(field)s must be a phone number in E.164 form, such as +13125550140."))
        )
    return [Detail(field=f"{path}.{field}", code=code, message=message) for field, code, message in found]


def _filled(defaults: Mapping[str, Any], given: Mapping[str, Any]) -> Stop:
    return {key: default if given.get(key) is None else given[key] for key, default in defaults.items()}
