"""How much of a ride each caller sees: one table for the API, its fast list, and the webhooks.

NONE sees where roughly, when and how it went; LIMITED what a bill needs; FULL everything but two things that take more
than a level: the dispatcher's notes, and what opens doors.  What a caller may not see is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from apps.riders.rules.disclosure import ACCOMMODATION_BELOW_FULL
from lib.access import Phi, Principal
from lib.scopes import Scope

# Whole fields of a ride, as the API spells them, that take more than NONE.
FIELDS: Final[dict[str, Phi]] = {
    "clientReference": Phi.LIMITED,
    "externalIds": Phi.LIMITED,
    "signatures": Phi.LIMITED,
    "attestation": Phi.LIMITED,
    "handoffName": Phi.FULL,
    "companions": Phi.FULL,
    "discharge": Phi.FULL,
    "dialysis": Phi.FULL,
    "notes": Phi.FULL,
    "requestedBy": Phi.FULL,
    "endNote": Phi.FULL,
}
# Of a stop, all of it at FULL.
STOP_KEYS: Final[dict[Phi, tuple[str, ...]]] = {
    Phi.NONE: ("facilityId", "city", "state", "postalCode"),
    Phi.LIMITED: (
        "facilityId",
        "name",
        "addressLine1",
        "addressLine2",
        "city",
        "state",
        "postalCode",
        "lat",
        "lng",
    ),
}
# For milestones and lines of the timeline: the position of a device reveals the address of the stop.
MILESTONE_FIELDS: Final[dict[str, Phi]] = {
    "lat": Phi.LIMITED,
    "lng": Phi.LIMITED,
    "accuracyMeters": Phi.LIMITED,
    "note": Phi.FULL,
}
# For assignments: free text may hold personal data.
ASSIGNMENT_FIELDS: Final[dict[str, Phi]] = {"declineReason": Phi.FULL, "overrideReason": Phi.FULL}
POSTAL_PREFIX: Final = 3  # characters of a postal code at NONE (45 CFR 164.514(b)(2)(i)(B))
PAYER_KEYS: Final[dict[Phi, tuple[str, ...]]] = {
    Phi.NONE: ("payerId", "programCode"),
    Phi.LIMITED: ("payerId", "programCode", "authorizationNumber", "authorizationExpires"),
    Phi.FULL: ("payerId", "programCode", "authorizationNumber", "authorizationExpires"),
}
MEMBER_ID: Final = "memberId"  # of the payer, only on single rides: encrypted, masked below FULL as that of a rider
DISPATCHER_NOTES: Final = "dispatcherNotes"  # of the accommodation; `dispatcher` of the notes is the same


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What a caller may see.  Few different values exist, so shapes are built once for each."""

    phi: Phi
    dispatcher_notes: bool = False
    door_codes: bool = False


def disclosure_of(by: Principal) -> Disclosure:
    """Return what a caller may see.

    Dispatcher notes are for dispatchers of the operator: not for planners, who do not assign, and not for the system of
    a transport provider.  Access codes are for dispatchers and drivers.
    """
    full = by.phi >= Phi.FULL
    return Disclosure(
        phi=by.phi,
        dispatcher_notes=full and by.has_scope(Scope.ASSIGNMENTS_WRITE) and by.provider_ids is None,
        door_codes=full and (by.has_scope(Scope.ASSIGNMENTS_WRITE) or by.has_scope(Scope.RIDES_STATUS)),
    )


def disclosed(ride: Mapping[str, Any], to: Disclosure) -> dict[str, Any]:
    """Leave out of a ride in the API's shape what the caller may not see; fields that are not there do not matter."""
    seen = {name: value for name, value in ride.items() if FIELDS.get(name, Phi.NONE) <= to.phi}
    for name in ("pickup", "dropoff"):
        if name in seen:
            seen[name] = stop(seen[name], to)
    if "payer" in seen:
        keys = (*PAYER_KEYS[to.phi], *((MEMBER_ID,) if to.phi >= Phi.LIMITED else ()))
        seen["payer"] = {key: value for key, value in seen["payer"].items() if key in keys}
    if "accommodation" in seen:
        seen["accommodation"] = accommodation(seen["accommodation"], to)
    if "notes" in seen and not to.dispatcher_notes:
        seen["notes"] = {key: text for key, text in seen["notes"].items() if key != "dispatcher"}
    return seen


def stop(shape: Mapping[str, Any], to: Disclosure) -> dict[str, Any]:
    if to.phi >= Phi.FULL:
        return dict(shape)
    seen = {key: shape.get(key) for key in STOP_KEYS[to.phi]}
    if to.phi is Phi.NONE:
        seen["postalCode"] = (seen["postalCode"] or "")[:POSTAL_PREFIX]
    return seen


def disclosed_milestone(shape: Mapping[str, Any], to: Disclosure) -> dict[str, Any]:
    """Leave out of a milestone, or of a line of the timeline, what the caller may not see."""
    return {name: value for name, value in shape.items() if MILESTONE_FIELDS.get(name, Phi.NONE) <= to.phi}


def disclosed_assignment(shape: Mapping[str, Any], phi: Phi) -> dict[str, Any]:
    """Leave out of an assignment what the level does not reach."""
    return {name: value for name, value in shape.items() if ASSIGNMENT_FIELDS.get(name, Phi.NONE) <= phi}


def accommodation(shape: Mapping[str, Any], to: Disclosure) -> dict[str, Any]:
    if to.phi < Phi.FULL:
        return {key: shape.get(key) for key in ACCOMMODATION_BELOW_FULL}
    if to.dispatcher_notes:
        return dict(shape)
    return {key: value for key, value in shape.items() if key != DISPATCHER_NOTES}
