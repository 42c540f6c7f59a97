"""Absences of drivers that a dispatcher reports: sick, no-show, left early.

An absence is a row of `Leave`, so that everything that honors leave honors it, too.  It takes the driver out of their
shifts: a shift that the absence covers is cancelled, one that it cuts ends or starts at the cut, and one around it
stays, because the driver comes back to it.  `Leave.undo` remembers the shifts and what the rides app adds.  The
consequences for rides are in `apps/rides/services/driver_absence.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet.models import AbsenceReason, Driver, Leave, Shift
from apps.fleet.services.changes import record_event
from apps.fleet.services.shifts import ShiftTaken, save_consequence
from apps.organizations.rules.opening_hours import local_instant
from lib.access import Principal
from lib.errors import Code, DomainError, InvalidInput, NotFound

# Later reports are about a day that is over: its rides have ended one way or another.
REPORTED_WITHIN: Final = timedelta(hours=24)
# Longer absences are planned leave, or a suspension.
LONGEST: Final = timedelta(days=31)
_DAY_CHANGES: Final = time(4)  # local; the service day of the board


class ShiftEffect(StrEnum):
    """What an absence does to a shift."""

    REMOVED = "removed"
    ENDED = "ended"
    STARTS_LATER = "starts_later"


@dataclass(frozen=True, slots=True)
class ChangedShift:
    """A shift after an absence changed it."""

    shift: Shift
    effect: ShiftEffect


class AlreadyAbsent(DomainError):
    """The driver has an absence in that period."""

    code = Code.ASSIGNMENT_CONFLICT
    template = _("The driver is already out in that period. Bring the driver back first, then report the new absence.")


class AbsenceOver(DomainError):
    """An absence that has ended has nothing to undo."""

    template = _("The absence has ended, so there is nothing to undo.")


class ShiftChangedSince(DomainError):
    """A shift that the absence changed was changed again."""

    code = Code.ASSIGNMENT_CONFLICT
    template = _(
        "A shift of the driver has changed since, or its vehicle has another driver. Bring the driver back without the"
        " rides, then plan the shift."
    )


def default_end(driver: Driver, starts_at: datetime) -> datetime:
    """Return the end of an absence without one: of the service day in the provider's zone, or of a shift across it.

    The driver's provider has to be loaded.
    """
    zone = driver.provider.timezone
    local = starts_at.astimezone(ZoneInfo(zone))
    day = local.date() if local.time() < _DAY_CHANGES else local.date() + timedelta(days=1)
    ends_at = local_instant(day, _DAY_CHANGES, zone=zone)
    across = Shift.objects.filter(
        driver=driver, status=Shift.Status.PLANNED, starts_at__lt=ends_at, ends_at__gt=ends_at
    )
    return max([ends_at, *across.values_list("ends_at", flat=True)])


def start(
    driver: Driver, *, starts_at: datetime, ends_at: datetime, reason: str, note: str, by: Principal, at: datetime
) -> tuple[Leave, list[ChangedShift]]:
    """Record the absence of a locked driver, and take the driver out of the shifts in that time.

    Raises:
        InvalidInput: the period is empty, over, too long, or began more than `REPORTED_WITHIN` ago.
        AlreadyAbsent: the driver has an absence in that period.
    """
    if starts_at < at - REPORTED_WITHIN:
        raise InvalidInput("from", _("%(field)s must be at most 24 hours ago."))
    if ends_at <= max(starts_at, at):
        raise InvalidInput("to", _("The absence must end after it starts, and in the future."))
    if ends_at - starts_at > LONGEST:
        raise InvalidInput("to", _("An absence lasts up to %(days)s days. Suspend the driver instead."), days=31)
    period = {"starts_at__lt": ends_at, "ends_at__gt": starts_at}
    if Leave.objects.filter(driver=driver, **period).exclude(absence="").exists():
        raise AlreadyAbsent
    shifts = Shift.objects.filter(driver=driver, status=Shift.Status.PLANNED, **period).order_by("starts_at", "pk")
    before = list(shifts.select_for_update(of=("self",), no_key=True))
    remembered = [
        {"id": str(shift.pk), "startsAt": shift.starts_at.isoformat(), "endsAt": shift.ends_at.isoformat()}
        for shift in before
    ]
    changed = [change for shift in before if (change := _take_out(shift, starts_at, ends_at, by)) is not None]
    versions = {str(change.shift.pk): change.shift.version for change in changed}
    leave = Leave.objects.create(
        driver=driver,
        starts_at=starts_at,
        ends_at=ends_at,
        reason=note,
        absence=AbsenceReason(reason),
        reported_at=at,
        reported_by=by.actor,
        undo={"shifts": [{**row, "version": versions[row["id"]]} for row in remembered if row["id"] in versions]},
    )
    _record(driver, "drivers.report_absence", leave, by=by, at=at)
    return leave, changed


def remember(leave: Leave, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add what undoing the absence needs to know."""
    leave.undo = {**(leave.undo or {}), key: list(rows)}
    leave.save(update_fields=["undo"])


@transaction.atomic
def remember_unplaced(absence_id: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    """Remember the freed rides that no driver could take at the report.  No effect on an absence undone meanwhile."""
    leave = Leave.objects.select_for_update(of=("self",)).filter(pk=absence_id).first()
    if leave is not None and rows:
        remember(leave, "unplaced", rows)


def absence_of(driver_id: UUID, absence_id: UUID, by: Principal) -> Leave:
    """Read an absence of a driver within the caller's data scope, without a lock.

    Raises:
        NotFound: there is none, or the driver is outside the data scope.
    """
    rows = Leave.objects.filter(pk=absence_id, driver__in=Driver.objects.visible_to(by).filter(pk=driver_id))
    leave = rows.exclude(absence="").first()
    if leave is None:
        raise NotFound(_("absence"))
    return leave


def locked_absence(driver: Driver, absence_id: UUID, *, at: datetime) -> Leave:
    """Lock an absence of a locked driver.

    Raises:
        NotFound: it was undone meanwhile.
        AbsenceOver: it has ended.
    """
    rows = Leave.objects.select_for_update(of=("self",)).filter(pk=absence_id, driver=driver)
    leave = rows.exclude(absence="").first()
    if leave is None:
        raise NotFound(_("absence"))
    if leave.ends_at <= at:
        raise AbsenceOver
    return leave


def undo(leave: Leave, driver: Driver, *, as_far_as_possible: bool, by: Principal, at: datetime) -> list[Shift]:
    """Delete a locked absence and give its shifts back; return these.  The audit trail keeps the absence.

    `as_far_as_possible`: leaves out the shifts that cannot be given back.

    Raises:
        ShiftChangedSince: a shift has changed since, or its vehicle is in another shift by now.
    """
    restored = []
    for row in (leave.undo or {}).get("shifts", []):
        try:
            restored.append(_give_back(row, by))
        except ShiftChangedSince:
            if not as_far_as_possible:
                raise
    _record(driver, "drivers.undo_absence", leave, by=by, at=at)
    leave.delete()
    return restored


def _take_out(shift: Shift, starts_at: datetime, ends_at: datetime, by: Principal) -> ChangedShift | None:
    if shift.starts_at < starts_at and ends_at < shift.ends_at:
        return None
    if shift.starts_at < starts_at:
        shift.ends_at = starts_at
        effect, column = ShiftEffect.ENDED, "ends_at"
    elif ends_at < shift.ends_at:
        shift.starts_at = ends_at
        effect, column = ShiftEffect.STARTS_LATER, "starts_at"
    else:
        shift.status = Shift.Status.CANCELLED
        effect, column = ShiftEffect.REMOVED, "status"
    save_consequence(shift, [column], because="absence", by=by)
    return ChangedShift(shift, effect)


def _give_back(row: Mapping[str, Any], by: Principal) -> Shift:
    shift = Shift.objects.select_for_update(of=("self",), no_key=True).get(pk=row["id"])
    if shift.version != row["version"]:
        raise ShiftChangedSince
    shift.starts_at = datetime.fromisoformat(row["startsAt"])
    shift.ends_at = datetime.fromisoformat(row["endsAt"])
    shift.status = Shift.Status.PLANNED
    try:
        with transaction.atomic():
            save_consequence(shift, ["starts_at", "ends_at", "status"], because="absence", by=by)
    except ShiftTaken as taken:
        raise ShiftChangedSince from taken
    return shift


def _record(driver: Driver, action: str, leave: Leave, *, by: Principal, at: datetime) -> None:
    """Raise the driver's version, and write the event and the audit entry."""
    driver.version += 1
    driver.save(update_fields=["version", "updated_at"])
    record_event(driver, by=by, at=at)
    audit.record(
        by=by,
        action=action,
        subject_type="driver",
        subject_id=driver.pk,
        reason=leave.reason,
        details={
            "absenceId": str(leave.pk),
            "reason": leave.absence,
            "from": leave.starts_at.isoformat(),
            "to": leave.ends_at.isoformat(),
        },
    )
