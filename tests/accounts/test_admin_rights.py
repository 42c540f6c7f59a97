"""Table of admin rights: never more than the scopes allow, never a deletion."""

import pytest

from apps.accounts.models import User
from apps.accounts.rules.admin_rights import RIGHTS, allows, allows_some, roles_with
from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from lib.scopes import Scope

# Scopes for viewing, and for adding or changing, a table.
SCOPES: dict[str, tuple[str, str | None]] = {
    "organizations": (Scope.FACILITIES_READ, Scope.FACILITIES_WRITE),
    "rides.reasoncode": (Scope.FACILITIES_READ, Scope.FACILITIES_WRITE),
    "exports": (Scope.FACILITIES_READ, Scope.FACILITIES_WRITE),
    "fleet": (Scope.DRIVERS_READ, Scope.DRIVERS_WRITE),
    "rides": (Scope.RIDES_READ, None),
    "rides.rideexception": (Scope.EXCEPTIONS_READ, None),
    "riders": (Scope.RIDERS_READ, None),
    "dispatch": (Scope.ASSIGNMENTS_WRITE, None),
    "accounts.user": (Scope.USERS_MANAGE, Scope.USERS_MANAGE),
    "accounts.apiclient": (Scope.TOKENS_MANAGE, Scope.TOKENS_MANAGE),
    "accounts.apitoken": (Scope.TOKENS_MANAGE, Scope.TOKENS_MANAGE),
    "audit.auditentry": (Scope.AUDIT_READ, None),
    "events": (Scope.EVENTS_READ, None),
}


@pytest.mark.parametrize("role", list(UserRole))
def test_rights_of_a_role_stay_within_its_scopes(role: UserRole) -> None:
    held = SCOPES_OF_USER[role]

    beyond = []
    for model, rights in RIGHTS[role].items():
        read, write = SCOPES.get(model) or SCOPES[model.partition(".")[0]]
        if read not in held or (rights - {"view"} and write not in held):
            beyond.append(model)

    assert beyond == []


def test_nobody_deletes() -> None:
    rights = {right for tables in RIGHTS.values() for held in tables.values() for right in held}

    assert rights == {"view", "add", "change"}


def test_every_role_has_a_row() -> None:
    assert set(RIGHTS) == set(UserRole)


def test_unknown_table_or_right_is_refused() -> None:
    assert allows(UserRole.ADMIN, "organizations.delete_facility") is False
    assert allows(UserRole.ADMIN, "sessions.view_session") is False
    assert allows(UserRole.ADMIN, "") is False
    assert allows_some(UserRole.ADMIN, "riders") is False


def test_page_that_says_no_names_the_roles_that_may() -> None:
    assert roles_with("accounts.view_user") == [UserRole.ADMIN]
    assert roles_with("riders.view_rider") == [UserRole.DISPATCH_SUPERVISOR, UserRole.DISPATCHER, UserRole.PLANNER]


def test_inactive_person_has_no_right() -> None:
    person = User(role=UserRole.ADMIN, is_active=False)

    assert person.has_perm("accounts.view_user") is False
    assert person.has_module_perms("accounts") is False
    assert person.is_staff is False
