"""Moved days of facilities."""

from uuid import UUID

from apps.organizations.models import CalendarShift, CalendarShiftQuerySet, Facility
from lib.access import Principal
from lib.errors import NotFound


def shift(shift_id: UUID, by: Principal) -> CalendarShift:
    """Find a shift.

    Raises:
        NotFound: there is no such shift in reach.
    """
    found = CalendarShift.objects.visible_to(by).filter(pk=shift_id).first()
    if found is None:
        raise NotFound("calendar shift")
    return found


def shifts_of(facility_id: UUID, by: Principal) -> CalendarShiftQuerySet:
    """List a facility's shifts in reach.

    Raises:
        NotFound: there is no such facility in reach.
    """
    if not Facility.objects.visible_to(by).filter(pk=facility_id).exists():
        raise NotFound("facility")
    return CalendarShift.objects.visible_to(by).filter(facility_id=facility_id)
