"""Drivers and vehicles for display: credentials and their status, upcoming shifts, leave, and duty."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Exists, F, FilteredRelation, OuterRef, Prefetch, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Replace
from django.utils.translation import gettext_lazy as _

from apps.fleet.models import Credential, Document, Driver, Leave, Shift, Vehicle
from apps.fleet.rules.credentials import (
    BLOCKING_BY_DEFAULT,
    TYPES_OF,
    CredentialFacts,
    CredentialStatus,
    Subject,
    blocks_by_default,
    credential_status,
)
from apps.organizations import queries as organizations
from apps.organizations.models import SubjectType
from lib.access import Phi, Principal
from lib.db.name_keys import NameKeys, near, words_of
from lib.errors import NotFound
from lib.reference_checks import visible_riders

# A ride under way whose pickup time is longer ago than this is stuck, and does not show where its driver is.
UNDER_WAY_WITHIN: Final = timedelta(hours=24)
_UNDER_WAY: Final = ("en_route", "arrived", "in_progress")
_PUNCTUATION: Final = re.compile(r"[\s-]+")
_NO_VEHICLE: Final = UUID(int=0)  # Django answers a query with an empty list in the condition of a join with no rows


@dataclass(frozen=True, slots=True)
class CredentialShown:
    """A credential and its status today; `id` None: a required credential that was never filed."""

    type: str
    status: CredentialStatus
    blocking: bool
    id: UUID | None = None
    number: str = ""
    issuer: str = ""
    issued_on: date | None = None
    expires_on: date | None = None
    entered_at: datetime | None = None
    entered_by: str = ""
    verified_at: datetime | None = None
    verified_by: str = ""
    document_id: UUID | None = None
    warn_days: int | None = None

    @property
    def awaits_review(self) -> bool:
        """Return whether the credential is on file but neither verified nor rejected."""
        return self.id is not None and self.verified_at is None and self.status is not CredentialStatus.REJECTED


@dataclass(frozen=True, slots=True)
class Duty:
    """The current activity of a driver: off, available, on_ride or break; `assignment_id` is of the ride under way."""

    state: str
    assignment_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Crew:
    """A driver and one of their shifts and rides under way with the vehicles in question, if there are any."""

    driver_id: UUID
    located_at: datetime | None
    shift_vehicle_id: UUID | None
    shift_starts_at: datetime
    shift_ends_at: datetime
    ride_vehicle_id: UUID | None
    ride_pickup_at: datetime


def drivers(by: Principal, at: datetime) -> QuerySet[Driver]:
    """Return drivers in the data scope with everything that pages show.  Three queries besides its own."""
    coming = Shift.objects.filter(status=Shift.Status.PLANNED, ends_at__gt=at).order_by("starts_at", "id")
    leave = Leave.objects.filter(ends_at__gt=at, absence="").order_by("starts_at", "id")
    return (
        Driver.objects.visible_to(by)
        .select_related("provider")
        .prefetch_related(
            Prefetch("credentials", _in_force(), to_attr="active_credentials"),
            Prefetch("shifts", coming, to_attr="coming_shifts"),
            Prefetch("leave", leave, to_attr="coming_leave"),
        )
    )


def absences_of(driver_id: UUID, at: datetime) -> QuerySet[Leave]:
    """Return the reported absences of a driver that have not ended, soonest first."""
    return Leave.objects.filter(driver_id=driver_id, ends_at__gt=at).exclude(absence="").order_by("starts_at", "id")


def drivers_named(text: str, *, by: Principal) -> QuerySet[Driver]:
    """Return drivers in the data scope for whom each word of `text` starts one of their names; none without a word.

    Unordered.
    """
    return _named(text, by, lambda word: Q(pk__isnull=True))


def drivers_named_alike(text: str, *, by: Principal) -> QuerySet[Driver]:
    """Return drivers like `drivers_named`, and those whose names differ from a word by one letter; unordered."""
    return _named(text, by, lambda word: Q(name_keys__overlap=near(word)))


def _named(text: str, by: Principal, also: Callable[[str], Q]) -> QuerySet[Driver]:
    words = words_of(text)
    matches = Driver.objects.visible_to(by).alias(name_keys=NameKeys("first_name", "last_name"))
    for word in words:
        matches = matches.filter(Q(first_name__istartswith=word) | Q(last_name__istartswith=word) | also(word))
    return matches if words else matches.none()


def drivers_called(ref: str, *, phone: str | None, by: Principal) -> QuerySet[Driver]:
    """Return drivers in the data scope with this external id or phone (E.164); unordered."""
    called = Q(pk__in=organizations.subjects_called(SubjectType.DRIVER, ref))
    return Driver.objects.visible_to(by).filter(called | Q(phone=phone) if phone else called)


def vehicles_called(text: str, *, by: Principal) -> QuerySet[Vehicle]:
    """Return vehicles in the data scope whose unit number or plate starts with `text`, or with this external id.

    Spaces and hyphens do not matter.  None for empty text.  Unordered.
    """
    compact = _PUNCTUATION.sub("", text)
    matches = Vehicle.objects.visible_to(by).alias(unit=_compact("unit_number"), plate=_compact("license_plate"))
    called = Q(pk__in=organizations.subjects_called(SubjectType.VEHICLE, text.strip()))
    found = Q(unit__istartswith=compact) | Q(plate__istartswith=compact) | called
    return matches.filter(found) if compact else matches.none()


def _compact(column: str) -> Replace:
    return Replace(Replace(column, Value(" ")), Value("-"))


def vehicles(by: Principal) -> QuerySet[Vehicle]:
    """Return vehicles in the data scope with configurations and credentials.  Two queries besides its own."""
    return (
        Vehicle.objects.visible_to(by)
        .select_related("provider")
        .prefetch_related("capacity_configs", Prefetch("credentials", _in_force(), to_attr="active_credentials"))
    )


def excluded_riders(rows: Iterable[Driver], by: Principal) -> dict[UUID, list[UUID]]:
    """Return the excluded riders of each driver whom the caller may see: in the data scope, at PHI limited or above.

    At most one query.
    """
    excluded_by_driver = {driver.pk: driver.excluded_rider_ids for driver in rows}
    all_rider_ids = {rider_id for rider_ids in excluded_by_driver.values() for rider_id in rider_ids}
    visible_ids = visible_riders(all_rider_ids, by) if by.phi >= Phi.LIMITED else set()
    return {
        driver_id: [rider_id for rider_id in rider_ids if rider_id in visible_ids]
        for driver_id, rider_ids in excluded_by_driver.items()
    }


def credentials_for(
    subject: Subject, owner: Driver | Vehicle, rows: Iterable[Credential], at: datetime
) -> list[CredentialShown]:
    """Return the credentials in force in the order of their types, and the required ones that are missing.

    The status is that of the local day of the owner's provider, which has to be loaded.
    """
    today = at.astimezone(ZoneInfo(owner.provider.timezone)).date()
    filed = {row.type: row for row in rows}
    credentials = []
    for kind in TYPES_OF[subject]:
        if kind in filed:
            credentials.append(credential_shown(filed[kind], today))
        elif blocks_by_default(subject, kind):
            credentials.append(CredentialShown(type=kind, status=CredentialStatus.MISSING, blocking=True))
    return credentials


def credential_shown(row: Credential, today: date) -> CredentialShown:
    return CredentialShown(
        type=row.type,
        status=credential_status(_facts(row), today),
        blocking=row.blocking,
        id=row.pk,
        number=row.number,
        issuer=row.issuer,
        issued_on=row.issued_on,
        expires_on=row.expires_on,
        entered_at=row.created_at,
        entered_by=row.entered_by,
        verified_at=row.verified_at,
        verified_by=row.verified_by,
        document_id=row.document_id,
        warn_days=row.warn_days,
    )


def documents_of(credential_id: UUID) -> list[Document]:
    """List the scans of a credential that were not removed, oldest first, without their content."""
    return list(Document.objects.not_removed().filter(credential_id=credential_id))


def document(document_id: UUID, by: Principal) -> Document:
    """Return a scan and its credential, without the content; also a removed scan.

    Raises:
        NotFound: it is not in the caller's data scope.
    """
    rows = Document.objects.visible_to(by).defer("content_encrypted").select_related("credential")
    scan = rows.filter(pk=document_id).first()
    if scan is None:
        raise NotFound(_("document"))
    return scan


def duties(drivers: Collection[Driver], at: datetime) -> dict[UUID, Duty]:
    """Return the current activity of drivers, by id.  Two queries for any number of drivers.

    The rides app is above this one and is not imported: rides are reached by the reverse relation of the driver.
    """
    ids = [driver.pk for driver in drivers]
    under_way = dict(
        Driver.objects.filter(pk__in=ids, rides__status__in=_UNDER_WAY, rides__pickup_at__gt=at - UNDER_WAY_WITHIN)
        .order_by("rides__pickup_at", "rides__id")
        .values_list("pk", "rides__assignment_id")
    )
    on_shift = set(
        Shift.objects.filter(
            driver_id__in=ids, status=Shift.Status.PLANNED, starts_at__lte=at, ends_at__gt=at
        ).values_list("driver_id", flat=True)
    )
    return {driver.pk: _duty(driver, under_way.get(driver.pk), driver.pk in on_shift) for driver in drivers}


def _duty(driver: Driver, assignment_id: UUID | None, on_shift: bool) -> Duty:
    if assignment_id is not None:
        return Duty("on_ride", assignment_id)
    if driver.on_break:
        return Duty("break")
    return Duty("available" if on_shift else "off")


def active_credentials(
    driver_ids: Collection[UUID], vehicle_ids: Collection[UUID]
) -> dict[UUID, list[CredentialFacts]]:
    """Return the credentials in force, by the id of the driver or vehicle.  One query."""
    rows = _in_force().filter(Q(driver_id__in=driver_ids) | Q(vehicle_id__in=vehicle_ids))
    columns = rows.values_list(
        Coalesce("driver_id", "vehicle_id"), "type", "expires_on", "rejected", "blocking", "warn_days", "verified_at"
    )
    credentials: dict[UUID, list[CredentialFacts]] = defaultdict(list)
    for subject_id, kind, expires_on, rejected, blocking, warn_days, verified_at in columns:
        credential = CredentialFacts(kind, expires_on, rejected, blocking, warn_days, verified=verified_at is not None)
        credentials[subject_id].append(credential)
    return credentials


def locked(driver_ids: Collection[UUID], vehicle_id: UUID, by: Principal) -> tuple[dict[UUID, Driver], Vehicle | None]:
    """Lock drivers by id, then a vehicle, all within the caller's data scope; leaves out those that do not exist.

    Two queries.  The locks last until the transaction ends.
    """
    people = Driver.objects.visible_to(by).filter(pk__in=driver_ids).order_by("pk")
    drivers = {driver.pk: driver for driver in people.select_for_update(of=("self",), no_key=True)}
    vehicles = Vehicle.objects.visible_to(by).filter(pk=vehicle_id)
    return drivers, vehicles.select_for_update(of=("self",), no_key=True).first()


def lock_crews(driver_ids: Collection[UUID], vehicle_ids: Collection[UUID]) -> None:
    """Lock drivers and then vehicles, each by id, to change several crews at once.  Two queries."""
    drivers = Driver.objects.filter(pk__in=driver_ids).order_by("pk")
    list(drivers.select_for_update(of=("self",), no_key=True).values_list("pk"))
    vehicles = Vehicle.objects.filter(pk__in=vehicle_ids).order_by("pk")
    list(vehicles.select_for_update(of=("self",), no_key=True).values_list("pk"))


def visible_vehicle_ids(ids: Collection[UUID], by: Principal) -> set[UUID]:
    """Return the vehicles among `ids` in the data scope.  One query, none without ids."""
    return set(Vehicle.objects.visible_to(by).filter(pk__in=ids).values_list("pk", flat=True)) if ids else set()


def locked_crews(
    driver_ids: Collection[UUID],
    vehicle_ids: Collection[UUID],
    *,
    earliest: datetime,
    latest: datetime,
    by: Principal,
    at: datetime,
) -> Iterator[Crew]:
    """Lock drivers in the data scope in the order of their ids: the named ones, and who drives the vehicles.

    A driver drives a vehicle by a planned shift that overlaps `[earliest, latest]`, or by a ride that is under way at
    `at`; there is a row for each.  One query.  The locks last until the transaction ends.
    """
    vehicle_ids = vehicle_ids or [_NO_VEHICLE]
    shift = Q(
        shifts__status=Shift.Status.PLANNED,
        shifts__vehicle_id__in=vehicle_ids,
        shifts__starts_at__lte=latest,
        shifts__ends_at__gt=earliest,
    )
    ride = Q(
        rides__status__in=_UNDER_WAY, rides__vehicle_id__in=vehicle_ids, rides__pickup_at__gt=at - UNDER_WAY_WITHIN
    )
    rows: Iterable[Any] = (
        Driver.objects.visible_to(by)
        .annotate(shift=FilteredRelation("shifts", condition=shift), ride=FilteredRelation("rides", condition=ride))
        .annotate(
            shift_vehicle_id=F("shift__vehicle_id"),
            shift_starts_at=F("shift__starts_at"),
            shift_ends_at=F("shift__ends_at"),
            ride_vehicle_id=F("ride__vehicle_id"),
            ride_pickup_at=F("ride__pickup_at"),
        )
        .filter(Q(pk__in=driver_ids) | Q(shift__isnull=False) | Q(ride__isnull=False))
        .only("last_located_at")
        .order_by("pk")
        .select_for_update(of=("self",), no_key=True)
    )
    for row in rows:
        yield Crew(
            driver_id=row.pk,
            located_at=row.last_located_at,
            shift_vehicle_id=row.shift_vehicle_id,
            shift_starts_at=row.shift_starts_at,
            shift_ends_at=row.shift_ends_at,
            ride_vehicle_id=row.ride_vehicle_id,
            ride_pickup_at=row.ride_pickup_at,
        )


def with_valid_credentials(subject: Subject, day: date) -> Q:
    """Return a condition for drivers, or vehicles, without a blocking gap on a local day.

    The same rule as `missing_or_expired` in rules/credentials.py, in SQL.
    """
    own = _in_force().filter(**{subject.value: OuterRef("pk")})
    condition = Q(~Exists(own.filter(Q(rejected=True) | Q(expires_on__lt=day), blocking=True)))
    for kind in sorted(BLOCKING_BY_DEFAULT[subject]):
        condition &= Q(Exists(own.filter(type=kind)))
    return condition


def _facts(row: Credential) -> CredentialFacts:
    verified = row.verified_at is not None
    return CredentialFacts(row.type, row.expires_on, row.rejected, row.blocking, row.warn_days, verified=verified)


def _in_force() -> QuerySet[Credential]:
    return Credential.objects.filter(replaced=False)
