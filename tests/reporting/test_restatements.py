"""Closed days: the reported figures stay, and current figures are shown beside them, with the cause of the change."""

import dataclasses
import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole, UserRole
from apps.events.models import Event, EventQuerySet
from apps.reporting.kpi_labels import MEASURE_TEXTS
from apps.reporting.models import Restatement, RollupCheckpoint
from apps.reporting.rules.measures import MEASURES
from apps.reporting.services import rollups
from apps.rides.models import Ride
from lib.access import system
from tests.callers import TokenClient, api_with
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.reporting import legs, ride_changes
from tests.reporting.golden import MONTH
from tests.reporting.test_api import PERIOD, read

DAY = dt.timedelta(days=1)


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat events as settled inside the transaction of a test."""
    monkeypatch.setattr(EventQuerySet, "settled", lambda events: events)


def keep_up(at: dt.datetime = NOW) -> None:
    rollups.refresh(by=system(), at=at)


@pytest.fixture
def cast(db: None) -> legs.Cast:
    return legs.cast()


@pytest.fixture
def late(cast: legs.Cast) -> Ride:
    """The ride of 2 November, whose day is closed, corrected to late afterwards."""
    for leg in MONTH[:8]:
        last = ride_changes.tell(legs.write(leg, cast), "ride.scheduled")
    keep_up()
    ride = Ride.objects.get(service_date="2026-11-02")
    ride.arrived_pickup_at = ride.pickup_at + dt.timedelta(minutes=16)
    ride.boarded_at = ride.pickup_at + dt.timedelta(minutes=19)
    ride_changes.tell(ride, changed=["milestones"])
    keep_up(NOW + dt.timedelta(minutes=1))
    assert last.service_date == dt.date(2026, 11, 9)
    return ride


def on_time(api: TokenClient, more: str = "") -> tuple[int, int]:
    figure = read(api, f"facility-kpis?{PERIOD}&kpi=pickupOnTimeRate&compare=false{more}")["total"][0]
    return figure["numerator"], figure["denominator"]


def changes(body: dict[str, Any]) -> dict[str, tuple[int | None, int | None]]:
    (restated,) = body["restatements"]
    return {one["measure"]: (one["closed"], one["current"]) for one in restated["changes"]}


def test_closed_day_reads_as_it_was_closed_and_as_it_is_now(api: TokenClient, late: Ride) -> None:
    assert on_time(api) == (8, 8)
    assert on_time(api, "&basis=live") == (7, 8)
    assert on_time(api, "&type=appointment") == (8, 8)
    assert on_time(api, "&type=appointment&basis=live") == (7, 8)


@pytest.mark.parametrize("basis", ["closed", "live"])
@pytest.mark.parametrize(
    "path",
    [f"facility-kpis?{PERIOD}&kpi=pickupOnTimeRate", f"trends?{PERIOD}&kpi=leadTime", "daily-summary?date=2026-11-02"],
)
def test_answer_lists_what_was_restated_and_why(api: TokenClient, late: Ride, path: str, basis: str) -> None:
    body = read(api, f"{path}&basis={basis}")

    (restated,) = body["restatements"]
    event = Event.objects.get(subject_id=late.pk, sequence=late.version)
    assert {name: restated[name] for name in ("serviceDate", "facilityId", "at", "eventIds", "rideIds")} == {
        "serviceDate": "2026-11-02",
        "facilityId": str(late.facility_id),
        "at": "2026-11-20T15:01:00Z",
        "eventIds": [str(event.pk)],
        "rideIds": [str(late.pk)],
    }
    # Boarded 5 minutes after the pickup time, now 3 after arriving late.
    assert changes(body) == {"arrived_on_time": (1, 0), "driver_wait": (5, 3)}


def test_days_that_are_not_closed_are_not_restated(api: TokenClient, late: Ride, cast: legs.Cast) -> None:
    ride = ride_changes.tell(
        legs.write(legs.Leg(18, arrived=20, boarded=21, delivered=30, dropped=31), cast), "ride.scheduled"
    )
    keep_up()
    ride.arrived_pickup_at = ride.pickup_at
    ride_changes.tell(ride, changed=["milestones"])
    keep_up()

    body = read(api, "facility-kpis?from=2026-11-13&to=2026-11-30&kpi=pickupOnTimeRate&compare=false")

    assert (body["total"][0]["numerator"], body["restatements"]) == (1, [])


def test_days_close_by_the_clock_of_the_operator(cast: legs.Cast) -> None:
    # The 13th closes when the 20th ends in Chicago, at six in the morning of the 21st in UTC.
    midnight = dt.datetime(2026, 11, 21, 6, 0, tzinfo=dt.UTC)
    keep_up(midnight - dt.timedelta(seconds=1))
    assert RollupCheckpoint.objects.get().closed_through == dt.date(2026, 11, 12)

    keep_up(midnight)

    assert RollupCheckpoint.objects.get().closed_through == dt.date(2026, 11, 13)


def test_values_that_keep_their_sum_are_restated(api: TokenClient, cast: legs.Cast) -> None:
    one, other = (ride_changes.tell(legs.write(MONTH[0], cast), "ride.scheduled") for _ in range(2))
    keep_up()

    for ride, minutes in ((one, 2), (other, -2)):
        assert ride.boarded_at is not None
        ride.boarded_at += dt.timedelta(minutes=minutes)
        ride_changes.tell(ride, changed=["milestones"])
    keep_up()

    assert changes(read(api, f"facility-kpis?{PERIOD}&kpi=driverWait")) == {"driver_wait": (10, 10)}


def test_ride_on_a_closed_day_without_any_is_a_restatement(api: TokenClient, cast: legs.Cast) -> None:
    keep_up()

    ride_changes.tell(legs.write(MONTH[0], cast), "ride.scheduled")
    keep_up()

    assert changes(read(api, f"facility-kpis?{PERIOD}"))["completed"] == (0, 1)
    assert on_time(api) == (0, 0)


def test_ride_that_left_a_closed_day_is_a_restatement(api: TokenClient, cast: legs.Cast) -> None:
    ride = ride_changes.tell(legs.write(MONTH[0], cast), "ride.scheduled")
    keep_up()

    ride_changes.move(ride, 20 * DAY)
    keep_up()

    assert changes(read(api, "facility-kpis?from=2026-11-02&to=2026-11-02"))["completed"] == (1, 0)


def test_what_a_rebuild_finds_has_no_cause(api: TokenClient, late: Ride) -> None:
    Restatement.objects.all().delete()
    Ride.objects.filter(pk=late.pk).update(missing_documents=["signature"])  # without an event

    changed = rollups.rebuild(first=late.service_date, last=late.service_date, discard_closed=False, at=NOW)

    assert changed == {(late.service_date, late.facility_id)}
    body = read(api, f"facility-kpis?{PERIOD}&kpi=leadTime")
    assert (body["restatements"][0]["eventIds"], body["restatements"][0]["rideIds"]) == ([], [])
    assert changes(body)["documented"] == (1, 0)


def test_rebuild_anew_closes_days_as_they_are_now(api: TokenClient, late: Ride) -> None:
    rollups.rebuild(first=late.service_date, last=late.service_date, discard_closed=True, at=NOW)

    assert on_time(api) == (7, 8)
    assert read(api, f"facility-kpis?{PERIOD}")["restatements"] == []
    assert Restatement.objects.count() == 0


def test_restatements_out_of_reach_are_absent(late: Ride) -> None:
    elsewhere = legs.cast()
    by_facility = api_with(facility_ids=[elsewhere.facility.pk])
    by_provider = api_with(provider_ids=[elsewhere.driver.provider_id])

    for caller in (by_facility, by_provider):
        assert read(caller, f"facility-kpis?{PERIOD}")["restatements"] == []


def test_rides_of_other_providers_are_no_causes_to_a_provider(late: Ride, cast: legs.Cast) -> None:
    other = legs.cast()
    both = Ride.objects.filter(service_date="2026-11-03").update(provider=other.driver.provider)
    assert both == 1
    rollups.rebuild(first=dt.date(2026, 11, 3), last=dt.date(2026, 11, 3), discard_closed=True, at=NOW)
    theirs = ride_changes.tell(Ride.objects.get(service_date="2026-11-03"), "ride.updated")
    Restatement.objects.bulk_create(
        [Restatement(service_date=late.service_date, facility_id=late.facility_id, ride_id=theirs.pk, at=NOW)]
    )

    (own,) = read(api_with(provider_ids=[cast.driver.provider_id]), f"facility-kpis?{PERIOD}")["restatements"]
    none = read(api_with(provider_ids=[other.driver.provider_id]), f"facility-kpis?{PERIOD}")["restatements"]

    assert (own["rideIds"], none) == ([str(late.pk)], [])


def test_provider_with_unchanged_figures_sees_no_restatement(late: Ride, cast: legs.Cast) -> None:
    other = legs.cast()
    there = legs.write(MONTH[0], dataclasses.replace(cast, driver=other.driver, vehicle=other.vehicle))
    rollups.rebuild(first=there.service_date, last=there.service_date, discard_closed=True, at=NOW)
    late.refresh_from_db()
    late.missing_documents = ["signature"]
    ride_changes.tell(late, changed=["signatures"])
    keep_up()

    own = read(api_with(provider_ids=[cast.driver.provider_id]), f"facility-kpis?{PERIOD}&kpi=leadTime")
    theirs = read(api_with(provider_ids=[other.driver.provider_id]), f"facility-kpis?{PERIOD}&kpi=leadTime")

    assert changes(own) == {"documented": (1, 0)}
    assert (theirs["restatements"], theirs["total"][0]["denominator"]) == ([], 1)


def test_analyst_hears_which_measures_but_no_small_numbers(late: Ride) -> None:
    analyst = api_with(TokenRole.ANALYTICS_READONLY)

    found = changes(read(analyst, f"facility-kpis?{PERIOD}&kpi=leadTime"))

    assert found == {"arrived_on_time": (None, None), "driver_wait": (None, None)}


def test_analyst_is_not_told_of_the_minutes_of_one_ride(late: Ride) -> None:
    late.boarded_at = late.pickup_at + dt.timedelta(minutes=47)
    ride_changes.tell(late, changed=["milestones"])
    keep_up()
    wait = "driver_wait"

    whole = changes(read(api_with(), f"facility-kpis?{PERIOD}&kpi=leadTime"))[wait]
    hidden = changes(read(api_with(TokenRole.ANALYTICS_READONLY), f"facility-kpis?{PERIOD}&kpi=leadTime"))[wait]

    assert (whole, hidden) == ((5, 31), (None, None))


def test_analyst_hears_of_changes_of_many_rides(cast: legs.Cast) -> None:
    rides = [ride_changes.tell(legs.write(MONTH[0], cast), "ride.scheduled") for _ in range(10)]
    keep_up()
    for ride in rides[:5]:
        ride.missing_documents = ["signature"]
        ride_changes.tell(ride, changed=["signatures"])
    keep_up()

    found = changes(read(api_with(TokenRole.ANALYTICS_READONLY), f"facility-kpis?{PERIOD}&kpi=leadTime"))

    assert found == {"documented": (10, 5)}


def test_every_measure_is_said_in_words() -> None:
    assert list(MEASURE_TEXTS) == list(MEASURES)
    assert len(set(map(str, MEASURE_TEXTS.values()))) == len(MEASURE_TEXTS)


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Arrived on time 1 → 0 ; Total minutes that drivers waited at the pickup 5 → 3"),
     ("es", "Llegaron a tiempo 1 → 0 ; Minutos que los conductores esperaron en la puerta, en total 5 → 3")],
)  # fmt: skip
@pytest.mark.parametrize("path", ["?", "pickupOnTimeRate/?", "day/?day=2026-11-02&"])
def test_pages_say_in_words_what_was_restated(late: Ride, path: str, language: str, said: str) -> None:
    client = visitor(UserRole.DISPATCH_SUPERVISOR)

    page = client.get(f"/console/reports/{path}from=2026-11-01&to=2026-11-30", headers={"Accept-Language": language})

    assert said in text_of(page)
    assert "arrived_on_time" not in page.content.decode()
