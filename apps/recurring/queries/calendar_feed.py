"""The iCalendar file of a calendar link: one event for each leg that takes place."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from icalendar import Calendar, Event

from apps.recurring.models import CalendarLink, OrderStatus, StandingOrder
from apps.recurring.queries import calendar
from apps.recurring.queries.calendar import LegStatus, LegView, OccurrenceView
from apps.recurring.rules.reconciliation import Leg
from apps.rides.rules import timing
from apps.rides.rules.lifecycle import RideStatus
from lib import dates

# Days before and after today: a year ahead for one order, two weeks for a facility with hundreds of orders.
_SPANS: Final[Mapping[bool, tuple[timedelta, timedelta]]] = {
    True: (timedelta(days=28), timedelta(days=366)),
    False: (timedelta(days=1), timedelta(days=14)),
}
_STATUS_LABELS: Final[Mapping[LegStatus, Promise]] = {
    LegStatus.PLANNED: gettext_lazy("Planned"),
    LegStatus.BOOKED: gettext_lazy("Booked"),
    LegStatus.UNDER_WAY: gettext_lazy("Under way"),
    LegStatus.REFUSED: gettext_lazy("No ride could be booked"),
}
_TAKES_PLACE: Final = frozenset(_STATUS_LABELS) | {LegStatus.DONE}
_UNCERTAIN: Final = frozenset({LegStatus.PLANNED, LegStatus.REFUSED})
_YEAR: Final = timedelta(days=366)
REFRESHED_EVERY: Final = timedelta(hours=1)  # a suggestion: calendar programs choose their own interval


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One event.  `uid` is permanent, also if the event moves; without `ends_at`, it has no duration."""

    uid: str
    starts_at: datetime
    ends_at: datetime | None
    summary: str
    description: str
    is_certain: bool
    url: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Feed:
    """The bytes of a calendar, and its riders."""

    body: bytes
    rider_ids: set[UUID]


def feed_of(link: CalendarLink, *, at: datetime) -> Feed:
    """Return the calendar of a link.  Seven queries."""
    rows = StandingOrder.objects.exclude(status=OrderStatus.DRAFT).select_related("rider")
    if link.standing_order_id:
        rows = rows.filter(pk=link.standing_order_id)
    else:
        rows = rows.filter(facility_id=link.facility_id).exclude(status=OrderStatus.ENDED)
    orders = {order.pk: order for order in rows}
    zone = link.facility.timezone
    today = timing.local_day(at, zone)
    back, ahead = _SPANS[link.standing_order_id is not None]
    days_of = calendar.calendars(orders.values(), today - back, today + ahead, at=at)
    entries = [
        entry for order_id, days in days_of.items() for day in days for entry in _entries(link, orders[order_id], day)
    ]
    entries.sort(key=lambda entry: (entry.starts_at, entry.uid))
    body = _icalendar(entries, name=_name(link), zone=ZoneInfo(zone))
    return Feed(body, {order.rider_id for order in orders.values()})


def _name(link: CalendarLink) -> str:
    return _("Rides of %(facility)s") % {"facility": link.facility.name}


def _entries(link: CalendarLink, order: StandingOrder, day: OccurrenceView) -> Iterator[FeedEntry]:
    for leg in day.legs:
        if leg.status in _TAKES_PLACE:
            yield FeedEntry(
                uid=f"{order.pk}.{day.pattern_date.isoformat()}.{leg.leg}@carelane",
                starts_at=leg.pickup_at,
                ends_at=leg.appointment_at,
                summary=_summary(link, order, leg),
                description=_description(day, leg),
                is_certain=leg.status not in _UNCERTAIN,
                url=f"{settings.BASE_URL}/console/recurring/{order.pk}/?month={day.service_date:%Y-%m}",
                changed_at=order.updated_at,
            )


def _summary(link: CalendarLink, order: StandingOrder, leg: LegView) -> str:
    """Describe the ride by its service and the rider's name, or the end of the order's id on links without names."""
    values = {
        "service": order.get_service_type_display().lower(),
        "who": f"{order.rider.first_name} {order.rider.last_name}" if link.with_names else order.pk.hex[-6:],
    }
    if leg.leg is Leg.OUTBOUND:
        text = _("Ride to %(service)s, %(who)s")
    elif leg.will_call:
        text = _("Ride back from %(service)s by call, %(who)s")
    else:
        text = _("Ride back from %(service)s, %(who)s")
    text %= values
    return _("NOT BOOKED: %(ride)s") % {"ride": text} if leg.status is LegStatus.REFUSED else text


def _description(day: OccurrenceView, leg: LegView) -> str:
    # A leg that is done has a ride.
    label = RideStatus(cast(str, leg.ride_status)).label if leg.status is LegStatus.DONE else _STATUS_LABELS[leg.status]
    lines = [capfirst(str(label))]
    if leg.refusal:
        lines.append(leg.refusal.lower())
    if day.service_date != day.pattern_date:
        lines.append(_("Moved from %(day)s") % {"day": dates.long_day(day.pattern_date)})
    return "\n".join(lines)


def _icalendar(entries: Iterable[FeedEntry], *, name: str, zone: ZoneInfo) -> bytes:
    """Write a calendar in wall time of `zone`, with the rules of that zone for the range of events."""
    document = Calendar()
    document.add("prodid", "-//Carelane//Recurring rides//EN")
    document.add("version", "2.0")
    document.add("x-wr-calname", name)
    document.add("refresh-interval", REFRESHED_EVERY, parameters={"VALUE": "DURATION"})
    document.add("x-published-ttl", "PT1H")
    starts = []
    for entry in entries:
        document.add_component(_event(entry, zone))
        starts.append(entry.starts_at)
    if starts:
        # The rules of all years in tzdata would be most of the file.
        document.add_missing_timezones(first_date=min(starts).date() - _YEAR, last_date=max(starts).date() + _YEAR)
    body: bytes = document.to_ical()
    return body


def _event(entry: FeedEntry, zone: ZoneInfo) -> Event:
    event = Event()
    event.add("uid", entry.uid)
    event.add("dtstamp", entry.changed_at)
    event.add("dtstart", entry.starts_at.astimezone(zone))
    if entry.ends_at is not None:
        event.add("dtend", entry.ends_at.astimezone(zone))
    event.add("summary", entry.summary)
    event.add("description", entry.description)
    event.add("status", "CONFIRMED" if entry.is_certain else "TENTATIVE")
    event.add("class", "PRIVATE")
    event.add("url", entry.url)
    return event
