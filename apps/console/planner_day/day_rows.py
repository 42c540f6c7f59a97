"""The rows of a facility's day: the section of each ride, and its texts."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.ride import labels as ride_labels
from apps.console.ride import ride_panel
from apps.console.ride.ride_forms import AnswerForm
from apps.organizations.service_levels import ServiceLevels, service_levels
from apps.riders import labels as rider_labels
from apps.rides.models import Ride, RideException
from apps.rides.queries.facility_day import FacilityDay
from apps.rides.queries.ride_needs import expected_dropoff_at
from apps.rides.rules import discharge, disclosure
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.draft import ServiceType
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import TERMINAL, RideStatus
from apps.rides.rules.ride_actions import RideAction, allowed_actions
from apps.rides.rules.timeliness import late_minutes, promised_at
from apps.rides.services import leg_decisions
from lib.access import Phi, Principal
from lib.clocks import clock

# Sections in the order in which a planner works.
SECTIONS: Final[Mapping[str, Promise]] = {
    "needs": gettext_lazy("Needs your attention"),
    "waiting": gettext_lazy("Waiting for “Ready”"),
    "moving": gettext_lazy("Ready, due or on the way"),
    "others": gettext_lazy("Other rides of the day"),
    "done": gettext_lazy("Done"),
}
# Questions that only the facility's staff can answer; the escalation has its own question with four answers.
QUESTIONS: Final[Mapping[str, Promise]] = {
    ExceptionType.WILL_CALL_UNACTIVATED: gettext_lazy("The day ends: is the rider ready, or is the ride not needed?"),
    ExceptionType.RIDER_STRANDED_RISK: gettext_lazy(
        "The day has ended and the rider was never marked ready: where is the rider?"
    ),
    ExceptionType.RIDER_NOT_READY: gettext_lazy(
        "The driver is waiting at the door: let dispatch know how long it will take."
    ),
    ExceptionType.RETURN_LEG_AT_RISK: gettext_lazy(
        "The outbound trip did not happen: is the return trip still needed?"
    ),
}
_BEFORE_DEPARTURE: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED, RideStatus.ASSIGNED})
_MIN_DIFFERENCE: Final = timedelta(minutes=5)  # smaller differences are within the accuracy of an estimate
_ON_THE_ROAD: Final = frozenset({RideStatus.EN_ROUTE, RideStatus.ARRIVED, RideStatus.IN_PROGRESS})


def sections(facility_day: FacilityDay, by: Principal, now: datetime) -> list[dict[str, Any]]:
    """Return the sections of the day, without empty ones."""
    levels = service_levels(facility_day.facility)
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in SECTIONS}
    for ride in facility_day.rides:
        row = _row(ride, facility_day, levels, by, now)
        rows[_section(ride, row)].append(row)
    return [{"name": name, "title": title, "rows": rows[name]} for name, title in SECTIONS.items() if rows[name]]


def _section(ride: Ride, row: Mapping[str, Any]) -> str:
    if ride.status in TERMINAL:
        return "done"
    if row["needs_answer"] or row["questions"]:
        return "needs"
    if ride.will_call and ride.ready_at is None:
        return "waiting"
    is_due = ride.ready_at is not None or ride.status in _ON_THE_ROAD or row["late"] is not None
    return "moving" if is_due else "others"


def _row(ride: Ride, facility_day: FacilityDay, levels: ServiceLevels, by: Principal, now: datetime) -> dict[str, Any]:
    to = disclosure_of(by)
    actions = allowed_actions(ride, by)
    exceptions = facility_day.exceptions.get(ride.pk, [])
    open_questions = [exception for exception in exceptions if leg_decisions.awaits_decision(exception)]
    needs_answer = any(leg_decisions.ANSWER not in exception.details for exception in open_questions)
    places = [ride_labels.place_name(disclosure.stop(stop, to)) for stop in (ride.pickup, ride.dropoff)]
    return {
        "ride": ride,
        "name": rider_labels.rider_name(ride.rider, by),
        "badges": ride_labels.status_of(ride),
        "late": late_minutes(ride, now),
        "from": places[0],
        "to": places[1],
        "needs": ride_panel.needs(ride, to, by),
        "service": capfirst(ride.get_service_type_display()),
        "needs_answer": needs_answer,
        "answer": AnswerForm(auto_id=f"answer-{ride.pk}_%s") if needs_answer else None,
        "answered": next((answer for exception in open_questions if (answer := ride_panel.answer_of(exception))), None),
        "questions": [QUESTIONS[exception.type] for exception in exceptions if exception.type in QUESTIONS],
        "actions": {action.value for action in actions},
        "driver": _driver(ride),
        "arrival_texts": _arrival_texts(ride, facility_day, now),
        **(_discharge(ride, exceptions, levels, actions, now) if _is_discharge(ride) and to.phi >= Phi.FULL else {}),
    }


def _is_discharge(ride: Ride) -> bool:
    return ride.service_type == ServiceType.HOSPITAL_DISCHARGE


def _driver(ride: Ride) -> str:
    """Return the driver's first name and the license plate: a facility may see no more of them."""
    if ride.driver is None or ride.vehicle is None:
        return ""
    return f"{ride.driver.first_name}, {ride.vehicle.license_plate}"


def _arrival_texts(ride: Ride, facility_day: FacilityDay, now: datetime) -> list[dict[str, Any]]:
    """Return the texts about the vehicle's arrival: each has a time `at`, and `reported_at` is when it was reported.

    Times that are computed and not reported are marked as such; an unknown arrival time has a text, too.
    """
    status = RideStatus(ride.status)
    if status in TERMINAL:
        return [{"text": _("Dropped off"), "at": ride.dropped_off_at}] if ride.dropped_off_at else []
    if status is RideStatus.IN_PROGRESS:
        dropoff_at = expected_dropoff_at(ride)
        texts = [{"text": _("On board since"), "at": ride.boarded_at}]
        estimate = {"text": _("arrives about"), "at": dropoff_at, "basis": _("estimated from the drive time")}
        return [*texts, estimate] if dropoff_at else texts
    if status is RideStatus.ARRIVED:
        return [{"text": _("Vehicle waiting since"), "at": ride.arrived_pickup_at}]
    if ride.eta_pickup_at is not None and (ride.eta_pickup_at >= now or ride.pk not in facility_day.predicted_arrivals):
        return _estimate(ride, facility_day, ride.eta_pickup_at, now)
    if ride.will_call and ride.ready_at is None:
        return [{"text": _("A pickup time is promised once the rider is ready.")}]
    unknown = {
        RideStatus.REQUESTED: _("not confirmed yet"),
        RideStatus.SCHEDULED: _("unassigned"),
        RideStatus.ASSIGNED: _("the driver has not departed"),
        RideStatus.EN_ROUTE: _("no arrival time reported yet"),
    }
    promised: dict[str, Any] = {"text": _("Pickup by"), "at": promised_at(ride)}
    forecast_at = facility_day.predicted_arrivals.get(ride.pk)
    # A driver without an earlier ride could arrive at once; such a forecast says nothing about the actual arrival.
    if forecast_at is None or forecast_at < max(ride.ready_at or ride.pickup_at, now) + _MIN_DIFFERENCE:
        return [promised, {"text": unknown[status]}]
    planned = clock(ride.pickup_at.astimezone(ZoneInfo(facility_day.facility.timezone)))
    basis = _("planned %(clock)s; predicted from the driver's earlier rides") % {"clock": planned}
    minutes_late = max(0, int((forecast_at - promised_at(ride)).total_seconds() // 60))
    return [{"text": _("Expected about"), "at": forecast_at, "basis": basis}, promised | {"minutes_late": minutes_late}]


def _estimate(ride: Ride, facility_day: FacilityDay, eta: datetime, now: datetime) -> list[dict[str, Any]]:
    minutes_late = int((eta - promised_at(ride)).total_seconds() // 60)
    is_ahead = eta >= now
    estimate = {"text": _("Expected") if is_ahead else _("Was expected"), "at": eta, "is_ahead": is_ahead}
    promised = {"text": _("pickup by"), "at": promised_at(ride), "minutes_late": max(0, minutes_late)}
    return [estimate | {"reported_at": facility_day.eta_reported_at.get(ride.pk)}, promised]


def _discharge(
    ride: Ride,
    exceptions: Sequence[RideException],
    levels: ServiceLevels,
    actions: frozenset[RideAction],
    now: datetime,
) -> dict[str, Any]:
    """Return where the patient is, the clocks of order and transport, and the open items of the checklist."""
    details = ride.discharge or {}
    items = discharge.checklist(details, oxygen_uses=ride.accommodation["oxygen"]["uses"])
    before_departure = ride.status in _BEFORE_DEPARTURE
    open_items = sum(item.done is not True for item in items)
    return {
        "unit": ", ".join(filter(None, (details.get("unit"), details.get("room") and _("room %s") % details["room"]))),
        "phone": details.get("unitPhone") or "",
        "is_late_discharge": any(exception.type == ExceptionType.DISCHARGE_SLIPPED for exception in exceptions),
        "order": discharge.facility_clock(ride, now),
        "transport": discharge.transport_clock(ride, levels, now),
        # A complete checklist is not shown after the release.
        "checklist": [(item, ride_labels.CHECKLIST[item.key]) for item in items]
        if before_departure and (open_items or ride.ready_at is None)
        else [],
        "open_items": open_items,
        "blocking_items": [ride_labels.CHECKLIST[item.key] for item in items if item.blocks_discharge]
        if before_departure
        else [],
        # The booking user may change the booking until a driver is en route; the same permission as for the notes.
        "may_tick": RideAction.NOTES in actions,
    }
