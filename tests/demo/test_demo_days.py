"""Demo data: its content, and that it obeys the rules of the product."""

import datetime as dt
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise

import pytest
from django.db.models import Count, F, Q
from pytest_django import DjangoDbBlocker

from apps.events.models import Event
from apps.fleet.models import Credential, Driver, Shift, Vehicle
from apps.fleet.rules.credentials import BLOCKING_BY_DEFAULT, Subject
from apps.organizations.models import Facility, TransportProvider
from apps.riders.models import AccommodationProfile, Rider
from apps.riders.rules.accommodation import IN_WHEELCHAIR_SPACE, ON_STRETCHER
from apps.rides.models import Assignment, Milestone, Ride, RideException
from apps.rides.rules.exception_types import SEVERITY_RANK, ExceptionSeverity
from apps.rides.rules.lifecycle import TRANSITIONS, WITH_DRIVER, RideStatus
from tests.demo.demo_days import FRIDAY_NOON, loaded

pytestmark = pytest.mark.django_db
TODAY = dt.date(2026, 11, 20)


@pytest.fixture(scope="module", autouse=True)
def demo(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    with django_db_blocker.unblock(), loaded(FRIDAY_NOON):
        yield


def test_demo_has_the_cast_it_promises() -> None:
    kinds = Counter(Facility.objects.values_list("kind", flat=True))

    assert (kinds["hospital"], kinds["dialysis"], kinds["snf"]) == (3, 5, 6)
    assert kinds["clinic"] >= 5
    assert set(Facility.objects.values_list("timezone", flat=True)) == {"America/Chicago"}
    assert TransportProvider.objects.count() == 2
    assert Driver.objects.count() == 58
    assert Vehicle.objects.count() == 54
    assert Rider.objects.count() == 400
    assert AccommodationProfile.objects.filter(current=True).count() == 400


def test_demo_shows_every_status_and_open_exceptions() -> None:
    today = Counter(Ride.objects.filter(service_date=TODAY).values_list("status", flat=True))

    assert set(today) == set(RideStatus.values)
    assert RideException.objects.unsettled().values("type").distinct().count() >= 6
    assert Driver.objects.filter(activation="suspended").exists()
    assert Vehicle.objects.filter(status="maintenance").count() == 1


def test_demo_shows_waiting_released_and_overdue_will_calls() -> None:
    open_calls = Ride.objects.filter(will_call=True, status__in=["scheduled", "assigned"])

    assert open_calls.filter(ready_at=None).exists()
    assert open_calls.filter(ready_at__isnull=False, promised_pickup_by__gt=FRIDAY_NOON).exists()
    assert open_calls.filter(promised_pickup_by__lt=FRIDAY_NOON, exceptions__type="will_call_overdue").exists()


def test_demo_shows_credentials_of_every_colour() -> None:
    current = Credential.objects.filter(replaced=False)

    assert current.filter(expires_on__lt=TODAY).exists()
    assert current.filter(expires_on=TODAY + dt.timedelta(days=5), blocking=True).exists()
    assert current.filter(expires_on=TODAY + dt.timedelta(days=20)).exists()
    assert current.filter(expires_on=TODAY + dt.timedelta(days=45)).exists()
    assert current.filter(rejected=True).exists()
    assert Driver.objects.filter(activation="pending").exclude(credentials__type="mvr").exists()


def test_demo_rides_end_in_plausible_shares() -> None:
    ended = Counter(Ride.objects.filter(service_date__lt=TODAY).values_list("status", flat=True))
    share = {status: ended[status] / ended.total() for status in ended}

    assert set(ended) == {"completed", "cancelled", "no_show", "unfulfilled"}
    assert 0.87 <= share["completed"] <= 0.94
    assert 0.015 <= share["no_show"] <= 0.05
    assert 0.03 <= share["cancelled"] <= 0.08
    assert share["unfulfilled"] <= 0.03


def test_demo_legs_follow_payer_signature_rule_with_few_misses() -> None:
    done = Ride.objects.filter(status="completed", payer__signature_rule="both", payer__signers="both")
    unsigned = Counter(
        missing
        for ride in done
        for missing in {(stop, who) for stop in ("pickup", "dropoff") for who in ("rider", "driver")}
        - {(one["stop"], one["signer"]) for one in ride.signatures}
    )

    assert set(unsigned) == {("dropoff", "rider")}
    assert 0 < unsigned["dropoff", "rider"] / done.count() < 0.05
    known = done.filter(missing_documents__contains=["dropoff_signature_rider"])
    assert 0 < known.count() <= unsigned["dropoff", "rider"]


def test_demo_events_replay_to_each_rides_status() -> None:
    """Every ride's events are gapless, ordered, and a path through the table of transitions."""
    steps = {(row.source, row.events[0], row.target) for row in TRANSITIONS}
    standing_still = {
        "ride.ready",
        "ride.updated",
        "ride.driver_offered",
        "ride.exception",
        "ride.exception_noted",
        "ride.exception_acknowledged",
        "ride.exception_resolved",
    }
    told: dict[object, list[tuple[int, str, dict[str, str | None], dt.datetime]]] = defaultdict(list)
    for row in Event.objects.order_by("id").values_list("subject_id", "sequence", "type", "data", "recorded_at"):
        told[row[0]].append(row[1:])

    for ride in Ride.objects.only("id", "version", "status"):
        events = told[ride.pk]
        status = None
        assert [event[0] for event in events] == list(range(1, ride.version + 1))
        assert [event[3] for event in events] == sorted(event[3] for event in events)
        for _, type_, data, _ in events:
            before = None if data["previousStatus"] is None else RideStatus(str(data["previousStatus"]))
            after = RideStatus(str(data["status"]))
            assert before == status
            if type_ in standing_still:
                assert after == before
            elif (before, after) == ("assigned", "assigned"):
                assert type_ in ("ride.driver_unassigned", "ride.driver_assigned")  # T10 records both
            else:
                assert (before, type_, after) in steps
            status = after
        assert status == ride.status


def test_demo_unassigned_rides_of_a_swap_are_told_in_pairs() -> None:
    swaps = Event.objects.filter(type="ride.driver_unassigned", data__status="assigned")

    for swap in swaps[:50]:
        after = Event.objects.get(subject_id=swap.subject_id, sequence=swap.sequence + 1)
        assert after.type == "ride.driver_assigned"
        assert after.recorded_at == swap.recorded_at


def test_demo_tells_nothing_of_the_future() -> None:
    assert not Event.objects.filter(Q(recorded_at__gt=FRIDAY_NOON) | Q(occurred_at__gt=F("recorded_at"))).exists()
    assert not Milestone.objects.filter(recorded_at__gt=FRIDAY_NOON).exists()
    assert not Ride.objects.filter(Q(requested_at__gt=FRIDAY_NOON) | Q(updated_at__gt=FRIDAY_NOON)).exists()


def test_demo_rides_match_their_milestones_and_exceptions() -> None:
    columns = {
        "departed": "departed_at",
        "arrived_pickup": "arrived_pickup_at",
        "boarded": "boarded_at",
        "arrived_dropoff": "arrived_dropoff_at",
        "dropped_off": "dropped_off_at",
        "ready": "ready_at",
    }
    unsettled: dict[object, list[str]] = defaultdict(list)
    for ride_id, severity in RideException.objects.unsettled().values_list("ride_id", "severity"):
        unsettled[ride_id].append(severity)

    for type_, column in columns.items():
        counted = Milestone.objects.filter(type=type_, voided=False)
        assert Ride.objects.filter(**{f"{column}__isnull": False}).count() == counted.count()
        assert not counted.exclude(**{f"ride__{column}": F("occurred_at")}).exists()
    for ride in Ride.objects.only("id", "open_exception_count", "max_exception_severity"):
        found = unsettled[ride.pk]
        worst = max((ExceptionSeverity(one) for one in found), key=SEVERITY_RANK.__getitem__, default="")
        assert (ride.open_exception_count, ride.max_exception_severity) == (len(found), worst)


def test_demo_drivers_are_in_one_place_at_a_time() -> None:
    """Two rides of one driver overlap only if they share a vehicle to, or from, the same place."""
    by_driver: dict[object, list[Ride]] = defaultdict(list)
    for ride in Ride.objects.filter(departed_at__isnull=False, dropped_off_at__isnull=False).order_by("departed_at"):
        by_driver[ride.driver_id].append(ride)
    shared = 0

    for rides in by_driver.values():
        for one, other in pairwise(rides):
            assert one.dropped_off_at is not None
            assert other.departed_at is not None
            if other.departed_at < one.dropped_off_at:
                shared += 1
                assert other.pickup_facility_id == one.pickup_facility_id or (
                    other.dropoff_facility_id == one.dropoff_facility_id
                )
                assert other.vehicle_id == one.vehicle_id
    assert shared > 50


def test_demo_assignments_match_their_rides() -> None:
    accepted = Assignment.objects.filter(status="accepted")

    assert accepted.count() == Ride.objects.filter(status__in=sorted(WITH_DRIVER)).count()
    assert not accepted.exclude(
        ride__assignment_id=F("id"), ride__driver=F("driver"), ride__vehicle=F("vehicle"), ride__provider=F("provider")
    ).exists()
    assert Assignment.objects.filter(status="completed").count() == Ride.objects.filter(status="completed").count()
    snapshot = accepted.select_related("driver")[0]
    assert snapshot.license_number == snapshot.driver.license_number != ""


def test_demo_drivers_have_shifts_and_valid_credentials() -> None:
    credentials: dict[object, list[Credential]] = defaultdict(list)
    for credential in Credential.objects.filter(blocking=True, rejected=False):
        credentials[credential.driver_id or credential.vehicle_id].append(credential)
    shifts: dict[object, list[Shift]] = defaultdict(list)
    for shift in Shift.objects.all():
        shifts[shift.driver_id].append(shift)

    for ride in Ride.objects.filter(driver__isnull=False, departed_at__isnull=False):
        at = ride.departed_at
        assert at is not None
        assert any(
            shift.starts_at <= at < shift.ends_at and shift.vehicle_id == ride.vehicle_id
            for shift in shifts[ride.driver_id]
        )
        for subject, holder in ((Subject.DRIVER, ride.driver_id), (Subject.VEHICLE, ride.vehicle_id)):
            held = {
                credential.type
                for credential in credentials[holder]
                if credential.issued_on is not None
                and credential.expires_on is not None
                and credential.issued_on <= ride.service_date <= credential.expires_on
            }
            assert held >= BLOCKING_BY_DEFAULT[subject]


def test_demo_vehicles_and_crews_suit_their_riders() -> None:
    taken = Ride.objects.filter(driver__isnull=False).select_related("vehicle", "driver")

    for ride in taken:
        assert ride.vehicle is not None
        assert ride.driver is not None
        needs = ride.accommodation
        if needs["mobility"] in IN_WHEELCHAIR_SPACE:
            assert ride.vehicle.lift_type == "lift"
            assert "wheelchair_securement" in ride.driver.qualifications
        if needs["mobility"] in ON_STRETCHER:
            assert ride.vehicle.type == "stretcher_van"
        if needs["mobility"] in ON_STRETCHER or needs["bariatric"] or needs["stairs"]["home"] >= 4:
            assert len(ride.attendant_ids) == 1
        assert ride.vehicle.provider_id == ride.driver.provider_id == ride.provider_id


def test_demo_discharges_and_dialysis_say_what_they_need() -> None:
    discharges = [ride.discharge or {} for ride in Ride.objects.filter(service_type="hospital_discharge")]
    there = Ride.objects.filter(service_type="dialysis", leg_type="outbound")

    assert all(details["unit"] and details["unitPhone"] and details["planner"] for details in discharges)
    assert len(discharges) > 40
    assert not there.filter(Q(appointment_at=None) | Q(trip=None)).exists()
    assert not Ride.objects.filter(service_type="dialysis", leg_type="return", will_call=False).exists()
    legs_per_trip = Ride.objects.filter(trip__isnull=False).values("trip").annotate(legs=Count("id"))
    assert set(legs_per_trip.values_list("legs", flat=True)) == {2}


def test_demo_uses_only_telephone_numbers_kept_for_fiction() -> None:
    text = json.dumps([*Rider.objects.values_list("phones", "caregivers", "emergency_contact")])
    numbers = [*Driver.objects.values_list("phone", flat=True), *text.split('"')]

    found = [number for number in numbers if number.startswith("+1")]
    assert len(found) > 440
    assert all(number.startswith("+131255501") and len(number) == 12 for number in found)
