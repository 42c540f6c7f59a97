"""Template contexts of the ride page: stops, needs, notes, people, history and exceptions.

Each function returns only what the reader may see (apps/rides/rules/disclosure.py).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from apps.console.ride import labels as ride_labels
from apps.organizations.models import Contact, ContactRole
from apps.riders import labels as rider_labels
from apps.riders.rules.needs import AssistLevel
from apps.rides import labels as rides_labels
from apps.rides import pickup_points
from apps.rides.labels import ADVICE, note_text
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.queries.ride_story import Story
from apps.rides.queries.rides import Entry
from apps.rides.rules import disclosure
from apps.rides.rules.disclosure import Disclosure
from apps.rides.rules.reasons import CancellationTiming, Fault
from apps.rides.services import leg_decisions, legs
from apps.rides.services.leg_decisions import Answer
from lib.access import Phi, Principal
from lib.scopes import Scope

Own = Mapping[tuple[str, str], str]


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
            "contacts": [_contact(one) for one in story.contacts if one.facility_id == facility_id],
        }
        for title, side, sealed, facility_id in sides
    ]


def _stop(ride: Ride, side: str, story: Story, to: Disclosure) -> dict[str, Any]:
    seen = disclosure.stop(getattr(ride, side), to)
    town = " ".join(filter(None, (seen.get("city"), seen.get("state"), seen.get("postalCode"))))
    name = ride_labels.place_name(seen)
    lines = [seen.get("addressLine1"), seen.get("addressLine2"), town]
    steps = int(seen.get("steps") or 0) if to.phi >= Phi.FULL else 0
    return {
        "name": name,
        "lines": [line for line in lines if line and line != name],
        "door": pickup_points.door(ride, side, story.doors, to),
        "inside": ", ".join(pickup_points.inside(ride, side, to)),
        "instructions": seen.get("instructions") or "",
        "contact": _asked_for(seen.get("contact") or {}),
        "steps": steps,
    }


def _asked_for(contact: Mapping[str, Any]) -> dict[str, Any] | None:
    return {**contact, "name": rider_labels.name_beside(contact.get("name") or "")} if contact else None


def contacts(rows: Iterable[Contact]) -> list[dict[str, Any]]:
    """Return the contacts of a facility with role, name, phone and extension."""
    return [_contact(one) for one in rows]


def _contact(one: Contact) -> dict[str, Any]:
    return {"role": ContactRole(one.role).label.capitalize(), "name": one.name, "phone": one.phone, "ext": one.ext}


def needs(ride: Ride, to: Disclosure, by: Principal) -> list[str]:
    """Return the rider's needs as labels.

    Without full access to PHI, only the needs that are disclosed to the reader; otherwise also companions and help.
    """
    seen = disclosure.accommodation(ride.accommodation, to)
    companions = ride.companions if to.phi >= Phi.FULL else {}
    said = rider_labels.need_labels(seen, None, companions, by)
    if to.phi < Phi.FULL:
        return said
    said.append(str(AssistLevel(seen["assistLevel"]).label))
    flags = (
        (seen["handoffRequired"], _("handed over to a person")),
        (seen["mustNotBeLeftAlone"], _("never left alone")),
    )
    return said + [word for flag, word in flags if flag]


def notes(ride: Ride, to: Disclosure) -> list[tuple[str, str, str]]:
    """Return the notes that the reader may see: title, text, and a badge for restricted ones ("" for others)."""
    if to.phi < Phi.FULL:
        return []
    found = [
        (_("For the driver"), ride.driver_notes, ""),
        (_("Of the rider, for drivers"), ride.accommodation.get("driverNotes") or "", ""),
        (_("For the facility"), ride.facility_notes, ""),
    ]
    if to.dispatcher_notes:
        private = _("dispatchers only")
        found.append((_("For dispatchers"), ride.dispatcher_notes, private))
        found.append((_("Of the rider, for dispatchers"), ride.accommodation.get("dispatcherNotes") or "", private))
    return [one for one in found if one[1]]


def people(ride: Ride, story: Story, to: Disclosure, by: Principal) -> list[dict[str, str]]:
    """Return the people to call about the ride, besides facility contacts; [] without full access to PHI."""
    if to.phi < Phi.FULL:
        return []
    found: list[tuple[str, Any, Any]] = []
    phones = ride.rider.phones if rider_labels.may_name(by) else []
    found += [(_("Rider"), rider_labels.rider_name(ride.rider, by), one) for one in phones]
    if ride.driver is not None and by.has_scope(Scope.DRIVERS_READ):
        found.append((_("Driver"), f"{ride.driver.first_name} {ride.driver.last_name}", {"number": ride.driver.phone}))
    asked = ride.requested_by
    found.append((_("Asked for it"), rider_labels.name_beside(asked.get("name") or ""), {"number": asked.get("phone")}))
    discharge = ride.discharge or {}
    planner, receiving = discharge.get("planner") or {}, discharge.get("receiving") or {}
    found.append((_("Unit"), discharge.get("unit"), {"number": discharge.get("unitPhone")}))
    found.append((_("Planner"), planner.get("name"), {"number": planner.get("phone")}))
    found.append(
        (_("Received by"), rider_labels.name_beside(receiving.get("name") or ""), {"number": receiving.get("phone")})
    )
    return [
        {"role": role, "name": name or "", "phone": phone.get("number") or "", "ext": phone.get("ext") or ""}
        for role, name, phone in found
        if name or phone.get("number")
    ]


def driver_of(one: Assignment, by: Principal) -> str:
    """Return driver and license plate; the full name for users who may read drivers, else the first name."""
    name = one.driver_name if by.has_scope(Scope.DRIVERS_READ) else one.driver.first_name
    return f"{name}, {one.vehicle_plate}"


def assignments(story: Story, by: Principal) -> list[dict[str, Any]]:
    full = by.phi >= Phi.FULL
    return [
        {
            "row": one,
            "badge": ride_labels.ASSIGNMENTS[one.status],
            "driver": driver_of(one, by),
            "by": ride_labels.who(one.assigned_by, story.names),
            "why": ride_labels.spelled(one.end_reason) if one.end_reason else "",
            "said": "; ".join(filter(None, (one.decline_reason, one.override_reason))) if full else "",
        }
        for one in reversed(story.assignments)
    ]


def exceptions(story: Story, by: Principal) -> list[dict[str, Any]]:
    """Return the exceptions, unresolved ones first."""
    rows = sorted(story.exceptions, key=lambda one: one.resolved_at is not None)
    return [exception(one, story.names, by) for one in rows]


def exception(one: RideException, names: Mapping[str, str], by: Principal) -> dict[str, Any]:
    return {
        "row": one,
        "severity": ride_labels.SEVERITIES[one.severity],
        "standing": ride_labels.STANDINGS[one.status],
        "title": ride_labels.title_of(one.type),
        "step": ADVICE[one.type].step,
        "answer": answer_of(one),
        "closed_by": ride_labels.who(one.resolved_by, names) if one.resolved_at else "",
        "code": rides_labels.CODES.get(one.resolution_code, ""),
        "note": note_text(one.resolution_note) if by.phi >= Phi.FULL else "",
    }


def answer_of(one: RideException) -> dict[str, Any] | None:
    """Return the planner's answer to an exception with its time; None without an answer."""
    if leg_decisions.ANSWER not in one.details:
        return None
    told = Answer(one.details[leg_decisions.ANSWER])
    at = datetime.fromisoformat(one.details["answeredAt"])
    return {"text": told.label, "at": at, "is_split": told is Answer.SPLIT}


def timeline(story: Story, own: Own, by: Principal) -> list[dict[str, Any]]:
    """Return the history, newest first.

    `recorded` is the time of recording if it is at least a minute after the event, else None.
    """
    return [_line(entry, story.names, own, by) for entry in reversed(story.timeline)]


def _line(entry: Entry, names: Mapping[str, str], own: Own, by: Principal) -> dict[str, Any]:
    is_moment = entry.kind == "milestone"
    late = (entry.recorded_at - entry.occurred_at).total_seconds() >= 60
    return {
        "is_moment": is_moment,
        "at": entry.occurred_at,
        "recorded": entry.recorded_at if late else None,
        "title": str(rides_labels.MOMENTS[entry.type]) if is_moment else ride_labels.happened(entry.type),
        "who": ride_labels.who(entry.actor, names),
        "source": rides_labels.SOURCES.get(entry.source or "", ""),
        "voided": entry.voided,
        "edited": entry.edited,
        "details": _of_moment(entry, by) if is_moment else details_of(entry.data, own),
    }


def _of_moment(entry: Entry, by: Principal) -> list[str]:
    said = []
    if entry.contacted:
        said.append(_("called: %(whom)s") % {"whom": ride_labels.CONTACTED[entry.contacted]})
    if entry.distance_from_stop_meters is not None:
        said.append(_("%(meters)s m from the stop") % {"meters": entry.distance_from_stop_meters})
    if entry.note and by.phi >= Phi.FULL:
        said.append(entry.note)
    return said


def details_of(data: Mapping[str, Any], own: Own) -> list[str]:
    """Return the data of an event as labels; ignores unknown keys."""
    said = []
    if ended := data.get("endedAs"):
        said.append(_("it had ended as: %(status)s") % {"status": str(ride_labels.STATUSES[ended].text).lower()})
    if code := data.get("reasonCode"):
        labels = (label for (_list, known), label in own.items() if known == code)
        said.append(next(labels, ride_labels.spelled(code)))
    if fault := data.get("fault"):
        said.append(_("fault: %(fault)s") % {"fault": str(Fault(fault).label).lower()})
    if timing := data.get("timing"):
        said.append(str(CancellationTiming(timing).label).lower())
    if told := data.get("exception"):
        said.append(
            f"{ride_labels.title_of(told['type'])}, {str(ride_labels.SEVERITIES[told['severity']].text).lower()}"
        )
    if changed := data.get("changed"):
        said.append(_("changed: %(names)s") % {"names": ", ".join(_spaced(name) for name in changed)})
    if overridden := data.get("overridden"):
        said.append(
            _("all the same: %(rules)s") % {"rules": ", ".join(ride_labels.spelled(one).lower() for one in overridden)}
        )
    return said


def _spaced(name: str) -> str:
    """Return a field name of the API as words: `pickupTime` as `pickup time`."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)


def times(ride: Ride, late: int | None) -> list[dict[str, Any]]:
    """Return the known times of a ride with labels; `late` (minutes) belongs to the first one, the pickup."""
    kind = _("Pickup, estimated") if ride.will_call else _("Pickup")
    found: list[tuple[str, datetime | None]] = [
        (kind, ride.pickup_at),
        (_("Appointment"), ride.appointment_at),
        (_("Ready"), ride.ready_at),
        (_("Promised by"), ride.promised_pickup_by),
        (_("Expected at the pickup"), ride.eta_pickup_at),
        (_("Departed"), ride.departed_at),
        (_("Arrived at the pickup"), ride.arrived_pickup_at),
        (_("On board"), ride.boarded_at),
        (_("Arrived at the drop-off"), ride.arrived_dropoff_at),
        (_("Dropped off"), ride.dropped_off_at),
    ]
    shown = [{"label": label, "at": at} for label, at in found if at is not None]
    shown[0]["late"] = late
    return shown
