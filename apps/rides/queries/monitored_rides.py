"""Reads the facts of exception rules: from a loaded ride, or in sets for rides that are due."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Count, Min
from prometheus_client.core import GaugeMetricFamily, Metric

from apps.organizations.models import Facility, default_escalation_minutes
from apps.organizations.rules import opening_hours
from apps.organizations.service_levels import DEFAULTS
from apps.rides.models import Assignment, Ride
from apps.rides.queries.ride_needs import loading_minutes
from apps.rides.rules import guards
from apps.rides.rules.exception_rules import LONGEST_LADDER, MINUTE, Facts, Terms
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.reasons import OUT_REASONS

# The columns of `Facts`, in the same sequence; from JSON only what rules need.
_FACTS: Final = """
    r.status, r.status_changed_at, r.service_type, r.priority, r.pickup_at, r.window_ends_at, r.appointment_at,
    r.will_call, r.ready_at, r.promised_pickup_by, r.will_call_expires_at, r.requested_at, r.scheduled_at, r.confirm_by,
    r.departed_at, r.arrived_pickup_at, r.boarded_at, r.arrived_dropoff_at, r.dropped_off_at, r.eta_pickup_at,
    r.estimated_minutes, r.pickup_facility_id IS NOT NULL, r.missing_documents <> '{}',
    CASE WHEN r.appointment_at IS NULL AND r.discharge IS NULL THEN 0 ELSE
        coalesce((r.pickup->>'loadMinutes')::int, (r.accommodation->>'loadMinutes')::int, 0) END,
    r.discharge #>> '{receiving,acceptBy}', r.discharge->>'expectedReadyAt',
    r.after_the_fact
"""
_RIDE: Final = """
    r.id, r.version, r.trip_id, r.leg_sequence, r.rider_id, r.facility_id, r.provider_id, r.pickup_facility_id,
    r.driver_id, r.service_date, r.timezone
"""
_LOCKED: Final = f"SELECT {_RIDE}, {_FACTS} FROM rides_ride r WHERE"  # noqa: S608  # constants
_DUE: Final = f"""{_LOCKED} r.next_check_at <= %(at)s
    ORDER BY r.next_check_at LIMIT %(most)s FOR NO KEY UPDATE OF r SKIP LOCKED"""
_ONE: Final = f"{_LOCKED} r.id = %(ride_id)s AND r.next_check_at <= %(at)s FOR NO KEY UPDATE OF r SKIP LOCKED"
_EXCEPTIONS: Final = """
    SELECT e.ride_id, e.id, e.type, e.severity, e.status, e.escalation_level, e.due_at, e.resolved_at,
        e.details ? 'told', e.cause_driver_id
    FROM rides_rideexception e
    WHERE e.ride_id = ANY(%s) AND (e.status IN ('open', 'acknowledged') OR e.closed_by_hand)
    ORDER BY e.opened_at, e.id
"""
_LEGS: Final = "SELECT trip_id, leg_sequence, status FROM rides_ride WHERE trip_id = ANY(%s)"
_NOT_RIDDEN: Final = frozenset({RideStatus.CANCELLED, RideStatus.NO_SHOW, RideStatus.UNFULFILLED})


class Watched(NamedTuple):
    """A locked ride that is due."""

    id: UUID
    version: int
    trip_id: UUID | None
    leg_sequence: int
    rider_id: UUID
    facility_id: UUID | None
    provider_id: UUID | None
    pickup_facility_id: UUID | None
    driver_id: UUID | None
    service_date: dt.date
    timezone: str
    facts: Facts


class MonitoredException(NamedTuple):
    """An exception of a ride: unsettled, or closed by a person.  `on_ladder`: it is escalated beyond dispatch."""

    ride_id: UUID
    id: UUID
    type: str
    severity: str
    status: str
    level: int
    due_at: dt.datetime | None
    resolved_at: dt.datetime | None
    on_ladder: bool
    cause_driver_id: UUID | None


_FIRST_FACT: Final = len(Watched._fields) - 1


def facts_of(ride: Ride) -> Facts:
    """Return the facts of a loaded ride.  No query."""
    discharge = ride.discharge or {}
    judged = ride.appointment_at is not None or ride.discharge is not None
    return Facts(
        ride.status,
        ride.status_changed_at,
        ride.service_type,
        ride.priority,
        ride.pickup_at,
        ride.window_ends_at,
        ride.appointment_at,
        ride.will_call,
        ride.ready_at,
        ride.promised_pickup_by,
        ride.will_call_expires_at,
        ride.requested_at,
        ride.scheduled_at,
        ride.confirm_by,
        ride.departed_at,
        ride.arrived_pickup_at,
        ride.boarded_at,
        ride.arrived_dropoff_at,
        ride.dropped_off_at,
        ride.eta_pickup_at,
        ride.estimated_minutes,
        ride.pickup_facility_id is not None,
        bool(ride.missing_documents),
        loading_minutes(ride) if judged else 0,
        (discharge.get("receiving") or {}).get("acceptBy"),
        discharge.get("expectedReadyAt"),
        ride.after_the_fact,
    )


def lock_due(*, at: dt.datetime, most: int) -> list[Watched]:
    """Lock due rides that are not locked, longest due first.  One query."""
    return _locked(_DUE, {"at": at, "most": most})


def lock_one(ride_id: UUID, *, at: dt.datetime) -> list[Watched]:
    """Lock this ride, if it is still due and not locked.  One query."""
    return _locked(_ONE, {"at": at, "ride_id": ride_id})


def _locked(statement: str, values: Mapping[str, Any]) -> list[Watched]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return [Watched._make((*row[:_FIRST_FACT], Facts._make(row[_FIRST_FACT:]))) for row in cursor.fetchall()]


def due_ids(*, at: dt.datetime, most: int) -> list[UUID]:
    """List due rides without a lock, longest due first."""
    due = Ride.objects.filter(next_check_at__lte=at).order_by("next_check_at")
    return list(due.values_list("pk", flat=True)[:most])


def exceptions_of(ride_ids: Sequence[UUID]) -> dict[UUID, list[MonitoredException]]:
    """List the relevant exceptions of rides, oldest first.  One query."""
    exceptions: dict[UUID, list[MonitoredException]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(_EXCEPTIONS, [list(ride_ids)])
        for row in cursor.fetchall():
            exceptions[row[0]].append(MonitoredException(*row))
    return exceptions


def absent_drivers_of(rides: Iterable[Watched]) -> dict[UUID, UUID]:
    """Return the drivers who are out and were to drive these rides, by ride.  One query, none if all have a driver."""
    waiting = [ride.id for ride in rides if ride.facts.status == RideStatus.SCHEDULED]
    if not waiting:
        return {}
    never_drove = (Assignment.Status.OFFERED, Assignment.Status.DECLINED, Assignment.Status.EXPIRED)
    former = Assignment.objects.filter(ride__in=waiting).exclude(status__in=never_drove)
    rows = former.order_by("ride", "-sequence").distinct("ride").values_list("ride_id", "driver_id", "end_reason")
    return {ride_id: driver_id for ride_id, driver_id, reason in rows if reason in OUT_REASONS}


def terms_of(rides: Collection[Watched]) -> dict[UUID, Terms]:
    """Compute the monitoring terms of each ride.  One query, two if will-call legs belong to trips."""
    facilities = _facilities({pk for ride in rides for pk in (ride.facility_id, ride.pickup_facility_id) if pk})
    brought = _brought([ride for ride in rides if ride.facts.will_call and ride.trip_id is not None])
    return {ride.id: _terms(ride, facilities, ride.id in brought) for ride in rides}


def _facilities(ids: Iterable[UUID]) -> dict[UUID, Facility]:
    rows = Facility.objects.filter(pk__in=list(ids)).select_related("escalation_policy")
    columns = ("hours", "timezone", "will_call_response_minutes", "no_show_wait_minutes", "escalation_policy")
    facilities = rows.only(*columns, "escalation_policy__step_minutes")
    return {facility.pk: facility for facility in facilities}


def _terms(ride: Watched, facilities: Mapping[UUID, Facility], was_brought: bool) -> Terms:
    named = [pk for pk in (ride.facility_id, ride.pickup_facility_id) if pk is not None]
    owner = facilities[named[0]] if named else None
    pickup = facilities[ride.pickup_facility_id] if ride.pickup_facility_id is not None else None
    policy = owner.escalation_policy if owner is not None else None
    first, second, third, fourth, last = policy.step_minutes if policy is not None else default_escalation_minutes()
    waits_to_be_released = ride.facts.will_call and ride.facts.ready_at is None
    return Terms(
        response_minutes=(owner or DEFAULTS).will_call_response_minutes,
        wait_minutes=guards.wait_minutes(
            facility_minutes=owner.no_show_wait_minutes if owner else None,
            will_call=ride.facts.will_call,
            service_type=ride.facts.service_type,
            at_facility=ride.facts.pickup_at_facility,
        ),
        ladder=(first, second, third, fourth, last),
        closes_at=opening_hours.closing_at(pickup.hours, zone=pickup.timezone, on=ride.service_date)
        if pickup is not None and waits_to_be_released
        else None,
        was_brought=was_brought,
        ladder_ahead=min(last * MINUTE, LONGEST_LADDER),
    )


def _brought(legs: Collection[Watched]) -> set[UUID]:
    """List the legs whose earlier leg was completed, or is still open."""
    if not legs:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_LEGS, [[leg.trip_id for leg in legs]])
        ridden = [(trip_id, sequence) for trip_id, sequence, status in cursor.fetchall() if status not in _NOT_RIDDEN]
    first: dict[UUID, int] = {}
    for trip_id, sequence in ridden:
        first[trip_id] = min(sequence, first.get(trip_id, sequence))
    return {leg.id for leg in legs if leg.trip_id in first and first[leg.trip_id] < leg.leg_sequence}


# A digest of the settings of a facility that rules use, to store in a column.
_SETTINGS: Final = """
    md5(row(f.hours, f.timezone, f.will_call_response_minutes, f.no_show_wait_minutes, p.step_minutes)::text)
"""
_CHANGED: Final = f"""
    SELECT f.id, {_SETTINGS}
    FROM organizations_facility f
    LEFT JOIN organizations_escalationpolicy p ON p.id = f.escalation_policy_id
    LEFT JOIN rides_watchedfacility w ON w.facility_id = f.id
    WHERE w.settings IS DISTINCT FROM {_SETTINGS}
"""  # noqa: S608  # constants


def changed_facilities() -> list[tuple[UUID, str]]:
    """List facilities whose settings differ from the stored digest, with the new digest.

    One query that reads every facility.
    """
    with connection.cursor() as cursor:
        cursor.execute(_CHANGED)
        return [(pk, digest) for pk, digest in cursor.fetchall()]


def families(*, at: dt.datetime) -> Iterator[Metric]:
    """Return the metrics of the exception monitor (docs/adr/0019).  One query of due rides."""
    due = Ride.objects.filter(next_check_at__lte=at).aggregate(count=Count("pk"), oldest=Min("next_check_at"))
    yield GaugeMetricFamily(
        "carelane_rides_watch_due",
        "Rides that are due for a look at the clock; more than a few for long means that no worker runs.",
        value=due["count"],
    )
    yield GaugeMetricFamily(
        "carelane_rides_watch_behind_seconds",
        "For how long the ride that waits longest for a look has been due; beat wakes the watch every 15 seconds.",
        value=0 if due["oldest"] is None else (at - due["oldest"]).total_seconds(),
    )
