"""Every denied access adds one audit entry, whichever layer refuses it."""

from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import AnonymousUser
from django.contrib.sessions.backends.db import SessionStore
from django.db import OperationalError, connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from apps.accounts.rules.roles import SCOPES_OF_TOKEN, TokenRole, UserRole
from apps.audit.models import AuditEntry
from apps.audit.services import audit
from apps.console.account.views import forbidden
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.scopes import Scope
from tests import factories
from tests.access.operations import state
from tests.callers import api_with, error_of
from tests.console.visits import visitor
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db


def denied() -> list[tuple[str, str, UUID | None, str, dict[str, Any]]]:
    """Return all audit entries: there are no others."""
    assert not AuditEntry.objects.exclude(outcome="denied").exists()
    rows = AuditEntry.objects.order_by("at", "id")
    return [(row.action, row.subject_type, row.subject_id, row.reason, row.details) for row in rows]


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "once"}])
def test_denied_step_of_a_bulk_request_leaves_only_the_denial(headers: dict[str, str]) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    booker = api_with(TokenRole.EHR_INTEGRATOR)
    before = state()

    response = booker.post(f"/api/rides/{ride.pk}/status", {"status": "en_route"}, headers=headers)

    error = error_of(response)
    scope = error["details"][0]["requiredScope"]
    asked = {"method": "POST", "route": "api/rides/<uuid:id>/status"}
    assert (error["code"], scope) == ("INSUFFICIENT_SCOPE", "rides:status")
    assert denied() == [("tokens.denied", "token", booker.token.pk, "scope rides:status", asked)]
    assert AuditEntry.objects.get().request_id == response.headers["X-Request-Id"]
    assert state() == before


@pytest.mark.parametrize("refused", [1, 3])
def test_denied_ride_of_a_bulk_request_is_audited_as_if_alone(refused: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rights = SCOPES_OF_TOKEN[TokenRole.FULL_ACCESS] - {Scope.RIDERS_WRITE}
    monkeypatch.setitem(SCOPES_OF_TOKEN, TokenRole.FULL_ACCESS, rights)
    booker = api_with(TokenRole.FULL_ACCESS)
    clinic, known = factories.FacilityFactory.create(), factories.RiderFactory.create()
    stop = {"addressLine1": "1418 N Canary Ave", "city": "Chicago", "state": "IL", "postalCode": "60622"}
    places = {"pickup": {"facilityId": str(clinic.pk)}, "dropoff": {**stop, "lat": 41.9071, "lng": -87.6722}}
    ride = {"facilityId": str(clinic.pk), "pickupTime": "2026-11-20T20:00:00Z", **places}
    good, bad = ride | {"riderId": str(known.pk)}, ride | {"rider": {"firstName": "Orla", "lastName": "Canary"}}
    unknown = ride | {"riderId": str(clinic.pk)}
    body = {"mode": "perItem", "rides": [*[bad] * refused, good, unknown]}

    with CaptureQueriesContext(connection) as queries:
        response = booker.post("/api/rides/bulk", body, headers={"Idempotency-Key": "once"})
        asked_of_the_database = len(queries)
    booker.post("/api/rides/bulk", body, headers={"Idempotency-Key": "once"})  # replayed, recorded once
    alone = booker.post("/api/rides", bad)

    codes = [one["error"]["code"] if "error" in one else one["status"] for one in response.json()["data"]]
    assert codes == [*["INSUFFICIENT_SCOPE"] * refused, "scheduled", "VALIDATION_ERROR"]
    assert (alone.status_code, Ride.objects.count()) == (403, 1)
    *of_bulk, of_one = AuditEntry.objects.filter(outcome="denied").order_by("at", "id")
    asked = ("tokens.denied", "token", booker.token.pk, "scope riders:write")
    assert {(row.action, row.subject_type, row.subject_id, row.reason) for row in (*of_bulk, of_one)} == {asked}
    assert [row.details["route"] for row in (*of_bulk, of_one)] == [*["api/rides/bulk"] * refused, "api/rides"]
    assert {row.request_id for row in of_bulk} == {response.headers["X-Request-Id"]}
    assert asked_of_the_database <= 31 + 8 * refused


def test_field_above_the_phi_level_is_recorded_by_its_name() -> None:
    reader = api_with(TokenRole.EHR_INTEGRATOR, phi_level="none")

    response = reader.get("/api/riders?fields=id,lastName,phones")

    asked = {"method": "GET", "route": "api/riders"}
    assert error_of(response)["code"] == "PHI_NOT_PERMITTED"
    assert denied() == [("tokens.denied", "token", reader.token.pk, "PHI level: lastName, phones", asked)]


def test_what_the_role_does_not_permit_is_recorded(now: Any) -> None:
    bound = api_with(TokenRole.FULL_ACCESS, facility_ids=[factories.FacilityFactory.create().pk])

    response = bound.post("/api/tokens", {"role": "auditor"})

    asked = {"method": "POST", "route": "api/tokens"}
    assert error_of(response)["code"] == "FORBIDDEN"
    assert denied() == [("tokens.denied", "token", bound.token.pk, "forbidden", asked)]


def test_denial_that_cannot_be_recorded_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**given: Any) -> None:
        raise OperationalError("the disk is full")

    monkeypatch.setattr(audit, "record", fail)

    response = api_with(TokenRole.AUDITOR).get("/api/riders")

    assert error_of(response)["code"] == "SERVICE_UNAVAILABLE"


def test_page_that_is_not_the_visitors_is_recorded() -> None:
    dispatcher = visitor(UserRole.DISPATCHER)

    answers = [
        dispatcher.get("/console/developers/tokens/").status_code,
        dispatcher.get("/admin/accounts/user/").status_code,
    ]

    entries = AuditEntry.objects.filter(action="users.denied").order_by("at", "id")
    assert answers == [403, 403]
    assert [(entry.outcome, entry.role, entry.reason, entry.details) for entry in entries] == [
        ("denied", "dispatcher", "page", {"method": "GET", "route": "console/developers/tokens/"}),
        ("denied", "dispatcher", "page", {"method": "GET", "route": "admin/accounts/user/"}),
    ]
    assert {entry.actor for entry in entries} == {f"user:{entry.subject_id}" for entry in entries}


def test_stranger_who_is_told_no_leaves_no_row(rf: RequestFactory) -> None:
    request = rf.get("/somewhere")
    request.user, request.session = AnonymousUser(), SessionStore()

    assert forbidden(request).status_code == 403
    assert denied() == []
