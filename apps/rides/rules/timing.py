"""Times of a ride: pickup windows, promised times, local days, expiry of will-call legs.

Pure: no query, no clock.  Datetimes are aware.  Local times are converted by time zone, never by adding hours to a day,
and durations are added in UTC, so that both days of a clock change are correct.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Protocol
from zoneinfo import ZoneInfo

from apps.organizations.rules import opening_hours

WILL_CALL_EXPIRES: Final = time(23, 59)  # local, as Uber Health does; not a placeholder of a pickup time
CONFIRM_WITHIN: Final = timedelta(minutes=30)  # in working hours; policy default
TREATMENT_MINUTES: Final = 240  # of dialysis
POST_TREATMENT_MINUTES: Final = 30
VISIT_MINUTES: Final = 60  # of any other visit; policy default
LEAD_STEP: Final = 5  # minutes: pickup times are rounded to five minutes for people
SHORTEST_RIDE: Final = timedelta(minutes=30)  # at least, if the length is unknown
# Minutes of a drive whose ends have no coordinates: a usual ride across town, so that it still fills the calendar.
MINUTES_WHEN_UNKNOWN: Final = 30

PRIORITY_OF_SERVICE: Final[Mapping[str, str]] = {"dialysis": "life_sustaining", "hospital_discharge": "time_critical"}


class Levels(Protocol):
    """The service levels of a facility that are read here, as in apps/organizations/service_levels.py."""

    @property
    def pickup_early_minutes(self) -> int: ...
    @property
    def pickup_late_minutes(self) -> int: ...
    @property
    def arrive_early_minutes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Window:
    """`[starts_at, ends_at]` in which the vehicle is promised at the pickup."""

    starts_at: datetime
    ends_at: datetime


@dataclass(frozen=True, slots=True)
class Schedule:
    """All instants and days that are derived from a booking."""

    zone: str
    service_date: date
    window: Window
    promised_pickup_by: datetime | None
    will_call_expires_at: datetime | None


def first_zone(*zones: str | None, default: str) -> str:
    """Return the first zone that is set, in the order of pickup, drop-off and owning facility, else the default."""
    return next((zone for zone in zones if zone), default)


def local_day(moment: datetime, zone: str) -> date:
    """Return the local date of a datetime, which near midnight differs from the UTC date."""
    return moment.astimezone(ZoneInfo(zone)).date()


def add_minutes(moment: datetime, minutes: int) -> datetime:
    """Add elapsed time: 8 hours of treatment are 8 hours, even across a clock change."""
    return moment.astimezone(UTC) + timedelta(minutes=minutes)


def latest_arrival(appointment_at: datetime, levels: Levels) -> datetime:
    """Return the latest arrival at which a rider is on time for an appointment."""
    return add_minutes(appointment_at, -levels.arrive_early_minutes)


def lead_minutes(drive_minutes: int, *, load_minutes: int, arrive_early_minutes: int) -> int:
    """Return the minutes from pickup to appointment, rounded up: the drive, boarding twice, and arriving early."""
    return math.ceil((drive_minutes + 2 * load_minutes + arrive_early_minutes) / LEAD_STEP) * LEAD_STEP


def pickup_window(
    pickup_at: datetime,
    levels: Levels,
    *,
    arrive_by: datetime | None = None,
    drive_minutes: int | None = None,
    not_before: datetime | None = None,
) -> Window:
    """Compute the promised window around `pickup_at`.

    With `arrive_by` the window ends early enough to arrive by then (`drive_minutes` earlier, if known).  It always
    includes `pickup_at`, which was promised.  With `not_before`, in full minutes, it begins no earlier, and a pickup
    before that is counted from then.
    """
    base = pickup_at.astimezone(UTC)
    starts_at = add_minutes(base, -levels.pickup_early_minutes)
    if not_before is not None:
        first = full_minute(not_before)
        base, starts_at = max(base, first), max(starts_at, first)
    ends_at = add_minutes(base, levels.pickup_late_minutes)
    if arrive_by is not None:
        ends_at = min(ends_at, add_minutes(arrive_by, -(drive_minutes or 0)))
    return Window(starts_at, max(ends_at, base))


def full_minute(moment: datetime) -> datetime:
    """Round up to the next full minute."""
    begun = moment.astimezone(UTC).replace(second=0, microsecond=0)
    return begun if begun == moment else begun + timedelta(minutes=1)


def promise_of(arrives_at: datetime, *, at: datetime) -> datetime:
    """Return the time to promise for a predicted arrival: rounded up to five minutes, and later than `at`."""
    step = timedelta(minutes=LEAD_STEP)
    earliest = max(arrives_at, full_minute(at) + timedelta(minutes=1)).astimezone(UTC)
    passed = (earliest - datetime.min.replace(tzinfo=UTC)) % step
    return earliest if not passed else earliest + step - passed


def will_call_expires_at(pickup_at: datetime, zone: str) -> datetime:
    """Return when an unreleased will-call leg expires: 23:59 local on its day, never before its estimated pickup."""
    return max(
        opening_hours.local_instant(local_day(pickup_at, zone), WILL_CALL_EXPIRES, zone=zone), pickup_at.astimezone(UTC)
    )


def schedule(
    pickup_at: datetime,
    *,
    zone: str,
    levels: Levels,
    will_call: bool,
    arrive_by: datetime | None = None,
    drive_minutes: int | None = None,
    not_before: datetime | None = None,
) -> Schedule:
    """Compute all times that depend on the pickup time; see `pickup_window`.

    The promised pickup time is the end of the window; a will-call leg has none before the rider is ready.
    """
    window = pickup_window(pickup_at, levels, arrive_by=arrive_by, drive_minutes=drive_minutes, not_before=not_before)
    return Schedule(
        zone=zone,
        service_date=local_day(pickup_at, zone),
        window=window,
        promised_pickup_by=None if will_call else window.ends_at,
        will_call_expires_at=will_call_expires_at(pickup_at, zone) if will_call else None,
    )


def confirm_by(at: datetime, pickup_at: datetime, *, hours: opening_hours.Hours, zone: str) -> datetime:
    """Return the deadline to confirm a request: after 30 minutes of opening hours, and before the pickup.

    At least 30 minutes from `at`.  A facility without opening hours is always open.
    """
    plain = at + CONFIRM_WITHIN
    open_time = opening_hours.after_open_time(hours, CONFIRM_WITHIN, zone=zone, since=at)
    return min(open_time or plain, max(plain, pickup_at))


def default_priority(service_type: str) -> str:
    return PRIORITY_OF_SERVICE.get(service_type, "routine")


def end_of_treatment(
    chair_at: datetime, *, treatment_minutes: int | None, post_treatment_minutes: int | None
) -> datetime:
    """Estimate when a dialysis patient is ready: elapsed minutes of treatment and afterwards are added."""
    treatment = TREATMENT_MINUTES if treatment_minutes is None else treatment_minutes
    after = POST_TREATMENT_MINUTES if post_treatment_minutes is None else post_treatment_minutes
    return add_minutes(chair_at, treatment + after)


def busy_until(pickup_at: datetime, drive_minutes: int | None) -> datetime:
    """Estimate when a ride ends, to detect overlapping rides of the same rider."""
    return pickup_at + max(SHORTEST_RIDE, timedelta(minutes=drive_minutes or 0))
