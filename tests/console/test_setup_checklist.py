"""Setup checklist before the first ride: each item open and done, and its visibility."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from apps.accounts.models import ApiToken, User
from apps.accounts.rules.roles import TokenRole, UserRole
from apps.console.shell.setup_checklist import NO_MAIL, Checklist, checklist
from apps.fleet.models import Credential, Driver, Shift, Vehicle
from apps.organizations.models import Contact, Entrance, Facility, TransportProvider
from apps.webhooks.models import Endpoint
from lib.access import system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.callers import api_with
from tests.console.visits import text_of
from tests.factories import NOW
from tests.webhooks.made import endpoint

pytestmark = pytest.mark.django_db

HOME = "/console/home/"
NEEDED = ["facility", "provider", "vehicle", "driver", "shift", "dispatch", "booking", "second_factor"]
ALL = [*NEEDED, "mail", "systems"]


@pytest.fixture
def admin(settings: Any) -> User:
    settings.MFA_REQUIRED = True
    made: User = factories.UserFactory.create(role=UserRole.ADMIN)
    return made


def _everything(admin: User) -> None:
    facility = factories.FacilityFactory.create()
    factories.EntranceFactory.create(facility=facility)
    factories.ContactFactory.create(facility=facility)
    shift = factories.ShiftFactory.create()
    factories.file_credentials(shift.driver, shift.vehicle)
    factories.UserFactory.create(role=UserRole.DISPATCHER)
    factories.UserFactory.create(role=UserRole.PLANNER).facilities.add(facility)
    Authenticator.objects.create(user=admin, type=Authenticator.Type.TOTP, data={"secret": "x"})
    endpoint()


def _list(admin: User) -> Checklist:
    return checklist(admin, by=system(), at=NOW)


def _lacks(admin: User) -> list[str]:
    return [step.key for step in _list(admin).steps if not step.done]


def _urls(admin: User) -> dict[str, str]:
    return {step.key: step.url for step in _list(admin).steps}


def _home(user: User) -> Any:
    client = Client()
    sign_in(client, user)
    return client.get(HOME)


def test_empty_setup_leaves_all_steps_and_first_is_next(admin: User, settings: Any) -> None:
    settings.EMAIL_BACKEND = NO_MAIL

    found = _list(admin)

    assert _lacks(admin) == ALL
    assert (found.done, found.is_open, found.is_complete) == (0, True, False)
    assert found.next is not None
    assert (found.next.key, found.next.url) == ("facility", "/admin/organizations/facility/add/")
    assert [step.key for step in found.steps if step.optional] == ["mail", "systems"]


def test_where_everything_is_there_nothing_is_left(admin: User) -> None:
    _everything(admin)

    found = _list(admin)

    assert (_lacks(admin), found.next, found.is_open, found.is_complete) == ([], None, False, True)


def _update(model: Any, **columns: Any) -> Callable[[], object]:
    return lambda: model.objects.update(**columns)


def _delete(model: Any, **columns: Any) -> Callable[[], object]:
    return lambda: model.objects.filter(**columns).delete()


def _leave_facilities() -> None:
    User.objects.get(role=UserRole.PLANNER).facilities.clear()


@pytest.mark.parametrize(
    ("undo", "lacks"),
    [
        (_update(Facility, active=False), ["facility", "booking"]),
        (_delete(Entrance), ["facility"]),
        (_delete(Contact), ["facility"]),
        (_update(TransportProvider, active=False), ["provider", "vehicle", "driver"]),
        (_update(Vehicle, status="out_of_service"), ["vehicle"]),
        (_delete(Credential, type="insurance"), ["vehicle"]),
        (_update(Driver, activation="pending"), ["driver"]),
        (_update(Driver, activation="suspended", activation_reason="complaint"), ["driver"]),
        (_delete(Credential, type="driver_license"), ["driver"]),
        (_update(Credential, expires_on=dt.date(2026, 11, 19)), ["vehicle", "driver"]),
        (_update(Credential, replaced=True), ["vehicle", "driver"]),
        (_update(Shift, status="cancelled"), ["shift"]),
        (_delete(Shift), ["shift"]),
        (_update(User, role=UserRole.ANALYST), ["dispatch", "booking"]),
        (lambda: User.objects.filter(role=UserRole.DISPATCHER).update(is_active=False), ["dispatch"]),
        (lambda: User.objects.filter(role=UserRole.PLANNER).update(is_active=False), ["booking"]),
        (_leave_facilities, ["booking"]),
        (_delete(Authenticator), ["second_factor"]),
        (_update(Authenticator, type=Authenticator.Type.RECOVERY_CODES), ["second_factor"]),
        (_update(Endpoint, deleted_at=NOW), ["systems"]),
    ],
)
def test_each_step_is_undone_only_by_its_own_subject(admin: User, undo: Callable[[], object], lacks: list[str]) -> None:
    _everything(admin)

    undo()

    assert _lacks(admin) == lacks


def test_second_factor_of_another_is_not_the_admins_own(admin: User) -> None:
    _everything(admin)
    Authenticator.objects.update(user=factories.UserFactory.create())

    assert _lacks(admin) == ["second_factor"]


def test_facility_has_both_an_entrance_and_a_contact_itself(admin: User) -> None:
    _everything(admin)
    Contact.objects.update(facility=factories.FacilityFactory.create())

    assert _lacks(admin) == ["facility"]


def test_a_supervisor_dispatches_too(admin: User) -> None:
    _everything(admin)
    User.objects.filter(role=UserRole.DISPATCHER).update(role=UserRole.DISPATCH_SUPERVISOR)

    assert _lacks(admin) == []


@pytest.mark.parametrize(
    ("columns", "lacks"),
    [
        ({}, []),
        ({"scopes": ["rides:write"]}, []),
        ({"scopes": ["rides:read"]}, ["booking"]),
        ({"role": TokenRole.MONITORING}, ["booking"]),
        ({"revoked_at": NOW, "revoked_reason": "lost"}, ["booking", "systems"]),
        ({"expires_at": NOW - dt.timedelta(minutes=1)}, ["booking", "systems"]),
    ],
)
def test_booking_system_replaces_planners_and_is_connected(
    admin: User, columns: dict[str, Any], lacks: list[str]
) -> None:
    _everything(admin)
    User.objects.filter(role=UserRole.PLANNER).delete()
    Endpoint.objects.all().delete()
    api_with(TokenRole.EHR_INTEGRATOR)
    ApiToken.objects.update(**columns)

    assert _lacks(admin) == lacks


def test_mail_is_there_where_the_settings_name_a_server(admin: User, settings: Any) -> None:
    _everything(admin)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert _lacks(admin) == []

    settings.EMAIL_BACKEND = NO_MAIL

    found = _list(admin)
    assert _lacks(admin) == ["mail"]
    assert (found.is_open, found.is_complete) == (False, False)
    assert _urls(admin)["mail"] == ""


def test_without_second_factors_there_is_none_to_set_up(admin: User, settings: Any) -> None:
    settings.MFA_REQUIRED = False

    assert "second_factor" not in [step.key for step in _list(admin).steps]


def test_steps_link_to_creation_and_then_to_what_is_missing(admin: User) -> None:
    before = _urls(admin)
    factories.FacilityFactory.create()
    factories.TransportProviderFactory.create(active=False)
    factories.DriverFactory.create(activation="pending")
    factories.VehicleFactory.create()
    factories.UserFactory.create(role=UserRole.PLANNER)

    after = _urls(admin)

    assert before == {
        "facility": "/admin/organizations/facility/add/",
        "provider": "/admin/organizations/transportprovider/add/",
        "vehicle": "/admin/fleet/vehicle/add/",
        "driver": "/admin/fleet/driver/add/",
        "shift": "/console/fleet/shifts/new/",
        "dispatch": "/admin/accounts/user/add/",
        "booking": "/admin/accounts/user/add/",
        "second_factor": "/accounts/2fa/",
        "mail": "",
        "systems": "/console/developers/tokens/",
    }
    assert {key: url for key, url in after.items() if url != before[key]} == {
        "facility": "/admin/organizations/facility/",
        "provider": "/admin/organizations/transportprovider/",
        "vehicle": "/console/fleet/credentials/?of=vehicles",
        "driver": "/console/fleet/drivers/",
        "booking": "/admin/accounts/user/",
    }
    client = Client()
    sign_in(client, admin)
    Authenticator.objects.create(user=admin, type=Authenticator.Type.TOTP, data={"secret": "x"})
    for url in {*before.values(), *after.values()} - {""}:
        assert client.get(url).status_code == 200, url


def test_steps_name_who_may_do_them_and_lead_nobody_else_there(admin: User) -> None:
    factories.TransportProviderFactory.create()
    others = factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR)

    who = {step.key: step.roles for step in _list(admin).steps}

    assert who["facility"] == "Admin"
    assert who["shift"] == "Admin, Dispatch supervisor, Fleet admin"
    assert (who["second_factor"], who["mail"]) == ("", "")
    theirs = _urls(others)
    assert (theirs["facility"], theirs["dispatch"], theirs["shift"]) == ("", "", "/console/fleet/shifts/new/")


def test_admin_home_shows_checklist_until_setup_is_complete(admin: User, settings: Any) -> None:
    Authenticator.objects.create(user=admin, type=Authenticator.Type.TOTP, data={"secret": "x"})
    first = _home(admin)

    Authenticator.objects.all().delete()
    _everything(admin)
    settings.EMAIL_BACKEND = NO_MAIL
    folded = _home(admin)
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    gone = _home(admin)

    assert '<details id="setup" class="card first-thing setup" open>' in first.content.decode()
    assert "Before the first ride 1 of 8 done" in text_of(first)
    assert "Allowed: Admin." in text_of(first)
    assert '<li class="next" data-step="facility" aria-current="step">' in first.content.decode()
    assert '<details id="setup" class="card first-thing setup">' in folded.content.decode()
    assert "All required steps are done. The remaining steps are optional." in text_of(folded)
    assert "Allowed: the server administrator." in text_of(folded)
    assert 'id="setup"' not in gone.content.decode()


@pytest.mark.parametrize("role", sorted({*UserRole} - {UserRole.ADMIN}))
def test_nobody_else_sees_the_list(role: UserRole) -> None:
    assert 'id="setup"' not in _home(factories.UserFactory.create(role=role)).content.decode()


@pytest.mark.parametrize("many", [False, True])
def test_list_costs_one_query(admin: User, many: bool, django_assert_num_queries: Any) -> None:
    if many:
        for _ in range(3):
            factories.ShiftFactory.create()
        _everything(admin)

    with django_assert_num_queries(1):
        _list(admin)
