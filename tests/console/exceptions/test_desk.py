"""Exceptions desk: visibility, order, filters, pages and saved views."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.rides.labels import ADVICE
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionType, ResolutionCode
from apps.rides.services import exceptions
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

BASE = "/console/exceptions/"
MINUTE = dt.timedelta(minutes=1)
TYPES = list(ExceptionType)


def opened(type_: ExceptionType = ExceptionType.LATE_PICKUP, *, ride: Ride | None = None, **more: Any) -> RideException:
    """Open an exception on a ride."""
    ride = ride or factories.RideFactory.create()
    at = more.pop("at", NOW - 20 * MINUTE)
    return exceptions.open_exception(locked(ride.pk, system()), type_, by=system(), at=at, detected_by="test", **more)


def planner_of(facility: Facility | None) -> Client:
    person = factories.UserFactory.create(role=UserRole.PLANNER)
    if facility is not None:
        person.facilities.add(facility)
    client = Client()
    sign_in(client, person)
    return client


def _listed(response: Any) -> list[RideException]:
    return [one["row"] for one in response.context["rows"]]


def test_every_type_has_a_name_and_a_next_step() -> None:
    assert set(ADVICE) == set(ExceptionType)


def of_promise(minutes: int, **columns: Any) -> Ride:
    """Return a ride whose pickup is promised this many minutes from now."""
    return factories.RideFactory.create(promised_pickup_by=NOW + minutes * MINUTE, **columns)


def test_queue_has_the_next_harm_first_and_work_that_can_wait_last() -> None:
    old_gap = opened(ExceptionType.MILESTONE_GAP, at=NOW - 17 * 24 * 60 * MINUTE)
    documents = opened(ExceptionType.MISSING_DOCUMENTATION, at=NOW - 60 * MINUTE)
    in_an_hour = opened(ride=of_promise(60), severity=ExceptionSeverity.CRITICAL)
    accident = opened(ExceptionType.ACCIDENT, at=NOW - 30 * MINUTE)
    late = opened(ride=of_promise(-5))
    chair = opened(ride=of_promise(40, pickup_at=NOW, appointment_at=NOW + 50 * MINUTE))
    therapy = opened(
        ExceptionType.LATE_TO_APPOINTMENT, ride=of_promise(10, pickup_at=NOW, appointment_at=NOW + 45 * MINUTE)
    )
    decision = opened(ExceptionType.RETURN_LEG_AT_RISK, ride=of_promise(300), due_at=NOW + 20 * MINUTE)
    acknowledged = opened(ExceptionType.VEHICLE_BREAKDOWN, at=NOW - 90 * MINUTE)
    exceptions.acknowledge(exception_id=acknowledged.pk, by=system(), at=NOW)

    response = visitor(UserRole.DISPATCHER).get(BASE)

    harmed = [accident, late, decision, chair, therapy, in_an_hour]
    assert _listed(response) == [*harmed, acknowledged, documents, old_gap]
    seen = text_of(response)
    assert "3 Critical" in seen
    assert "Late pickup Call the driver, then notify the pickup location; reassign if the vehicle is stuck" in seen
    assert "Fri, Nov 20, 14:00 CT" in seen
    assert "30 min ago" in seen


def test_closed_ones_and_those_put_aside_are_not_in_the_queue() -> None:
    stands, aside, closed = opened(), opened(), opened()
    exceptions.snooze(exception_id=aside.pk, until=NOW + 15 * MINUTE, by=system(), at=NOW)
    exceptions.resolve(exception_id=closed.pk, code=ResolutionCode.FALSE_ALARM, by=system(), at=NOW)
    desk = visitor(UserRole.DISPATCHER)

    assert _listed(desk.get(BASE)) == [stands]
    assert _listed(desk.get(f"{BASE}?snoozed=only")) == [aside]
    assert _listed(desk.get(f"{BASE}?snoozed=all")) == [aside, stands]
    assert "snoozed until 09:15" in text_of(desk.get(f"{BASE}?snoozed=all"))


def test_filters_narrow_and_what_is_no_filter_asks_for_nothing() -> None:
    mine, other = opened(), opened(ExceptionType.NO_DRIVER_AVAILABLE)
    person = factories.UserFactory.create()
    client = Client()
    sign_in(client, person)
    dana = factories.principal(id=person.pk)
    exceptions.acknowledge(exception_id=mine.pk, by=dana, at=NOW)

    for query, expected in (
        ("severity=critical", [other]),
        ("type=late_pickup", [mine]),
        (f"facility={other.facility_id}", [other]),
        ("owner=mine", [mine]),
        ("owner=nobody", [other]),
        ("severity=loud&type=x&facility=x&owner=x&snoozed=x&rows=7&after=x", [other, mine]),
        ("after=1_99999999999999999999_01a1fa1d29c57525aa8a6e9f346294ae", [other, mine]),
        ("severity=info", []),
    ):
        assert _listed(client.get(f"{BASE}?{query}")) == expected, query
    assert "No exceptions match this filter." in text_of(client.get(f"{BASE}?severity=info"))


def test_pages_follow_each_other_without_gap_or_repetition() -> None:
    every = [
        opened(severity=severity, at=NOW - minutes * MINUTE)
        for severity in (ExceptionSeverity.CRITICAL, ExceptionSeverity.WARNING)
        for minutes in range(30, 60)
    ]
    desk = visitor(UserRole.DISPATCHER)

    first = desk.get(f"{BASE}?rows=50")
    second = desk.get(f"{BASE}?rows=50&after={first.context['next']}")

    assert _listed(first) + _listed(second) == every
    assert (len(_listed(first)), second.context["next"]) == (50, "")


def test_planners_see_the_exceptions_of_their_facilities_alone() -> None:
    ours, theirs = opened(), opened()
    planner = planner_of(ours.facility)

    response = planner.get(BASE)

    assert _listed(response) == [ours]
    assert planner.get(f"{BASE}{theirs.pk}/").status_code == 404
    assert visitor(UserRole.FLEET_ADMIN).get(BASE).status_code == 403
    assert visitor(UserRole.ADMIN).get(f"{BASE}list/").status_code == 403


def test_rider_names_follow_role_and_views_are_audited() -> None:
    rider = factories.RiderFactory.create(first_name="Orla", last_name="Canary")
    found = opened(ride=factories.RideFactory.create(rider=rider))
    desk, auditor = visitor(UserRole.DISPATCHER), visitor(UserRole.AUDITOR)

    for path in (BASE, f"{BASE}list/", f"{BASE}{found.pk}/"):
        assert "Canary, Orla" in desk.get(path).content.decode(), path
        assert "Canary" not in auditor.get(path).content.decode(), path
    rows = AuditEntry.objects.filter(role="dispatcher").order_by("at", "pk")
    assert [(row.action, row.rider_ids) for row in rows] == [
        ("exceptions.list", [rider.pk]),
        ("exceptions.list", [rider.pk]),
        ("exceptions.read", [rider.pk]),
    ]
    assert "<button" not in text_of(auditor.get(f"{BASE}{found.pk}/"))
    assert "Claim" not in text_of(auditor.get(BASE))


def test_exception_of_a_standing_order_leads_to_the_order() -> None:
    order = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create()
    found = exceptions.open_on_order(
        order.pk,
        ExceptionType.HOLD_REVIEW,
        rider_id=rider.pk,
        facility_id=order.pk,
        by=system(),
        at=NOW,
        detected_by="test",
    )
    desk = visitor(UserRole.DISPATCHER)

    for path in (BASE, f"{BASE}{found.pk}/"):
        assert f"/console/recurring/{order.pk}/" in desk.get(path).content.decode()


def test_history_tells_who_closed_as_what_and_how_long_it_stood() -> None:
    person = factories.UserFactory.create(name="Dana Desk")
    dana = factories.principal(id=person.pk)
    by_hand, by_itself, stands = (opened(at=NOW - minutes * MINUTE) for minutes in (50, 40, 30))
    exceptions.resolve(
        exception_id=by_hand.pk, code=ResolutionCode.OTHER, note="Came by taxi", dismiss=True, by=dana, at=NOW
    )
    exceptions.settle(
        locked(by_itself.ride_id, system()),  # type: ignore[arg-type]  # it is of a ride
        [ExceptionType.LATE_PICKUP],
        by=system(),
        at=NOW,
        code=ResolutionCode.RECOVERED_LATE,
    )
    desk = visitor(UserRole.DISPATCHER)

    response = desk.get(f"{BASE}history/")

    assert _listed(response) == [by_itself, by_hand]
    seen = text_of(response)
    assert "40 min Recovered, late Resolved Fri, Nov 20, 09:00 Carelane" in seen
    assert "50 min Other Dismissed Fri, Nov 20, 09:00 Dana Desk" in seen
    for query, expected in (
        ("code=other", [by_hand]),
        ("closed=hand", [by_hand]),
        ("closed=itself", [by_itself]),
        (f"facility={stands.facility_id}", []),
    ):
        assert _listed(desk.get(f"{BASE}history/?{query}")) == expected, query
    page = text_of(desk.get(f"{BASE}{by_hand.pk}/"))
    assert "Came by taxi" in page
    assert "Close the exception" not in page


def test_history_goes_by_closing_and_its_pages_follow_each_other() -> None:
    every = [opened(at=NOW - 90 * MINUTE + minutes * MINUTE) for minutes in range(52)]
    for minutes, one in enumerate(every):
        at = NOW - minutes * MINUTE / 4
        exceptions.resolve(exception_id=one.pk, code=ResolutionCode.FALSE_ALARM, by=system(), at=at)
    desk = visitor(UserRole.DISPATCHER)

    first = desk.get(f"{BASE}history/?rows=50")
    second = desk.get(f"{BASE}history/?rows=50&after={first.context['next']}")

    assert _listed(first) + _listed(second) == every


@pytest.mark.parametrize("many", [1, 3])
def test_lists_take_as_many_queries_for_any_number_of_rows(
    many: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    person = factories.principal()
    for number in range(many):
        closed = opened(TYPES[number])
        exceptions.resolve(exception_id=closed.pk, code=ResolutionCode.FALSE_ALARM, by=person, at=NOW)
        opened(TYPES[number])
    desk = visitor(UserRole.DISPATCHER)
    desk.get(BASE)

    with django_assert_max_num_queries(10):
        desk.get(BASE)
    with django_assert_max_num_queries(7):
        desk.get(f"{BASE}list/")
    with django_assert_max_num_queries(9):
        desk.get(f"{BASE}history/")


@pytest.mark.parametrize("sort", ["severity", "-severity", "age", "-age", "harm", "-harm"])
def test_queue_is_sorted_by_its_heads_and_paged_in_every_order(sort: str) -> None:
    every = [
        opened(
            type_,
            severity=severity,
            at=NOW - minutes * MINUTE,
            ride=of_promise(minutes % 5),
        )
        for severity, type_ in (
            (ExceptionSeverity.CRITICAL, ExceptionType.LATE_PICKUP),
            (ExceptionSeverity.INFO, ExceptionType.MISSING_DOCUMENTATION),
        )
        for minutes in range(26)
    ]
    desk = visitor(UserRole.DISPATCHER)

    first = desk.get(f"{BASE}?rows=50&sort={sort}")
    second = desk.get(f"{BASE}?rows=50&sort={sort}&after={first.context['next']}")

    listed = _listed(first) + _listed(second)
    assert sorted(one.pk for one in listed) == sorted(one.pk for one in every)
    assert (len(_listed(first)), second.context["next"]) == (50, "")
    harms = [row["harm_at"] for page in (first, second) for row in page.context["rows"]]
    values: dict[str, list[Any]] = {
        "severity": [one.severity == "critical" for one in listed],
        "age": [-one.opened_at.timestamp() for one in listed],
        "harm": [harm_at for harm_at in harms if harm_at],
    }
    found = values[sort.removeprefix("-")]
    assert found == sorted(found, reverse=sort.startswith("-"))
    assert "harm" not in sort or [harm_at is None for harm_at in harms] == [False] * 26 + [True] * 26
    assert f'href="?sort={sort}&amp;rows=50&amp;after=' in first.content.decode() or sort == "harm"
    assert "To the beginning" in text_of(second)


def test_history_is_sorted_by_opening_too() -> None:
    first, second = opened(at=NOW - 90 * MINUTE), opened(at=NOW - 60 * MINUTE)
    for one in (second, first):
        exceptions.resolve(exception_id=one.pk, code=ResolutionCode.FALSE_ALARM, by=system(), at=NOW)
    desk = visitor(UserRole.DISPATCHER)

    assert _listed(desk.get(f"{BASE}history/?sort=opened")) == [first, second]
    assert _listed(desk.get(f"{BASE}history/?sort=-opened")) == [second, first]


def test_navigation_counts_open_critical_exceptions_in_reach() -> None:
    ours = opened(severity=ExceptionSeverity.CRITICAL)
    opened(severity=ExceptionSeverity.CRITICAL)
    opened()

    def count(client: Client) -> str:
        entry = (
            client.get("/console/home/")
            .content.decode()
            .partition('href="/console/exceptions/"')[2]
            .partition("</a>")[0]
        )
        return entry.partition('class="count">')[2].partition("<")[0]

    assert count(visitor(UserRole.DISPATCHER)) == "2"
    assert count(planner_of(ours.facility)) == "1"
    assert count(planner_of(None)) == ""


def test_last_escalation_step_names_facility_contact() -> None:
    nobody = opened(ExceptionType.NO_DRIVER_AVAILABLE)
    assert nobody.facility is not None
    factories.ContactFactory.create(facility=nobody.facility)
    factories.ContactFactory.create(name="Somebody elsewhere")
    late = opened(ride=nobody.ride)
    desk = visitor(UserRole.DISPATCHER)
    address = f"{BASE}{nobody.pk}/"

    stands, other = text_of(desk.get(address)), text_of(desk.get(f"{BASE}{late.pk}/"))
    exceptions.resolve(exception_id=nobody.pk, code=ResolutionCode.REASSIGNED, by=system(), at=NOW)
    closed = text_of(desk.get(address))

    assert "Call the facility Nurse station 4 West, Charge nurse (312) 555-0140" in stands
    assert "Somebody elsewhere" not in stands
    assert "Call the facility" not in other
    assert "Call the facility" not in closed
    assert "Call the facility" not in text_of(planner_of(factories.FacilityFactory.create()).get(BASE))


def test_ride_of_no_facility_has_nobody_to_call() -> None:
    alone = opened(
        ExceptionType.NO_DRIVER_AVAILABLE,
        ride=factories.RideFactory.create(facility=None, pickup_facility=None, pickup=factories.stop()),
    )

    assert "Call the facility" not in text_of(visitor(UserRole.DISPATCHER).get(f"{BASE}{alone.pk}/"))
