"""Hard rules of standing orders (pure): each refusal names its field in the API's spelling."""

from collections.abc import Iterable
from datetime import date, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from apps.recurring.rules.draft import OrderDraft, TermsDraft
from apps.recurring.rules.recurrence import FARTHEST_MOVE, instant
from apps.rides.rules.draft import ServiceType
from lib.errors import Detail

SERVICES: Final = tuple(one.value for one in ServiceType if one is not ServiceType.HOSPITAL_DISCHARGE)
LONGEST_STAY: Final = 16 * 60  # minutes; nocturnal dialysis takes eight hours
LONGEST_LEAD: Final = 6 * 60  # minutes from pickup to chair: as long as the longest ride
OLDEST_START: Final = timedelta(days=366)  # an order that has been running elsewhere may be taken over
FARTHEST_START: Final = timedelta(days=731)
MOST_WEEKS: Final = 12
MOST_HORIZON: Final = 90  # days


def of_order(draft: OrderDraft, *, today: date) -> list[Detail]:
    """List what stands against an order, whatever its terms; `today` is the facility's."""
    found = []
    if draft.service_type not in SERVICES:
        found.append(_invalid("serviceType", "A discharge from hospital does not recur."))
    if draft.start_date < today - OLDEST_START:
        found.append(_invalid("startDate", "startDate lies more than a year in the past."))
    if draft.start_date > today + FARTHEST_START:
        found.append(_invalid("startDate", "startDate lies more than two years ahead."))
    if draft.end_date is not None and draft.end_date < draft.start_date:
        found.append(_invalid("endDate", "endDate lies before startDate."))
    ends = draft.payment.authorization_expires_on
    if ends is not None and ends < draft.start_date:
        found.append(_invalid("authorizationEndsOn", "The authorization ends before startDate."))
    horizon = draft.generation_horizon_days
    if horizon is not None and not 1 <= horizon <= MOST_HORIZON:
        found.append(_invalid("generationHorizonDays", f"generationHorizonDays is from 1 to {MOST_HORIZON}."))
    return found


def of_terms(draft: TermsDraft) -> list[Detail]:
    """List what stands against terms, whatever day they begin on."""
    found = []
    days = draft.days_of_week
    if not days:
        found.append(_invalid("pattern.daysOfWeek", "A standing order needs at least one day of the week.", "required"))
    elif len(set(days)) < len(days) or not set(days) <= set(range(7)):
        found.append(_invalid("pattern.daysOfWeek", "Each day of the week may be named once."))
    if not 1 <= draft.interval_weeks <= MOST_WEEKS:
        found.append(_invalid("pattern.intervalWeeks", f"intervalWeeks is from 1 to {MOST_WEEKS}."))
    if draft.treatment_minutes == 0:
        found.append(_invalid("treatmentMinutes", "A treatment takes a minute at least."))
    stay = (draft.treatment_minutes or 0) + (draft.post_treatment_minutes or 0)
    if stay > LONGEST_STAY:
        found.append(_invalid("treatmentMinutes", "Treatment and coming off the machine take more than 16 hours."))
    if draft.return_time is not None and draft.return_mode != "scheduled":
        return [*found, _invalid("return.pickupTime", "Only a scheduled return has a pickupTime.")]
    fields = ("outbound.pickupTime", "return.pickupTime")
    return found + of_times(draft.chair_time, draft.pickup_time, draft.return_time, fields=fields)


def of_times(
    chair_time: time, pickup_time: time | None, return_time: time | None, *, fields: tuple[str, str]
) -> list[Detail]:
    """List what stands against the wall times of the two ways, of which `fields` are the names."""
    of_pickup, of_return = fields
    found = []
    if pickup_time is not None and not 0 < _minutes(pickup_time, chair_time) <= LONGEST_LEAD:
        found.append(_invalid(of_pickup, "The pickup has to lie within the six hours before chairTime."))
    if return_time is not None and not 0 < _minutes(chair_time, return_time) <= LONGEST_STAY:
        found.append(_invalid(of_return, "The return has to lie within the 16 hours after chairTime."))
    return found


def of_edit(from_date: date, *, today: date) -> list[Detail]:
    """List what stands against new terms from a day on."""
    if from_date < today:
        return [_invalid("fromDate", "fromDate lies in the past: those days are over.")]
    if from_date > today + FARTHEST_START:
        return [_invalid("fromDate", "fromDate lies more than two years ahead.")]
    return []


def in_gap(clock: time, days: Iterable[date], zone: ZoneInfo) -> date | None:
    """Give the first of `days` on which the clocks skip this wall time; None where they skip it on none."""
    return next((day for day in days if instant(day, clock, zone)[1]), None)


def of_move(pattern_date: date, to_date: date, *, field: str) -> list[Detail]:
    """List what stands against moving an occurrence to another day."""
    if abs(to_date - pattern_date) > FARTHEST_MOVE:
        return [_invalid(field, f"A day moves by {FARTHEST_MOVE.days} days at most.")]
    return []


def of_hold(from_date: date, until: date | None, *, today: date) -> list[Detail]:
    """List what stands against a hold."""
    found = []
    if from_date < today - FARTHEST_MOVE:
        found.append(_invalid("from", "from lies more than a week in the past: those days are over."))
    if from_date > today + FARTHEST_START:
        found.append(_invalid("from", "from lies more than two years ahead."))
    if until is not None and until < from_date:
        found.append(_invalid("until", "until lies before the first day."))
    elif until is not None and until < today:
        found.append(_invalid("until", "until lies in the past."))
    return found


def _minutes(earlier: time, later: time) -> int:
    """Count the minutes from one wall time to the next time that the clock shows another."""
    return ((later.hour - earlier.hour) * 60 + later.minute - earlier.minute) % (24 * 60)


def _invalid(field: str, message: str, code: str = "invalid") -> Detail:
    return Detail(field=field, code=code, message=message)
