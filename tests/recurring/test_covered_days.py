"""Rides booked by hand that are a leg of a standing order already: kept, not booked twice."""

import datetime as dt
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from apps.events.models import Event
from apps.organizations.models import Facility
from apps.recurring.models import Occurrence, StandingOrder
from apps.recurring.rules.coverage import HandBooked, covering
from apps.recurring.rules.reconciliation import Leg
from apps.recurring.services import create_order, edit_order, generate_rides, hold_order
from apps.riders.models import Rider
from apps.rides.models import Ride, RideException
from apps.rides.rules.draft import ReturnLeg
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import adoption, booking, status_report
from lib.access import system
from lib.ids import uuid7
from tests import factories
from tests.callers import TokenClient
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import DATES, MONDAY, both
from tests.rides.drafts import HOME, dialysis

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
HOUR = dt.timedelta(hours=1)
MINUTE = dt.timedelta(minutes=1)
TOLD: dict[str, Any] = {"by": system(), "at": NOW}
CENTER = {"facilityId": "0192-center"}
ELSEWHERE = {"facilityId": None, "addressLine1": "9 Elm St", "city": "Elgin", "postalCode": "60120"}


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def rider(centre: Facility) -> Rider:
    return factories.RiderFactory.create(facility=centre, home_address=HOME)


def by_hand(
    centre: Facility, rider: Rider, day: dt.date, *, chair: dt.time = dt.time(10, 30), back: bool = True, **changes: Any
) -> Ride:
    """Book a ride to dialysis, half an hour before the chair time, and its return four hours after."""
    chair_at = dt.datetime.combine(day, chair, ZoneInfo(centre.timezone)).astimezone(dt.UTC)
    return_leg = ReturnLeg(pickup_at=chair_at + 4 * HOUR, will_call=True) if back else None
    asked = dialysis(
        centre,
        rider,
        pickup_at=chair_at - 45 * MINUTE,
        appointment_at=chair_at,
        **({"return_leg": return_leg} | changes),
    )
    return booking.book(draft=asked, **TOLD).ride


def _ride(hours: float, *, to: dict[str, Any] = CENTER, back: dict[str, Any] = ELSEWHERE, **more: Any) -> HandBooked:
    return HandBooked(uuid7(), NOW + hours * HOUR, pickup=back, dropoff=to, **more)


def test_ride_covers_a_leg_in_its_direction_within_two_hours() -> None:
    near, far, away = _ride(1.5), _ride(2.1), _ride(0, to=ELSEWHERE)

    assert covering(Leg.OUTBOUND, NOW, CENTER, [far, away, near]) == near
    assert covering(Leg.OUTBOUND, NOW, CENTER, [far, away]) is None
    assert covering(Leg.RETURN, NOW, CENTER, [near]) is None
    assert covering(Leg.OUTBOUND, NOW, CENTER, [near, nearest := _ride(-1)]) == nearest
    home = _ride(5, to=ELSEWHERE, back=CENTER, trip_id=(trip := uuid7()))
    assert covering(Leg.RETURN, NOW, CENTER, [home]) is None
    assert covering(Leg.RETURN, NOW, CENTER, [home], trip_id=trip) == home
    at_address = _ride(0, to={**ELSEWHERE, "name": "Clinic"})
    assert covering(Leg.OUTBOUND, NOW, ELSEWHERE, [at_address]) == at_address
    assert covering(Leg.OUTBOUND, NOW, {**ELSEWHERE, "city": "Aurora"}, [at_address]) is None


def test_rides_booked_by_hand_are_kept_and_not_booked_twice(centre: Facility, rider: Rider) -> None:
    kept = [by_hand(centre, rider, day, chair=dt.time(11)) for day in DATES[:3]]
    before = {ride.pk: ride.pickup_at for ride in Ride.objects.all()}
    assert len(before) == 6

    created = create_order.create(rider_id=rider.pk, draft=cast.draft(centre), **TOLD)

    order, result = created.order, created.result
    assert cast.live(order) == both(DATES)
    assert {day: len(ride_ids) for day, ride_ids in result.adopted.items()} == dict.fromkeys(DATES[:3], 2)
    assert len(result.created) == 18
    assert (result.refused, RideException.objects.count()) == ({}, 0)
    after = Ride.objects.filter(pk__in=before)
    assert {ride.pk: ride.pickup_at for ride in after} == before
    assert {(ride.standing_order_id, ride.occurrence_state) for ride in after} == {(order.pk, "customized")}
    assert cast.marks(order) == {"generated": 24}
    event = Event.objects.filter(subject_id=kept[0].pk).latest("sequence")
    assert (event.type, event.data["changed"]) == ("ride.updated", ["standingOrderId", "occurrenceState"])


def test_generation_adopts_later_days_and_repeats_nothing(centre: Facility, rider: Rider) -> None:
    order = cast.order(centre, rider)
    later = DATES[-1] + 3 * DAY
    ride = by_hand(centre, rider, later)
    versions = dict(Ride.objects.values_list("pk", "version"))

    for _ in range(2):
        generate_rides.generate(by=system("recurring"), at=NOW + 3 * DAY)
        StandingOrder.objects.update(generated_through=None)

    assert cast.live(order) == both([*DATES, later])
    ride.refresh_from_db()
    assert (ride.standing_order_id, ride.version) == (order.pk, versions[ride.pk] + 1)
    assert Ride.objects.count() == 26


def test_missing_return_of_an_adopted_ride_is_booked_as_its_leg(centre: Facility, rider: Rider) -> None:
    ride = by_hand(centre, rider, MONDAY, back=False)

    order = cast.order(centre, rider)

    assert cast.live(order) == both(DATES)
    ride.refresh_from_db()
    back = Ride.objects.get(occurrence_key=f"{order.pk}:{MONDAY}:return")
    assert ride.trip_id is not None
    assert (ride.leg_type, back.trip_id, back.leg_type) == ("outbound", ride.trip_id, "return")


def test_ride_cancelled_meanwhile_is_not_adopted(
    monkeypatch: pytest.MonkeyPatch, centre: Facility, rider: Rider
) -> None:
    ride, read = by_hand(centre, rider, MONDAY, back=False), adoption.adoptable

    def read_then_cancel(*riders: Any, **range_: Any) -> Iterator[Ride]:
        rows = list(read(*riders, **range_))
        cancelled = StatusReport(RideStatus.CANCELLED, source="phone", reason_code="rider_ill")
        status_report.change_status(ride_id=ride.pk, report=cancelled, **TOLD)
        return iter(rows)

    monkeypatch.setattr(adoption, "adoptable", read_then_cancel)

    order = cast.order(centre, rider)

    ride.refresh_from_db()
    assert (ride.standing_order_id, ride.occurrence_key) == (None, "")
    assert cast.live(order) == both(DATES)


def test_ride_elsewhere_at_that_time_is_still_a_conflict(centre: Facility, rider: Rider) -> None:
    by_hand(centre, rider, MONDAY, back=False, dropoff=ELSEWHERE, service_type="other")

    order = cast.order(centre, rider)

    assert (MONDAY.isoformat(), "outbound") not in cast.live(order)
    row = Occurrence.objects.get(standing_order=order, pattern_date=MONDAY, leg="outbound")
    assert (row.decision, row.refusal) == ("refused", "DUPLICATE_RIDE")


def test_rides_of_another_order_are_not_adopted(centre: Facility, rider: Rider) -> None:
    first = cast.order(centre, rider)

    second = create_order.create(rider_id=rider.pk, draft=cast.draft(centre), **TOLD)

    assert (second.result.adopted, len(second.result.refused)) == ({}, 12)
    assert cast.live(first) == both(DATES)


def test_hold_cancels_adopted_rides_and_an_edit_leaves_them(centre: Facility, rider: Rider) -> None:
    ride = by_hand(centre, rider, MONDAY, chair=dt.time(11))
    order = cast.order(centre, rider)

    changed = edit_order.change(order_id=order.pk, terms={"chair_time": dt.time(9)}, **TOLD)
    assert ride.pk in changed.result.unchanged[MONDAY]
    hold_order.hold(order_id=order.pk, from_date=MONDAY, until=MONDAY, reason="hospital_stay", **TOLD)

    ride.refresh_from_db()
    assert (ride.status, ride.reason_code) == ("cancelled", "standing_order_hold")


def test_preview_lists_existing_rides_and_stores_nothing(api: TokenClient, centre: Facility, rider: Rider) -> None:
    ride = by_hand(centre, rider, MONDAY, back=False)
    before = [Ride.objects.count(), Event.objects.count(), Ride.objects.get().version]
    body = {
        "facilityId": str(centre.pk),
        "startDate": str(MONDAY),
        "pattern": {"preset": "mwf"},
        "chairTime": "10:30",
        "outbound": {"pickup": HOME},
        "return": {"mode": "none"},
    }
    url = f"/api/riders/{rider.pk}/standing-orders"

    preview = api.post(f"{url}?preview=true", body)

    assert preview.status_code == 200, preview.json()
    shown = preview.json()
    assert shown["bookedDates"] == [str(day) for day in DATES[1:]]
    assert [(row["id"], row["date"]) for row in shown["existingRides"]] == [(str(ride.pk), str(MONDAY))]
    assert shown["refused"] == []
    assert [Ride.objects.count(), Event.objects.count(), Ride.objects.get().version] == before
    assert not StandingOrder.objects.exists()

    created = api.post(url, body)

    assert created.status_code == 201
    assert created.json()["rides"]["adopted"] == [{"date": str(MONDAY), "rideIds": [str(ride.pk)]}]
