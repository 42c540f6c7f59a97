"""Initial times of the form that moves one day, and the edit of its values."""

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


def current_times(view: OccurrenceView, zone: str) -> Clocks:
    """Return the current wall times of a day: those of its rides, or of the plan if it has none."""
    legs = {leg.leg: leg for leg in view.legs}
    outbound, back = legs.get(Leg.OUTBOUND), legs.get(Leg.RETURN)
    return {
        "chair_time": _clock(outbound.appointment_at if outbound else None, zone),
        "pickup_time": _clock(outbound.pickup_at if outbound else None, zone),
        "return_time": _clock(back.pickup_at if back else None, zone),
    }


def occurrence_edit(order: StandingOrder, values: Mapping[str, Any], *, at: datetime) -> OccurrenceEdit:
    """Convert the values of the form into an edit.

    A pickup or return time that was not changed moves along with a changed chair time.  Without a change of the chair
    time it stays, even if the series has another time.  Six queries.
    """
    views = calendar(order, values["shown"], values["shown"], at=at)
    view = next((view for view in views if view.pattern_date == values["day"]), None)
    edit = OccurrenceEdit(values["to_date"], values["chair_time"], values["pickup_time"], values["return_time"])
    if view is None:
        return edit
    before, zone = current_times(view, order.timezone), ZoneInfo(order.timezone)
    terms = Terms.objects.filter(standing_order=order, from_date__lte=values["day"]).order_by("-from_date")[:1]
    times = plans.planned_terms(terms[0]).times
    _, chair_at, _, _ = instants(times, view.service_date, zone)
    if edit.chair_time in (times.chair_time, _clock(chair_at, order.timezone)):
        edit = replace(edit, chair_time=None)  # that of the series
    moves = values["chair_time"] != before["chair_time"]
    pickup_at, _, return_at, _ = instants(plans.overridden(times, edit.chair_time, None, None), view.service_date, zone)
    default = {"pickup_time": _clock(pickup_at, order.timezone), "return_time": _clock(return_at, order.timezone)}
    unchanged = {name: None for name, clock in default.items() if values[name] == (before[name] if moves else clock)}
    return replace(edit, **unchanged)


def _clock(moment: datetime | None, zone: str) -> time | None:
    return None if moment is None else moment.astimezone(ZoneInfo(zone)).time().replace(second=0, microsecond=0)
