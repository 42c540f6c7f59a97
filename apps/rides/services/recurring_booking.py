"""Books many rides of many orders at once, by the same rules as `booking.book`.

A `RidePlan` has the values that all rides of an order share, and a `ServiceDay` adds the times.  The caller locks the
riders first (`lock_riders`), so that no other transaction books rides for them.  Trips, rides and events are inserted
by COPY.  The caller writes one audit entry per order.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any, Final
from uuid import UUID

import orjson
from django.db.models import JSONField
from django.utils.translation import gettext_lazy as _

from apps.organizations.models import Facility, Payer
from apps.riders.models import AccommodationProfile, Rider
from apps.riders.rules import rider_status
from apps.rides.models import Ride, Trip
from apps.rides.queries import bookings
from apps.rides.queries.bookings import Agenda
from apps.rides.queries.ride_needs import expected_dropoff_at
from apps.rides.rules import booking_rules, exception_rules, timing
from apps.rides.rules.booking_rules import Facts
from apps.rides.rules.draft import RideDraft
from apps.rides.services import arrival_times, booking, legs, status
from apps.rides.services.legs import Leg
from lib.access import Principal
from lib.crypto import encrypted_value
from lib.db.bulk_copy import copy_rows
from lib.errors import Code
from lib.ids import uuid7
from lib.messages import Text

_TAKEN: Final = _("The rider has a ride at this time.")


@dataclass(frozen=True, slots=True)
class Resources:
    """Records that the drafts of a batch refer to, read once (`read_resources`)."""

    facilities: Mapping[UUID, Facility]
    entrances: Mapping[UUID, UUID]  # facility ids by entrance id
    payers: Mapping[UUID, Payer]
    _carried: dict[tuple[Any, ...], bool] = field(default_factory=dict, init=False, repr=False)

    def can_carry(self, spaces: dict[str, int], vehicle_type: str, *, bariatric: bool) -> bool:
        """Return the cached result of `bookings.fleet_can_carry`."""
        places = (*sorted(spaces.items()), vehicle_type, bariatric)
        if places not in self._carried:
            self._carried[places] = bookings.fleet_can_carry(spaces, vehicle_type, bariatric=bariatric)
        return self._carried[places]


@dataclass(frozen=True, slots=True)
class PlannedLeg:
    """One leg of an order on any day."""

    leg: Leg
    columns: Mapping[str, Any]  # the same on all days, ready for COPY
    drive_minutes: int | None
    facts: Facts  # on the day of the draft
    takes: timedelta  # how long a ride keeps its rider busy
    reaches: timedelta | None  # from the pickup to the drop-off; None if the drive is unknown
    secrets: tuple[tuple[str, str], ...]  # texts to encrypt, by column


@dataclass(frozen=True, slots=True)
class RidePlan:
    """The locked rider of an order and its legs: the outbound leg, with or without the return."""

    rider: Rider
    legs: tuple[PlannedLeg, ...]


@dataclass(frozen=True, slots=True)
class LegSchedule:
    """The times of a leg; `also` has more columns of its ride, which replace computed ones."""

    pickup_at: datetime
    appointment_at: datetime | None = None
    also: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceDay:
    """One occurrence.  `times` are the times of the legs in `numbers`, which are indexes of `plan.legs`.

    A single leg has no trip, unless `also` has one.
    """

    plan: RidePlan
    times: Sequence[LegSchedule]
    numbers: Sequence[int] = (0, 1)

    def parts(self) -> list["_Part"]:
        return [(self.plan.legs[number], time) for number, time in zip(self.numbers, self.times, strict=False)]


_Part = tuple[PlannedLeg, LegSchedule]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a day cannot be booked; `existing_id` is a conflicting ride."""

    code: Code
    message: Text
    existing_id: UUID | None = None


def read_resources(drafts: Iterable[RideDraft], *, by: Principal) -> Resources:
    """Read the records that drafts refer to, inside the caller's data scope.  Up to three queries."""
    batch = list(drafts)
    payer_ids = {draft.payment.payer_id for draft in batch} - {None}
    return Resources(
        facilities=bookings.facilities(booking.facility_ids(batch), by),
        entrances=legs.entrances_of(batch),
        payers=bookings.payers(payer_id for payer_id in payer_ids if payer_id is not None),
    )


def lock_riders(ids: Iterable[UUID]) -> dict[UUID, Rider]:
    """Lock riders until the transaction ends, in the order of their ids to avoid deadlocks.  One query."""
    riders = Rider.objects.filter(pk__in=set(ids)).order_by("pk").select_for_update(no_key=True)
    return {rider.pk: rider for rider in riders}


def prefer_drivers(standing_order_id: UUID, driver_ids: Sequence[UUID]) -> None:
    """Set the preferred drivers of all open rides of an order, whose rider is locked.

    Does not change assignments and records no event.
    """
    rides = Ride.objects.open().filter(standing_order_id=standing_order_id)
    rides.update(preferred_driver_ids=list(driver_ids))


def plan_rides(
    drafts: Sequence[RideDraft],
    *,
    rider: Rider,
    profile: AccommodationProfile | None,
    owner: Facility | None,
    resources: Resources,
    at: datetime,
) -> RidePlan:
    """Plan the rides of an order.

    `drafts` are the rides of one day, which every day repeats: the outbound ride and optionally its return from
    `booking.return_draft`.  `profile` is the rider's current profile, `owner` the facility of the rides.  Queries only
    in `can_carry`.

    Raises:
        InvalidInput, FieldRefused: a rule is broken.
        ValueError: a draft has a reference or an external id.
    """
    if any(draft.client_reference or draft.external_ids for draft in drafts):
        raise ValueError("A reference or an external id names one ride, and not all rides of an order.")
    planned = [
        legs.of_draft(
            draft,
            number=number,
            of=len(drafts),
            facilities=resources.facilities,
            owner=owner,
            profile=profile,
            payer=booking.payer_of(draft.payment.payer_id, among=resources.payers),
            entrances=resources.entrances,
        )
        for number, draft in enumerate(drafts, 1)
    ]
    for leg in planned:
        legs.require_sound(leg, at=at, time_is_new=False)  # the times of each day are checked when it is booked
    return RidePlan(rider, tuple(_planned_leg(leg, resources, at) for leg in planned))


def _planned_leg(leg: Leg, resources: Resources, at: datetime) -> PlannedLeg:
    columns = legs.columns(leg)
    pickup_at, minutes = leg.draft.pickup_at, columns["estimated_minutes"]
    reached_at = expected_dropoff_at(Ride(**columns))
    pickup_access, dropoff_access = (legs.access_text(ways_in or {}) for ways_in in leg.access)
    secrets = {
        "pickup_access": pickup_access,
        "dropoff_access": dropoff_access,
        "payer_member_id": leg.draft.payment.member_id,
    }
    return PlannedLeg(
        leg=leg,
        columns=_for_copy(legs.lasting_columns(leg)),
        drive_minutes=minutes,
        facts=legs.facts_of(leg, columns, at=at, can_carry=resources.can_carry),
        takes=timing.busy_until(pickup_at, minutes) - pickup_at,
        reaches=None if reached_at is None else reached_at - pickup_at,
        secrets=tuple((name, text) for name, text in secrets.items() if text),
    )


def _for_copy(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Convert field names to column names, and serialize JSON once for all rows."""
    ready = {}
    for name, value in columns.items():
        column: Any = Ride._meta.get_field(name)
        if column.is_relation:
            ready[column.attname] = None if value is None else value.pk
        elif isinstance(column, JSONField) and value is not None:
            ready[name] = orjson.dumps(value).decode()
        else:
            ready[name] = value
    return ready


def book_days(days: Sequence[ServiceDay], *, by: Principal, at: datetime) -> list[tuple[UUID, ...] | Refused]:
    """Book the rides of many days; return the ride ids or the refusal of each day, in the order of `days`.

    A day is booked as a whole or not at all; conflicts with earlier days in the list count.  Runs in the caller's
    transaction, which has locked the riders before planning.  One query and three COPYs; one more query, and those of
    the exceptions, if new rides are late or overlap others with permission.

    Raises:
        ScopeMissing, booking.BoundToProviders: the caller may not book.
    """
    booking.require_right(by)
    parts_of = [(day, day.parts()) for day in days]
    times = [(time.pickup_at, part.takes) for _day, parts in parts_of for part, time in parts]
    if not times:
        return [() for _day in days]
    agendas = bookings.agendas(
        {day.plan.rider.pk for day in days},
        starts_at=min(pickup_at for pickup_at, _ in times),
        ends_at=max(pickup_at + takes for pickup_at, takes in times),
        by=by,
    )
    batch = _Set(by=by, at=at)
    answers = [batch.take(day.plan.rider, parts, agendas[day.plan.rider.pk]) for day, parts in parts_of]
    batch.write()
    return answers


@dataclass(slots=True)
class _Set:
    """The rows of the days that can be booked."""

    by: Principal
    at: datetime
    trips: list[dict[str, Any]] = field(default_factory=list)
    rides: list[dict[str, Any]] = field(default_factory=list)
    overlapping_ids: dict[UUID, list[UUID]] = field(default_factory=dict)  # by new ride with an exception

    def take(self, rider: Rider, parts: Sequence[_Part], agenda: Agenda) -> tuple[UUID, ...] | Refused:
        """Add the rows of a day, or return its refusal."""
        if refused := self._unsound(parts):
            return refused
        planned = []
        for part, time in parts:
            timed = legs.timed_columns(
                part.leg,
                time.pickup_at,
                time.appointment_at,
                drive_minutes=part.drive_minutes,
                not_before=self.at,
            )
            if why := rider_status.barred(rider, timed["service_date"]):
                return Refused(booking.RiderNotBookable.code, why)
            overlapping_ids = agenda.under_way(time.pickup_at, time.pickup_at + part.takes)
            if overlapping_ids and not part.leg.draft.allow_duplicate:
                return Refused(booking.OverlappingRide.code, _TAKEN, overlapping_ids[0])
            planned.append((part, time, timed, overlapping_ids))
        shared = {"rider_id": rider.pk, "trip_id": None}
        if len(planned) > 1:
            shared["trip_id"] = self._trip(rider, planned[0][2]["service_date"])
        ride_ids = []
        for part, time, timed, overlapping_ids in planned:
            ride = {**self._ride(part, time, timed), **shared, **time.also}
            self.rides.append(ride)
            agenda.add(time.pickup_at, time.pickup_at + part.takes, ride["id"])
            if overlapping_ids or _is_late(part, timed):
                self.overlapping_ids[ride["id"]] = overlapping_ids
            ride_ids.append(ride["id"])
        return tuple(ride_ids)

    def _unsound(self, parts: Sequence[_Part]) -> Refused | None:
        for part, time in parts:
            leg = part.leg
            broken = booking_rules.times(
                leg.draft, time.pickup_at, time.appointment_at, at=self.at, leg_type=leg.leg_type
            )
            if broken:
                is_past = broken[0].code == booking_rules.IN_PAST
                return Refused(Code.PICKUP_IN_PAST if is_past else Code.VALIDATION_ERROR, broken[0].text)
        for (_first_part, first), (_second_part, second) in pairwise(parts):
            if not booking_rules.follows(second.pickup_at, first.pickup_at, first.appointment_at):
                return Refused(Code.VALIDATION_ERROR, booking_rules.OUT_OF_ORDER)
        return None

    def _trip(self, rider: Rider, service_date: date) -> UUID:
        trip_id = uuid7()
        row = {"id": trip_id, "rider_id": rider.pk, "service_date": service_date, "created_at": self.at}
        self.trips.append(row)
        return trip_id

    def _ride(self, part: PlannedLeg, time: LegSchedule, timed: Mapping[str, Any]) -> dict[str, Any]:
        ride_id = uuid7()
        facts = replace(part.facts, at=self.at, pickup_at=time.pickup_at, service_date=timed["service_date"])
        questions = [question.value for question in booking_rules.review_reasons(facts)]
        new = legs.new_columns(part.leg, questions, time.pickup_at, by=self.by, at=self.at)
        return {
            **part.columns,
            **timed,
            **new,
            **{f"{name}_encrypted": encrypted_value(Ride, name, ride_id, text) for name, text in part.secrets},
            "next_check_at": self._next_check_at(part, timed, new),
            "id": ride_id,
        }

    def _next_check_at(self, part: PlannedLeg, timed: Mapping[str, Any], new: Mapping[str, Any]) -> datetime | None:
        columns = part.columns
        if new["confirm_by"] is None and timed["discharge"] is None:
            return exception_rules.first_check_of_new(
                pickup_at=timed["pickup_at"], will_call=columns["will_call"], priority=columns["priority"]
            )
        return status.watching_of(Ride(**{**legs.columns(part.leg), **timed, **new}), at=self.at)

    def write(self) -> None:
        copy_rows(Trip, self.trips)
        copy_rows(Ride, self.rides)
        status.record_all_created(self.rides, by=self.by, at=self.at)
        if self.overlapping_ids:
            for ride in Ride.objects.filter(pk__in=self.overlapping_ids).order_by("pk"):
                overlapping_ids = self.overlapping_ids[ride.pk]
                booking.open_duplicate(ride, overlapping_ids, detected_by="booking", by=self.by, at=self.at)
                arrival_times.check_appointment(ride, detected_by="booking", by=self.by, at=self.at)


def _is_late(part: PlannedLeg, timed: Mapping[str, Any]) -> bool:
    awaited = arrival_times.first_awaited(timed["appointment_at"], timed["discharge"])
    return awaited is not None and part.reaches is not None and timed["pickup_at"] + part.reaches > awaited
