"""Applies changed needs of a rider to future rides, and checks their crews again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from apps.riders import services as riders
from apps.riders.models import AccommodationProfile
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import edit_checks, legs, ride_changes
from apps.rides.services.eligibility_checks import lock_crews, recheck
from apps.rides.services.status import Note, touch
from lib.access import Principal

# After boarding, the needs of the ride are a record of what happened.
BEFORE_BOARDING: Final = (
    RideStatus.REQUESTED,
    RideStatus.SCHEDULED,
    RideStatus.ASSIGNED,
    RideStatus.EN_ROUTE,
    RideStatus.ARRIVED,
)
_COLUMNS: Final = [
    "accommodation",
    "accommodation_version",
    "spaces_ambulatory",
    "spaces_wheelchair",
    "spaces_stretcher",
    "review_reasons",
]


@dataclass(frozen=True, slots=True)
class AccommodationChange:
    """The current needs, the future rides that got them, soonest first, and those whose crew no longer fits.

    Lists the rides in the caller's reach alone; the others change as well.
    """

    profile: AccommodationProfile
    changed_ride_ids: list[UUID]
    mismatched_ride_ids: list[UUID]


@transaction.atomic
def change_accommodation(
    *, rider_id: UUID, needs: Mapping[str, Any], by: Principal, at: datetime, expected_version: int | None = None
) -> AccommodationChange:
    """Change the needs of a rider and of every ride before boarding, and check drivers and vehicles again.

    What was said for one ride alone stays, and requests have their review reasons worked out again.  Each ride records
    `ride.updated`; a crew that no longer fits stays on it under the exception `accommodation_mismatch`.  All or
    nothing.  Locks the rider, rides by id, then drivers and vehicles by id.

    Raises:
        NotFound, StaleVersion, PhiNotPermitted, NeedsContradictory: see `riders.services.set_accommodation`.
    """
    # Lock the rider first, so that no ride is booked with the old needs meanwhile.
    profile = riders.set_accommodation(rider_id=rider_id, needs=needs, expected_version=expected_version, by=by, at=at)
    behind = [ride for ride in _locked(rider_id) if ride.accommodation_version != profile.number]
    behind.sort(key=lambda ride: (ride.pickup_at, ride.pk))
    lock_crews(behind)
    profiles = AccommodationProfile.objects.filter(rider_id=rider_id).exclude(pk=profile.pk)
    before = {row.number: accommodation.snapshot(row) for row in profiles} if behind else {}
    for ride in behind:
        _hand_on(ride, profile, before.get(ride.accommodation_version) or accommodation.complete({}), by=by, at=at)
    misfits = [ride.pk for ride in behind if not recheck(ride, by=by, at=at, detected_by="accommodation_change")]
    seen = set(Ride.objects.visible_to(by).filter(pk__in=[ride.pk for ride in behind]).values_list("pk", flat=True))
    return AccommodationChange(
        profile,
        changed_ride_ids=[ride.pk for ride in behind if ride.pk in seen],
        mismatched_ride_ids=[ride_id for ride_id in misfits if ride_id in seen],
    )


def own_needs(ride: Ride, before: Mapping[str, Any]) -> dict[str, Any]:
    """Separate the needs set for this ride from those that came from the rider's needs `before`.

    The mobility of a way back that is the rider's `returnMobility`, and load minutes that are those of the mobility,
    were not said for the ride.
    """
    needs = ride.accommodation
    ride_needs = {key: needs[key] for key in needs.get("overridden", ()) if key not in accommodation.COMPUTED}
    if ride.leg_type == "return" and ride_needs.get("mobility") == before["returnMobility"]:
        ride_needs.pop("mobility", None)
    usual = accommodation.default_load_minutes(needs["mobility"])
    return {
        key: value for key, value in ride_needs.items() if key not in ("loadMinutes", "unloadMinutes") or value != usual
    }


def _locked(rider_id: UUID) -> list[Ride]:
    """Lock the rides that the rider has not boarded, also outside the caller's data scope."""
    rows = Ride.objects.filter(rider_id=rider_id, status__in=BEFORE_BOARDING)
    related = rows.select_related("facility", "pickup_facility", "dropoff_facility", "payer", "rider")
    return list(related.select_for_update(of=("self",)).order_by("pk"))


def _hand_on(
    ride: Ride, profile: AccommodationProfile, before: Mapping[str, Any], *, by: Principal, at: datetime
) -> None:
    needs = legs.needs_of(accommodation.snapshot(profile), own_needs(ride, before), leg_type=ride.leg_type)
    places = accommodation.spaces(needs["mobility"], ride.companions)
    ride.accommodation, ride.accommodation_version = needs, profile.number
    ride.spaces_ambulatory, ride.spaces_wheelchair = places.ambulatory, places.wheelchair
    ride.spaces_stretcher = places.stretcher
    if ride.status == RideStatus.REQUESTED:
        ride.review_reasons = edit_checks.review_reasons(ride, ride_changes.leg_of(ride), at=at, time_is_new=False)
    touch(ride, "ride.updated", by=by, at=at, also=_COLUMNS, note=Note({"changed": ["accommodation"]}))
