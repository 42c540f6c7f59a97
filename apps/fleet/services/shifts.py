"""Shifts: which driver drives which vehicle, and when.

The exclusion constraints of `Shift` keep a driver and a vehicle out of two shifts at the same time.  The rows of the
driver and then the vehicle are locked first, so that two planners wait for each other instead of deadlocking.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet import queries
from apps.fleet.models import Driver, Shift, Vehicle
from lib.access import Principal
from lib.constraints import constraint_of
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound, StaleVersion

_TAKEN_BY_CONSTRAINT: Final = {"shift_driver_once": "driver", "shift_vehicle_once": "vehicle"}

_OF_DRIVER: Final = _("The driver is in another shift at that time.")
_OF_VEHICLE: Final = _("The vehicle is in another shift at that time.")


class ShiftTaken(DomainError):
    """The driver or the vehicle has another shift in that period."""

    code = Code.ASSIGNMENT_CONFLICT

    def __init__(self, subject: str) -> None:
        message = _OF_DRIVER if subject == "driver" else _OF_VEHICLE
        super().__init__(message, details=[Detail(field=f"{subject}Id", code="taken", message=message)])


class ShiftCancelled(DomainError):
    """A cancelled shift cannot be changed; plan a new one instead."""

    template = _("The shift is canceled.")


class ShiftBegun(DomainError):
    """A shift that has begun is ended, not cancelled, because its worked time stays on record."""

    template = _("The shift has started. End it instead of canceling it.")


class ShiftChangedHands(DomainError):
    """A concurrent change gave the shift to a driver or vehicle other than those locked; a retry helps."""

    code = Code.RESOURCE_BUSY
    template = _("Someone else took the shift. Try again.")


@transaction.atomic
def plan(
    *,
    driver_id: UUID,
    vehicle_id: UUID,
    starts_at: datetime,
    ends_at: datetime,
    break_starts_at: datetime | None = None,
    break_ends_at: datetime | None = None,
    by: Principal,
    at: datetime,
) -> Shift:
    """Plan a shift: assign a driver to a vehicle for `[starts_at, ends_at)`, with a break or without.

    Raises:
        InvalidInput: the driver or vehicle is not in the caller's data scope, they are of two providers, or the shift
            ends
            before it starts.
        ShiftTaken: the driver or vehicle has another shift in that period.
    """
    driver, vehicle = _locked_pair(driver_id, vehicle_id, by)
    shift = Shift(
        provider_id=driver.provider_id,
        driver=driver,
        vehicle=vehicle,
        starts_at=starts_at,
        ends_at=ends_at,
        break_starts_at=break_starts_at,
        break_ends_at=break_ends_at,
    )
    _check_period(shift)
    _check_break(shift)
    with once():
        shift.save(force_insert=True)
    audit.record(by=by, action="shifts.plan", subject_type="shift", subject_id=shift.pk)
    return shift


@transaction.atomic
def amend(
    *, shift_id: UUID, changes: Mapping[str, Any], expected_version: int | None, by: Principal, at: datetime
) -> Shift:
    """Move a shift, give it to another driver or vehicle, or cancel it (`status`: "cancelled").

    `changes` holds any of driver_id, vehicle_id, starts_at, ends_at, break_starts_at, break_ends_at and status.  A
    break that is outside the changed times is removed, unless it is among the changes.

    Raises:
        NotFound: the shift is not in the caller's data scope.
        StaleVersion: `expected_version` is not the current version.
        ShiftCancelled: it is cancelled already.
        ShiftBegun: it cannot be cancelled because it has begun.
        ShiftChangedHands: a concurrent change replaced the driver or vehicle.
        InvalidInput, ShiftTaken: see `plan`.
    """
    before = _visible(shift_id, by)
    driver, _vehicle = _locked_pair(
        changes.get("driver_id", before.driver_id), changes.get("vehicle_id", before.vehicle_id), by
    )
    shift = Shift.objects.select_for_update(of=("self",), no_key=True).get(pk=before.pk)
    if expected_version is not None and shift.version != expected_version:
        raise StaleVersion(shift.version)
    _require_same_pair(shift, before)
    changed = [key for key, value in changes.items() if getattr(shift, key) != value]
    if not changed:
        return shift
    if shift.status == Shift.Status.CANCELLED:
        raise ShiftCancelled
    if changes.get("status") == Shift.Status.CANCELLED and shift.starts_at <= at:
        raise ShiftBegun
    for key in changed:
        setattr(shift, key, changes[key])
    shift.provider_id = driver.provider_id
    _check_period(shift)
    if {"break_starts_at", "break_ends_at"} & changes.keys():
        _check_break(shift)
    elif shift.break_starts_at is not None and not _holds_break(shift):
        shift.break_starts_at = shift.break_ends_at = None
        changed += ["break_starts_at", "break_ends_at"]
    shift.version += 1
    with once():
        shift.save(update_fields=[*changed, "provider", "version", "updated_at"])
    verb = "cancel" if shift.status == Shift.Status.CANCELLED else "amend"
    audit.record(
        by=by,
        action=f"shifts.{verb}",
        subject_type="shift",
        subject_id=shift.pk,
        details={"changed": sorted(changed)},
    )
    return shift


def _require_same_pair(shift: Shift, before: Shift) -> None:
    """Require that the locked shift still has the driver and vehicle that were checked and locked."""
    if (shift.driver_id, shift.vehicle_id) != (before.driver_id, before.vehicle_id):
        raise ShiftChangedHands


def _visible(shift_id: UUID, by: Principal) -> Shift:
    shift = Shift.objects.visible_to(by).filter(pk=shift_id).first()
    if shift is None:
        raise NotFound(_("shift"))
    return shift


def _locked_pair(driver_id: UUID, vehicle_id: UUID, by: Principal) -> tuple[Driver, Vehicle]:
    drivers, vehicle = queries.locked([driver_id], vehicle_id, by)
    driver = drivers.get(driver_id)
    if driver is None:
        raise InvalidInput("driverId", _("There is no such driver."))
    if vehicle is None:
        raise InvalidInput("vehicleId", _("There is no such vehicle."))
    if vehicle.provider_id != driver.provider_id:
        raise InvalidInput("vehicleId", _("The vehicle belongs to another provider than the driver's."))
    return driver, vehicle


def _check_period(shift: Shift) -> None:
    if shift.ends_at <= shift.starts_at:
        raise InvalidInput("endsAt", _("A shift ends after it starts."))


def _check_break(shift: Shift) -> None:
    if shift.break_starts_at is None and shift.break_ends_at is None:
        return
    if shift.break_starts_at is None or shift.break_ends_at is None:
        missing = "breakStartsAt" if shift.break_starts_at is None else "breakEndsAt"
        raise InvalidInput(missing, _("A break has a start and an end."), detail_code="required")
    if shift.break_ends_at <= shift.break_starts_at:
        raise InvalidInput("breakEndsAt", _("A break ends after it starts."))
    if not _holds_break(shift):
        raise InvalidInput("breakStartsAt", _("The break must lie inside the shift."))


def _holds_break(shift: Shift) -> bool:
    starts_at, ends_at = shift.break_starts_at, shift.break_ends_at
    return starts_at is not None and ends_at is not None and shift.starts_at <= starts_at and ends_at <= shift.ends_at


@contextmanager
def once() -> Iterator[None]:
    """Translate violations of the exclusion constraints to `ShiftTaken`, which ends the transaction.

    Other integrity errors propagate.
    """
    try:
        yield
    except IntegrityError as refusal:
        subject = _TAKEN_BY_CONSTRAINT.get(constraint_of(refusal))
        if subject is None:
            raise
        raise ShiftTaken(subject) from refusal


def save_consequence(shift: Shift, columns: list[str], *, because: str, by: Principal) -> None:
    """Save a locked shift that an absence or outage changes, with its audit entry.

    Raises:
        ShiftTaken: the driver or vehicle has another shift in that period.
    """
    shift.version += 1
    with once():
        shift.save(update_fields=[*columns, "version", "updated_at"])
    verb = "cancel" if shift.status == Shift.Status.CANCELLED else "amend"
    audit.record(
        by=by,
        action=f"shifts.{verb}",
        subject_type="shift",
        subject_id=shift.pk,
        details={"changed": sorted(columns), "because": because},
    )
