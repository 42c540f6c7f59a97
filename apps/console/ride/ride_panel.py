"""Template contexts of the ride page: stops, needs, notes, people, history and exceptions.

Each function returns only what the reader may see (apps/rides/rules/disclosure.py).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.console.ride import labels as ride_labels
from apps.console.ride.field_labels import change_lines
from apps.organizations.models import Contact, ContactRole
from apps.riders import labels as rider_labels
from apps.riders.rules.needs import AssistLevel
from apps.rides import labels as rides_labels
from apps.rides import pickup_points
from apps.rides.labels import ADVICE, note_text
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.queries.ride_forecasts import Eta, EtaSource
from apps.rides.queries.ride_story import Story
from apps.rides.queries.rides import Entry
from apps.rides.rules import disclosure
from apps.rides.rules.change_values import field_changes
from apps.rides.rules.disclosure import Disclosure
from apps.rides.rules.reasons import CancellationTiming, Fault
from apps.rides.services import leg_decisions, legs
from apps.rides.services.leg_decisions import Answer
from lib.access import Phi, Principal
from lib.scopes import Scope

OwnReasons = Mapping[tuple[str, str], str]


def stops(ride: Ride, story: Story, to: Disclosure) -> list[dict[str, Any]]:
    """Return both stops: place, entrance, contacts and access code.

    The access code is "" for readers who neither drive nor dispatch.
    """
    sides = (
        (_("Pickup"), "pickup", ride.pickup_access, ride.pickup_facility_id),
        (_("Drop-off"), "dropoff", ride.dropoff_access, ride.dropoff_facility_id),
    )
    return [
        _stop(ride, side, story, to)
        | {
            "title": title,
            "code": legs.opened_access(sealed).get("accessCode", "") if to.door_codes else "",
            "contacts": [_contact(contact) for contact in story.contacts if contact.facility_id == facility_id],
        }
        for title, side, sealed, facility_id in sides
    ]


def _stop(ride: Ride, side: str, story: Story, to: Disclosure) -> dict[str, Any]:
    stop = disclosure.stop(getattr(ride, side), to)
    town = " ".join(filter(None, (stop.get("city"), stop.get("state"), stop.get("postalCode"))))
    name = ride_labels.place_name(stop)
    lines = [stop.get("addressLine1"), stop.get("addressLine2"), town]
    steps = int(stop.get("steps") or 0) if to.phi >= Phi.FULL else 0
    return {
        "name": name,
        "lines": [line for line in lines if line and line != name],
        "entrance": pickup_points.entrance(ride, side, story.entrance_names, to),
        "inside": ", ".join(pickup_points.inside(ride, side, to)),
        "instructions": stop.get("instructions") or "",
        "contact": _stop_contact(stop.get("contact") or {}),
        "steps": steps,
    }


def _stop_contact(contact: Mapping[str, Any]) -> dict[str, Any] | None:
    return {**contact, "name": rider_labels.name_beside(contact.get("name") or "")} if contact else None


def contacts(rows: Iterable[Contact]) -> list[dict[str, Any]]:
    """Return the contacts of a facility with role, name, phone and extension."""
    return [_contact(contact) for contact in rows]


def _contact(contact: Contact) -> dict[str, Any]:
    return {
        "role": ContactRole(contact.role).label.capitalize(),
        "name": contact.name,
        "phone": contact.phone,
        "ext": contact.ext,
    }


def needs(ride: Ride, to: Disclosure, by: Principal) -> list[str]:
    """Return the rider's needs as labels.

    Without full access to PHI, only the needs that are disclosed to the reader; otherwise also companions and help.
    """
    disclosed = disclosure.accommodation(ride.accommodation, to)
    companions = ride.companions if to.phi >= Phi.FULL else {}
    labels = rider_labels.need_labels(disclosed, None, companions, by)
    if to.phi < Phi.FULL:
        return labels
    labels.append(str(AssistLevel(disclosed["assistLevel"]).label))
    flags = (
        (disclosed["handoffRequired"], _("hand-to-hand")),
        (disclosed["mustNotBeLeftAlone"], _("do not leave alone")),
    )
    return labels + [label for flag, label in flags if flag]


def notes(ride: Ride, to: Disclosure) -> list[tuple[str, str, str]]:
    """Return the notes that the reader may see: title, text, and a badge for restricted ones ("" for others)."""
    if to.phi < Phi.FULL:
        return []
    rows = [
        (_("For the driver"), ride.driver_notes, ""),
        (_("Rider's note for drivers"), ride.accommodation.get("driverNotes") or "", ""),
        (_("Facility note"), ride.facility_notes, ""),
    ]
    if to.dispatcher_notes:
        private = _("dispatchers only")
        rows.append((_("For dispatchers"), ride.dispatcher_notes, private))
        rows.append((_("Rider's note for dispatchers"), ride.accommodation.get("dispatcherNotes") or "", private))
    return [row for row in rows if row[1]]


def people(ride: Ride, story: Story, to: Disclosure, by: Principal) -> list[dict[str, str]]:
    """Return the people to call about the ride, besides facility contacts; [] without full access to PHI."""
    if to.phi < Phi.FULL:
        return []
    rows: list[tuple[str, Any, Any]] = []
    phones = ride.rider.phones if rider_labels.may_name(by) else []
    rows += [(_("Rider"), rider_labels.rider_name(ride.rider, by), phone) for phone in phones]
    if ride.driver is not None and by.has_scope(Scope.DRIVERS_READ):
        rows.append((_("Driver"), f"{ride.driver.first_name} {ride.driver.last_name}", {"number": ride.driver.phone}))
    requester = ride.requested_by
    rows.append(
        (_("Requested by"), rider_labels.name_beside(requester.get("name") or ""), {"number": requester.get("phone")})
    )
    discharge = ride.discharge or {}
    planner, receiving = discharge.get("planner") or {}, discharge.get("receiving") or {}
    rows.append((_("Unit"), discharge.get("unit"), {"number": discharge.get("unitPhone")}))
    rows.append((_("Planner"), planner.get("name"), {"number": planner.get("phone")}))
    rows.append(
        (_("Received by"), rider_labels.name_beside(receiving.get("name") or ""), {"number": receiving.get("phone")})
    )
    return [
        {"role": role, "name": name or "", "phone": phone.get("number") or "", "ext": phone.get("ext") or ""}
        for role, name, phone in rows
        if name or phone.get("number")
    ]


def driver_of(assignment: Assignment, by: Principal) -> str:
    """Return driver and license plate; the full name for users who may read drivers, else the first name."""
    name = assignment.driver_name if by.has_scope(Scope.DRIVERS_READ) else assignment.driver.first_name
    return f"{name}, {assignment.vehicle_plate}"


def assignments(story: Story, by: Principal) -> list[dict[str, Any]]:
    full = by.phi >= Phi.FULL
    return [
        {
            "row": assignment,
            "badge": ride_labels.ASSIGNMENTS[assignment.status],
            "driver": driver_of(assignment, by),
            "by": ride_labels.actor_name(assignment.assigned_by, story.names),
            "end_reason": ride_labels.code_label(assignment.end_reason) if assignment.end_reason else "",
            "comment": "; ".join(filter(None, (assignment.decline_reason, assignment.override_reason))) if full else "",
        }
        for assignment in reversed(story.assignments)
    ]


def exceptions(story: Story, by: Principal) -> list[dict[str, Any]]:
    """Return the exceptions, unresolved ones first."""
    rows = sorted(story.exceptions, key=lambda exception_row: exception_row.resolved_at is not None)
    return [exception(exception_row, story.names, by) for exception_row in rows]


def exception(exception_row: RideException, names: Mapping[str, str], by: Principal) -> dict[str, Any]:
    return {
        "row": exception_row,
        "severity": ride_labels.SEVERITIES[exception_row.severity],
        "status": ride_labels.EXCEPTION_STATUSES[exception_row.status],
        "title": ride_labels.title_of(exception_row.type),
        "step": ADVICE[exception_row.type],
        "answer": answer_of(exception_row),
        "closed_by": ride_labels.actor_name(exception_row.resolved_by, names) if exception_row.resolved_at else "",
        "code": rides_labels.CODES.get(exception_row.resolution_code, ""),
        "open_note": exception_row.note if by.phi >= Phi.FULL else "",
        "note": note_text(exception_row.resolution_note) if by.phi >= Phi.FULL else "",
    }


def answer_of(exception_row: RideException) -> dict[str, Any] | None:
    """Return the planner's answer to an exception with its time; None without an answer."""
    if leg_decisions.ANSWER not in exception_row.details:
        return None
    answer = Answer(exception_row.details[leg_decisions.ANSWER])
    at = datetime.fromisoformat(exception_row.details["answeredAt"])
    return {"text": answer.label, "at": at, "is_split": answer is Answer.SPLIT}


def timeline(ride: Ride, story: Story, own: OwnReasons, by: Principal) -> list[dict[str, Any]]:
    """Return the history, newest first.

    `recorded` is the time of recording if it is at least a minute after the event, else None.
    """
    return [_line(ride, entry, story.names, own, by) for entry in reversed(story.timeline)]


def _line(ride: Ride, entry: Entry, names: Mapping[str, str], own: OwnReasons, by: Principal) -> dict[str, Any]:
    is_moment = entry.kind == "milestone"
    is_late = (entry.recorded_at - entry.occurred_at).total_seconds() >= 60
    return {
        "is_moment": is_moment,
        "at": entry.occurred_at,
        "recorded_at": entry.recorded_at if is_late else None,
        "title": str(rides_labels.MOMENTS[entry.type]) if is_moment else ride_labels.event_label(entry.type),
        "who": ride_labels.actor_name(entry.actor, names),
        "source": rides_labels.SOURCES.get(entry.source or "", ""),
        "voided": entry.voided,
        "edited": entry.edited,
        "details": _milestone_details(entry, by) if is_moment else _event_details(ride, entry, own, by),
    }


def _event_details(ride: Ride, entry: Entry, own: OwnReasons, by: Principal) -> list[str]:
    """Return the data of an event, of an edit with old and new values instead of the names of fields."""
    if entry.values is None:
        return details_of(entry.data, own)
    changes = field_changes(entry.values, disclosure.disclosure_of(by))
    data = {key: value for key, value in entry.data.items() if key != "changed"}
    return [*change_lines(changes, ride), *details_of(data, own)]


def _milestone_details(entry: Entry, by: Principal) -> list[str]:
    details = []
    if entry.contacted:
        details.append(_("called: %(whom)s") % {"whom": ride_labels.CONTACTED[entry.contacted]})
    if entry.distance_from_stop_meters is not None:
        details.append(_("%(meters)s m from the stop") % {"meters": entry.distance_from_stop_meters})
    if entry.note and by.phi >= Phi.FULL:
        details.append(entry.note)
    return details


def details_of(data: Mapping[str, Any], own: OwnReasons) -> list[str]:
    """Return the data of an event as labels; ignores unknown keys."""
    details = []
    if data.get("afterTheFact"):
        details.append(_("recorded after the fact"))
    if ended := data.get("endedAs"):
        details.append(_("it had ended as: %(status)s") % {"status": str(ride_labels.STATUSES[ended].text).lower()})
    if code := data.get("reasonCode"):
        labels = (label for (_list, known_code), label in own.items() if known_code == code)
        details.append(next(labels, ride_labels.code_label(code)))
    if fault := data.get("fault"):
        details.append(_("fault: %(fault)s") % {"fault": str(Fault(fault).label).lower()})
    if timing := data.get("timing"):
        details.append(str(CancellationTiming(timing).label).lower())
    if exception_data := data.get("exception"):
        severity = str(ride_labels.SEVERITIES[exception_data["severity"]].text).lower()
        details.append(f"{ride_labels.title_of(exception_data['type'])}, {severity}")
    if changed := data.get("changed"):
        details.append(
            _("changed: %(names)s") % {"names": ", ".join(ride_labels.field_label(name) for name in changed)}
        )
    if overridden := data.get("overridden"):
        details.append(
            _("overridden: %(rules)s")
            % {"rules": ", ".join(ride_labels.code_label(rule).lower() for rule in overridden)}
        )
    return details


def times(ride: Ride, late: int | None, eta: Eta) -> list[dict[str, Any]]:
    """Return the known times of a ride with labels; `late` (minutes) belongs to the first one, the pickup.

    An arrival that cannot be predicted has a text in place of a time.
    """
    kind = _("Pickup, estimated") if ride.will_call else _("Pickup")
    labeled_times: list[tuple[str, datetime | None]] = [
        (kind, ride.pickup_at),
        (_("Appointment"), ride.appointment_at),
        (_("Ready"), ride.ready_at),
        (_("Pickup by"), ride.promised_pickup_by),
        (_("Expected at the pickup"), eta.at),
        (_("Departed"), ride.departed_at),
        (_("Arrived at the pickup"), ride.arrived_pickup_at),
        (_("On board"), ride.boarded_at),
        (_("Arrived at the drop-off"), ride.arrived_dropoff_at),
        (_("Dropped off"), ride.dropped_off_at),
    ]
    rows = [{"label": label, "at": at} for label, at in labeled_times if at is not None]
    rows[0]["late"] = late
    if eta.source is EtaSource.LOCATION_UNKNOWN:
        rows.append({"label": _("Expected at the pickup"), "text": _("Unknown: the driver's location is unknown")})
    return rows
