"""Texts and badges of recurring rides: days, times, statuses and changes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy

from apps.fleet.models import Driver
from apps.organizations.models import CalendarShift
from apps.recurring.models import OrderStatus, ReturnMode, StandingOrder, Terms
from apps.recurring.queries.calendar import LegStatus, LegView, OccurrenceView
from apps.recurring.queries.day_sheet import Visit
from apps.recurring.queries.roster import OrderSummary
from apps.recurring.rules.reconciliation import Leg
from apps.recurring.rules.recurrence import ChangeType, OccurrenceStatus
from apps.riders import labels as rider_labels
from apps.rides.labels import OUT_OF_REACH, driver_name
from apps.rides.rules.lifecycle import RideStatus
from lib import clocks
from lib.access import Principal
from lib.dates import dated_day, long_day, short_day
from lib.errors import Code

Text = str | Promise
MOST_DAYS: Final = 12  # listed in one sentence


@dataclass(frozen=True, slots=True)
class Badge:
    tone: str
    icon: str
    text: Text


WEEKDAYS: Final = (
    (0, gettext_lazy("Monday")),
    (1, gettext_lazy("Tuesday")),
    (2, gettext_lazy("Wednesday")),
    (3, gettext_lazy("Thursday")),
    (4, gettext_lazy("Friday")),
    (5, gettext_lazy("Saturday")),
    (6, gettext_lazy("Sunday")),
)
SHORT_WEEKDAYS: Final = (
    gettext_lazy("Mon"),
    gettext_lazy("Tue"),
    gettext_lazy("Wed"),
    gettext_lazy("Thu"),
    gettext_lazy("Fri"),
    gettext_lazy("Sat"),
    gettext_lazy("Sun"),
)
STATUSES: Final[Mapping[str, Badge]] = {
    OrderStatus.DRAFT: Badge("info", "pencil", gettext_lazy("Draft")),
    OrderStatus.ACTIVE: Badge("ok", "check", pgettext_lazy("standing order", "Active")),
    OrderStatus.ON_HOLD: Badge("warn", "pause", gettext_lazy("On hold")),
    OrderStatus.ENDED: Badge("quiet", "ban", pgettext_lazy("standing order", "Ended")),
}
RETURNS: Final[Mapping[str, Text]] = {
    ReturnMode.WILL_CALL: gettext_lazy("Will call"),
    ReturnMode.SCHEDULED: gettext_lazy("Scheduled"),
    ReturnMode.NONE: gettext_lazy("None"),
}
LEG_STATUSES: Final[Mapping[LegStatus, Badge]] = {
    LegStatus.PLANNED: Badge("quiet", "clock", gettext_lazy("planned")),
    LegStatus.BOOKED: Badge("booked", "check", gettext_lazy("booked")),
    LegStatus.UNDER_WAY: Badge("ok", "route", gettext_lazy("under way")),
    LegStatus.CANCELLED: Badge("quiet", "x", gettext_lazy("canceled")),
    LegStatus.HELD: Badge("warn", "pause", gettext_lazy("held")),
    LegStatus.SKIPPED: Badge("quiet", "chevron-right", gettext_lazy("skipped")),
    LegStatus.CLOSED: Badge("warn", "ban", gettext_lazy("center closed")),
    LegStatus.REFUSED: Badge("bad", "triangle-alert", gettext_lazy("could not be booked")),
    LegStatus.NOT_BOOKED: Badge("quiet", "circle-alert", gettext_lazy("was not booked")),
}
ENDED_RIDES: Final[Mapping[str, Badge]] = {
    RideStatus.COMPLETED: Badge("ok", "check", gettext_lazy("completed")),
    RideStatus.NO_SHOW: Badge("bad", "user-round", gettext_lazy("no-show")),
    RideStatus.UNFULFILLED: Badge("bad", "circle-alert", gettext_lazy("missed trip")),
}
# Statuses of open rides from the point of view of the clinic.
OPEN_RIDES: Final[Mapping[str, Badge]] = {
    RideStatus.REQUESTED: Badge("warn", "clock", gettext_lazy("to be confirmed")),
    RideStatus.SCHEDULED: Badge("booked", "check", gettext_lazy("booked, unassigned")),
    RideStatus.ASSIGNED: Badge("ok", "user-round", gettext_lazy("driver assigned")),
    RideStatus.EN_ROUTE: Badge("ok", "route", gettext_lazy("driver on the way")),
    RideStatus.ARRIVED: Badge("ok", "map-pin", gettext_lazy("driver at the door")),
    RideStatus.IN_PROGRESS: Badge("ok", "truck", gettext_lazy("on board")),
}
_WAITS_FOR_CALL: Final = Badge("info", "bell", gettext_lazy("waiting for the call"))
APPLIES: Final[Mapping[str, Text]] = {
    CalendarShift.AppliesTo.ALL: gettext_lazy("All riders of that day"),
    CalendarShift.AppliesTo.MWF: gettext_lazy("Monday, Wednesday, Friday riders"),
    CalendarShift.AppliesTo.TTS: gettext_lazy("Tuesday, Thursday, Saturday riders"),
    CalendarShift.AppliesTo.SELECTED: gettext_lazy("Selected standing orders"),
}
need_labels: Final = rider_labels.need_labels
# Reasons why no ride could be booked, by error code.
REFUSAL_REASONS: Final[Mapping[str, Text]] = {
    Code.RIDER_NOT_BOOKABLE.name: gettext_lazy("The rider's record does not allow bookings."),
    Code.DUPLICATE_RIDE.name: gettext_lazy("The rider has another ride at this time."),
    Code.VALIDATION_ERROR.name: gettext_lazy("The times or places do not make a ride that can be booked."),
}


def driver_names(driver_ids: Collection[UUID], by: Principal) -> list[str]:
    """Return drivers' names in the order of their ids, with a placeholder outside the data scope.  One query."""
    rows = Driver.objects.visible_to(by).filter(pk__in=driver_ids).select_related("default_vehicle")
    names = {driver.pk: driver_name(driver, by) for driver in rows}
    return [names.get(pk, str(OUT_OF_REACH)) for pk in driver_ids]


def refusal_reason(code: str) -> Text:
    return REFUSAL_REASONS.get(code, gettext_lazy("A booking rule does not allow it."))


def listed(days: Iterable[date]) -> str:
    """List the first days, up to `MOST_DAYS`, and the number of others."""
    unique = sorted(set(days))
    named = "; ".join(short_day(day) for day in unique[:MOST_DAYS])
    more = len(unique) - MOST_DAYS
    return (
        named
        if more <= 0
        else ngettext("%(named)s and %(more)s more", "%(named)s and %(more)s more", more)
        % {
            "named": named,
            "more": more,
        }
    )


def days_of(days: Collection[int]) -> str:
    return " ".join(str(SHORT_WEEKDAYS[day]) for day in sorted(days))


def pattern_of(terms: Terms) -> str:
    """List the days of terms, and their interval if it is not weekly."""
    days = days_of(terms.days_of_week)
    if terms.interval_weeks == 1:
        return days
    return _("%(days)s, every %(weeks)s weeks") % {"days": days, "weeks": terms.interval_weeks}


def clock(at: datetime, zone: str) -> str:
    return clocks.clock(at.astimezone(ZoneInfo(zone)))


def day_and_clock(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    return f"{short_day(local.date())}, {clocks.clock(local)}"


def leg_badge(leg: LegView) -> Badge:
    return ENDED_RIDES[leg.ride_status or ""] if leg.status is LegStatus.DONE else LEG_STATUSES[leg.status]


def ride_badge(leg: LegView, *, waits_for_call: bool) -> Badge:
    """Return the status of a ride for the clinic; `waits_for_call`: a will-call rider is not ready yet."""
    if leg.status not in (LegStatus.BOOKED, LegStatus.UNDER_WAY):
        return leg_badge(leg)
    return _WAITS_FOR_CALL if waits_for_call else OPEN_RIDES[leg.ride_status or ""]


def needs_of(visit: Visit, by: Principal) -> list[str]:
    """List the rider's mobility and, if the reader may see them, other needs and companions."""
    outbound, back = visit.legs.get(Leg.OUTBOUND), visit.legs.get(Leg.RETURN)
    needs = (outbound or visit.legs[Leg.RETURN]).needs
    return need_labels(needs, back.needs["mobility"] if back else None, visit.companions, by)


def badges_of(view: OccurrenceView) -> list[Badge]:
    """Return the statuses of the legs of an occurrence, without repetition."""
    return list(dict.fromkeys(leg_badge(leg) for leg in view.legs))


def ride_count(view: OccurrenceView) -> str:
    count = len(view.legs)
    return ngettext("%(count)s ride", "%(count)s rides", count) % {"count": count}


def change_of(view: OccurrenceView) -> str:
    """Describe an occurrence and how it differs from the pattern, as part of a sentence."""
    values = {"rides": ride_count(view), "day": long_day(view.pattern_date)}
    if view.service_date != view.pattern_date:
        if view.change is ChangeType.SHIFTED:
            return _("%(rides)s shifted from %(day)s") % values
        return _("%(rides)s moved from %(day)s") % values
    if view.change is ChangeType.SHIFTED and view.status is not OccurrenceStatus.CLOSED:
        return _("%(rides)s at another time that day") % values
    if view.change is ChangeType.CUSTOMIZED:
        return _("%(rides)s changed for this day") % values
    return ride_count(view)


def change_briefly(view: OccurrenceView) -> str:
    """Describe how an occurrence differs from the pattern; "" if it does not."""
    if view.service_date != view.pattern_date:
        text = _("shifted from %(day)s") if view.change is ChangeType.SHIFTED else _("moved from %(day)s")
        return text % {"day": short_day(view.pattern_date)}
    return "" if view.change is ChangeType.AS_GENERATED or view.status is OccurrenceStatus.CLOSED else _("changed")


def moved_to_briefly(view: OccurrenceView) -> str:
    text = _("shifted to %(day)s") if view.change is ChangeType.SHIFTED else _("moved to %(day)s")
    return text % {"day": short_day(view.service_date)}


def moved_to(view: OccurrenceView) -> str:
    """Describe on the pattern date of a moved occurrence where it went, as part of a sentence."""
    values = {"rides": ride_count(view), "day": long_day(view.service_date)}
    if view.change is ChangeType.SHIFTED:
        return _("%(rides)s shifted to %(day)s") % values
    return _("%(rides)s moved to %(day)s") % values


def status_of(summary: OrderSummary) -> tuple[Badge, str]:
    """Return the status of an order, and its dates."""
    order = summary.order
    if order.status == OrderStatus.ON_HOLD and summary.hold is not None:
        until = summary.hold.until
        return STATUSES[order.status], (
            _("since %(day)s, until %(end)s") % {"day": dated_day(summary.hold.from_date), "end": dated_day(until)}
            if until
            else _("since %(day)s") % {"day": dated_day(summary.hold.from_date)}
        )
    return STATUSES[order.status], _status_dates(order, summary)


def _status_dates(order: StandingOrder, summary: OrderSummary) -> str:
    if order.status == OrderStatus.ENDED:
        return _("last day %(day)s") % {"day": dated_day(order.end_date)} if order.end_date else ""
    if summary.hold is not None:
        return _("held from %(day)s") % {"day": dated_day(summary.hold.from_date)}
    if order.last_date is not None:
        return _("ends on %(day)s") % {"day": dated_day(order.last_date)}
    return ""
