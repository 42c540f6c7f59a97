"""Hard rules of standing orders (pure): each refusal names its field in the API's spelling."""

from collections.abc import Iterable
from datetime import date, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from apps.recurring.rules.draft import OrderDraft, TermsDraft
from apps.recurring.rules.recurrence import FARTHEST_MOVE, instant
from apps.rides.rules.draft import ServiceType
from lib.errors import Detail
from lib.messages import Message, Text
from lib.messages import gettext_lazy as _

SERVICES: Final = tuple(one.value for one in ServiceType if one is not ServiceType.HOSPITAL_DISCHARGE)
LONGEST_STAY: Final = 16 * 60  # minutes; nocturnal dialysis takes eight hours
LONGEST_LEAD: Final = 6 * 60  # minutes from pickup to chair: as long as the longest ride
OLDEST_START: Final = timedelta(days=366)  # an order that has been running elsewhere may be taken over
FARTHEST_START: Final = timedelta(days=731)
MOST_WEEKS: Final = 12
MOST_HORIZON: Final = 90  # days
BEFORE_FIRST_DAY: Final = _("%(field)s must not be before the first day.")
AUTHORIZATION_TOO_SHORT: Final = _("The authorization ends before the first day.")
SKIPPED_BY_CLOCKS: Final = _("This time does not exist on that day because the clocks change.")
IN_THE_PAST: Final = _("%(field)s must not be in the past.")
TOO_FAR_AHEAD: Final = _("%(field)s lies more than two years ahead.")


def of_order(draft: OrderDraft, *, today: date) -> list[Detail]:
    """List what stands against an order, whatever its terms; `today` is the facility's."""
    found = []
    if draft.service_type not in SERVICES:
        found.append(_invalid("serviceType", _("A hospital discharge cannot recur.")))
    if draft.start_date < today - OLDEST_START:
        found.append(_invalid("startDate", _("%(field)s lies more than a year in the past.")))
    if draft.start_date > today + FARTHEST_START:
        found.append(_invalid("startDate", TOO_FAR_AHEAD))
    if draft.end_date is not None and draft.end_date < draft.start_date:
        found.append(_invalid("endDate", BEFORE_FIRST_DAY))
    ends = draft.payment.authorization_expires_on
    if ends is not None and ends < draft.start_date:
        found.append(_invalid("authorizationEndsOn", AUTHORIZATION_TOO_SHORT))
    horizon = draft.generation_horizon_days
    if horizon is not None and not 1 <= horizon <= MOST_HORIZON:
        found.append(_invalid("generationHorizonDays", _from_one_to(MOST_HORIZON)))
    return found


def of_terms(draft: TermsDraft) -> list[Detail]:
    """List what stands against terms, whatever day they begin on."""
    found = []
    days = draft.days_of_week
    if not days:
        found.append(
            _invalid("pattern.daysOfWeek", _("A standing order needs at least one day of the week."), "required")
        )
    elif len(set(days)) < len(days) or not set(days) <= set(range(7)):
        found.append(_invalid("pattern.daysOfWeek", _("Name each day of the week only once.")))
    if not 1 <= draft.interval_weeks <= MOST_WEEKS:
        found.append(_invalid("pattern.intervalWeeks", _from_one_to(MOST_WEEKS)))
    if draft.treatment_minutes == 0:
        found.append(_invalid("treatmentMinutes", _("A treatment takes at least one minute.")))
    stay = (draft.treatment_minutes or 0) + (draft.post_treatment_minutes or 0)
    if stay > LONGEST_STAY:
        found.append(_invalid("treatmentMinutes", _("Treatment and post-treatment time must not exceed 16 hours.")))
    if draft.return_time is not None and draft.return_mode != "scheduled":
        return [*found, _invalid("return.pickupTime", _("%(field)s is only for a scheduled return."))]
    fields = ("outbound.pickupTime", "return.pickupTime")
    return found + of_times(draft.chair_time, draft.pickup_time, draft.return_time, fields=fields)


def of_times(
    chair_time: time, pickup_time: time | None, return_time: time | None, *, fields: tuple[str, str]
) -> list[Detail]:
    """List what stands against the wall times of the two ways, of which `fields` are the names."""
    of_pickup, of_return = fields
    found = []
    if pickup_time is not None and not 0 < _minutes(pickup_time, chair_time) <= LONGEST_LEAD:
        found.append(_invalid(of_pickup, _("The pickup must be within the six hours before the chair time.")))
    if return_time is not None and not 0 < _minutes(chair_time, return_time) <= LONGEST_STAY:
        found.append(_invalid(of_return, _("The return must be within the 16 hours after the chair time.")))
    return found


def of_edit(from_date: date, *, today: date) -> list[Detail]:
    """List what stands against new terms from a day on."""
    if from_date < today:
        return [_invalid("fromDate", IN_THE_PAST)]
    if from_date > today + FARTHEST_START:
        return [_invalid("fromDate", TOO_FAR_AHEAD)]
    return []


def in_gap(clock: time, days: Iterable[date], zone: ZoneInfo) -> date | None:
    """Give the first of `days` on which the clocks skip this wall time; None where they skip it on none."""
    return next((day for day in days if instant(day, clock, zone)[1]), None)


def of_move(pattern_date: date, to_date: date, *, field: str) -> list[Detail]:
    """List what stands against moving an occurrence to another day."""
    if abs(to_date - pattern_date) > FARTHEST_MOVE:
        return [
            _invalid(field, Message(_("A day can be moved by at most %(days)s days."), {"days": FARTHEST_MOVE.days}))
        ]
    return []


def of_hold(from_date: date, until: date | None, *, today: date) -> list[Detail]:
    """List what stands against a hold."""
    found = []
    if from_date < today - FARTHEST_MOVE:
        found.append(_invalid("from", _("%(field)s lies more than a week in the past.")))
    if from_date > today + FARTHEST_START:
        found.append(_invalid("from", TOO_FAR_AHEAD))
    if until is not None and until < from_date:
        found.append(_invalid("until", BEFORE_FIRST_DAY))
    elif until is not None and until < today:
        found.append(_invalid("until", IN_THE_PAST))
    return found


def _minutes(earlier: time, later: time) -> int:
    """Count the minutes from one wall time to the next time that the clock shows another."""
    return ((later.hour - earlier.hour) * 60 + later.minute - earlier.minute) % (24 * 60)


def _from_one_to(most: int) -> Message:
    return Message(_("%(field)s must be from 1 to %(most)s."), {"most": most})


def _invalid(field: str, message: Text, code: str = "invalid") -> Detail:
    return Detail(field=field, code=code, message=message)
