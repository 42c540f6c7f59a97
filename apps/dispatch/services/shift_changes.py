"""Changing a shift after a dispatcher has confirmed the rides that the change leaves without a shift."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.dispatch.queries.uncovered_rides import left_without
from apps.fleet import queries as fleet
from apps.fleet.models import Shift
from apps.fleet.services import shifts
from lib.access import Principal
from lib.errors import DomainError, NotFound


class RidesLeft(DomainError):
    """The change leaves unconfirmed rides without a shift; `keeps` is the time for which the driver keeps the shift."""

    template = _("The change leaves rides outside shifts. Review them first.")

    def __init__(self, keeps: tuple[datetime, datetime] | None) -> None:
        super().__init__()
        self.keeps = keeps


@transaction.atomic
def amend(
    *,
    shift_id: UUID,
    changes: Mapping[str, Any],
    seen: Collection[UUID],
    expected_version: int,
    by: Principal,
    at: datetime,
) -> Shift:
    """Change a shift as `shifts.amend` does, if every ride that is left without a shift is in `seen`.

    Locks the drivers and the vehicle, so that it waits for assignments in progress.

    Raises:
        RidesLeft: other rides are left without a shift.  Nothing is changed.
        NotFound, StaleVersion, ShiftCancelled, ShiftBegun, ShiftChangedHands, InvalidInput, ShiftTaken: as in
            `shifts.amend`.
    """
    before = Shift.objects.visible_to(by).filter(pk=shift_id).first()
    if before is None:
        raise NotFound(_("shift"))
    driver_ids = {before.driver_id, changes.get("driver_id", before.driver_id)}
    fleet.locked(driver_ids, changes.get("vehicle_id", before.vehicle_id), by)
    shift = shifts.amend(shift_id=shift_id, changes=changes, expected_version=expected_version, by=by, at=at)
    keeps = _kept_period(before, shift)
    if before.status == Shift.Status.PLANNED and _uncovered_ids(before, keeps, by) - set(seen):
        raise RidesLeft(keeps)
    return shift


def _kept_period(before: Shift, shift: Shift) -> tuple[datetime, datetime] | None:
    stays = shift.status == Shift.Status.PLANNED and shift.driver_id == before.driver_id
    return (shift.starts_at, shift.ends_at) if stays else None


def _uncovered_ids(before: Shift, keeps: tuple[datetime, datetime] | None, by: Principal) -> set[UUID]:
    return set(left_without(before, keeps=keeps, by=by).values_list("pk", flat=True))
