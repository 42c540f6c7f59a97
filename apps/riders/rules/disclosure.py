"""The fields of a rider that each PHI level may see: one table for the API, for rides and for pages.

NONE sees that there is a rider, their status and mobility; LIMITED also the identity, for billing and reconciliation;
FULL everything.  A field above the caller's level is left out, and refused if it is requested by name.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lib.access import Phi
from lib.errors import Code, Detail, DomainError
from lib.messages import Message
from lib.messages import gettext_lazy as _

# API field names of a rider.
FIELDS: Final[dict[str, Phi]] = {
    "id": Phi.NONE,
    "status": Phi.NONE,
    "mobility": Phi.NONE,
    "facilityIds": Phi.NONE,
    "version": Phi.NONE,
    "createdAt": Phi.NONE,
    "updatedAt": Phi.NONE,
    "externalIds": Phi.LIMITED,
    "firstName": Phi.LIMITED,
    "lastName": Phi.LIMITED,
    "preferredName": Phi.LIMITED,
    "medicaidId": Phi.LIMITED,  # masked below FULL
    "memberId": Phi.LIMITED,  # masked below FULL
    "verified": Phi.LIMITED,
    "dateOfBirth": Phi.FULL,
    "phones": Phi.FULL,
    "smsConsent": Phi.FULL,
    "smsConsentAt": Phi.FULL,
    "email": Phi.FULL,
    "language": Phi.FULL,
    "interpreterNeeded": Phi.FULL,
    "contactPreference": Phi.FULL,
    "homeAddress": Phi.FULL,
    "savedPlaces": Phi.FULL,
    "caregivers": Phi.FULL,
    "emergencyContact": Phi.FULL,
    "preferredDriverIds": Phi.FULL,
    "excludedDriverIds": Phi.FULL,
    "driverGenderPreference": Phi.FULL,
    "statusReason": Phi.FULL,
    "statusFrom": Phi.FULL,
    "statusUntil": Phi.FULL,
    "policyStanding": Phi.FULL,
    "accommodation": Phi.FULL,
    "accommodationVersion": Phi.FULL,
}
# Changes with the rider's rides and not with the version: returned only if requested by name.
POLICY_STANDING: Final = "policyStanding"
DEFAULT_FIELDS: Final = frozenset(FIELDS) - {POLICY_STANDING}
# LIMITED sees a part, FULL the whole; only FULL may write them and search by them.
MASKED: Final = frozenset({"medicaidId", "memberId"})
# The PHI level that a search by each criterion needs, because a match confirms the value.
CRITERIA: Final[dict[str, Phi]] = {
    "name": Phi.LIMITED,
    "externalId": Phi.LIMITED,
    "dateOfBirth": Phi.FULL,
    "phone": Phi.FULL,
    "medicaidId": Phi.FULL,
    "memberId": Phi.FULL,
}
# The needs on a ride that levels below FULL may see: enough to count vehicles, but nothing personal.
ACCOMMODATION_BELOW_FULL: Final = ("mobility",)

MASK: Final = "••••"
SHOWN_OF_MASKED: Final = 4


class PhiNotPermitted(DomainError):
    """Requested or written fields exceed the caller's PHI level; the details name each."""

    code = Code.PHI_NOT_PERMITTED

    def __init__(self, fields: Iterable[str], needed: Mapping[str, Phi]) -> None:
        details = [
            Detail(
                field=field,
                code="phi_not_permitted",
                message=Message(_("%(field)s needs the PHI level %(level)s."), {"level": needed[field].name.lower()}),
                also={"requiredPhiLevel": needed[field].name.lower()},
            )
            for field in fields
        ]
        super().__init__(details[0].text, details=details)


def visible_fields(phi: Phi) -> frozenset[str]:
    """Return the fields of a rider that a PHI level may see."""
    return frozenset(field for field, level in FIELDS.items() if level <= phi)


def require(phi: Phi, fields: Iterable[str], *, table: Mapping[str, Phi] = FIELDS) -> None:
    """Refuse fields above the PHI level; names that are not in the table are ignored.

    Raises:
        PhiNotPermitted: names every field that is above the level, and the level it needs.
    """
    if above := [field for field in fields if table.get(field, Phi.NONE) > phi]:
        raise PhiNotPermitted(above, table)


def require_to_write(phi: Phi, fields: Iterable[str]) -> None:
    """Refuse to write fields that the PHI level cannot read in full.

    Raises:
        PhiNotPermitted: see `require`.
    """
    require(phi, fields, table={**FIELDS, **dict.fromkeys(MASKED, Phi.FULL)})


def masked(code: str, phi: Phi) -> str:
    """Mask a government or insurance id: whole at FULL, else its last four characters; nothing of a short one."""
    if phi >= Phi.FULL or not code:
        return code
    return MASK + (code[-SHOWN_OF_MASKED:] if len(code) >= 2 * SHOWN_OF_MASKED else "")


def accommodation(shape: Mapping[str, Any], phi: Phi) -> dict[str, Any]:
    """Return the rider's needs as far as the PHI level may see them."""
    return dict(shape) if phi >= Phi.FULL else {key: shape[key] for key in ACCOMMODATION_BELOW_FULL}
