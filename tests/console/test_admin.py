"""Data admin: scope, PHI levels, audit, read-only operations, and protection from lost updates."""

from typing import Any
from uuid import uuid4

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.test import Client

from apps.accounts.models import ApiToken, User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Driver
from apps.organizations.models import Facility
from apps.rides.models import Ride
from lib.admin import ScopedAdmin, SeenVersionForm
from tests import factories
from tests.console.admin_pages import address_of, context_of, form_of, signed_in_as

pytestmark = pytest.mark.django_db

FACILITIES = "/admin/organizations/facility/"
RIDES = "/admin/rides/ride/"
RIDERS = "/admin/riders/rider/"


def test_every_table_is_scoped_and_declares_its_joins() -> None:
    registered = list(admin.site._registry.values())
    tables = [table for table in registered if isinstance(table, ScopedAdmin)]

    assert len(tables) == len(registered) > 20
    assert [t for t in tables if t.autocomplete_fields] == []
    assert [t for t in tables if not isinstance(t.list_select_related, tuple)] == []
    assert [t for t in tables if t.actions is not None or t.show_full_result_count] == []
    assert [t for t in tables if not t.subject_type] == []


def test_tables_with_a_version_keep_it_in_their_form() -> None:
    unguarded = [
        model.__name__
        for model, table in admin.site._registry.items()
        if isinstance(table, ScopedAdmin)
        and not table.read_only
        and any(field.name == "version" for field in model._meta.fields)
        and not issubclass(table.form, SeenVersionForm)
    ]

    assert unguarded == []


def test_rides_of_other_facilities_are_absent_for_a_planner() -> None:
    own, other = factories.RideFactory.create(), factories.RideFactory.create()
    client = signed_in_as(UserRole.PLANNER, facilities=[own.facility])

    listed = client.get(RIDES)
    found, outside, absent = (client.get(address_of(Ride, "change", pk)) for pk in (own.pk, other.pk, uuid4()))

    assert [ride.pk for ride in context_of(listed)["cl"].result_list] == [own.pk]
    assert str(other.facility) not in listed.content.decode()
    assert (found.status_code, outside.status_code, absent.status_code) == (200, 404, 404)


@pytest.mark.parametrize(("role", "seen"), [(UserRole.DISPATCHER, True), (UserRole.PLANNER, False)])
def test_dispatchers_keep_their_notes_of_a_ride_to_themselves(role: UserRole, seen: bool) -> None:
    ride = factories.RideFactory.create(dispatcher_notes="Lives with an ex-husband", facility_notes="Use the east door")

    page = signed_in_as(role, facilities=[ride.facility]).get(address_of(Ride, "change", ride.pk)).content.decode()

    assert "Use the east door" in page
    assert ("Lives with an ex-husband" in page, "Dispatcher notes" in page) == (seen, seen)


def test_planner_cannot_see_or_search_foreign_riders() -> None:
    own, other = factories.RideFactory.create(), factories.RideFactory.create()
    client = signed_in_as(UserRole.PLANNER, facilities=[own.facility])

    searched = client.post(RIDERS, {"q": other.rider.last_name})

    assert context_of(searched)["cl"].result_count == 0
    assert client.get(f"{RIDERS}{other.rider_id}/change/").status_code == 404


def test_fleet_admin_sees_own_provider_rides_without_rider() -> None:
    assignment = factories.put_driver_on(factories.RideFactory.create())
    elsewhere = factories.put_driver_on(factories.RideFactory.create())
    client = signed_in_as(UserRole.FLEET_ADMIN, providers=[assignment.provider])

    page = client.get(address_of(Ride, "change", assignment.ride_id))

    assert page.status_code == 200
    assert str(assignment.ride.rider_id) not in page.content.decode()
    assert "1418 N Canary Ave" not in page.content.decode()
    assert client.get(address_of(Ride, "change", elsewhere.ride_id)).status_code == 404


def test_ride_list_writes_audit_row_with_every_rider() -> None:
    rides = factories.RideFactory.create_batch(2)
    client = signed_in_as(UserRole.DISPATCHER)

    client.get(RIDES)

    entry = AuditEntry.objects.get()
    assert (entry.action, entry.role, entry.phi) == ("rides.read", "dispatcher", "full")
    assert set(entry.rider_ids) == {ride.rider_id for ride in rides}


def test_rider_page_is_audited_and_title_has_no_name() -> None:
    rider = factories.RiderFactory.create()
    client = signed_in_as(UserRole.DISPATCHER)

    page = client.get(f"{RIDERS}{rider.pk}/change/").content.decode()

    entry = AuditEntry.objects.get()
    head, body = page.split("</head>")
    assert (entry.action, entry.subject_id, entry.rider_ids) == ("riders.read", rider.pk, [rider.pk])
    assert rider.last_name in body
    assert rider.last_name not in head
    assert rider.last_name not in body.split("</nav>")[1].split("<main")[0]


def test_search_comes_in_the_body_and_is_recorded() -> None:
    rider = factories.RiderFactory.create()
    factories.RiderFactory.create()
    client = signed_in_as(UserRole.DISPATCHER)

    response = client.post(RIDERS, {"q": rider.last_name})

    entry = AuditEntry.objects.get()
    assert [row.pk for row in context_of(response)["cl"].result_list] == [rider.pk]
    assert f"q={rider.last_name}" not in response.content.decode()
    assert (entry.action, entry.rider_ids) == ("riders.search", [rider.pk])


def test_search_in_the_address_is_dropped() -> None:
    client = signed_in_as(UserRole.DISPATCHER)

    response = client.get(f"{RIDERS}?q=Canarywell")

    assert (response.status_code, response["Location"]) == (302, RIDERS)
    assert AuditEntry.objects.count() == 0


@pytest.mark.parametrize("word", ["x", "01a1fa1d-29c5-7525-aa8a-6e9f346294ae", "\0", "'", "%", "ä" * 300])
def test_any_word_may_be_searched(word: str) -> None:
    client = signed_in_as(UserRole.DISPATCHER)

    assert client.post(RIDES, {"q": word}).status_code == 200
    assert client.post("/admin/events/event/", {"q": word}).status_code == 200


def test_reading_the_audit_trail_is_recorded() -> None:
    client = signed_in_as(UserRole.AUDITOR)

    client.get("/admin/audit/auditentry/")

    entry = AuditEntry.objects.get()
    assert (entry.action, entry.role) == ("audit_trail.read", "auditor")


@pytest.mark.parametrize("role", list(UserRole))
def test_a3_operational_tables_cannot_be_written_by_anybody(role: UserRole) -> None:
    assignment = factories.put_driver_on(factories.RideFactory.create())
    client = signed_in_as(role, facilities=[assignment.ride.facility], providers=[assignment.provider])
    before = Ride.objects.values().get()

    answers = {
        client.post(address_of(Ride, "change", assignment.ride_id), {"status": "cancelled"}).status_code,
        client.post(address_of(Ride, "add"), {}).status_code,
        client.post(address_of(Ride, "delete", assignment.ride_id), {"post": "yes"}).status_code,
        client.post(address_of(type(assignment), "change", assignment.pk), {"status": "released"}).status_code,
        client.post("/admin/audit/auditentry/add/", {}).status_code,
        client.post("/admin/events/event/add/", {}).status_code,
    }

    assert answers == {403}
    assert Ride.objects.values().get() == before


def test_nothing_can_be_deleted() -> None:
    facility = factories.FacilityFactory.create()
    client = signed_in_as(UserRole.ADMIN)

    response = client.post(address_of(Facility, "delete", facility.pk), {"post": "yes"})

    assert response.status_code == 403
    assert Facility.objects.filter(pk=facility.pk).exists()


def test_edit_raises_version_and_audits_field_names() -> None:
    facility = factories.FacilityFactory.create()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Facility, "change", facility.pk)

    response = client.post(url, form_of(client, url, name="St. Brigid North", lead_time_minutes=30))

    facility.refresh_from_db()
    entry = AuditEntry.objects.get()
    assert response.status_code == 302
    assert (facility.name, facility.lead_time_minutes, facility.version) == ("St. Brigid North", 30, 2)
    assert (entry.action, entry.subject_type, entry.subject_id) == ("facilities.update", "facility", facility.pk)
    assert entry.details == {"fields": ["lead_time_minutes", "name"]}
    assert LogEntry.objects.get().object_id == str(facility.pk)


def test_edit_of_an_older_copy_is_refused() -> None:
    facility = factories.FacilityFactory.create()
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Facility, "change", facility.pk)
    form = form_of(client, url, name="Written over")
    Facility.objects.filter(pk=facility.pk).update(name="Newer", version=2)

    response = client.post(url, form)

    facility.refresh_from_db()
    assert response.status_code == 200
    assert "Someone else changed this record" in response.content.decode()
    assert (facility.name, facility.version) == ("Newer", 2)
    assert AuditEntry.objects.count() == 0


def test_activation_of_a_driver_is_read_only() -> None:
    driver = factories.DriverFactory.create(activation="pending")
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Driver, "change", driver.pk)

    response = client.post(url, form_of(client, url, activation="active", first_name="Ana"))

    driver.refresh_from_db()
    assert response.status_code == 302
    assert (driver.first_name, driver.activation, driver.version) == ("Ana", "pending", 2)
    assert driver.qualifications == ["wheelchair_securement", "passenger_assist"]


def test_fleet_admin_chooses_among_own_vehicles_and_providers() -> None:
    driver = factories.DriverFactory.create()
    other = factories.VehicleFactory.create()
    client = signed_in_as(UserRole.FLEET_ADMIN, providers=[driver.provider])
    url = address_of(Driver, "change", driver.pk)

    response = client.post(url, form_of(client, url, default_vehicle=str(other.pk)))

    driver.refresh_from_db()
    assert response.status_code == 200
    assert str(other.pk) not in client.get(url).content.decode()
    assert (driver.default_vehicle_id, driver.version) == (None, 1)


def test_new_user_has_no_password_and_logs_in_by_one_time_link() -> None:
    client = signed_in_as(UserRole.ADMIN)
    added = client.post(
        "/admin/accounts/user/add/", {"name": "Bo", "email": "Bo@Example.org", "role": "dispatcher", "is_active": "on"}
    )
    person = User.objects.get(email="bo@example.org")

    page = client.post(f"/admin/accounts/user/{person.pk}/sign-in-link/").content.decode()

    link = page.split('id="sign-in-link">')[1].split("<")[0].removeprefix("http://localhost:8000")
    assert added.status_code == 302
    assert person.has_usable_password() is False
    assert Client().get(link).status_code == 302
    assert link not in client.get(f"/admin/accounts/user/{person.pk}/change/").content.decode()


def test_nobody_changes_their_own_role() -> None:
    client = signed_in_as(UserRole.ADMIN)
    own = User.objects.get()
    url = address_of(User, "change", own.pk)

    client.post(url, form_of(client, url, name="Ada", role="dispatcher", is_active=""))

    own.refresh_from_db()
    assert (own.name, own.role, own.is_active) == ("Ada", "admin", True)


def test_change_of_role_ends_the_sessions_of_that_person() -> None:
    client = signed_in_as(UserRole.ADMIN)
    theirs = Client()
    person = factories.UserFactory.create(role=UserRole.DISPATCHER)
    person.set_password("a heron stands in the canal")
    person.save()
    theirs.post("/accounts/login/", {"login": person.email, "password": "a heron stands in the canal"})
    url = address_of(User, "change", person.pk)

    client.post(url, form_of(client, url, role="auditor"))

    assert User.objects.get(pk=person.pk).role == "auditor"
    assert theirs.get("/console/home/").status_code == 302


@pytest.mark.parametrize("action", ["sign-in-link", "reset-second-factors", "end-sessions"])
@pytest.mark.parametrize("role", [role for role in UserRole if role is not UserRole.ADMIN])
def test_buttons_of_people_are_refused_to_other_roles(role: UserRole, action: str) -> None:
    person = factories.UserFactory.create()
    client = signed_in_as(role)

    response = client.post(f"/admin/accounts/user/{person.pk}/{action}/")

    assert response.status_code == 403
    assert [entry.action for entry in AuditEntry.objects.all()] == ["users.denied"]


def test_buttons_do_nothing_on_get() -> None:
    person = factories.UserFactory.create()
    client = signed_in_as(UserRole.ADMIN)

    response = client.get(f"/admin/accounts/user/{person.pk}/end-sessions/")

    assert response.status_code == 405
    assert AuditEntry.objects.count() == 0


def _token() -> ApiToken:
    client = factories.ApiClientFactory.create()
    return ApiToken.objects.create(
        client=client,
        key_id=uuid4().hex[:12],
        digest=b"0" * 32,
        pepper_id="t1",
        role="auditor",
        api_version="2026-11-01",
        expires_at=factories.NOW,
        created_by="system",
    )


def test_token_is_revoked_with_a_reason() -> None:
    token = _token()
    client = signed_in_as(UserRole.ADMIN)

    response = client.post(f"/admin/accounts/apitoken/{token.pk}/revoke/", {"reason": "laptop lost"})

    token.refresh_from_db()
    assert response.status_code == 302
    assert token.revoked_at is not None
    assert token.revoked_reason == "laptop lost"
    assert AuditEntry.objects.get(action="tokens.revoke").reason == "laptop lost"


@pytest.mark.parametrize("role", [role for role in UserRole if role is not UserRole.ADMIN])
def test_token_is_not_revoked_by_other_roles(role: UserRole) -> None:
    token = _token()
    client = signed_in_as(role)

    response = client.post(f"/admin/accounts/apitoken/{token.pk}/revoke/", {"reason": "because"})

    token.refresh_from_db()
    assert response.status_code == 403
    assert token.revoked_at is None


def test_page_that_says_no_names_the_roles_and_the_admins() -> None:
    factories.UserFactory.create(role=UserRole.ADMIN, name="Ada Admin")
    client = signed_in_as(UserRole.ANALYST)

    response = client.get(RIDERS)

    page = response.content.decode()
    assert response.status_code == 403
    assert "dispatch supervisor, dispatcher, discharge planner" in page
    assert "Ada Admin" in page


@pytest.mark.parametrize("count", [1, 3])
def test_list_of_rides_asks_the_same_however_many(django_assert_num_queries: Any, count: int) -> None:
    for ride in factories.RideFactory.create_batch(count):
        factories.put_driver_on(ride)
    client = signed_in_as(UserRole.DISPATCHER)

    with django_assert_num_queries(6):  # session, user, inbox, count, rows, audit
        client.get(RIDES)


@pytest.mark.parametrize("count", [1, 3])
def test_list_of_drivers_asks_the_same_however_many(django_assert_num_queries: Any, count: int) -> None:
    factories.DriverFactory.create_batch(count)
    client = signed_in_as(UserRole.DISPATCHER)

    with django_assert_num_queries(6):  # session, user, inbox, providers to filter by, count, rows
        client.get("/admin/fleet/driver/")


@pytest.mark.parametrize("count", [1, 3])
def test_list_of_credentials_asks_the_same_however_many(django_assert_num_queries: Any, count: int) -> None:
    factories.CredentialFactory.create_batch(count)
    client = signed_in_as(UserRole.DISPATCHER)

    with django_assert_num_queries(5):  # session, user, inbox, count, rows
        client.get("/admin/fleet/credential/")


def test_edit_of_what_belongs_to_a_record_is_audited_by_its_name() -> None:
    facility = factories.FacilityFactory.create()
    door = factories.EntranceFactory.create(facility=facility)
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Facility, "change", facility.pk)

    response = client.post(url, form_of(client, url, **{"entrances-0-name": "Bay 3"}))

    door.refresh_from_db()
    details = [entry.details for entry in AuditEntry.objects.filter(action="facilities.update").order_by("at", "id")]
    assert (response.status_code, door.name) == (302, "Bay 3")
    assert {"fields": ["entrances"]} in details


def test_invalid_list_filter_redirects_and_audits_nobody() -> None:
    factories.RideFactory.create()
    client = signed_in_as(UserRole.DISPATCHER)

    response = client.get(f"{RIDES}?pickup_at__gte=soon")

    assert (response.status_code, response["Location"]) == (302, f"{RIDES}?e=1")
    assert AuditEntry.objects.count() == 0
