"""How much of a standing order each caller sees: the same as of its rides (apps/rides/rules/disclosure.py)."""

from collections.abc import Mapping
from typing import Any, Final

from apps.riders.rules import disclosure as rider_disclosure
from apps.rides.rules import disclosure as ride_disclosure
from apps.rides.rules.disclosure import Disclosure

# Where an order has by itself what rides have within their payer, and what they call it.
_OF_PAYER: Final[Mapping[str, str]] = {
    "authorizationNumber": "authorizationNumber",
    "authorizationEndsOn": "authorizationExpires",
}
_OF_DIALYSIS: Final = ("treatmentMinutes", "postTreatmentMinutes")  # `dialysis` of a ride
_OF_RIDER: Final = "preferredDriverIds"


def disclosed(order: Mapping[str, Any], to: Disclosure) -> dict[str, Any]:
    """Leave out of an order, or of its terms, in the API's shape what the caller may not see."""
    seen = ride_disclosure.disclosed(order, to)
    seen["outbound"] = ride_disclosure.disclosed(seen["outbound"], to)
    if seen["return"]["dropoff"] is not None:
        seen["return"] = ride_disclosure.disclosed(seen["return"], to)
    # What differs from the rider's needs is mostly little: a key that was not there is not there.
    seen["accommodation"] = {
        key: seen["accommodation"][key] for key in order["accommodation"] if key in seen["accommodation"]
    }
    return {name: value for name, value in seen.items() if name not in _hidden(to)}


def _hidden(to: Disclosure) -> set[str]:
    shown = ride_disclosure.PAYER_KEYS[to.phi]
    hidden = {name for name, key in _OF_PAYER.items() if key not in shown}
    if ride_disclosure.FIELDS["dialysis"] > to.phi:
        hidden.update(_OF_DIALYSIS)
    if rider_disclosure.FIELDS[_OF_RIDER] > to.phi:
        hidden.add(_OF_RIDER)
    return hidden
