"""The tables of /admin/ that each role sees, adds to and changes.  There is no right to delete.

Scopes (roles.py) decide which services a role may call; this table decides which admin pages it may open.  It never
exceeds the scopes: tests/accounts/test_admin_rights.py compares the two.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from apps.accounts.rules.roles import UserRole

VIEW: Final = frozenset({"view"})
EDIT: Final = frozenset({"view", "add", "change"})

PLACES: Final = (
    "organizations.facility",
    "organizations.entrance",
    "organizations.contact",
    "organizations.calendarshift",
)
PARTNERS: Final = (
    "organizations.escalationpolicy",
    "organizations.transportprovider",
    "organizations.homebase",
    "organizations.payer",
    "rides.reasoncode",
    "exports.suggestedcode",
)
FLEET: Final = (
    "fleet.driver",
    "fleet.vehicle",
    "fleet.capacityconfig",
)
CREDENTIALS_AND_SHIFTS: Final = ("fleet.credential", "fleet.shift")
RIDES: Final = ("rides.ride", "rides.trip", "rides.assignment", "rides.milestone")
EXCEPTIONS: Final = ("rides.rideexception",)
HANDOVERS: Final = ("dispatch.handover",)
RIDERS: Final = ("riders.rider", "riders.accommodationprofile")
ACCESS: Final = ("accounts.user", "accounts.apiclient")
TOKENS: Final = ("accounts.apitoken",)
EVENTS: Final = ("events.event",)
AUDIT: Final = ("audit.auditentry",)


def _table(*rows: tuple[Iterable[str], frozenset[str]]) -> dict[str, frozenset[str]]:
    return {model: rights for models, rights in rows for model in models}


_OPERATIONS: Final = _table(
    (PLACES, VIEW),
    (PARTNERS, VIEW),
    (FLEET, VIEW),
    (CREDENTIALS_AND_SHIFTS, VIEW),
    (RIDES, VIEW),
    (EXCEPTIONS, VIEW),
    (RIDERS, VIEW),
    (HANDOVERS, VIEW),
    (EVENTS, VIEW),
)

RIGHTS: Final[Mapping[UserRole, Mapping[str, frozenset[str]]]] = {
    # Admins run the service but see no rider data.
    UserRole.ADMIN: _table(
        (PLACES, EDIT),
        (PARTNERS, EDIT),
        (FLEET, EDIT),
        (CREDENTIALS_AND_SHIFTS, VIEW),
        (ACCESS, EDIT),
        (TOKENS, VIEW | {"change"}),  # the one change is revoking
        (AUDIT, VIEW),
    ),
    UserRole.DISPATCH_SUPERVISOR: {**_OPERATIONS, **_table((FLEET, EDIT))},
    UserRole.DISPATCHER: _OPERATIONS,
    UserRole.PLANNER: _table(
        (PLACES, VIEW),
        (("organizations.payer", "rides.reasoncode"), VIEW),
        (RIDES, VIEW),
        (EXCEPTIONS, VIEW),
        (RIDERS, VIEW),
    ),
    UserRole.FLEET_ADMIN: _table(
        (FLEET, EDIT),
        (CREDENTIALS_AND_SHIFTS, VIEW),
        (("organizations.transportprovider", "organizations.homebase"), VIEW),
        (("rides.ride", "rides.assignment"), VIEW),
    ),
    UserRole.ANALYST: _table((PLACES, VIEW), (("organizations.payer", "rides.reasoncode", "rides.ride"), VIEW)),
    UserRole.AUDITOR: _table(
        (PLACES, VIEW),
        (PARTNERS, VIEW),
        (FLEET, VIEW),
        (CREDENTIALS_AND_SHIFTS, VIEW),
        (RIDES, VIEW),
        (EXCEPTIONS, VIEW),
        (EVENTS, VIEW),
        (AUDIT, VIEW),
    ),
}


def allows(role: UserRole, permission: str) -> bool:
    """Return whether a role has a right, by Django's name of it: `rides.view_ride`."""
    app, _, codename = permission.partition(".")
    right, _, model = codename.partition("_")
    return right in RIGHTS[role].get(f"{app}.{model}", frozenset())


def allows_some(role: UserRole, app: str) -> bool:
    """Return whether a role sees any table of an app."""
    return any(model.startswith(f"{app}.") for model in RIGHTS[role])


def roles_with(permission: str) -> list[UserRole]:
    """List the roles that have a right, for the page that reports a missing one."""
    return [role for role in UserRole if allows(role, permission)]
