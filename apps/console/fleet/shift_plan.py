"""Shifts by driver and day."""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from apps.fleet.models import Activation, Driver, Leave, Shift
from lib.access import Principal

DAYS: Final = 7
_DAY: Final = dt.timedelta(days=1)
_Span = tuple[dt.datetime, dt.datetime]


@dataclass(frozen=True, slots=True)
class DayOfDriver:
    """The shifts that start on a local day of the driver's provider, and whether the driver is on leave that day."""

    day: dt.date
    shifts: Sequence[Shift]
    away: bool


@dataclass(frozen=True, slots=True)
class DriverWeek:
    driver: Driver
    days: Sequence[DayOfDriver]

    @property
    def minutes(self) -> int:
        """Total length of the shifts that start in the week."""
        spans = (shift.ends_at - shift.starts_at for day in self.days for shift in day.shifts)
        return sum(spans, dt.timedelta()) // dt.timedelta(minutes=1)


def week(first: dt.date, *, provider_id: UUID | None, by: Principal) -> Sequence[DriverWeek]:
    """Return the shifts of seven days by driver, sorted by name, without drivers who have left.

    Days are local to each driver's provider.  Three queries.
    """
    drivers = Driver.objects.visible_to(by).exclude(activation=Activation.INACTIVE).select_related("provider")
    if provider_id is not None:
        drivers = drivers.filter(provider_id=provider_id)
    listed = list(drivers.order_by("last_name", "first_name", "pk"))
    begin, end = (dt.datetime.combine(day, dt.time(), dt.UTC) for day in (first - _DAY, first + (DAYS + 1) * _DAY))
    ids = [driver.pk for driver in listed]
    shifts, leave = _shifts(ids, begin, end), _leave(ids, begin, end)
    return [_driver_week(driver, first, shifts.get(driver.pk, ()), leave.get(driver.pk, ())) for driver in listed]


def _shifts(ids: Sequence[UUID], begin: dt.datetime, end: dt.datetime) -> Mapping[UUID, Sequence[Shift]]:
    rows = Shift.objects.filter(
        driver_id__in=ids, status=Shift.Status.PLANNED, starts_at__gte=begin, starts_at__lt=end
    ).select_related("vehicle")
    by_driver: dict[UUID, list[Shift]] = defaultdict(list)
    for row in rows.order_by("starts_at", "pk"):
        by_driver[row.driver_id].append(row)
    return by_driver


def _leave(ids: Sequence[UUID], begin: dt.datetime, end: dt.datetime) -> Mapping[UUID, Sequence[_Span]]:
    by_driver: dict[UUID, list[_Span]] = defaultdict(list)
    rows = Leave.objects.filter(driver_id__in=ids, starts_at__lt=end, ends_at__gt=begin)
    for driver_id, starts_at, ends_at in rows.values_list("driver_id", "starts_at", "ends_at"):
        by_driver[driver_id].append((starts_at, ends_at))
    return by_driver


def _driver_week(driver: Driver, first: dt.date, shifts: Sequence[Shift], leave: Sequence[_Span]) -> DriverWeek:
    zone = ZoneInfo(driver.provider.timezone)
    days = []
    for number in range(DAYS):
        day = first + number * _DAY
        begins, ends = (dt.datetime.combine(shift, dt.time(), zone) for shift in (day, day + _DAY))
        away = any(starts_at < ends and ends_at > begins for starts_at, ends_at in leave)
        days.append(DayOfDriver(day, [shift for shift in shifts if begins <= shift.starts_at < ends], away))
    return DriverWeek(driver, days)
