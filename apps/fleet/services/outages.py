"""Vehicles that a dispatcher reports down: out of service, with other vehicles for their drivers' shifts.

A shift ahead gets the other vehicle; a running one ends, and a new one goes on with it.  `VehicleOutage.undo` remembers
both, and what the dispatch app adds about rides.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet.models import Driver, OutageReason, Shift, Vehicle, VehicleOutage, VehicleStatus
from apps.fleet.services import shifts, vehicles
from apps.fleet.services.shifts import ShiftTaken, save_consequence
from lib.access import Principal
from lib.errors import Code, DomainError, InvalidInput, NotFound

REPORTED_WITHIN: Final = timedelta(hours=24)
# Longer ones are planned: the vehicle is out of service, and shifts are planned without it.
LONGEST: Final = timedelta(days=31)


class OutageOver(DomainError):
    """An outage that has ended has nothing to undo."""

    template = _("The outage has ended, so there is nothing to undo. Put the vehicle back in service on its page.")


class OutageShiftsChanged(DomainError):
    """A shift that the outage changed was changed again, or its vehicle has another driver."""

    code = Code.ASSIGNMENT_CONFLICT
    template = _(
        "A shift of a driver has changed since, or the vehicle has another driver. Put the vehicle back without the"
        " rides, then plan the shift."
    )


def start(
    vehicle_id: UUID,
    *,
    starts_at: datetime,
    ends_at: datetime,
    reason: str,
    note: str,
    replacements: Mapping[UUID, UUID],
    by: Principal,
    at: datetime,
) -> VehicleOutage:
    """Take a vehicle out of service, and give the drivers in `replacements` other vehicles, by driver.

    The caller has locked the drivers and the vehicles.

    Raises:
        NotFound: the vehicle is not in the caller's data scope.
        InvalidInput: the outage starts in the future or long ago, ends in the past, or is too long; a driver or vehicle
            is unknown; or see `shifts`.
        ShiftTaken, ShiftChangedHands: see `apps.fleet.services.shifts`.
    """
    if not at - REPORTED_WITHIN <= starts_at <= at:
        raise InvalidInput("from", _("%(field)s must be within the last 24 hours."))
    if ends_at <= at:
        raise InvalidInput("to", _("%(field)s must be in the future."))
    if ends_at - starts_at > LONGEST:
        raise InvalidInput(
            "to", _("An outage lasts up to %(days)s days. Change the vehicle's status instead."), days=31
        )
    _require_known(replacements, by)
    before = vehicles.locked_vehicle(vehicle_id, by).status
    vehicle = vehicles.change_status(vehicle_id=vehicle_id, to=VehicleStatus.OUT_OF_SERVICE, reason=note, by=by, at=at)
    planned = Shift.objects.filter(vehicle=vehicle, driver_id__in=replacements, status=Shift.Status.PLANNED)
    rows = [
        _move(shift, replacements[shift.driver_id], by=by, at=at)
        for shift in planned.filter(starts_at__lt=ends_at, ends_at__gt=at).order_by("starts_at")
    ]
    outage = VehicleOutage.objects.create(
        vehicle=vehicle,
        starts_at=starts_at,
        ends_at=ends_at,
        reason=OutageReason(reason),
        note=note,
        reported_at=at,
        reported_by=by.actor,
        undo={"status": before, "shifts": rows},
    )
    _audit("vehicles.report_outage", outage, by)
    return outage


def _require_known(replacements: Mapping[UUID, UUID], by: Principal) -> None:
    """Require that all drivers and vehicles are inside the data scope; a driver without shifts may be named."""
    drivers = Driver.objects.visible_to(by).filter(pk__in=replacements)
    vehicles_in_scope = Vehicle.objects.visible_to(by).filter(pk__in=replacements.values())
    known = {*drivers.values_list("pk", flat=True), *vehicles_in_scope.values_list("pk", flat=True)}
    for index, (driver_id, vehicle_id) in enumerate(replacements.items()):
        if driver_id not in known:
            raise InvalidInput(f"otherVehicles[{index}].driverId", _("There is no such driver."), detail_code="unknown")
        if vehicle_id not in known:
            raise InvalidInput(
                f"otherVehicles[{index}].vehicleId", _("There is no such vehicle."), detail_code="unknown"
            )


def remember(outage: VehicleOutage, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add what undoing the outage needs to know."""
    outage.undo = {**outage.undo, key: list(rows)}
    outage.save(update_fields=["undo"])


@transaction.atomic
def remember_unplaced(outage_id: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    """Remember the freed rides that no driver could take at the report.  No effect on an outage undone meanwhile."""
    outage = VehicleOutage.objects.select_for_update(of=("self",)).filter(pk=outage_id).first()
    if outage is not None and rows:
        remember(outage, "unplaced", rows)


def outage_of(vehicle_id: UUID, outage_id: UUID, by: Principal) -> VehicleOutage:
    """Read an outage of a vehicle within the caller's data scope, without a lock.

    Raises:
        NotFound: there is none, or the vehicle is outside the data scope.
    """
    vehicles_in_scope = Vehicle.objects.visible_to(by).filter(pk=vehicle_id)
    outage = VehicleOutage.objects.filter(pk=outage_id, vehicle__in=vehicles_in_scope).first()
    if outage is None:
        raise NotFound(_("outage"))
    return outage


def undo(outage_id: UUID, vehicle: Vehicle, *, as_far_as_possible: bool, by: Principal, at: datetime) -> list[Shift]:
    """Delete the outage of a locked vehicle, and give back its status and shifts; return the shifts.

    The audit trail keeps the outage.  `as_far_as_possible`: leaves out the shifts that cannot be given back.

    Raises:
        NotFound: it was undone meanwhile.
        OutageOver: it has ended.
        OutageShiftsChanged: a shift has changed since, or the vehicle has another driver then.
    """
    outage = VehicleOutage.objects.select_for_update(of=("self",)).filter(pk=outage_id, vehicle=vehicle).first()
    if outage is None:
        raise NotFound(_("outage"))
    if outage.ends_at <= at:
        raise OutageOver
    restored = []
    for row in outage.undo["shifts"]:
        try:
            restored.append(_give_back(row, outage.vehicle_id, by))
        except OutageShiftsChanged:
            if not as_far_as_possible:
                raise
    vehicles.change_status(vehicle_id=vehicle.pk, to=outage.undo["status"], reason=outage.note, by=by, at=at)
    _audit("vehicles.undo_outage", outage, by)
    outage.delete()
    return restored


def _move(shift: Shift, vehicle_id: UUID, *, by: Principal, at: datetime) -> dict[str, Any]:
    """Give the rest of a shift another vehicle; return what the undo has to know."""
    pause = {"break_starts_at": shift.break_starts_at, "break_ends_at": shift.break_ends_at}
    row = {
        "id": str(shift.pk),
        "endsAt": shift.ends_at.isoformat(),
        "break": {name: None if moment is None else moment.isoformat() for name, moment in pause.items()},
    }
    if shift.starts_at >= at:
        changed = shifts.amend(
            shift_id=shift.pk, changes={"vehicle_id": vehicle_id}, expected_version=None, by=by, at=at
        )
        return {**row, "version": changed.version}
    changed = shifts.amend(shift_id=shift.pk, changes={"ends_at": at}, expected_version=None, by=by, at=at)
    is_ahead = shift.break_starts_at is not None and shift.break_starts_at >= at
    rest = shifts.plan(
        driver_id=shift.driver_id,
        vehicle_id=vehicle_id,
        starts_at=at,
        ends_at=shift.ends_at,
        **(pause if is_ahead else {}),
        by=by,
        at=at,
    )
    return {**row, "version": changed.version, "restId": str(rest.pk), "restVersion": rest.version}


@transaction.atomic
def _give_back(row: Mapping[str, Any], vehicle_id: UUID, by: Principal) -> Shift:
    shift = _unchanged(row["id"], row["version"])
    if "restId" in row:
        rest = _unchanged(row["restId"], row["restVersion"])
        rest.status = Shift.Status.CANCELLED
        save_consequence(rest, ["status"], because="outage", by=by)
    shift.vehicle_id = vehicle_id
    shift.ends_at = datetime.fromisoformat(row["endsAt"])
    for name, moment in row["break"].items():
        setattr(shift, name, None if moment is None else datetime.fromisoformat(moment))
    try:
        with transaction.atomic():
            columns = ["vehicle", "ends_at", *row["break"]]
            save_consequence(shift, columns, because="outage", by=by)
    except ShiftTaken as taken:
        raise OutageShiftsChanged from taken
    return shift


def _unchanged(shift_id: str, version: int) -> Shift:
    shift = Shift.objects.select_for_update(of=("self",), no_key=True).get(pk=shift_id)
    if shift.version != version:
        raise OutageShiftsChanged
    return shift


def _audit(action: str, outage: VehicleOutage, by: Principal) -> None:
    audit.record(
        by=by,
        action=action,
        subject_type="vehicle",
        subject_id=outage.vehicle_id,
        reason=outage.note,
        details={
            "outageId": str(outage.pk),
            "reason": outage.reason,
            "from": outage.starts_at.isoformat(),
            "to": outage.ends_at.isoformat(),
        },
    )
