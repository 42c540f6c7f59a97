"""Changing a shift whose rides somebody has looked at: whom it leaves without a shift is judged as it is then."""

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
    """Rides that were not looked at would be left without a shift; `keeps` is the time that its driver would stay."""

    template = _("The change leaves rides without a shift that nobody has looked at.")

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
    """Change a shift as `shifts.amend` does, where it leaves no ride without a shift but those `seen`.

    Who is assigned to a ride is locked for it: what is being assigned is waited for.

    Raises:
        RidesLeft: there are others.  Nothing is changed.
        NotFound, StaleVersion, ShiftCancelled, ShiftBegun, ShiftChangedHands, InvalidInput, ShiftTaken: as there.
    """
    before = Shift.objects.visible_to(by).filter(pk=shift_id).first()
    if before is None:
        raise NotFound(_("shift"))
    driver_ids = {before.driver_id, changes.get("driver_id", before.driver_id)}
    fleet.locked(driver_ids, changes.get("vehicle_id", before.vehicle_id), by)
    shift = shifts.amend(shift_id=shift_id, changes=changes, expected_version=expected_version, by=by, at=at)
    keeps = _kept(before, shift)
    if before.status == Shift.Status.PLANNED and _left(before, keeps, by) - set(seen):
        raise RidesLeft(keeps)
    return shift


def _kept(before: Shift, shift: Shift) -> tuple[datetime, datetime] | None:
    stays = shift.status == Shift.Status.PLANNED and shift.driver_id == before.driver_id
    return (shift.starts_at, shift.ends_at) if stays else None


def _left(before: Shift, keeps: tuple[datetime, datetime] | None, by: Principal) -> set[UUID]:
    return set(left_without(before, keeps=keeps, by=by).values_list("pk", flat=True))
