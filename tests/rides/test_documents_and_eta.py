"""Further data of reports: odometer readings, late documents, and ETAs."""

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.events.models import Event
from apps.organizations.models import Payer
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.rules.draft import Payment
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport
from apps.rides.services import booking, exceptions
from apps.rides.services import status_report as service
from lib.access import Principal
from lib.errors import FieldRefused, InvalidInput, ScopeMissing
from tests import factories
from tests.callers import TokenClient, error_of
from tests.rides.drafts import draft
from tests.rides.rides_in import ARRIVED, BOARDED, DEPARTED, DROPPED_OFF, ride_in
from tests.rides.status_calls import AT, report_to, traces

pytestmark = pytest.mark.django_db

MINUTE = dt.timedelta(minutes=1)
SIGNED = {"signer": "rider", "stop": "dropoff", "name": "Orla Canary", "at": "2026-11-20T20:36:00Z"}


def say(ride: Ride, status: RideStatus, by: Principal, *, at: dt.datetime = AT, **more: Any) -> Ride:
    return service.change_status(ride_id=ride.pk, report=report_to(status, **more), by=by, at=at)


def test_odometer_does_not_run_backwards(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS, odometer_start=Decimal("41000.5"))
    before = traces(ride)

    with pytest.raises(InvalidInput) as refused:
        say(ride, RideStatus.COMPLETED, dispatcher, odometer=Decimal("41000.4"))

    assert [detail.field for detail in refused.value.details] == ["odometer"]
    assert traces(ride) == before
    assert say(ride, RideStatus.COMPLETED, dispatcher, odometer=Decimal("41000.5")).odometer_end == Decimal("41000.5")


def test_rescue_vehicle_has_an_odometer_of_its_own(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS, odometer_start=Decimal("41000.5"))
    Assignment.objects.update(sequence=2)

    assert say(ride, RideStatus.COMPLETED, dispatcher, odometer=Decimal("120.0")).odometer_end == Decimal("120.0")


def test_batch_separates_pickup_and_final_odometer_readings(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED)
    boarded = (MilestoneReport(type="boarded", occurred_at=BOARDED),)
    readings: dict[str, Any] = {"odometer_start": Decimal("10.0"), "odometer": Decimal("14.2")}

    done = say(ride, RideStatus.COMPLETED, dispatcher, milestones=boarded, occurred_at=DROPPED_OFF, **readings)

    assert (done.odometer_start, done.odometer_end) == (Decimal("10.0"), Decimal("14.2"))


def completed(dispatcher: Principal) -> Ride:
    """A completed ride without its required documentation, with an open exception."""
    payer = factories.PayerFactory.create(signature_rule=Payer.SignatureRule.DROPOFF, odometer_required=True)
    ride = ride_in(RideStatus.IN_PROGRESS, payer=payer)
    ride = say(ride, RideStatus.COMPLETED, dispatcher, occurred_at=DROPPED_OFF)
    assert ride.missing_documents == ["dropoff_signature", "odometer_start", "odometer_end"]
    exceptions.open_exception(ride, ExceptionType.MISSING_DOCUMENTATION, by=dispatcher, at=AT, detected_by="test")
    return ride


def test_documents_arrive_after_the_ride(dispatcher: Principal) -> None:
    ride = completed(dispatcher)
    events = Event.objects.filter(subject_id=ride.pk)
    known = events.count()
    readings: dict[str, Any] = {"odometer_start": Decimal("10.0"), "odometer": Decimal("14.2")}

    say(ride, RideStatus.COMPLETED, dispatcher, signatures=(SIGNED,))
    halfway = Ride.objects.get(pk=ride.pk)
    assert (halfway.signatures, halfway.missing_documents) == ([SIGNED], ["odometer_start", "odometer_end"])
    assert RideException.objects.get().status == "open"

    for _ in range(2):  # a device repeats unacknowledged reports
        say(ride, RideStatus.COMPLETED, dispatcher, signatures=(SIGNED,), **readings)

    ride.refresh_from_db()
    assert (ride.missing_documents, ride.odometer_end, ride.signatures) == ([], Decimal("14.2"), [SIGNED])
    assert RideException.objects.get().status == "resolved"
    told = list(events.order_by("sequence").values_list("type", "data__changed"))[known:]
    assert told == [
        ("ride.updated", ["signatures"]),
        ("ride.updated", ["odometerStart", "odometerEnd"]),
        ("ride.exception_resolved", None),
    ]


def test_recorded_documents_are_not_overwritten(dispatcher: Principal) -> None:
    ride = completed(dispatcher)
    say(ride, RideStatus.COMPLETED, dispatcher, odometer=Decimal("14.2"))
    before = traces(ride)

    wrongs: list[dict[str, Any]] = [{"odometer": Decimal("15.0")}, {"odometer_start": Decimal("14.3")}]
    for wrong in wrongs:
        with pytest.raises(InvalidInput) as refused:
            say(ride, RideStatus.COMPLETED, dispatcher, **wrong)
        assert [detail.field for detail in refused.value.details] == ["odometer"]
    with pytest.raises(ScopeMissing):
        say(ride, RideStatus.COMPLETED, factories.principal(UserRole.PLANNER), signatures=(SIGNED,))

    assert traces(ride) == before


def test_documents_of_a_rider_on_board_are_added(dispatcher: Principal) -> None:
    payer = factories.PayerFactory.create(signature_rule=Payer.SignatureRule.BOTH)
    ride = ride_in(RideStatus.IN_PROGRESS, payer=payer)
    signed = SIGNED | {"stop": "pickup"}

    for _ in range(2):
        say(ride, RideStatus.IN_PROGRESS, dispatcher, signatures=(signed,), odometer=Decimal("10.0"))

    ride.refresh_from_db()
    assert (ride.signatures, ride.odometer_start, ride.missing_documents) == ([signed], Decimal("10.0"), [])
    told = Event.objects.get(subject_id=ride.pk)
    assert (told.type, told.data["changed"]) == ("ride.updated", ["odometerStart", "signatures"])
    with pytest.raises(InvalidInput) as refused:
        say(ride, RideStatus.IN_PROGRESS, dispatcher, odometer=Decimal("11.0"))
    assert refused.value.message == "odometer already has another value."


def test_miles_that_come_later_are_those_of_the_last_vehicle(dispatcher: Principal) -> None:
    ride = completed(dispatcher)
    last = Assignment.objects.get()
    Assignment.objects.create(
        ride=ride,
        sequence=2,
        provider=last.provider,
        driver=last.driver,
        vehicle=last.vehicle,
        status="superseded",
        offered_at=AT,
        ended_at=AT,
        assigned_by="system",
        driver_name="Marek",
        vehicle_plate="CL 1",
        miles_attributed=Decimal("4.00"),
    )

    say(ride, RideStatus.COMPLETED, dispatcher, loaded_miles=Decimal("10.00"), loaded_miles_source="gps")

    ride.refresh_from_db()
    last.refresh_from_db()
    assert (ride.loaded_miles, ride.loaded_miles_source) == (Decimal("10.00"), "gps")
    assert last.miles_attributed == Decimal("6.00")
    with pytest.raises(InvalidInput) as refused:
        say(ride, RideStatus.COMPLETED, dispatcher, loaded_miles=Decimal("11.00"))
    assert [detail.field for detail in refused.value.details] == ["loadedMiles"]


@pytest.mark.parametrize(
    ("was", "status", "said", "fields"),
    [
        (
            RideStatus.ASSIGNED,
            RideStatus.EN_ROUTE,
            {"reason_code": "banana", "fault": "rider"},
            ["reasonCode", "fault"],
        ),
        (
            RideStatus.EN_ROUTE,
            RideStatus.ARRIVED,
            {"odometer": Decimal(1), "odometer_start": Decimal(1), "signatures": (SIGNED,)},
            ["odometer", "odometerStart", "signatures"],
        ),
        (
            RideStatus.ARRIVED,
            RideStatus.IN_PROGRESS,
            {
                "loaded_miles": Decimal(1),
                "loaded_miles_source": "gps",
                "attestation": {"text": "So it was."},
                "handoff_name": "Pat",
                "arrived_dropoff_at": DROPPED_OFF,
            },
            ["loadedMiles", "loadedMilesSource", "attestation", "handoffName", "arrivedDropoffAt"],
        ),
        (RideStatus.IN_PROGRESS, RideStatus.COMPLETED, {"loaded_miles_source": "gps"}, ["loadedMilesSource"]),
        (
            RideStatus.COMPLETED,
            RideStatus.IN_PROGRESS,
            {"note": "Not there yet.", "reason_code": "wrong_tap", "odometer": Decimal(1)},
            ["odometer"],
        ),
    ],
    ids=["on the way", "at the door", "on board", "delivered", "corrected"],
)
def test_report_holds_nothing_that_would_be_lost(
    was: RideStatus, status: RideStatus, said: dict[str, Any], fields: list[str]
) -> None:
    ride = ride_in(was)
    supervisor = factories.principal(UserRole.DISPATCH_SUPERVISOR)
    before = traces(ride)

    with pytest.raises(FieldRefused) as refused:
        say(ride, status, supervisor, **said)

    assert [(detail.field, detail.code) for detail in refused.value.details] == [(name, "not_here") for name in fields]
    assert traces(ride) == before


def test_batch_that_boards_takes_what_was_signed_at_the_pickup(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED)
    boarded = (MilestoneReport(type="boarded", occurred_at=BOARDED),)
    ended: dict[str, Any] = {"reason_code": "aborted_safety", "rider_location": "Back at the clinic"}

    say(ride, RideStatus.UNFULFILLED, dispatcher, milestones=boarded, signatures=(SIGNED,), **ended)

    ride.refresh_from_db()
    assert (ride.status, ride.signatures) == ("unfulfilled", [SIGNED])


def test_eta_is_stored_and_announced_after_five_minute_moves(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    eta = factories.PICKUP - 5 * MINUTE
    say(ride, RideStatus.EN_ROUTE, dispatcher, at=DEPARTED, occurred_at=DEPARTED, eta_pickup=eta)

    for shift, kept in ((4, eta), (-4, eta), (5, eta + 5 * MINUTE)):
        say(ride, RideStatus.EN_ROUTE, dispatcher, at=DEPARTED, eta_pickup=eta + shift * MINUTE)
        assert Ride.objects.get(pk=ride.pk).eta_pickup_at == kept

    told = Event.objects.filter(subject_id=ride.pk, type="ride.eta_changed").order_by("sequence")
    assert [event.data["etaPickup"] for event in told] == ["2026-11-20T19:55:00Z", "2026-11-20T20:00:00Z"]

    arrived = say(ride, RideStatus.ARRIVED, dispatcher, at=ARRIVED, occurred_at=ARRIVED)
    assert arrived.eta_pickup_at is None
    assert Ride.objects.get(pk=ride.pk).eta_pickup_at is None


def test_eta_after_window_is_an_exception_until_back_inside(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.EN_ROUTE)

    say(ride, RideStatus.EN_ROUTE, dispatcher, at=DEPARTED, eta_pickup=ride.window_ends_at + MINUTE)
    exception = RideException.objects.get()
    assert (exception.type, exception.severity, exception.status) == ("late_pickup_predicted", "warning", "open")

    say(ride, RideStatus.EN_ROUTE, dispatcher, at=DEPARTED, eta_pickup=ride.window_ends_at - 4 * MINUTE)
    exception.refresh_from_db()
    assert exception.status == "resolved"


def test_estimate_is_refused_where_it_means_nothing(dispatcher: Principal) -> None:
    there, coming = ride_in(RideStatus.ARRIVED), ride_in(RideStatus.EN_ROUTE)
    before = (traces(there), traces(coming))

    for ride, status, eta in (
        (there, RideStatus.ARRIVED, ARRIVED + MINUTE),
        (coming, RideStatus.EN_ROUTE, DEPARTED - MINUTE),
        (coming, RideStatus.EN_ROUTE, DEPARTED + dt.timedelta(days=2)),
    ):
        with pytest.raises(InvalidInput) as refused:
            say(ride, status, dispatcher, at=DEPARTED, eta_pickup=eta)
        assert [detail.field for detail in refused.value.details] == ["etaPickup"]
    planner = factories.principal(UserRole.PLANNER)
    with pytest.raises(ScopeMissing):
        say(coming, RideStatus.EN_ROUTE, planner, at=DEPARTED, eta_pickup=factories.PICKUP)

    assert (traces(there), traces(coming)) == before


def test_api_takes_the_estimate_and_shows_it(api: TokenClient) -> None:
    soon = factories.NOW.replace(year=2030)
    ride = ride_in(RideStatus.ASSIGNED)
    said = {"status": "assigned", "occurredAt": "2020-01-01T00:00:00Z", "etaPickup": "2020-01-01T00:10:00Z"}

    api.post(f"/api/rides/{ride.pk}/status", said)
    assert Ride.objects.get(pk=ride.pk).eta_pickup_at == dt.datetime(2020, 1, 1, 0, 10, tzinfo=dt.UTC)
    late = error_of(api.post(f"/api/rides/{ride.pk}/status", said | {"etaPickup": soon.isoformat()}))
    assert [detail["field"] for detail in late["details"]] == ["etaPickup"]


@pytest.mark.parametrize(("level", "shown"), [("full", "MBR-1234567"), ("limited", "••••4567"), ("none", None)])
def test_member_id_is_shown_as_far_as_the_level_goes(
    api_as: Any, dispatcher: Principal, now: dt.datetime, level: str, shown: str | None
) -> None:
    hospital = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create(facility=hospital)
    asked = draft(hospital, rider, payment=Payment(member_id="MBR-1234567"))
    ride = booking.book(draft=asked, by=dispatcher, at=now).ride
    reader = api_as(phi_level=level)

    assert reader.get(f"/api/rides/{ride.pk}").json()["payer"].get("memberId") == shown
    assert "memberId" not in reader.get("/api/rides").json()["data"][0]["payer"]
