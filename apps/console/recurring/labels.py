"""How pages call days, times and standings of recurring rides: words, and the colours and signs that say it again."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext, pgettext_lazy

from apps.fleet.models import Driver
from apps.organizations.models import CalendarShift
from apps.recurring.models import OrderStatus, ReturnMode, StandingOrder, Terms
from apps.recurring.queries.calendar import LegStatus, LegView, OccurrenceView
from apps.recurring.queries.day_sheet import Visit
from apps.recurring.queries.roster import OrderSummary
from apps.recurring.rules.reconciliation import Leg
from apps.recurring.rules.recurrence import ChangeType, OccurrenceStatus
from apps.riders import labels as rider_words
from apps.rides.labels import OUT_OF_REACH, driver_name
from apps.rides.rules.lifecycle import RideStatus
from lib import clocks
from lib.access import Principal
from lib.errors import Code

Text = str | Promise
MOST_DAYS: Final = 12  # named in one sentence


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
    LegStatus.CANCELLED: Badge("quiet", "x", gettext_lazy("cancelled")),
    LegStatus.HELD: Badge("warn", "pause", gettext_lazy("held")),
    LegStatus.SKIPPED: Badge("quiet", "chevron-right", gettext_lazy("skipped")),
    LegStatus.CLOSED: Badge("warn", "ban", gettext_lazy("centre closed")),
    LegStatus.REFUSED: Badge("bad", "triangle-alert", gettext_lazy("could not be booked")),
    LegStatus.NOT_BOOKED: Badge("quiet", "circle-alert", gettext_lazy("was not booked")),
}
ENDS: Final[Mapping[str, Badge]] = {
    RideStatus.COMPLETED: Badge("ok", "check", gettext_lazy("completed")),
    RideStatus.NO_SHOW: Badge("bad", "user-round", gettext_lazy("no-show")),
    RideStatus.UNFULFILLED: Badge("bad", "circle-alert", gettext_lazy("not driven")),
}
# Of rides that are open: what a clinic asks first.
RIDES: Final[Mapping[str, Badge]] = {
    RideStatus.REQUESTED: Badge("warn", "clock", gettext_lazy("to be confirmed")),
    RideStatus.SCHEDULED: Badge("booked", "check", gettext_lazy("booked, no driver yet")),
    RideStatus.ASSIGNED: Badge("ok", "user-round", gettext_lazy("driver assigned")),
    RideStatus.EN_ROUTE: Badge("ok", "route", gettext_lazy("driver on the way")),
    RideStatus.ARRIVED: Badge("ok", "map-pin", gettext_lazy("driver at the door")),
    RideStatus.IN_PROGRESS: Badge("ok", "truck", gettext_lazy("on board")),
}
_WAITS: Final = Badge("info", "bell", gettext_lazy("waits for the call"))
APPLIES: Final[Mapping[str, Text]] = {
    CalendarShift.AppliesTo.ALL: gettext_lazy("Everybody who comes that day"),
    CalendarShift.AppliesTo.MWF: gettext_lazy("Those of Monday, Wednesday, Friday"),
    CalendarShift.AppliesTo.TTS: gettext_lazy("Those of Tuesday, Thursday, Saturday"),
    CalendarShift.AppliesTo.SELECTED: gettext_lazy("Single standing orders"),
}
needs_said: Final = rider_words.needs_said
# Why no ride could be made: codes of the catalogue that booking in sets answers with.
WHY: Final[Mapping[str, Text]] = {
    Code.RIDER_NOT_BOOKABLE.name: gettext_lazy("The rider's record does not allow bookings."),
    Code.DUPLICATE_RIDE.name: gettext_lazy("The rider has another ride at this time."),
    Code.VALIDATION_ERROR.name: gettext_lazy("The times or places do not make a ride that can be booked."),
}


def driver_names(driver_ids: Collection[UUID], by: Principal) -> list[str]:
    """Name drivers in the order of their ids; of one out of reach it is said that there is one.  One query."""
    rows = Driver.objects.visible_to(by).filter(pk__in=driver_ids).select_related("default_vehicle")
    names = {driver.pk: driver_name(driver, by) for driver in rows}
    return [names.get(pk, str(OUT_OF_REACH)) for pk in driver_ids]


def why(code: str) -> Text:
    """Say why a ride could not be made."""
    return WHY.get(code, gettext_lazy("A rule of booking stands against it."))


def long_day(day: date) -> str:
    return date_format(day, pgettext("format of a day", "l j F"))


def short_day(day: date) -> str:
    return date_format(day, "D j M")


def dated(day: date) -> str:
    """Name a day that may lie in another year."""
    return date_format(day, "D j M Y")


def listed(days: Iterable[date]) -> str:
    """Name days in order, the first dozen of them."""
    found = sorted(set(days))
    named = ", ".join(short_day(day) for day in found[:MOST_DAYS])
    more = len(found) - MOST_DAYS
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
    """Say on which days terms ride, and how often."""
    days = days_of(terms.days_of_week)
    if terms.interval_weeks == 1:
        return days
    return _("%(days)s, every %(weeks)s weeks") % {"days": days, "weeks": terms.interval_weeks}


def clock(at: datetime, zone: str) -> str:
    return clocks.clock(at.astimezone(ZoneInfo(zone)))


def day_and_clock(at: datetime, zone: str) -> str:
    there = at.astimezone(ZoneInfo(zone))
    return f"{short_day(there.date())} {clocks.clock(there)}"


def zone_name(zone: str, at: datetime) -> str:
    """Give the abbreviation of a zone as it is at an instant, such as CST."""
    return at.astimezone(ZoneInfo(zone)).strftime("%Z")


def leg_badge(leg: LegView) -> Badge:
    return ENDS[leg.ride_status or ""] if leg.status is LegStatus.DONE else LEG_STATUSES[leg.status]


def ride_of(leg: LegView, *, waits: bool) -> Badge:
    """Say how the ride of a leg stands, as those see it who wait for it; `waits`: nobody has called for it yet."""
    if leg.status not in (LegStatus.BOOKED, LegStatus.UNDER_WAY):
        return leg_badge(leg)
    return _WAITS if waits else RIDES[leg.ride_status or ""]


def needs_of(visit: Visit, by: Principal) -> list[str]:
    """Say how a rider moves, and to those who may know, what else takes room or hands."""
    out, back = visit.ways.get(Leg.OUTBOUND), visit.ways.get(Leg.RETURN)
    needs = (out or visit.ways[Leg.RETURN]).needs
    return needs_said(needs, back.needs["mobility"] if back else None, visit.companions, by)


def badges_of(one: OccurrenceView) -> list[Badge]:
    """Say what has become of an occurrence, once where all its legs are alike."""
    return list(dict.fromkeys(leg_badge(leg) for leg in one.legs))


def rides_of(one: OccurrenceView) -> str:
    count = len(one.legs)
    return ngettext("%(count)s ride", "%(count)s rides", count) % {"count": count}


def arrived(one: OccurrenceView) -> str:
    """Say how an occurrence came to its day and times, as a part of a sentence; "" where the pattern says so."""
    words = {"rides": rides_of(one), "day": long_day(one.pattern_date)}
    if one.service_date != one.pattern_date:
        if one.change is ChangeType.SHIFTED:
            return _("%(rides)s shifted from %(day)s") % words
        return _("%(rides)s moved from %(day)s") % words
    if one.change is ChangeType.SHIFTED and one.status is not OccurrenceStatus.CLOSED:
        return _("%(rides)s at another time that day") % words
    if one.change is ChangeType.CUSTOMIZED:
        return _("%(rides)s changed for this day") % words
    return rides_of(one)


def arrived_briefly(one: OccurrenceView) -> str:
    """Say the same in the fewest words."""
    if one.service_date != one.pattern_date:
        said = _("shifted from %(day)s") if one.change is ChangeType.SHIFTED else _("moved from %(day)s")
        return said % {"day": short_day(one.pattern_date)}
    return "" if one.change is ChangeType.AS_GENERATED or one.status is OccurrenceStatus.CLOSED else _("changed")


def left_briefly(one: OccurrenceView) -> str:
    said = _("shifted to %(day)s") if one.change is ChangeType.SHIFTED else _("moved to %(day)s")
    return said % {"day": short_day(one.service_date)}


def left_for(one: OccurrenceView) -> str:
    """Say where an occurrence went, seen from the day that the pattern has for it."""
    words = {"rides": rides_of(one), "day": long_day(one.service_date)}
    if one.change is ChangeType.SHIFTED:
        return _("%(rides)s shifted to %(day)s") % words
    return _("%(rides)s moved to %(day)s") % words


def status_of(line: OrderSummary) -> tuple[Badge, str]:
    """Say how an order stands, and since or until when."""
    order = line.order
    if order.status == OrderStatus.ON_HOLD and line.hold is not None:
        until = line.hold.until
        return STATUSES[order.status], (
            _("since %(day)s, until %(end)s") % {"day": dated(line.hold.from_date), "end": dated(until)}
            if until
            else _("since %(day)s") % {"day": dated(line.hold.from_date)}
        )
    return STATUSES[order.status], _ahead(order, line)


def _ahead(order: StandingOrder, line: OrderSummary) -> str:
    if order.status == OrderStatus.ENDED:
        return _("last day %(day)s") % {"day": dated(order.end_date)} if order.end_date else ""
    if line.hold is not None:
        return _("held from %(day)s") % {"day": dated(line.hold.from_date)}
    if order.last_date is not None:
        return _("ends on %(day)s") % {"day": dated(order.last_date)}
    return ""
