"""How much of a rider each PHI level shows: one table for the API, for rides and for pages.

NONE sees that there is a rider, their standing and how they move; LIMITED also who it is, for billing and
reconciliation; FULL everything.  A field above the caller's level is left out; asked for by name, it is refused.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lib.access import Phi
from lib.errors import Code, Detail, DomainError
from lib.messages import Message
from lib.messages import gettext_lazy as _

# Fields of a rider as the API spells them.
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
# Moves with the rider's rides and not with the version: shown to those alone who ask for it by name.
POLICY_STANDING: Final = "policyStanding"
UNASKED: Final = frozenset(FIELDS) - {POLICY_STANDING}
# Shown in part to LIMITED, in whole to FULL; written, and searched by, at FULL alone.
MASKED: Final = frozenset({"medicaidId", "memberId"})
# What a search by each criterion would confirm to the searcher.
CRITERIA: Final[dict[str, Phi]] = {
    "name": Phi.LIMITED,
    "externalId": Phi.LIMITED,
    "dateOfBirth": Phi.FULL,
    "phone": Phi.FULL,
    "medicaidId": Phi.FULL,
    "memberId": Phi.FULL,
}
# Of the needs that a ride keeps, what a level below FULL may know: enough to count vehicles, not to know a person.
ACCOMMODATION_BELOW_FULL: Final = ("mobility",)

MASK: Final = "••••"
SHOWN_OF_MASKED: Final = 4


class PhiNotPermitted(DomainError):
    """Fields were asked for, or written, that the caller's PHI level does not reach; the details name each."""

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


def shown(phi: Phi) -> frozenset[str]:
    """List the fields of a rider that a level sees."""
    return frozenset(field for field, level in FIELDS.items() if level <= phi)


def require(phi: Phi, fields: Iterable[str], *, table: Mapping[str, Phi] = FIELDS) -> None:
    """Refuse fields above the level; names that the table does not know are none of its business.

    Raises:
        PhiNotPermitted: names every field that is above the level, and the level it takes.
    """
    if above := [field for field in fields if table.get(field, Phi.NONE) > phi]:
        raise PhiNotPermitted(above, table)


def require_to_write(phi: Phi, fields: Iterable[str]) -> None:
    """Refuse to write what the level cannot read whole.

    Raises:
        PhiNotPermitted: as `require`.
    """
    require(phi, fields, table={**FIELDS, **dict.fromkeys(MASKED, Phi.FULL)})


def masked(code: str, phi: Phi) -> str:
    """Show a government or insurance code: whole at FULL, else its last four characters, and none of a short one."""
    if phi >= Phi.FULL or not code:
        return code
    return MASK + (code[-SHOWN_OF_MASKED:] if len(code) >= 2 * SHOWN_OF_MASKED else "")


def accommodation(shape: Mapping[str, Any], phi: Phi) -> dict[str, Any]:
    """Show what a rider needs, to the extent of the level."""
    return dict(shape) if phi >= Phi.FULL else {key: shape[key] for key in ACCOMMODATION_BELOW_FULL}
