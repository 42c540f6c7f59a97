"""Everything on the page of a ride besides its row, inside the reader's data scope."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from apps.accounts import queries as accounts
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations.models import Contact
from apps.rides import pickup_points
from apps.rides.models import Assignment, ReasonCode, Ride, RideException
from apps.rides.queries import rides
from apps.rides.queries.entrances import entrance_names_of
from apps.rides.queries.rides import Entry
from apps.rides.rules import disclosure
from apps.rides.rules.booking_rules import LEGS_WITHIN
from apps.rides.rules.lifecycle import OPEN
from lib.access import Phi, Principal
from lib.scopes import Scope

MAX_AUDIT_ENTRIES: Final = 50  # newest; the audit page has all


@dataclass(frozen=True, slots=True)
class Story:
    """`audit_entries` is None for readers without access to the audit trail; `names` are people's names by actor."""

    timeline: list[Entry]
    assignments: list[Assignment]
    exceptions: list[RideException]
    legs: list[Ride]
    contacts: list[Contact]
    entrance_names: pickup_points.EntranceNames
    audit_entries: list[AuditEntry] | None
    names: dict[str, str]


def story(of: Ride, by: Principal) -> Story:
    """Read the related records of a ride.  At most ten queries."""
    timeline = rides.timeline(of)
    assignments = _assignments(of, by)
    exceptions = _exceptions(of, by) if by.has_scope(Scope.EXCEPTIONS_READ) else []
    audit_entries = _audit_entries(of) if by.has_scope(Scope.AUDIT_READ) else None
    actors = [entry.actor for entry in timeline]
    actors += [assignment.assigned_by for assignment in assignments]
    actors += [
        actor
        for exception in exceptions
        for actor in (exception.opened_by, exception.acknowledged_by, exception.resolved_by)
    ]
    actors += [audit_entry.actor for audit_entry in audit_entries or ()]
    actors.append(of.ended_by)
    return Story(
        timeline=timeline,
        assignments=assignments,
        exceptions=exceptions,
        legs=_legs(of, by),
        contacts=_contacts(of, by),
        entrance_names=entrance_names_of([of], disclosure.disclosure_of(by)),
        audit_entries=audit_entries,
        names=accounts.names_of(actors),
    )


def ride_with_details(ride_id: UUID, by: Principal) -> Ride | None:
    """Read a ride with the records of its page, or None.  One query."""
    rows = Ride.objects.visible_to(by).select_related("rider", "facility", "driver", "vehicle", "provider", "payer")
    return rows.filter(pk=ride_id).first()


def linkable_rides(of: Ride, by: Principal) -> list[Ride]:
    """List the rider's other open rides up to a day apart that are no legs of a trip, by pickup time.  One query."""
    if of.trip_id is not None or of.status not in OPEN:
        return []
    days = (of.service_date - LEGS_WITHIN, of.service_date + LEGS_WITHIN)
    rows = Ride.objects.in_charge_of(by).filter(rider_id=of.rider_id, service_date__range=days, trip=None)
    return list(rows.filter(status__in=sorted(OPEN)).exclude(pk=of.pk).order_by("pickup_at", "pk"))


def changes_since(ride_id: UUID, version: int) -> list[Event]:
    """List the events of a ride since a version.  One query."""
    events = Event.objects.filter(subject_type="ride", subject_id=ride_id, sequence__gt=version)
    return list(events.order_by("sequence"))


def own_reasons() -> dict[tuple[str, str], str]:
    """Return the labels of the operator's own reasons, by list and code.  One query."""
    rows = ReasonCode.objects.filter(active=True).order_by("label")
    return {(name, code): label for name, code, label in rows.values_list("reason_list", "code", "label")}


def _assignments(of: Ride, by: Principal) -> list[Assignment]:
    rows = Assignment.objects.filter(ride=of).select_related("driver", "provider")
    if by.provider_ids is not None:
        rows = rows.filter(provider_id__in=by.provider_ids)
    return list(rows.order_by("offered_at", "id"))


def _exceptions(of: Ride, by: Principal) -> list[RideException]:
    rows = RideException.objects.visible_to(by).filter(ride=of).select_related("owner")
    return list(rows.order_by("opened_at", "id"))


def _audit_entries(of: Ride) -> list[AuditEntry]:
    """The newest audit entries of reading the ride."""
    rows = AuditEntry.objects.filter(subject_type="ride", subject_id=of.pk)
    return list(rows.order_by("-at", "-id")[:MAX_AUDIT_ENTRIES])


def _legs(of: Ride, by: Principal) -> list[Ride]:
    if of.trip_id is None:
        return []
    rows = Ride.objects.visible_to(by).filter(trip_id=of.trip_id).exclude(pk=of.pk)
    return list(rows.order_by("leg_sequence", "pk"))


def _contacts(of: Ride, by: Principal) -> list[Contact]:
    """Contacts of the facilities at the stops, for readers with all fields of a stop."""
    places = [pk for pk in (of.pickup_facility_id, of.dropoff_facility_id) if pk is not None]
    if by.facility_ids is not None:
        places = [pk for pk in places if pk in by.facility_ids]
    if by.phi < Phi.FULL or not places:
        return []
    return list(Contact.objects.filter(facility_id__in=places).order_by("role", "name", "pk"))
