"""Exceptions of standing orders: on the same desk as those of rides, with separate events."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.rides.models import RideException
from apps.rides.rules.exception_types import ExceptionStatus, ExceptionType, ResolutionCode
from apps.rides.services import exceptions
from lib.access import Principal, system
from lib.errors import NotFound, ScopeMissing, StaleVersion
from tests import factories
from tests.callers import TokenClient
from tests.factories import NOW
from tests.locks import wait_until_somebody_waits
from tests.refused import constraint_against

ORDER = UUID("01937b2e-0c11-7d42-8a57-31f0c2b4d6e8")
DUE = NOW + dt.timedelta(days=7)
CONFLICT = ExceptionType.STANDING_ORDER_CONFLICT


def opened(facility: Facility, type_: ExceptionType = CONFLICT, **given: Any) -> RideException:
    rider = given.pop("rider", None) or factories.RiderFactory.create(facility=facility)
    asked: dict[str, Any] = {"by": system(), "at": NOW, "detected_by": "generator"} | given
    return exceptions.open_on_order(
        asked.pop("order", ORDER),
        type_,
        rider_id=rider.pk,
        facility_id=facility.pk,
        **asked,
    )


def told() -> list[tuple[str, int, str]]:
    """Return the events, with their sequence and the status of their exception."""
    rows = Event.objects.order_by("pk").values_list("type", "sequence", "data")
    return [(type_, sequence, data["exception"]["status"]) for type_, sequence, data in rows]


def test_exception_of_an_order_is_told_with_ids_and_codes_alone(hospital: Facility) -> None:
    exception = opened(hospital, due_at=DUE, details={"code": "DUPLICATE_RIDE"})

    assert (exception.ride_id, exception.trip_id, exception.standing_order_id) == (None, None, ORDER)
    assert (exception.severity, exception.summary) == ("warning", "Standing order conflict")
    event = Event.objects.get()
    assert (event.type, event.subject_type, event.subject_id) == ("standing_order.exception", "exception", exception.pk)
    assert (event.facility_id, event.provider_id) == (hospital.pk, None)
    assert event.data == {
        "exceptionId": str(exception.pk),
        "standingOrderId": str(ORDER),
        "exception": {
            "id": str(exception.pk),
            "type": "standing_order_conflict",
            "severity": "warning",
            "status": "open",
            "dueAt": "2026-11-27T15:00:00Z",
        },
    }


def test_reopening_updates_the_exception_and_announces_changes(hospital: Facility) -> None:
    rider = factories.RiderFactory.create(facility=hospital)
    first = opened(hospital, rider=rider, details={"days": 1})
    same = opened(hospital, rider=rider, details={"days": 1})
    more = opened(hospital, rider=rider, details={"days": 2}, at=NOW + dt.timedelta(hours=1))
    later = opened(hospital, rider=rider, details={"days": 2}, due_at=DUE)

    assert {one.pk for one in (first, same, more, later)} == {first.pk}
    first.refresh_from_db()
    assert (first.details, first.due_at, first.opened_at, first.version) == ({"days": 2}, DUE, NOW, 3)
    assert told() == [("standing_order.exception", number, "open") for number in (1, 2, 3)]


def test_exceptions_are_per_order_and_type_and_can_reopen(hospital: Facility) -> None:
    first = opened(hospital)
    exceptions.settle_on_order(ORDER, CONFLICT, by=system(), at=NOW, code=ResolutionCode.RECOVERED_ON_TIME)

    others = [opened(hospital), opened(hospital, ExceptionType.HOLD_REVIEW), opened(hospital, order=UUID(int=1))]

    assert len({first.pk, *(one.pk for one in others)}) == 4
    assert RideException.objects.unsettled().count() == 3


def test_cause_that_has_gone_settles_it_once(hospital: Facility) -> None:
    opened(hospital)

    def settle() -> RideException | None:
        return exceptions.settle_on_order(ORDER, CONFLICT, by=system(), at=NOW, code=ResolutionCode.FALSE_ALARM)

    settled = settle()

    assert settled is not None
    assert (settled.status, settled.resolution_code, settled.resolved_by) == ("resolved", "false_alarm", "system")
    assert settle() is None
    assert told() == [("standing_order.exception", 1, "open"), ("standing_order.exception_resolved", 2, "resolved")]


def test_people_claim_it_and_close_it(hospital: Facility, dispatcher: Principal) -> None:
    exception = opened(hospital)

    exceptions.acknowledge(exception_id=exception.pk, by=dispatcher, at=NOW)
    exceptions.resolve(exception_id=exception.pk, code=ResolutionCode.CANCELLED, by=dispatcher, at=NOW)

    exception.refresh_from_db()
    assert (exception.owner_id, exception.status, exception.version) == (dispatcher.id, ExceptionStatus.RESOLVED, 3)
    assert told()[1:] == [
        ("standing_order.exception_acknowledged", 2, "acknowledged"),
        ("standing_order.exception_resolved", 3, "resolved"),
    ]
    trail = AuditEntry.objects.order_by("pk").values_list("action", "subject_id", "rider_ids", "facility_id")
    assert list(trail) == [
        (action, exception.pk, [exception.rider_id], hospital.pk)
        for action in ("exceptions.acknowledge", "exceptions.resolve")
    ]


def test_order_exception_is_within_facility_never_for_providers(
    hospital: Facility, outsider: Principal, dispatcher: Principal
) -> None:
    exception = opened(hospital)
    fleet = factories.principal(
        UserRole.DISPATCHER, provider_ids=frozenset({factories.TransportProviderFactory.create().pk})
    )

    for stranger in (outsider, fleet):
        assert not RideException.objects.visible_to(stranger).exists()
        with pytest.raises(NotFound):
            exceptions.acknowledge(exception_id=exception.pk, by=stranger, at=NOW)
    with pytest.raises(ScopeMissing):
        exceptions.acknowledge(exception_id=exception.pk, by=factories.principal(UserRole.AUDITOR), at=NOW)
    with pytest.raises(StaleVersion):
        exceptions.acknowledge(exception_id=exception.pk, expected_version=7, by=dispatcher, at=NOW)

    exception.refresh_from_db()
    assert (exception.status, exception.version) == ("open", 1)


def test_exception_has_ride_or_order_and_one_is_unsettled(hospital: Facility) -> None:
    of_order, ride = opened(hospital), factories.RideFactory.create()
    other = opened(hospital, order=UUID(int=1))
    rows = RideException.objects.filter(pk=of_order.pk)

    assert constraint_against(rows, {"ride": ride}) == "exception_of_ride_or_order"
    assert constraint_against(rows, {"standing_order_id": None}) == "exception_of_ride_or_order"
    assert constraint_against(rows, {"standing_order_id": other.standing_order_id}) == (
        "exception_one_unsettled_of_order"
    )


@pytest.mark.parametrize("count", [1, 3])
def test_list_and_record_name_the_order(count: int, api: TokenClient, django_assert_num_queries: Any) -> None:
    hospital = factories.FacilityFactory.create()
    ours = [opened(hospital, type_) for type_ in (CONFLICT, ExceptionType.HOLD_REVIEW, ExceptionType.DUPLICATE_RIDE)]
    RideException.objects.exclude(pk__in=[one.pk for one in ours[:count]]).delete()
    opened(hospital, order=UUID(int=1))

    with django_assert_num_queries(3):  # the token, the page, the audit entry
        listed = api.get(f"/api/ride-exceptions?standingOrderId={ORDER}").json()["data"]

    assert {row["id"] for row in listed} == {str(one.pk) for one in ours[:count]}
    assert {(row["rideId"], row["standingOrderId"]) for row in listed} == {(None, str(ORDER))}
    assert api.get(f"/api/ride-exceptions/{ours[0].pk}").json() in listed


@pytest.mark.django_db(transaction=True)
def test_one_that_a_person_closes_just_now_opens_anew() -> None:
    hospital = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create(facility=hospital)
    with transaction.atomic():
        first = opened(hospital, rider=rider)

    def open_again() -> RideException:
        try:
            with transaction.atomic():
                return opened(hospital, rider=rider, details={"days": 2})
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            exceptions.resolve(exception_id=first.pk, code=ResolutionCode.CANCELLED, by=system(), at=NOW)
            opening = other.submit(open_again)
            wait_until_somebody_waits()
        second = opening.result(timeout=20)

    first.refresh_from_db()
    assert (first.status, first.details, second.pk != first.pk) == ("resolved", {}, True)
