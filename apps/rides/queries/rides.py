"""Single rides with related records, and their timeline."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
from django.db.models import TextField, Value
from django.db.models.functions import Cast, Replace
from django.utils.translation import gettext_lazy as _

from apps.events.models import Event
from apps.organizations import queries as organizations
from apps.organizations.models import ExternalId, SubjectType
from apps.organizations.queries import external_ids_of
from apps.rides.models import Assignment, Milestone, Ride, RideChange
from apps.rides.models.ride import ID_END, REVERSED_ID_END, RideQuerySet
from apps.rides.rules.change_values import ChangedValues, from_json
from apps.rides.rules.disclosure import disclosure_of
from lib.access import Phi, Principal
from lib.errors import NotFound

_FEWEST_OF_ID: Final = 4
_FEWEST_LETTERS_OF_ID: Final = 6
_HEXADECIMAL: Final = re.compile(r"[0-9a-f]{4,32}")


@dataclass(frozen=True, slots=True)
class RelatedRecords:
    """Related records of a single ride."""

    external_ids: list[ExternalId] = field(default_factory=list)
    milestones: list[Milestone] = field(default_factory=list)
    assignment: Assignment | None = None
    linked_ride_ids: list[UUID] = field(default_factory=list)


def ride(ride_id: UUID, by: Principal) -> Ride:
    """Read one ride of the caller's data scope.

    Raises:
        NotFound: there is none.
    """
    row = Ride.objects.visible_to(by).filter(pk=ride_id).first()
    if row is None:
        raise NotFound(_("ride"))
    return row


def related_records(of: Ride) -> RelatedRecords:
    """Read the related records of a ride.  Two queries, one more with a driver, and one more in a trip."""
    assignments = Assignment.objects.select_related("driver")
    return RelatedRecords(
        external_ids=external_ids_of(SubjectType.RIDE, [of.pk])[of.pk],
        milestones=list(Milestone.objects.filter(ride=of).order_by("occurred_at", "recorded_at", "pk")),
        assignment=assignments.get(pk=of.assignment_id) if of.assignment_id else None,
        linked_ride_ids=linked(of.pk, trip_id=of.trip_id) if of.trip_id else [],
    )


def related_records_of_new(ride: Ride, *, has_external_ids: bool) -> RelatedRecords:
    """Read the related records of a new ride, which has no history yet.

    One query with external ids, one in a trip.
    """
    return RelatedRecords(
        external_ids=external_ids_of(SubjectType.RIDE, [ride.pk])[ride.pk] if has_external_ids else [],
        linked_ride_ids=linked(ride.pk, trip_id=ride.trip_id) if ride.trip_id else [],
    )


def linked(ride_id: UUID, *, trip_id: UUID) -> list[UUID]:
    """List the other legs of a ride's trip."""
    legs = Ride.objects.filter(trip_id=trip_id).exclude(pk=ride_id)
    return list(legs.order_by("leg_sequence", "pk").values_list("pk", flat=True))


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a ride's timeline: an event, or a milestone with its source."""

    kind: str
    type: str
    occurred_at: datetime
    recorded_at: datetime
    actor: str
    sequence: int | None = None
    data: dict[str, Any] = field(default_factory=dict)
    values: ChangedValues | None = None  # of an edit; show them by `field_changes`
    source: str | None = None
    edited: bool = False
    voided: bool = False
    lat: Any = None
    lng: Any = None
    distance_from_stop_meters: int | None = None
    note: str = ""
    contacted: str = ""


def timeline(of: Ride) -> list[Entry]:
    """Return the events and milestones of a ride by time.  Three queries."""
    values = {change.version: from_json(orjson.loads(change.values)) for change in RideChange.objects.filter(ride=of)}
    events = Event.objects.filter(subject_type="ride", subject_id=of.pk)
    entries = [
        Entry(
            "event",
            event.type,
            event.occurred_at,
            event.recorded_at,
            event.actor,
            sequence=event.sequence,
            data=event.data,
            values=values.get(event.sequence),
        )
        for event in events.order_by("sequence")
    ]
    entries += [
        Entry(
            "milestone",
            milestone.type,
            milestone.occurred_at,
            milestone.recorded_at,
            milestone.actor,
            source=milestone.source,
            edited=milestone.edited,
            voided=milestone.voided,
            lat=milestone.lat,
            lng=milestone.lng,
            distance_from_stop_meters=milestone.distance_from_stop_meters,
            note=milestone.note,
            contacted=milestone.contacted,
        )
        for milestone in Milestone.objects.filter(ride=of)
    ]
    # At the same instant, the milestone comes before its event.
    return sorted(entries, key=lambda entry: (entry.occurred_at, entry.kind != "milestone", entry.sequence or 0))


def rides_called(ref: str, *, by: Principal) -> RideQuerySet:
    """Find rides inside the data scope by id, client reference or external id, exactly; unsorted.

    Callers who may not see references and external ids find nothing by them.
    """
    rides = Ride.objects.visible_to(by)
    try:
        return rides.filter(pk=UUID(ref))
    except ValueError:
        pass
    if disclosure_of(by).phi < Phi.LIMITED:
        return rides.none()
    referred = Ride.objects.filter(client_reference=ref).exclude(client_reference="").values("pk")
    return rides.filter(pk__in=referred.union(organizations.subjects_called(SubjectType.RIDE, ref)))


def rides_ending(ref: str, *, by: Principal) -> RideQuerySet:
    """Find rides inside the data scope whose id ends with `ref`: hexadecimal, from four characters on; unsorted.

    Text of letters only is an end from six characters on: shorter ones are names more often.
    """
    digits = ref.replace("-", "").lower()
    fewest = _FEWEST_OF_ID if any(character.isdigit() for character in digits) else _FEWEST_LETTERS_OF_ID
    if len(digits) < fewest or not _HEXADECIMAL.fullmatch(digits):
        return Ride.objects.none()
    rides = Ride.objects.visible_to(by).alias(reversed_end=REVERSED_ID_END)
    rides = rides.filter(reversed_end__startswith=digits[-ID_END:][::-1])
    if len(digits) > ID_END:
        whole = Replace(Cast("pk", TextField()), Value("-"), output_field=TextField())
        rides = rides.alias(digits=whole).filter(digits__endswith=digits)
    return rides
