"""The desk of exceptions: the queue of those that stand, the worst first, and the history of those that are closed."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple, cast
from uuid import UUID

from django.db.models import Case, IntegerField, Q, Value, When

from apps.rides.exception_types import SEVERITY_RANK, ExceptionSeverity
from apps.rides.models import RideException
from apps.rides.models.exception import RideExceptionQuerySet
from lib.access import Principal

SIZES: Final = (50, 100, 200, 500)
# The worst first: smaller numbers come before larger ones.
_RANK: Final = {severity.value: -rank for severity, rank in SEVERITY_RANK.items()}
_BY_RANK: Final = Case(
    *(When(severity=severity, then=Value(rank)) for severity, rank in _RANK.items()), output_field=IntegerField()
)
_NAMED: Final = ("ride", "facility", "rider", "owner")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which exceptions are wanted; "" asks for nothing.

    `owner`: "mine" or "nobody".  `snoozed`: "" leaves out those that are put aside, "only" keeps them alone, "all"
    takes both.  `code` and `closed` ("hand", "itself") are of the history.
    """

    severity: str = ""
    type: str = ""
    facility_id: UUID | None = None
    owner: str = ""
    snoozed: str = ""
    code: str = ""
    closed: str = ""


class Place(NamedTuple):
    """Where a page ended: the next one begins behind it."""

    rank: int
    at: datetime  # when it was opened, in the history when it was closed
    id: UUID


@dataclass(frozen=True, slots=True)
class Page:
    """Some exceptions with the records they name, and where the next page begins; None: there is none."""

    rows: list[RideException]
    next: Place | None


def queue(asked: Asked, *, by: Principal, at: datetime, after: Place | None = None, size: int = SIZES[1]) -> Page:
    """List unsettled exceptions, the worst first and then the oldest.  One query."""
    rows = _filtered(RideException.objects.visible_to(by).unsettled(), asked)
    if asked.owner == "mine":
        rows = rows.filter(owner_id=by.id)
    elif asked.owner == "nobody":
        rows = rows.filter(owner__isnull=True)
    aside = Q(snoozed_until__gt=at)
    if asked.snoozed != "all":
        rows = rows.filter(aside) if asked.snoozed == "only" else rows.exclude(aside)
    ranked = rows.annotate(rank=_BY_RANK)
    if after is not None:
        same = Q(rank=after.rank)
        later = Q(opened_at__gt=after.at) | Q(opened_at=after.at, pk__gt=after.id)
        ranked = ranked.filter(Q(rank__gt=after.rank) | same & later)
    found = list(ranked.select_related(*_NAMED).order_by("rank", "opened_at", "pk")[: size + 1])
    return _cut(found, size, lambda last: last.opened_at)


def history(asked: Asked, *, by: Principal, after: Place | None = None, size: int = SIZES[1]) -> Page:
    """List closed exceptions, by when they were closed, the latest first.  One query."""
    rows = _filtered(RideException.objects.visible_to(by).filter(resolved_at__isnull=False), asked)
    if asked.code:
        rows = rows.filter(resolution_code=asked.code)
    if asked.closed:
        rows = rows.filter(closed_by_hand=asked.closed == "hand")
    if after is not None:
        rows = rows.filter(Q(resolved_at__lt=after.at) | Q(resolved_at=after.at, pk__lt=after.id))
    found = list(rows.select_related(*_NAMED).order_by("-resolved_at", "-pk")[: size + 1])
    return _cut(found, size, lambda last: cast(datetime, last.resolved_at))


def one(exception_id: UUID, *, by: Principal) -> RideException | None:
    """Read an exception in reach with the records it names; None: there is none.  One query."""
    return RideException.objects.visible_to(by).select_related(*_NAMED).filter(pk=exception_id).first()


def open_critical(*, by: Principal) -> RideExceptionQuerySet:
    """Find the critical exceptions that stand: what the navigation counts."""
    return RideException.objects.visible_to(by).unsettled().filter(severity=ExceptionSeverity.CRITICAL)


def _filtered(rows: RideExceptionQuerySet, asked: Asked) -> RideExceptionQuerySet:
    wanted = {"severity": asked.severity, "type": asked.type, "facility_id": asked.facility_id}
    return rows.filter(**{name: value for name, value in wanted.items() if value})


def _cut(found: list[RideException], size: int, moment_of: Callable[[RideException], datetime]) -> Page:
    rows = found[:size]
    if len(found) <= size:
        return Page(rows, None)
    last = rows[-1]
    return Page(rows, Place(_RANK[last.severity], moment_of(last), last.pk))
