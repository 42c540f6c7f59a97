"""Booking in sets: many rides of many orders at once, by the rules that `booking.book` obeys for one.

What all rides of an order share is worked out once, as its `Course`; a `Day` adds the times.  Riders are locked first
(`lock_riders`), so that nobody else books them meanwhile.  Trips, rides and events go in by COPY.  The row in the audit
trail is the caller's: one for each order.
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
    """What the drafts of a batch name, read once for all of them (`read_resources`)."""

    known: Mapping[UUID, Facility]
    entrances: Mapping[UUID, UUID]  # the facility of each
    payers: Mapping[UUID, Payer]
    _carried: dict[tuple[Any, ...], bool] = field(default_factory=dict, init=False, repr=False)

    def can_carry(self, spaces: dict[str, int], vehicle_type: str, *, bariatric: bool) -> bool:
        """Answer as `bookings.fleet_can_carry`, which is asked once about the same places."""
        places = (*sorted(spaces.items()), vehicle_type, bariatric)
        if places not in self._carried:
            self._carried[places] = bookings.fleet_can_carry(spaces, vehicle_type, bariatric=bariatric)
        return self._carried[places]


@dataclass(frozen=True, slots=True)
class PlannedLeg:
    """One leg of an order on any day."""

    leg: Leg
    columns: Mapping[str, Any]  # those that last, as COPY takes them
    drive_minutes: int | None
    facts: Facts  # of the day in the draft
    takes: timedelta  # how long a ride keeps its rider busy
    reaches: timedelta | None  # from the pickup to the drop-off; None: the drive is not known
    secrets: tuple[tuple[str, str], ...]  # by sealed column, where there is something to seal


@dataclass(frozen=True, slots=True)
class RidePlan:
    """The rides of an order: its rider, locked, and the way there, with or without the way back."""

    rider: Rider
    legs: tuple[PlannedLeg, ...]


@dataclass(frozen=True, slots=True)
class LegSchedule:
    """When a leg is ridden; `also` holds further columns of its ride, which outrank those that are worked out."""

    pickup_at: datetime
    appointment_at: datetime | None = None
    also: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServiceDay:
    """One occurrence.  `times` are those of the legs in `numbers`, which are places in `course.legs`, in their order.

    A leg that is booked alone belongs to no trip, unless `also` names one.
    """

    course: RidePlan
    times: Sequence[LegSchedule]
    numbers: Sequence[int] = (0, 1)

    def parts(self) -> list["_Part"]:
        return [(self.course.legs[number], time) for number, time in zip(self.numbers, self.times, strict=False)]


_Part = tuple[PlannedLeg, LegSchedule]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a day cannot be booked; `existing_id` is the ride that is in its way."""

    code: Code
    message: Text
    existing_id: UUID | None = None


def read_resources(drafts: Iterable[RideDraft], *, by: Principal) -> Resources:
    """Read what drafts name inside the caller's data scope.  Up to three queries, however many drafts there are."""
    asked = list(drafts)
    payer_ids = {draft.payment.payer_id for draft in asked} - {None}
    return Resources(
        known=bookings.facilities(booking.facility_ids(asked), by),
        entrances=legs.entrances_of(asked),
        payers=bookings.payers(one for one in payer_ids if one is not None),
    )


def lock_riders(ids: Iterable[UUID]) -> dict[UUID, Rider]:
    """Lock riders until the transaction ends, as booking locks one.  One query.

    In the order of their ids: two batches with riders in common do not wait for each other.
    """
    riders = Rider.objects.filter(pk__in=set(ids)).order_by("pk").select_for_update(no_key=True)
    return {rider.pk: rider for rider in riders}


def prefer_drivers(standing_order_id: UUID, driver_ids: Sequence[UUID]) -> None:
    """Prefer these drivers for every ride of an order that is to come; the order's rider is locked.

    A wish and no fact of the ride: nobody is told, and who is assigned stays.
    """
    rides = Ride.objects.open().filter(standing_order_id=standing_order_id)
    rides.update(preferred_driver_ids=list(driver_ids))


def course(
    drafts: Sequence[RideDraft],
    *,
    rider: Rider,
    profile: AccommodationProfile | None,
    owner: Facility | None,
    resources: Resources,
    at: datetime,
) -> RidePlan:
    """Work out what the rides of an order share.

    `drafts` are one or two, the second one made by `booking.way_back`; they name the rides of one day and stand for all
    of them.  `profile` is the rider's current one, `owner` the facility the rides belong to.  Costs what `can_carry` of
    the `resources` costs.

    Raises:
        InvalidInput, FieldRefused: a hard rule is broken; the field is named.
        ValueError: a draft has names that belong to one ride alone.
    """
    if any(draft.client_reference or draft.external_ids for draft in drafts):
        raise ValueError("A reference or an external id names one ride, and not all rides of an order.")
    planned = [
        legs.of_draft(
            draft,
            number=number,
            of=len(drafts),
            known=resources.known,
            owner=owner,
            profile=profile,
            payer=booking.payer_of(draft.payment.payer_id, among=resources.payers),
            entrances=resources.entrances,
        )
        for number, draft in enumerate(drafts, 1)
    ]
    for leg in planned:
        legs.require_sound(leg, at=at)
    return RidePlan(rider, tuple(_course_leg(leg, resources, at) for leg in planned))


def _course_leg(leg: Leg, resources: Resources, at: datetime) -> PlannedLeg:
    made = legs.columns(leg)
    pickup_at, minutes = leg.draft.pickup_at, made["estimated_minutes"]
    reached_at = expected_dropoff_at(Ride(**made))
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
        facts=legs.facts_of(leg, made, at=at, can_carry=resources.can_carry),
        takes=timing.busy_until(pickup_at, minutes) - pickup_at,
        reaches=None if reached_at is None else reached_at - pickup_at,
        secrets=tuple((name, text) for name, text in secrets.items() if text),
    )


def _for_copy(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Name columns as the table does, and write JSON once for all rows."""
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
    """Make the rides of many days, and answer their ids, or why there are none, in the order of `days`.

    A day is booked as a whole or not at all.  Rides of days before it are in its way as those that were there before.
    Inside the caller's transaction, in which the riders were locked before their courses were made.  Costs one query
    and three COPYs, however many days there are; where rides will be late from the start, or are allowed beside others,
    one query more, and what it costs to open an exception on each of them.

    Raises:
        ScopeMissing, booking.BoundToProviders: the caller may not book.
    """
    booking.require_right(by)
    asked = [(day, day.parts()) for day in days]
    times = [(time.pickup_at, part.takes) for _, parts in asked for part, time in parts]
    if not times:
        return [() for _day in days]
    agendas = bookings.agendas(
        {day.course.rider.pk for day in days},
        starts_at=min(pickup_at for pickup_at, _ in times),
        ends_at=max(pickup_at + takes for pickup_at, takes in times),
        by=by,
    )
    made = _Set(by=by, at=at)
    answers = [made.take(day.course.rider, parts, agendas[day.course.rider.pk]) for day, parts in asked]
    made.write()
    return answers


@dataclass(slots=True)
class _Set:
    """The rows of the days that can be booked."""

    by: Principal
    at: datetime
    trips: list[dict[str, Any]] = field(default_factory=list)
    rides: list[dict[str, Any]] = field(default_factory=list)
    beside: dict[UUID, list[UUID]] = field(default_factory=dict)  # the other rides of those that somebody looks at

    def take(self, rider: Rider, parts: Sequence[_Part], agenda: Agenda) -> tuple[UUID, ...] | Refused:
        """Add the rows of a day, unless it has to be refused."""
        if refused := self._unsound(parts):
            return refused
        planned = []
        for part, time in parts:
            timed = legs.timed_columns(part.leg, time.pickup_at, time.appointment_at, drive_minutes=part.drive_minutes)
            if why := rider_status.barred(rider, timed["service_date"]):
                return Refused(booking.RiderNotBookable.code, why)
            others = agenda.under_way(time.pickup_at, time.pickup_at + part.takes)
            if others and not part.leg.draft.allow_duplicate:
                return Refused(booking.OverlappingRide.code, _TAKEN, others[0])
            planned.append((part, time, timed, others))
        shared = {"rider_id": rider.pk, "trip_id": None}
        if len(planned) > 1:
            shared["trip_id"] = self._trip(rider, planned[0][2]["service_date"])
        made = []
        for part, time, timed, others in planned:
            ride = {**self._ride(part, time, timed), **shared, **time.also}
            self.rides.append(ride)
            agenda.add(time.pickup_at, time.pickup_at + part.takes, ride["id"])
            if others or _is_late(part, timed):
                self.beside[ride["id"]] = others
            made.append(ride["id"])
        return tuple(made)

    def _unsound(self, parts: Sequence[_Part]) -> Refused | None:
        for part, time in parts:
            leg = part.leg
            broken = booking_rules.times(
                leg.draft, time.pickup_at, time.appointment_at, at=self.at, leg_type=leg.leg_type
            )
            if broken:
                return Refused(Code.VALIDATION_ERROR, broken[0].text)
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
            return exception_rules.first_look_of_new(
                pickup_at=timed["pickup_at"], will_call=columns["will_call"], priority=columns["priority"]
            )
        return status.watching_of(Ride(**{**legs.columns(part.leg), **timed, **new}), at=self.at)

    def write(self) -> None:
        copy_rows(Trip, self.trips)
        copy_rows(Ride, self.rides)
        status.record_all_created(self.rides, by=self.by, at=self.at)
        if self.beside:
            for ride in Ride.objects.filter(pk__in=self.beside).order_by("pk"):
                others = self.beside[ride.pk]
                booking.open_duplicate(ride, others, detected_by="booking", by=self.by, at=self.at)
                arrival_times.expect(ride, detected_by="booking", by=self.by, at=self.at)


def _is_late(part: PlannedLeg, timed: Mapping[str, Any]) -> bool:
    awaited = arrival_times.first_awaited(timed["appointment_at"], timed["discharge"])
    return awaited is not None and part.reaches is not None and timed["pickup_at"] + part.reaches > awaited
