"""Changed needs reach future rides, and their drivers and vehicles are checked again."""

import datetime as dt
import uuid
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import Facility
from apps.riders import services
from apps.riders.models import AccommodationProfile, Rider
from apps.riders.rules import accommodation
from apps.rides.models import Ride, RideException
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import accommodation_change, legs
from lib.access import Principal, system
from lib.errors import NotFound, StaleVersion
from tests import factories
from tests.callers import api_with
from tests.fleet.crew import fit_pair
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

NOW = factories.NOW
WHEELCHAIR = {"mobility": "wheelchair"}


@pytest.fixture
def rider(planner: Principal) -> Rider:
    """An ambulatory rider of `hospital`."""
    draft = {"first_name": "Orla", "last_name": "Canary"}
    return services.register(draft=draft, by=planner, at=NOW).rider


def ride_of(rider: Rider, *, own: dict[str, Any] | None = None, **columns: Any) -> Ride:
    """A ride booked with the rider's current needs, and with `own` needs of the ride."""
    profile = AccommodationProfile.objects.get(rider=rider, current=True)
    leg_type = columns.pop("leg_type", "one_way")
    needs = legs.needs_of(accommodation.snapshot(profile), own or {}, leg_type=leg_type)
    return factories.RideFactory.create(
        rider=rider, accommodation=needs, accommodation_version=profile.number, leg_type=leg_type, **columns
    )


def everything() -> list[Any]:
    models = (Ride, RideException, AccommodationProfile, Rider, Event, AuditEntry)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def change(rider: Rider, needs: dict[str, Any], by: Principal, **options: Any) -> Any:
    return accommodation_change.change_accommodation(rider_id=rider.pk, needs=needs, by=by, at=NOW, **options)


def test_series_ride_takes_new_needs_and_stays_as_generated(rider: Rider, dispatcher: Principal) -> None:
    ride = ride_of(rider, occurrence_key="1:2026-11-20:outbound", occurrence_state="as_generated")

    change(rider, WHEELCHAIR, dispatcher)

    ride.refresh_from_db()
    assert (ride.accommodation["mobility"], ride.occurrence_state) == ("wheelchair", "as_generated")


def test_rides_ahead_take_the_new_needs_over(rider: Rider, dispatcher: Principal) -> None:
    later = ride_of(rider, pickup_at=factories.PICKUP + dt.timedelta(days=1), companions={"escorts": 1})
    sooner = ride_of(rider)

    changed = change(rider, WHEELCHAIR, dispatcher)

    assert (changed.profile.number, changed.profile.rider.version) == (2, 2)
    assert (changed.changed_ride_ids, changed.mismatched_ride_ids) == ([sooner.pk, later.pk], [])
    later.refresh_from_db()
    assert (later.accommodation_version, later.version) == (2, 2)
    assert later.accommodation == {**accommodation.complete(WHEELCHAIR), "overridden": []}
    assert (later.spaces_ambulatory, later.spaces_wheelchair, later.spaces_stretcher) == (1, 1, 0)
    event = Event.objects.get(subject_id=later.pk)
    assert (event.type, event.sequence, event.actor) == ("ride.updated", 2, dispatcher.actor)
    assert event.data["changed"] == ["accommodation"]


@pytest.mark.parametrize(
    ("status", "takes_over"),
    [
        (RideStatus.REQUESTED, True),
        (RideStatus.SCHEDULED, True),
        (RideStatus.ASSIGNED, True),
        (RideStatus.EN_ROUTE, True),
        (RideStatus.ARRIVED, True),
        (RideStatus.IN_PROGRESS, False),
        (RideStatus.COMPLETED, False),
        (RideStatus.CANCELLED, False),
        (RideStatus.NO_SHOW, False),
        (RideStatus.UNFULFILLED, False),
    ],
)
def test_only_rides_not_yet_boarded_change(
    rider: Rider, dispatcher: Principal, status: RideStatus, takes_over: bool
) -> None:
    ride = ride_in(status, rider=rider)
    before = Ride.objects.values().get(pk=ride.pk)

    changed = change(rider, WHEELCHAIR, dispatcher)

    assert changed.changed_ride_ids == ([ride.pk] if takes_over else [])
    after = Ride.objects.values().get(pk=ride.pk)
    assert (after["accommodation"]["mobility"] == "wheelchair") is takes_over
    assert (after == before) is not takes_over


def test_rides_of_others_stay_as_they_are(rider: Rider, dispatcher: Principal) -> None:
    factories.RideFactory.create()
    before = list(Ride.objects.values())

    change(rider, WHEELCHAIR, dispatcher)

    assert list(Ride.objects.values()) == before


def test_what_was_said_for_one_ride_alone_stays(rider: Rider, dispatcher: Principal) -> None:
    ride = ride_of(rider, own={"assistLevel": "bed_to_bed", "oxygen": {"uses": True}, "loadMinutes": 12})

    change(rider, {"mobility": "wheelchair", "hearing": "severe"}, dispatcher)

    ride.refresh_from_db()
    kept = ride.accommodation
    assert (kept["mobility"], kept["hearing"], kept["unloadMinutes"]) == ("wheelchair", "severe", 8)
    assert (kept["assistLevel"], kept["oxygen"]["uses"], kept["loadMinutes"]) == ("bed_to_bed", True, 12)
    assert kept["overridden"] == ["assistLevel", "oxygen", "loadMinutes"]


def test_way_back_follows_the_new_return_mobility(rider: Rider, dispatcher: Principal) -> None:
    change(rider, {"returnMobility": "wheelchair"}, dispatcher)
    back = ride_of(rider, leg_type="return")
    lying = ride_of(rider, leg_type="return", own={"mobility": "stretcher"})

    change(rider, {"mobility": "ambulatory_assist"}, dispatcher)

    back.refresh_from_db()
    lying.refresh_from_db()
    assert (back.accommodation["mobility"], back.accommodation["loadMinutes"]) == ("ambulatory_assist", 3)
    assert (back.spaces_ambulatory, back.spaces_wheelchair) == (1, 0)
    assert (lying.accommodation["mobility"], lying.spaces_stretcher) == ("stretcher", 1)


def test_misfit_driver_stays_with_exception_until_needs_fit(rider: Rider, dispatcher: Principal) -> None:
    ride = ride_of(rider)
    driver, vehicle = fit_pair()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)

    fits = change(rider, WHEELCHAIR, dispatcher)
    misfit = change(rider, {"mobility": "stretcher"}, dispatcher)
    exception = RideException.objects.get(ride=ride)
    opened = (exception.type, exception.severity, exception.status, exception.detected_by)
    again = change(rider, WHEELCHAIR, dispatcher)

    assert [one.mismatched_ride_ids for one in (fits, misfit, again)] == [[], [ride.pk], []]
    assert opened == ("accommodation_mismatch", "critical", "open", "accommodation_change")
    assert "VEHICLE_NOT_SUITABLE" in exception.details["violations"]
    ride.refresh_from_db()
    assert (ride.status, ride.driver_id, ride.vehicle_id) == ("assigned", driver.pk, vehicle.pk)
    assert (ride.open_exception_count, RideException.objects.get(ride=ride).status) == (0, "resolved")
    assert list(Event.objects.filter(subject_id=ride.pk).order_by("sequence").values_list("type", flat=True)) == [
        "ride.updated",
        "ride.updated",
        "ride.exception",
        "ride.updated",
        "ride.exception_resolved",
    ]


def test_equal_needs_touch_no_ride(rider: Rider, dispatcher: Principal) -> None:
    ride_of(rider)
    before = everything()

    changed = change(rider, {}, dispatcher)

    assert (changed.changed_ride_ids, changed.mismatched_ride_ids) == ([], [])
    assert everything() == before


def test_rides_out_of_reach_change_too_but_are_not_named(rider: Rider, planner: Principal, hospital: Facility) -> None:
    elsewhere = ride_of(rider, pickup_at=factories.PICKUP + dt.timedelta(days=2))
    factories.put_driver_on(elsewhere)
    own = ride_of(rider, facility=hospital)

    changed = change(rider, {"mobility": "stretcher"}, planner)

    elsewhere.refresh_from_db()
    assert (changed.changed_ride_ids, changed.mismatched_ride_ids) == ([own.pk], [])
    assert elsewhere.accommodation["mobility"] == "stretcher"
    assert RideException.objects.filter(ride=elsewhere, type="accommodation_mismatch").count() == 1


def test_refusals_leave_no_trace(rider: Rider, outsider: Principal, dispatcher: Principal) -> None:
    ride_of(rider)
    before = everything()

    with pytest.raises(NotFound):
        change(rider, WHEELCHAIR, outsider)
    with pytest.raises(StaleVersion):
        change(rider, WHEELCHAIR, dispatcher, expected_version=7)
    with pytest.raises(services.NeedsContradictory):
        change(rider, {"oxygen": {"source": "own_tank"}}, dispatcher)
    with pytest.raises(NotFound):
        accommodation_change.change_accommodation(rider_id=uuid.UUID(int=7), needs={}, by=system(), at=NOW)

    assert everything() == before


def test_api_returns_current_version_and_changed_rides(rider: Rider) -> None:
    ride = ride_of(rider)
    factories.put_driver_on(ride)
    api = api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[ride.facility_id])

    response = api.put(f"/api/riders/{rider.pk}/accommodation", {"mobility": "stretcher"}, headers={"If-Match": '"1"'})

    shown = response.json()
    assert (response.status_code, response["ETag"]) == (200, '"2"')
    assert (shown["version"], shown["current"], shown["accommodation"]["loadMinutes"]) == (2, True, 15)
    assert (shown["changedRideIds"], shown["mismatchedRideIds"]) == ([str(ride.pk)], [str(ride.pk)])
