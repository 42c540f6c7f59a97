"""Queries of riders.  All of them are limited to riders in the caller's data scope."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import Count, Q, QuerySet, Value
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _

from apps.organizations import queries as organizations
from apps.organizations.models import ExternalId, Facility, SubjectType
from apps.riders.models import NAMES, AccommodationProfile, Rider, RiderFacility, RiderQuerySet
from apps.riders.rules import accommodation, rider_status
from lib.access import Principal
from lib.crypto import blind_index
from lib.db.name_keys import NameKeys, near, words_of
from lib.errors import NotFound

DUPLICATES_SHOWN: Final = 10
POLICY_WINDOW: Final = timedelta(days=90)  # rolling


@dataclass(frozen=True, slots=True)
class RiderRecord:
    """A rider with related rows, as far as the reader may see them.

    `profile` is None if the row was not created by the service; `facility_ids` are those in the reader's data scope.
    """

    rider: Rider
    profile: AccommodationProfile | None
    facility_ids: tuple[UUID, ...]
    external_ids: tuple[ExternalId, ...]

    @property
    def needs(self) -> accommodation.Shape:
        """Return the rider's needs; the defaults if no profile exists."""
        return accommodation.snapshot(self.profile) if self.profile else accommodation.complete({})


def riders(*, by: Principal, statuses: Collection[str] | None = None, facility_id: UUID | None = None) -> RiderQuerySet:
    """List riders in the data scope with these statuses and this facility; unordered.

    A facility outside the data scope has no riders here: the reader may not learn which riders go there.
    """
    rows = Rider.objects.visible_to(by)
    if statuses is not None:
        rows = rows.filter(status__in=statuses)
    if facility_id is not None:
        facilities = Facility.objects.visible_to(by).filter(pk=facility_id)
        rows = rows.filter(pk__in=RiderFacility.objects.filter(facility__in=facilities).values("rider_id"))
    return rows


def records(riders: Sequence[Rider], *, by: Principal) -> list[RiderRecord]:
    """Return the records of these riders, in the same order.  Three queries for any number of riders."""
    ids = [rider.pk for rider in riders]
    profiles = {row.rider_id: row for row in AccommodationProfile.objects.filter(rider_id__in=ids, current=True)}
    facilities = facility_ids_of(ids, by=by)
    names = organizations.external_ids_of(SubjectType.RIDER, ids)
    return [
        RiderRecord(
            rider=rider,
            profile=profiles.get(rider.pk),
            facility_ids=tuple(facilities[rider.pk]),
            external_ids=tuple(names[rider.pk]),
        )
        for rider in riders
    ]


def record(rider: Rider, *, by: Principal) -> RiderRecord:
    """Return the record of one rider.  Three queries."""
    return records([rider], by=by)[0]


def facility_ids_of(rider_ids: Sequence[UUID], *, by: Principal) -> dict[UUID, list[UUID]]:
    """Return the facilities of each rider that are in the data scope; others would reveal more of the rider's life."""
    rows = RiderFacility.objects.filter(rider_id__in=rider_ids)
    if by.facility_ids is not None:
        rows = rows.filter(facility_id__in=by.facility_ids)
    by_rider: dict[UUID, list[UUID]] = defaultdict(list)
    for rider_id, facility_id in rows.order_by("facility_id").values_list("rider_id", "facility_id"):
        by_rider[rider_id].append(facility_id)
    return {rider_id: by_rider[rider_id] for rider_id in rider_ids}


@dataclass(frozen=True, slots=True)
class PolicyStanding:
    """A rider's ended rides of the last 90 days, and those of them that count against the rider."""

    rides: int = 0
    rider_fault: int = 0


def policy_standings(rider_ids: Collection[UUID], *, by: Principal, at: datetime) -> dict[UUID, PolicyStanding]:
    """Count ended rides of riders, and those that count against them, within the reader's data scope.  One query.

    No-shows, and cancellations that are late or at the door, count against the rider if they are the rider's fault.
    Life-sustaining rides are exempt and not counted at all, and neither are duplicates and booking errors.

    The rides app is above this one and is not imported: rides are reached by the reverse relation of the rider.
    """
    ended: dict[str, Any] = {
        "rides__pickup_at__gt": at - POLICY_WINDOW,
        "rides__pickup_at__lte": at,
        "rides__status__in": ("completed", "cancelled", "no_show", "unfulfilled"),
        "rides__priority__in": ("routine", "time_critical"),
    }
    if by.facility_ids is not None:
        ended["rides__facility_id__in"] = tuple(by.facility_ids)
    counts = ~Q(rides__reason_code__in=("duplicate", "booking_error"))
    in_time = Q(rides__cancellation_timing__in=("advance", "same_day"))
    rows = (
        Rider.objects.filter(pk__in=rider_ids, **ended)
        .annotate(ended=Count("rides", filter=counts))
        .annotate(against=Count("rides", filter=counts & Q(rides__fault="rider") & ~in_time))
        .values_list("pk", "ended", "against")
    )
    by_rider = {rider_id: PolicyStanding(rides, faults) for rider_id, rides, faults in rows}
    return {rider_id: by_rider.get(rider_id, PolicyStanding()) for rider_id in rider_ids}


def rides_to_decide(rider: Rider, *, by: Principal) -> tuple[UUID, ...]:
    """List a rider's open rides in the data scope that the rider's status does not allow, soonest first.

    Only rides that the rider has not boarded.  A person has to decide about each of them.  One query.
    """
    ahead: dict[str, Any] = {"rides__status__in": ("requested", "scheduled", "assigned", "en_route", "arrived")}
    if by.facility_ids is not None:
        ahead["rides__facility_id__in"] = tuple(by.facility_ids)
    rows = Rider.objects.filter(pk=rider.pk, **ahead).order_by("rides__pickup_at", "rides__pk")
    days = rows.values_list("rides__pk", "rides__service_date")
    return tuple(ride_id for ride_id, day in days if rider_status.barred(rider, day))


def versions_of(rider_id: UUID, *, by: Principal) -> QuerySet[AccommodationProfile]:
    """List all versions of a rider's needs; unordered.

    Raises:
        NotFound: the rider does not exist or is outside the data scope.
    """
    if not Rider.objects.visible_to(by).filter(pk=rider_id).exists():
        raise NotFound(_("rider"))
    return AccommodationProfile.objects.filter(rider_id=rider_id)


def search(criteria: Mapping[str, Any], *, by: Principal) -> RiderQuerySet:
    """Return riders in the data scope that match all of `criteria`; unordered.

    name: prefix of first, preferred or last name, or of two of them in either order ("orla can", "canary, or"),
    case-insensitive. alike: names, each of which is a prefix or differs from one of the rider's by at most one letter.
    external_id: `{"system", "value"}`. called: an external id of any system. phone: one of the
    rider's own, E.164. medicaid_id and member_id: the whole id. date_of_birth: the day.
    """
    matches = riders(by=by).alias(last=Lower("last_name"), first=Lower("first_name"), preferred=Lower("preferred_name"))
    if name := criteria.get("name"):
        matches = matches.filter(_named(name))
    if alike := criteria.get("alike"):
        matches = matches.alias(name_keys=NameKeys(*NAMES)).filter(_alike(alike))
    if external_id := criteria.get("external_id"):
        subject = organizations.subject_of(SubjectType.RIDER, system=external_id["system"], value=external_id["value"])
        matches = matches.none() if subject is None else matches.filter(pk=subject)
    if called := criteria.get("called"):
        matches = matches.filter(pk__in=organizations.subjects_called(SubjectType.RIDER, called))
    if phone := criteria.get("phone"):
        matches = matches.filter(phones__contains=[{"number": phone}])
    for code in ("medicaid_id", "member_id"):
        if text := criteria.get(code):
            matches = matches.filter(**{f"{code}_index": index_of(code, text)})
    if born := criteria.get("date_of_birth"):
        matches = matches.filter(date_of_birth=born)
    return matches


def possible_duplicates(rider: Rider, *, by: Principal) -> tuple[UUID, ...]:
    """List riders in the data scope who may be the same person: same name and birth date, or same Medicaid id.

    A hint for a person to check, never a match.  At most ten, newest first.
    """
    duplicate = Q(pk__isnull=True)  # matches no rider
    if rider.date_of_birth is not None:
        duplicate |= Q(
            last=Lower(Value(rider.last_name)),
            first=Lower(Value(rider.first_name)),
            date_of_birth=rider.date_of_birth,
        )
    if rider.medicaid_id_index is not None:
        duplicate |= Q(medicaid_id_index=rider.medicaid_id_index)
    alike = riders(by=by).alias(last=Lower("last_name"), first=Lower("first_name")).filter(duplicate)
    return tuple(alike.exclude(pk=rider.pk).order_by("-pk").values_list("pk", flat=True)[:DUPLICATES_SHOWN])


def index_of(code: str, text: str) -> bytes:
    """Return the blind index of a code, as in the column `<code>_index`."""
    return blind_index(text, purpose=f"{Rider._meta.db_table}.{code}")


def _named(name: str) -> Q:
    if "," in name:
        last, _, first = name.partition(",")
        splits = [(first.strip(), last.strip())]
    else:
        words = name.split()
        splits = [(" ".join(words[:cut]), " ".join(words[cut:])) for cut in range(len(words) + 1)]
        splits += [(last, first) for first, last in splits[1:-1]]
    condition = Q(pk__isnull=True)  # matches no rider, for text without a name, such as a comma
    for first, last in splits:
        if first or last:
            condition |= _begins(first, last)
    return condition


def _alike(text: str) -> Q:
    words = words_of(text)
    condition = Q() if words else Q(pk__isnull=True)
    for word in words:
        prefix = Q(last__startswith=word) | Q(first__startswith=word) | Q(preferred__startswith=word)
        condition &= prefix | Q(name_keys__overlap=near(word))
    return condition


def _begins(first: str, last: str) -> Q:
    """Return a condition on both prefixes; either may be ""."""
    condition = Q()
    if last:
        condition &= Q(last__startswith=Lower(Value(last)))
    if first:
        first_name = Lower(Value(first))
        condition &= Q(first__startswith=first_name) | Q(preferred__startswith=first_name)
    return condition
