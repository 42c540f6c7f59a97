"""Exceptions over HTTP."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.services import exceptions
from lib.access import system
from tests import factories
from tests.callers import TokenClient

pytestmark = pytest.mark.django_db


def opened(type_: ExceptionType = ExceptionType.LATE_PICKUP, ride: Ride | None = None) -> RideException:
    ride = ride or factories.RideFactory.create()
    return exceptions.open_exception(ride, type_, by=system(), at=factories.NOW, detected_by="test")


@pytest.mark.parametrize("count", [1, 3])
def test_list_shows_exceptions_and_records_whose(count: int, api: TokenClient, django_assert_num_queries: Any) -> None:
    ours = [opened() for _ in range(count)]

    with django_assert_num_queries(3):  # the token, the page, the trail
        response = api.get("/api/ride-exceptions")

    assert {row["id"] for row in response.json()["data"]} == {str(one.pk) for one in ours}
    entry = AuditEntry.objects.get()
    assert entry.rider_ids == sorted(one.rider_id for one in ours)


@pytest.mark.parametrize(
    "query",
    ["status=open", "severity=warning", "type=late_pickup", "openedFrom=2026-11-20T15:00:00Z"],
)
def test_filters_find_the_one_they_name(query: str, api: TokenClient) -> None:
    wanted = opened()
    RideException.objects.filter(pk=opened(ExceptionType.ACCIDENT).pk).update(
        status="acknowledged",
        acknowledged_at=factories.NOW,
        acknowledged_by="system",
        opened_at=factories.NOW.replace(hour=1),
    )

    response = api.get(f"/api/ride-exceptions?{query}&includeTotal=true")

    assert [row["id"] for row in response.json()["data"]] == [str(wanted.pk)]
    assert response.json()["page"]["total"] == 1


def test_exception_is_acknowledged_then_resolved(api: TokenClient) -> None:
    exception = opened()
    url = f"/api/ride-exceptions/{exception.pk}"

    claimed = api.post(f"{url}/acknowledge", {}, HTTP_IF_MATCH='"1"')
    solved = api.post(f"{url}/resolve", {"resolutionCode": "recovered_late", "note": "came"}, HTTP_IF_MATCH='"2"')

    assert (claimed.status_code, claimed.json()["status"], claimed["ETag"]) == (200, "acknowledged", '"2"')
    assert (solved.status_code, solved.json()["status"], solved.json()["resolutionNote"]) == (200, "resolved", "came")
    assert api.get(url).json() == solved.json()
    assert api.get(f"/api/rides/{exception.ride_id}").json()["openExceptionCount"] == 0


def test_closed_exception_stays_closed(api: TokenClient) -> None:
    exception = opened()
    url = f"/api/ride-exceptions/{exception.pk}/resolve"
    api.post(url, {"resolutionCode": "false_alarm", "dismiss": True})

    again = api.post(url, {"resolutionCode": "rescheduled"})

    exception.refresh_from_db()
    assert (again.status_code, again.json()["error"]["code"]) == (409, "INVALID_TRANSITION")
    assert (exception.status, exception.resolution_code) == ("dismissed", "false_alarm")


def test_exception_is_put_aside_for_a_while_and_taken_up_again(api: TokenClient) -> None:
    exception = opened()
    url = f"/api/ride-exceptions/{exception.pk}/snooze"
    until = "2026-11-20T15:30:00Z"

    aside, again = api.post(url, {"until": until}, HTTP_IF_MATCH='"1"'), api.post(url, {"until": until})

    assert (aside.status_code, aside.json()["snoozedUntil"], aside["ETag"]) == (200, until, '"2"')
    assert (aside.json()["status"], again.json()) == ("open", aside.json())
    assert AuditEntry.objects.filter(action="exceptions.snooze", rider_ids=[exception.rider_id]).count() == 1
    back = api.post(url, {"until": None})
    assert (back.status_code, back.json()["snoozedUntil"], back["ETag"]) == (200, None, '"3"')
    assert api.get(f"/api/rides/{exception.ride_id}").json()["openExceptionCount"] == 1


def test_open_exception_has_a_note_that_no_event_shows(api: TokenClient, api_as: Callable[..., TokenClient]) -> None:
    exception = opened()
    url = f"/api/ride-exceptions/{exception.pk}"
    events = Event.objects.count()

    written = api.post(f"{url}/note", {"note": " canary\nwaits "}, HTTP_IF_MATCH='"1"')
    stale = api.post(f"{url}/note", {"note": "x"}, HTTP_IF_MATCH='"1"')

    assert (written.status_code, written.json()["note"], written["ETag"]) == (200, "canary\nwaits", '"2"')
    assert (stale.status_code, api.get(url).json()) == (412, written.json())
    assert api_as(TokenRole.DISPATCH_CONSOLE, phi_level="limited").get(url).json()["note"] is None
    assert api.post(f"{url}/note", {"note": ""}).json()["note"] is None
    assert AuditEntry.objects.filter(action="exceptions.note", rider_ids=[exception.rider_id]).count() == 2
    assert Event.objects.count() == events
    api.post(f"{url}/note", {"note": "canary"})
    api.post(f"{url}/resolve", {"resolutionCode": "false_alarm"})
    closed = api.post(f"{url}/note", {"note": "x"})
    exception.refresh_from_db()
    assert (closed.status_code, closed.json()["error"]["code"]) == (409, "INVALID_TRANSITION")
    assert exception.note == "canary"
    assert not any("canary" in str(event.data) for event in Event.objects.all())


@pytest.mark.parametrize(
    ("until", "status"),
    [
        ("2026-11-20T15:00:00Z", 400), ("2026-11-20T15:00:01Z", 200), ("2026-11-21T15:00:00Z", 200),
        ("2026-11-21T15:00:01Z", 400), ("soon", 400),
    ],
)  # fmt: skip
def test_exception_is_put_aside_for_a_day_at_most(until: str, status: int, api: TokenClient) -> None:
    exception = opened()

    response = api.post(f"/api/ride-exceptions/{exception.pk}/snooze", {"until": until})

    exception.refresh_from_db()
    assert response.status_code == status
    assert (exception.version, exception.snoozed_until is None) == ((2, False) if status == 200 else (1, True))
    if status == 400:
        assert response.json()["error"]["details"][0]["field"] == "until"


def test_closed_exception_is_not_put_aside(api: TokenClient) -> None:
    exception = opened()
    api.post(f"/api/ride-exceptions/{exception.pk}/resolve", {"resolutionCode": "false_alarm"})

    response = api.post(f"/api/ride-exceptions/{exception.pk}/snooze", {"until": "2026-11-20T15:30:00Z"})

    assert (response.status_code, response.json()["error"]["code"]) == (409, "INVALID_TRANSITION")


def test_stale_copy_is_refused(api: TokenClient) -> None:
    exception = opened()

    response = api.post(f"/api/ride-exceptions/{exception.pk}/acknowledge", {}, HTTP_IF_MATCH='"7"')

    exception.refresh_from_db()
    assert (response.status_code, response["ETag"], exception.status) == (412, '"1"', "open")


def test_exception_of_another_facility_is_as_absent(api_as: Callable[..., TokenClient]) -> None:
    exception = opened()
    other = api_as(TokenRole.DISPATCH_CONSOLE, facility_ids=[factories.FacilityFactory.create().pk])

    assert other.get("/api/ride-exceptions").json()["data"] == []
    for one in (exception.pk, uuid4()):
        assert other.get(f"/api/ride-exceptions/{one}").status_code == 404
        assert other.post(f"/api/ride-exceptions/{one}/acknowledge", {}).status_code == 404
        assert other.post(f"/api/ride-exceptions/{one}/resolve", {"resolutionCode": "rescheduled"}).status_code == 404
        assert other.post(f"/api/ride-exceptions/{one}/snooze", {"until": None}).status_code == 404
    exception.refresh_from_db()
    assert exception.status == "open"


def test_rides_that_the_reader_does_not_reach_are_named_nowhere(
    api: TokenClient, api_as: Callable[..., TokenClient], django_assert_num_queries: Any
) -> None:
    ride, other = factories.RideFactory.create(), factories.RideFactory.create()
    both = [str(ride.pk), str(other.pk)]
    exception = exceptions.open_exception(
        ride, ExceptionType.DUPLICATE_RIDE, by=system(), at=factories.NOW, detected_by="test", details={"rideIds": both}
    )
    bound = api_as(TokenRole.DISPATCH_CONSOLE, facility_ids=[ride.facility_id])
    path = f"/api/ride-exceptions/{exception.pk}"

    with django_assert_num_queries(4):  # the token, the page, the rides that it names, the trail
        (listed,) = bound.get("/api/ride-exceptions").json()["data"]
    answers = [
        bound.get(path),
        bound.post(f"{path}/acknowledge", {}),
        bound.post(f"{path}/resolve", {"resolutionCode": "rescheduled"}),
    ]

    assert [one["details"] for one in (listed, *(answer.json() for answer in answers))] == [{"rideIds": both[:1]}] * 4
    assert api.get(path).json()["details"] == {"rideIds": both}


def test_note_takes_the_level_full(api_as: Callable[..., TokenClient]) -> None:
    exception = opened()
    full = api_as(TokenRole.DISPATCH_CONSOLE)
    full.post(f"/api/ride-exceptions/{exception.pk}/resolve", {"resolutionCode": "other", "note": "canary"})

    limited = api_as(TokenRole.DISPATCH_CONSOLE, phi_level="limited").get(f"/api/ride-exceptions/{exception.pk}")

    assert b"canary" not in limited.content
    assert limited.json()["resolutionNote"] is None
