"""The form that moves one day: it begins with the day's present times, and what stays as it was moves along."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, time
from typing import Any
from zoneinfo import ZoneInfo

from apps.recurring.models import StandingOrder, Terms
from apps.recurring.queries import plans
from apps.recurring.queries.calendar import OccurrenceView, calendar
from apps.recurring.rules.reconciliation import Leg
from apps.recurring.rules.recurrence import instants
from apps.recurring.services.edit_order import OccurrenceEdit

Clocks = Mapping[str, time | None]  # by the fields chair_time, pickup_time and return_time


def present(one: OccurrenceView, zone: str) -> Clocks:
    """Give the wall times that a day has now: those of its rides or, where there are none, of the plan."""
    ways = {leg.leg: leg for leg in one.legs}
    out, back = ways.get(Leg.OUTBOUND), ways.get(Leg.RETURN)
    return {
        "chair_time": _clock(out.appointment_at if out else None, zone),
        "pickup_time": _clock(out.pickup_at if out else None, zone),
        "return_time": _clock(back.pickup_at if back else None, zone),
    }


def wanted(order: StandingOrder, values: Mapping[str, Any], *, at: datetime) -> OccurrenceEdit:
    """Say what a form of these values asks for.

    A way whose time is left as the form showed it moves along with the chair; where the chair stays as well, it stays
    what it is, though the series may have it otherwise.  Six queries.
    """
    shown = calendar(order, values["shown"], values["shown"], at=at)
    one = next((one for one in shown if one.pattern_date == values["day"]), None)
    asked = OccurrenceEdit(values["to_date"], values["chair_time"], values["pickup_time"], values["return_time"])
    if one is None:
        return asked
    before, zone = present(one, order.timezone), ZoneInfo(order.timezone)
    terms = Terms.objects.filter(standing_order=order, from_date__lte=values["day"]).order_by("-from_date")[:1]
    times = plans.planned_terms(terms[0]).times
    _, chair_at, _, _ = instants(times, one.service_date, zone)
    if asked.chair_time in (times.chair_time, _clock(chair_at, order.timezone)):
        asked = replace(asked, chair_time=None)  # it is the series'
    moves = values["chair_time"] != before["chair_time"]
    pickup_at, _, return_at, _ = instants(plans.overridden(times, asked.chair_time, None, None), one.service_date, zone)
    usual = {"pickup_time": _clock(pickup_at, order.timezone), "return_time": _clock(return_at, order.timezone)}
    along = {name: None for name, clock in usual.items() if values[name] == (before[name] if moves else clock)}
    return replace(asked, **along)


def _clock(moment: datetime | None, zone: str) -> time | None:
    return None if moment is None else moment.astimezone(ZoneInfo(zone)).time().replace(second=0, microsecond=0)
