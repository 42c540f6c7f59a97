"""Hard rules of standing orders; each `Detail` has the field's name in the API."""

from collections.abc import Iterable
from datetime import date, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from apps.recurring.rules.draft import OrderDraft, TermsDraft
from apps.recurring.rules.recurrence import FARTHEST_MOVE, instant
from apps.rides.rules.draft import ServiceType
from lib.errors import Detail
from lib.messages import Message, Template
from lib.messages import gettext_lazy as _

SERVICES: Final = tuple(service.value for service in ServiceType if service is not ServiceType.HOSPITAL_DISCHARGE)
LONGEST_STAY: Final = 16 * 60  # minutes; nocturnal dialysis takes eight hours
LONGEST_LEAD: Final = 6 * 60  # minutes from pickup to chair, the limit of a ride
OLDEST_START: Final = timedelta(days=366)  # orders can be taken over from another system
FARTHEST_START: Final = timedelta(days=731)
MOST_WEEKS: Final = 12
MOST_HORIZON: Final = 90  # days
BEFORE_FIRST_DAY: Final = _("%(field)s must not be before the first day.")
AUTHORIZATION_TOO_SHORT: Final = _("The authorization ends before the first day.")
SKIPPED_BY_CLOCKS: Final = _("This time does not exist on that day because the clocks change.")
IN_THE_PAST: Final = _("%(field)s must not be in the past.")
TOO_FAR_AHEAD: Final = _("%(field)s is more than two years ahead.")


def of_order(draft: OrderDraft, *, today: date) -> list[Detail]:
    """List the problems of an order, except those of its terms; `today` is the facility's."""
    problems = []
    if draft.service_type not in SERVICES:
        problems.append(_invalid("serviceType", _("A hospital discharge cannot recur.")))
    if draft.start_date < today - OLDEST_START:
        problems.append(_invalid("startDate", _("%(field)s is more than a year in the past.")))
    if draft.start_date > today + FARTHEST_START:
        problems.append(_invalid("startDate", TOO_FAR_AHEAD))
    if draft.end_date is not None and draft.end_date < draft.start_date:
        problems.append(_invalid("endDate", BEFORE_FIRST_DAY))
    ends = draft.payment.authorization_expires_on
    if ends is not None and ends < draft.start_date:
        problems.append(_invalid("authorizationEndsOn", AUTHORIZATION_TOO_SHORT))
    horizon = draft.generation_horizon_days
    if horizon is not None and not 1 <= horizon <= MOST_HORIZON:
        problems.append(_invalid("generationHorizonDays", _from_one_to(MOST_HORIZON)))
    return problems


def of_terms(draft: TermsDraft) -> list[Detail]:
    """List the problems of terms."""
    problems = []
    days = draft.days_of_week
    if not days:
        problems.append(
            _invalid("pattern.daysOfWeek", _("A standing order needs at least one day of the week."), "required")
        )
    elif len(set(days)) < len(days) or not set(days) <= set(range(7)):
        problems.append(_invalid("pattern.daysOfWeek", _("Name each day of the week only once.")))
    if not 1 <= draft.interval_weeks <= MOST_WEEKS:
        problems.append(_invalid("pattern.intervalWeeks", _from_one_to(MOST_WEEKS)))
    if draft.treatment_minutes == 0:
        problems.append(_invalid("treatmentMinutes", _("A treatment takes at least one minute.")))
    stay = (draft.treatment_minutes or 0) + (draft.post_treatment_minutes or 0)
    if stay > LONGEST_STAY:
        problems.append(_invalid("treatmentMinutes", _("Treatment and post-treatment time must not exceed 16 hours.")))
    if draft.return_time is not None and draft.return_mode != "scheduled":
        return [*problems, _invalid("return.pickupTime", _("%(field)s is only for a scheduled return."))]
    fields = ("outbound.pickupTime", "return.pickupTime")
    return problems + of_times(draft.chair_time, draft.pickup_time, draft.return_time, fields=fields)


def of_times(
    chair_time: time, pickup_time: time | None, return_time: time | None, *, fields: tuple[str, str]
) -> list[Detail]:
    """List the problems of the wall times of both legs; `fields` are the names of pickup and return time."""
    of_pickup, of_return = fields
    problems = []
    if pickup_time is not None and not 0 < _minutes(pickup_time, chair_time) <= LONGEST_LEAD:
        problems.append(_invalid(of_pickup, _("The pickup must be within the six hours before the chair time.")))
    if return_time is not None and not 0 < _minutes(chair_time, return_time) <= LONGEST_STAY:
        problems.append(_invalid(of_return, _("The return must be within the 16 hours after the chair time.")))
    return problems


def of_edit(from_date: date, *, today: date) -> list[Detail]:
    """List the problems of the day from which new terms apply."""
    if from_date < today:
        return [_invalid("fromDate", IN_THE_PAST)]
    if from_date > today + FARTHEST_START:
        return [_invalid("fromDate", TOO_FAR_AHEAD)]
    return []


def in_gap(clock: time, days: Iterable[date], zone: ZoneInfo) -> date | None:
    """Return the first of `days` on which this wall time does not exist because of a clock change, or None."""
    return next((day for day in days if instant(day, clock, zone)[1]), None)


def of_move(pattern_date: date, to_date: date, *, field: str) -> list[Detail]:
    """List the problems of moving an occurrence to another day."""
    if abs(to_date - pattern_date) > FARTHEST_MOVE:
        return [
            _invalid(field, Message(_("A day can be moved by at most %(days)s days."), {"days": FARTHEST_MOVE.days}))
        ]
    return []


def of_hold(from_date: date, until: date | None, *, today: date) -> list[Detail]:
    """List the problems of a hold."""
    problems = []
    if from_date < today - FARTHEST_MOVE:
        problems.append(_invalid("from", _("%(field)s is more than a week in the past.")))
    if from_date > today + FARTHEST_START:
        problems.append(_invalid("from", TOO_FAR_AHEAD))
    if until is not None and until < from_date:
        problems.append(_invalid("until", BEFORE_FIRST_DAY))
    elif until is not None and until < today:
        problems.append(_invalid("until", IN_THE_PAST))
    return problems


def _minutes(earlier: time, later: time) -> int:
    """Count the minutes from a wall time to the next occurrence of another one, within 24 hours."""
    return ((later.hour - earlier.hour) * 60 + later.minute - earlier.minute) % (24 * 60)


def _from_one_to(most: int) -> Message:
    return Message(_("%(field)s must be from 1 to %(most)s."), {"most": most})


def _invalid(field: str, message: Template, code: str = "invalid") -> Detail:
    return Detail(field=field, code=code, message=message)
