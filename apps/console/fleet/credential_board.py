"""Credentials of drivers or vehicles by urgency, with the number of assigned rides that each puts at risk."""

import datetime as dt
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Count, Q

from apps.fleet import queries as fleet
from apps.fleet.models import Activation, Driver, Vehicle, VehicleStatus
from apps.fleet.rules.credentials import TYPES_OF, CredentialFacts, Subject, Urgency, blocks_by_default, urgency
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal

# An assigned ride whose pickup is longer ago than this and that has not started is stuck, whatever its credentials.
AHEAD_SINCE: Final = dt.timedelta(hours=12)
NOT_VALID: Final = frozenset({Urgency.EXPIRED, Urgency.MISSING, Urgency.REJECTED})
_FINE: Final = frozenset({Urgency.VALID, Urgency.NOT_FILED})
# Sort keys besides the credential types; SOONEST sorts by the most urgent credential of a row.
NAME, PROVIDER, GIVEN, BROKEN, SOONEST = "name", "provider", "given", "broken", "soonest"
SOUND: Final = "sound"
UNVERIFIED: Final = "unverified"
# Filter values: each selects the rows that have a credential of one of these urgencies.
NARROWED: Final[Mapping[str, frozenset[Urgency]]] = {
    "not_valid": NOT_VALID,
    "expired": frozenset({Urgency.EXPIRED}),
    "missing": frozenset({Urgency.MISSING}),
    "rejected": frozenset({Urgency.REJECTED}),
    "within_7": frozenset({Urgency.WITHIN_7}),
    "within_30": frozenset({Urgency.WITHIN_7, Urgency.WITHIN_30}),
    "within_60": frozenset({Urgency.WITHIN_7, Urgency.WITHIN_30, Urgency.WITHIN_60}),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A credential of one owner today.  `days` are left until it expires, negative afterwards.

    `rides` counts assigned rides of the owner that have not started and are dated when a required credential is not
    valid.  `awaits_review`: on file, but not yet verified by a second person.
    """

    type: str
    urgency: Urgency
    blocking: bool
    expires_on: dt.date | None = None
    days: int | None = None
    rides: int = 0
    awaits_review: bool = False

    @property
    def due(self) -> dt.date:
        """The day by which the credential needs action; `date.min` if missing or rejected, `date.max` if never."""
        if self.urgency in (Urgency.MISSING, Urgency.REJECTED):
            return dt.date.min
        return self.expires_on or dt.date.max


@dataclass(frozen=True, slots=True)
class OwnerRow:
    """A driver or vehicle, a cell for each credential type of the board, and the number of its assigned rides."""

    owner: Driver | Vehicle
    cells: tuple[Cell, ...]
    given: int

    @property
    def broken(self) -> int:
        """The number of assigned rides at risk: rides after the earliest expiry include those after later ones."""
        return max((cell.rides for cell in self.cells), default=0)

    @property
    def worst(self) -> Cell | None:
        """The most urgent credential, among equals a required one; None if all are valid for more than 60 days."""
        urgent = [cell for cell in self.cells if cell.urgency not in _FINE]
        return min(urgent, key=lambda cell: (cell.due, not cell.blocking), default=None)

    @property
    def due(self) -> dt.date:
        return min((cell.due for cell in self.cells), default=dt.date.max)


@dataclass(frozen=True, slots=True)
class BoardQuery:
    """The filter and sort order of a board.  `status`: a key of `NARROWED`, `UNVERIFIED`, `SOUND`, or "" for all.

    Without `activation`, former drivers and retired vehicles are left out, except the one with `owner_id`.
    `sort`: `SOONEST`, `NAME`, `PROVIDER`, `GIVEN`, `BROKEN` or a type of credential (by due day), descending with a
    leading "-".  Ties are sorted by name.
    """

    subject: Subject = Subject.DRIVER
    provider_id: UUID | None = None
    owner_id: UUID | None = None
    status: str = ""
    activation: str = ""
    name: str = ""
    sort: str = SOONEST


@dataclass(frozen=True, slots=True)
class Board:
    """The rows in sort order; `types` are those that are required by default or that an owner has filed.

    `counts`: the number of rows by filter value.
    """

    types: tuple[str, ...]
    rows: Sequence[OwnerRow]
    counts: Mapping[str, int]


def board(query: BoardQuery, *, by: Principal, at: dt.datetime) -> Board:
    """Return the board for today in the zone of each owner's provider.  Three queries, independent of the rows."""
    owners = _owners(query, by)
    ids = [owner.pk for owner in owners]
    drives = query.subject is Subject.DRIVER
    credentials = fleet.active_credentials(ids if drives else [], [] if drives else ids)
    assigned = _assigned(query.subject, ids, by=by, at=at)
    filed = {credential.type for rows in credentials.values() for credential in rows}
    types = tuple(kind for kind in TYPES_OF[query.subject] if kind in filed or blocks_by_default(query.subject, kind))
    rows = [
        _row(query.subject, owner, types, credentials.get(owner.pk, ()), assigned[owner.pk], at) for owner in owners
    ]
    counts = Counter(name for row in rows for name in (*NARROWED, UNVERIFIED, SOUND) if passes(row, name))
    matches = [row for row in rows if passes(row, query.status)]
    return Board(types, _sorted(matches, query.sort), counts)


def _sorted(rows: list[OwnerRow], sort: str) -> list[OwnerRow]:
    """Sort rows that are already sorted by name; ties keep this order in both directions."""
    by, down = sort.removeprefix("-"), sort.startswith("-")
    if by == NAME:
        return rows[::-1] if down else rows
    return sorted(rows, key=lambda row: _place_of(row, by), reverse=down)


def _place_of(row: OwnerRow, by: str) -> Any:
    if by == PROVIDER:
        return row.owner.provider.name.lower()
    if by in (GIVEN, BROKEN):
        return getattr(row, by)
    return row.due if by == SOONEST else min((cell.due for cell in row.cells if cell.type == by), default=dt.date.max)


def passes(row: OwnerRow, status: str) -> bool:
    """Return whether a row matches a filter value."""
    if status == SOUND:
        return all(cell.urgency in _FINE for cell in row.cells)
    if status == UNVERIFIED:
        return any(cell.awaits_review for cell in row.cells)
    urgencies = NARROWED.get(status)
    return urgencies is None or any(cell.urgency in urgencies for cell in row.cells)


def _owners(query: BoardQuery, by: Principal) -> Sequence[Driver | Vehicle]:
    """Return the owners that the filter includes, by name.  One query."""
    condition = Q() if query.provider_id is None else Q(provider_id=query.provider_id)
    if query.owner_id is not None:
        condition &= Q(pk=query.owner_id)
    if query.subject is Subject.VEHICLE:
        vehicles = Vehicle.objects.visible_to(by).filter(condition).select_related("provider")
        if query.owner_id is None:
            vehicles = vehicles.exclude(status=VehicleStatus.RETIRED)
        return list(vehicles.order_by("unit_number", "pk"))
    drivers = Driver.objects.visible_to(by).filter(condition).select_related("provider")
    if query.activation:
        drivers = drivers.filter(activation=query.activation)
    elif query.owner_id is None:
        drivers = drivers.exclude(activation=Activation.INACTIVE)
    for word in query.name.replace(",", " ").split():
        drivers = drivers.filter(Q(last_name__icontains=word) | Q(first_name__icontains=word))
    return list(drivers.order_by("last_name", "first_name", "pk"))


def _assigned(
    subject: Subject, ids: Collection[UUID], *, by: Principal, at: dt.datetime
) -> Mapping[UUID, Sequence[tuple[dt.date, int]]]:
    """Count the assigned rides of each owner that have not started, by service date.  One query."""
    column = f"{subject.value}_id"
    ahead = Ride.objects.visible_to(by).filter(status=RideStatus.ASSIGNED, pickup_at__gt=at - AHEAD_SINCE)
    counted = ahead.filter(**{f"{column}__in": ids}).order_by().values_list(column, "service_date")
    by_owner: dict[UUID, list[tuple[dt.date, int]]] = defaultdict(list)
    for owner_id, day, count in counted.annotate(rides=Count("pk")):
        by_owner[owner_id].append((day, count))
    return by_owner


def _row(
    subject: Subject,
    owner: Driver | Vehicle,
    types: Iterable[str],
    credentials: Iterable[CredentialFacts],
    assigned: Sequence[tuple[dt.date, int]],
    at: dt.datetime,
) -> OwnerRow:
    today = at.astimezone(ZoneInfo(owner.provider.timezone)).date()
    filed = {credential.type: credential for credential in credentials}
    cells = tuple(_cell(kind, filed.get(kind), today, assigned, blocks_by_default(subject, kind)) for kind in types)
    return OwnerRow(owner, cells, sum(count for _day, count in assigned))


def _cell(
    kind: str, credential: CredentialFacts | None, today: dt.date, assigned: Iterable[tuple[dt.date, int]], needed: bool
) -> Cell:
    blocking = needed if credential is None else credential.blocking
    how = urgency(credential, today, needed=needed)
    holds_until = credential.expires_on if credential is not None else None
    last = dt.date.min if how in (Urgency.MISSING, Urgency.REJECTED) else holds_until or dt.date.max
    broken = sum(count for day, count in assigned if day > last) if blocking else 0
    days = None if holds_until is None else (holds_until - today).days
    waits = credential is not None and not credential.verified and how is not Urgency.REJECTED
    return Cell(kind, how, blocking, holds_until, days, broken, waits)
