"""Rows of one ride, written step by step as the services would have written them.

Each method is one transition of lifecycle.py or one related change; a step takes the next version and records its
event.  Calls must be in order of time; the caller stops at the present instant.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from apps.demo.booking import booking_columns
from apps.demo.dice import HOUR, Dice, iso
from apps.demo.fleet import DemoDuty, Fleet
from apps.demo.legs import DemoLeg
from apps.rides.models import Assignment
from apps.rides.rules.exception_types import (
    ACTIONABLE_FOR,
    DEFAULT_SEVERITY,
    PERSON_ONLY,
    SEVERITY_RANK,
    ExceptionSeverity,
    ExceptionType,
)
from apps.rides.rules.lifecycle import OPEN, RideStatus
from apps.rides.services.assignment import SETTLED_BY_ASSIGNMENT
from apps.rides.services.exceptions import SUMMARY_OF, event_of
from lib.crypto import aad, encrypt

_MILESTONE_COLUMNS: Final = {
    "departed": "departed_at",
    "arrived_pickup": "arrived_pickup_at",
    "boarded": "boarded_at",
    "arrived_dropoff": "arrived_dropoff_at",
    "dropped_off": "dropped_off_at",
}
# Exceptions that no longer apply to an ended ride.  Those that a person closes, missing documents or milestones, and
# address problems stay open.
RESOLVED_AT_END: Final = (
    frozenset(ExceptionType)
    - PERSON_ONLY
    - {ExceptionType.MISSING_DOCUMENTATION, ExceptionType.MILESTONE_GAP, ExceptionType.ADDRESS_PROBLEM}
)


@dataclass(slots=True)
class Cast:
    """Actors, as events name them, and ids that rows refer to."""

    now: int
    fleet: Fleet
    payers: list[str]
    ehr: str  # actor of the hospital's interface
    ehr_client: str
    driver_app: str
    dispatcher: str
    dispatcher_id: str
    supervisor: str
    odometers: dict[str, float] = field(default_factory=dict)


@dataclass(slots=True)
class Tables:
    """Rows created so far."""

    rides: list[dict[str, Any]] = field(default_factory=list)
    trips: list[dict[str, Any]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    milestones: list[dict[str, Any]] = field(default_factory=list)
    assignments: list[dict[str, Any]] = field(default_factory=list)
    exceptions: list[dict[str, Any]] = field(default_factory=list)
    external_ids: list[dict[str, Any]] = field(default_factory=list)


class RideStory:
    """A ride in progress through its life cycle."""

    def __init__(self, leg: DemoLeg, cast: Cast, tables: Tables, dice: Dice) -> None:
        self.leg, self.cast, self.tables, self.dice = leg, cast, tables, dice
        self.status = RideStatus.REQUESTED
        self.version = 0
        self.provider: str | None = None
        self.assignment: dict[str, Any] | None = None
        self.offered: dict[str, Any] = {}
        self.open_exceptions: dict[str, dict[str, Any]] = {}
        self.recorded_at = leg.requested_at
        self.id = dice.id_at(leg.requested_at)
        self.row = booking_columns(leg, cast.payers, self.id)
        self.source = "driver_app"
        self.reporter = cast.driver_app

    def create(self, at: int, status: RideStatus, by: str) -> None:
        self.status = status
        self.row |= {"created_at": at, "status_changed_at": at}
        if status == RideStatus.SCHEDULED:
            self.row["scheduled_at"] = at
        else:
            self.row |= {"confirm_by": at + 30 * 60, "review_reasons": [self.leg.question]}
        self.record_event(f"ride.{status}", at, by, was=None)

    def confirm(self, at: int) -> None:
        self.row |= {"scheduled_at": at, "confirm_by": None, "review_reasons": []}
        self._move(RideStatus.SCHEDULED, "ride.scheduled", at, self.cast.dispatcher)
        self.resolve({ExceptionType.UNCONFIRMED_REQUEST}, at, self.cast.dispatcher, "recovered_on_time")

    def assign(self, at: int, duty: DemoDuty, method: str, by: str) -> None:
        """Assign driver and vehicle; replaces an earlier pair."""
        previous_driver, before = self._assignment_ids(), self.provider
        if self.assignment is not None:
            self._end_assignment("superseded", at, "reassign")
        was = self.status
        self._write_assignment(at, duty, method, by)
        self.status = RideStatus.ASSIGNED
        if was == RideStatus.ASSIGNED:
            self.record_event("ride.driver_unassigned", at, by, was=was.value, data=previous_driver, provider=before)
        self.row["status_changed_at"] = at
        self.record_event("ride.driver_assigned", at, by, was=was.value, data=self._assignment_ids())
        self.resolve(SETTLED_BY_ASSIGNMENT, at, by, "reassigned")

    def unassign(self, at: int, reason: str, by: str) -> None:
        previous_driver, before = self._assignment_ids(), self.provider
        self._end_assignment("released", at, reason)
        self.provider = None
        self.row |= dict.fromkeys(("assignment_id", "provider_id", "driver_id", "vehicle_id"))
        self.row["attendant_ids"] = []
        data = {**previous_driver, "reasonCode": reason}
        self._move(RideStatus.SCHEDULED, "ride.driver_unassigned", at, by, data=data, provider=before)
        if at > self.leg.pickup_at - 4 * HOUR:
            self.open(ExceptionType.DRIVER_RELEASED_LATE, at, "T09", by=by, details={"reasonCode": reason})

    def offer(self, at: int, duty: DemoDuty) -> None:
        """Offer the ride to a driver who is not an employee."""
        row = self._assignment_row(at, duty, "manual", self.cast.dispatcher)
        self.offered = row | {"status": "offered", "respond_by": at + 900, "responded_at": None}
        self.tables.assignments.append(self.offered)
        named = {"assignmentId": row["id"], "driverId": row["driver_id"], "vehicleId": row["vehicle_id"]}
        data = {**named, "respondBy": iso(at + 900)}
        self.record_event("ride.driver_offered", at, self.cast.dispatcher, data=data, provider=row["provider_id"])

    def decline(self, at: int) -> None:
        """Decline the offer for the driver, which opens an exception for the dispatcher."""
        self.offered |= {"status": "declined", "responded_at": at, "ended_at": at, "decline_reason": "Too far away",
                       "end_reason": "declined"}  # fmt: skip
        details = {"assignmentId": self.offered["id"], "driverId": self.offered["driver_id"]}
        by = self.cast.driver_app
        self.open(ExceptionType.ASSIGNMENT_DECLINED, at, "offer_declined", by=by, details=details)

    def ready(self, at: int, occurred: int, source: str, by: str) -> None:
        self.row |= {"ready_at": occurred, "ready_source": source, "promised_pickup_by": occurred + 3600,
                     "window_starts_at": occurred, "window_ends_at": occurred + 3600}  # fmt: skip
        sources = {"phone": "dispatcher_manual", "facility_portal": "dispatcher_manual", "hl7_adt": "hl7"}
        self.milestone("ready", at, occurred, source=sources.get(source, "integration"), by=by)
        self.record_event("ride.ready", at, by, occurred=occurred)
        self.resolve({ExceptionType.DISCHARGE_SLIPPED}, at, by, "recovered_on_time")

    def retract_ready(self, at: int, by: str) -> None:
        self.row |= {"ready_at": None, "ready_source": "", "promised_pickup_by": None,
                     "facility_delay_minutes": (at - self.row["ready_at"]) // 60,
                     "window_starts_at": self.leg.window_starts, "window_ends_at": self.leg.window_ends}  # fmt: skip
        self._void("ready")
        self.record_event("ride.updated", at, by, data={"changed": ["readyAt"]})

    def depart(self, at: int, occurred: int) -> None:
        self._start(occurred)
        self.row["eta_pickup_at"] = self.leg.arrived or None
        self.milestone("departed", at, occurred)
        self._move(RideStatus.EN_ROUTE, "ride.driver_en_route", at, self.reporter, occurred=occurred)

    def arrive(self, at: int, occurred: int, *, in_time: bool, offset_meters: int = 0) -> None:
        """Report the arrival at the pickup; `offset_meters` is used for an address problem."""
        skipped = self.status == RideStatus.ASSIGNED
        self.row["eta_pickup_at"] = None
        self.milestone("arrived_pickup", at, occurred, offset_meters=offset_meters)
        self._move(RideStatus.ARRIVED, "ride.driver_arrived", at, self.reporter, occurred=occurred)
        if skipped:
            self._start(occurred)
            self.open(ExceptionType.MILESTONE_GAP, at, "T12", by=self.reporter, details={"missing": "departed"})
        code = "recovered_on_time" if in_time else "recovered_late"
        self.resolve({ExceptionType.LATE_PICKUP}, at, self.reporter, code)
        if offset_meters:
            details = {"stop": "pickup", "milestone": "arrived_pickup", "distanceMeters": offset_meters}
            self.open(ExceptionType.ADDRESS_PROBLEM, at, "distance", by=self.reporter, details=details)

    def board(self, at: int, occurred: int, documentation: dict[str, Any], *, in_time: bool) -> None:
        self.row |= documentation
        since = self.leg.arrived if self.leg.will_call else max(self.leg.arrived, self.leg.pickup_at)
        self.row["wait_minutes"] = max(0, (occurred - since) // 60)
        self.milestone("boarded", at, occurred)
        self._move(RideStatus.IN_PROGRESS, "ride.started", at, self.reporter, occurred=occurred)
        code = "recovered_on_time" if in_time else "recovered_late"
        self.resolve({ExceptionType.RIDER_NOT_READY, ExceptionType.WILL_CALL_OVERDUE}, at, self.reporter, code)

    def attempt_contact(self, at: int, occurred: int, contacted: str) -> None:
        self.milestone("contact_attempt", at, occurred, contacted=contacted, note="No answer")
        data = {"changed": ["milestones"], "milestone": "contact_attempt"}
        self.record_event("ride.updated", at, self.reporter, occurred=occurred, data=data)

    def reach(self, at: int, occurred: int, *, source: str, by: str, edited: bool = False) -> None:
        """Report the arrival at the drop-off as a separate milestone; an edited report voids the first."""
        if edited:
            self._void("arrived_dropoff")
        self.milestone("arrived_dropoff", at, occurred, source=source, by=by, edited=edited)
        data = {"changed": ["milestones"], "milestone": "arrived_dropoff"}
        self.record_event("ride.updated", at, by, occurred=occurred, data=data)

    def complete(self, at: int, occurred: int, documentation: dict[str, Any], code: str) -> None:
        self.row |= documentation
        if self.row.get("arrived_dropoff_at") is None:
            self.milestone("arrived_dropoff", at, self.leg.reached)
        self.milestone("dropped_off", at, occurred)
        self.row["onboard_minutes"] = (occurred - self.leg.boarded) // 60
        self._save_status_before_end()
        self._end_assignment("completed", occurred, "completed", self.row.get("loaded_miles"))
        self._move(RideStatus.COMPLETED, "ride.completed", at, self.reporter, occurred=occurred)
        self.resolve_all(at, self.reporter, code)

    def end(self, at: int, target: RideStatus, ending: dict[str, str], by: str) -> None:
        """Cancel, mark a no-show or give up; `ending` holds reason_code, fault, cancellation_timing and end_note."""
        self._save_status_before_end()
        self.row |= ending | {"ended_by": by}
        if self.assignment is not None:
            self._end_assignment("released", at, ending["reason_code"])
        timing = {"timing": ending["cancellation_timing"]} if ending.get("cancellation_timing") else {}
        data = {"reasonCode": ending["reason_code"], "fault": ending["fault"], **timing}
        self._move(target, f"ride.{target}", at, by, data=data)
        self.resolve_all(at, by, "cancelled" if target == RideStatus.CANCELLED else "unfulfilled")

    def open(
        self, type_: ExceptionType, at: int, rule: str, *, by: str = "system",
        severity: ExceptionSeverity | None = None, due: int | None = None, details: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Open an exception, or raise the severity of an open one; plots never lower it."""
        new_severity = severity or DEFAULT_SEVERITY[type_]
        row = self.open_exceptions.get(type_)
        if row is None:
            row = {
                "id": self.dice.id_at(at), "ride_id": self.id, "trip_id": self.row.get("trip_id"),
                "rider_id": self.leg.person.id, "facility_id": self.leg.owner.id, "type": type_.value,
                "severity": new_severity.value, "status": "open", "opened_at": at, "opened_by": by, "detected_by": rule,
                "due_at": due, "summary": SUMMARY_OF[type_], "details": details or {}, "version": 1, "updated_at": at,
            }  # fmt: skip
            self.open_exceptions[type_] = row
            self.tables.exceptions.append(row)
        else:
            row |= {"severity": new_severity.value, "version": row["version"] + 1, "updated_at": at}
        self.record_event(event_of(new_severity), at, by, data=_of_exception(row))

    def acknowledge(self, type_: ExceptionType, at: int) -> None:
        row = self.open_exceptions[type_]
        row |= {"status": "acknowledged", "acknowledged_at": at, "acknowledged_by": self.cast.dispatcher,
                "owner_id": self.cast.dispatcher_id, "version": row["version"] + 1, "updated_at": at}  # fmt: skip
        self.record_event("ride.exception_acknowledged", at, self.cast.dispatcher, data=_of_exception(row))

    def resolve(self, types: Collection[ExceptionType], at: int, by: str, code: str) -> None:
        for type_ in [type_ for type_ in self.open_exceptions if type_ in types]:
            row = self.open_exceptions.pop(type_)
            row |= {"status": "resolved", "resolved_at": at, "resolved_by": by, "resolution_code": code,
                    "version": row["version"] + 1, "updated_at": at}  # fmt: skip
            self.record_event("ride.exception_resolved", at, by, data=_of_exception(row))

    def add_documentation(self, at: int) -> None:
        self.row["missing_documents"] = []
        self.resolve({ExceptionType.MISSING_DOCUMENTATION}, at, self.cast.dispatcher, "recovered_late")

    def resolve_all(self, at: int, by: str, code: str) -> None:
        """Resolve the exceptions that no longer apply to an ended ride."""
        self.resolve(RESOLVED_AT_END, at, by, code)

    def milestone(
        self, type_: str, at: int, occurred: int, *, source: str = "", by: str = "", edited: bool = False,
        contacted: str = "", note: str = "", offset_meters: int = 0,
    ) -> None:  # fmt: skip
        """Record a milestone, with a position if a phone reported it: `offset_meters` from the stop, 0 for near it."""
        source = source or self.source
        row = {
            "id": self.dice.id_at(at), "ride_id": self.id, "type": type_, "occurred_at": occurred, "recorded_at": at,
            "source": source, "actor": by or self.reporter, "edited": edited, "voided": False, "note": note,
            "contacted": contacted,
        }  # fmt: skip
        if source == "driver_app" and type_ != "departed" and (offset_meters or not self.dice.hit(0.02)):
            end = self.leg.destination if type_ in ("arrived_dropoff", "dropped_off") else self.leg.origin
            offset_meters = offset_meters or self.dice.randrange(4, 95)
            row |= {"lat": round(end.spot.lat + offset_meters / 111_195, 6), "lng": end.spot.lng,
                    "accuracy_meters": self.dice.randrange(4, 28),
                    "distance_from_stop_meters": offset_meters}  # fmt: skip
        self.tables.milestones.append(row)
        if type_ in _MILESTONE_COLUMNS:
            self.row[_MILESTONE_COLUMNS[type_]] = occurred

    def record_event(
        self, type_: str, at: int, by: str, *, occurred: int = 0, data: dict[str, Any] | None = None,
        was: RideStatus | str | None = "same", provider: str | None = None,
    ) -> None:  # fmt: skip
        """Record an event with the next version of the ride."""
        self.version += 1
        self.recorded_at = at
        self.tables.events.append(
            {
                "id": self.dice.id_at(at, self.version),
                "type": type_,
                "subject_type": "ride",
                "subject_id": self.id,
                "sequence": self.version,
                "facility_id": self.leg.owner.id,
                "provider_id": provider or self.provider,
                "occurred_at": occurred or at,
                "recorded_at": at,
                "actor": by,
                "data": orjson.dumps(
                    {
                        "rideId": self.id,
                        "status": self.status.value,
                        "previousStatus": self.status.value if was == "same" else was,
                        "pickupTime": iso(self.leg.pickup_at),
                        **(data or {}),
                    }
                ).decode(),
            }
        )

    def close(self) -> None:
        """Append the finished row of the ride, with its exception counters."""
        if self.status not in OPEN:
            self._expire_exceptions()
        severities = [ExceptionSeverity(row["severity"]) for row in self.open_exceptions.values()]
        worst = max(severities, key=SEVERITY_RANK.__getitem__).value if severities else ""
        self.row |= {"status": self.status.value, "version": self.version, "updated_at": self.recorded_at,
                     "open_exception_count": len(severities), "max_exception_severity": worst,
                     "next_check_at": self._next_check_at()}  # fmt: skip
        self.tables.rides.append(self.row)

    def _expire_exceptions(self) -> None:
        """Resolve the exceptions of an ended ride that no person could change any more; as `expires_at` does."""
        passed = max(self.row["window_ends_at"], self.row["status_changed_at"])
        for type_ in [type_ for type_ in ACTIONABLE_FOR if type_ in self.open_exceptions]:
            expires = max(passed + int(ACTIONABLE_FOR[type_].total_seconds()), self.recorded_at)
            if expires <= self.cast.now:
                self.resolve({type_}, expires, "system", "expired")

    def _next_check_at(self) -> int | None:
        """Return now for rides that the exception monitor has to check: open, with exceptions or missing documents."""
        owes_documentation = self.status == RideStatus.COMPLETED and self.row.get("missing_documents")
        return self.cast.now if self.status in OPEN or self.open_exceptions or owes_documentation else None

    def _move(
        self, target: RideStatus, event: str, at: int, by: str, *, occurred: int = 0,
        data: dict[str, Any] | None = None, provider: str | None = None,
    ) -> None:  # fmt: skip
        was = self.status
        self.status = target
        self.row["status_changed_at"] = occurred or at
        self.record_event(event, at, by, occurred=occurred, data=data, was=was.value, provider=provider)

    def _save_status_before_end(self) -> None:
        self.row["status_before_end"] = self.status.value

    def _start(self, occurred: int) -> None:
        assert self.assignment is not None  # noqa: S101 - a driver departs only after an assignment
        self.assignment["started_at"] = occurred

    def _void(self, type_: str) -> None:
        newest_first = reversed(self.tables.milestones)
        row = next(
            row for row in newest_first if row["ride_id"] == self.id and row["type"] == type_ and not row["voided"]
        )
        row["voided"] = True

    def _write_assignment(self, at: int, duty: DemoDuty, method: str, by: str) -> None:
        row = self._assignment_row(at, duty, method, by)
        self.tables.assignments.append(row)
        self.assignment, self.provider = row, row["provider_id"]
        self.row |= {"assignment_id": row["id"], "provider_id": row["provider_id"], "driver_id": row["driver_id"],
                     "vehicle_id": row["vehicle_id"], "attendant_ids": row["attendant_ids"]}  # fmt: skip

    def _assignment_row(self, at: int, duty: DemoDuty, method: str, by: str) -> dict[str, Any]:
        crew = [duty.attendant.id] if duty.attendant is not None and self.leg.person.crew_of_two else []
        id_ = self.dice.id_at(at)
        license_number = encrypt(duty.driver.license, aad=aad(Assignment, "license_number", id_))
        return {
            "id": id_, "ride_id": self.id, "provider_id": self.cast.fleet.providers[duty.driver.provider].id,
            "license_number_encrypted": license_number, "driver_id": duty.driver.id, "vehicle_id": duty.van.id,
            "attendant_ids": crew, "status": "accepted", "method": method, "offered_at": at, "responded_at": at,
            "assigned_by": by, "driver_name": duty.driver.name, "vehicle_plate": duty.van.plate,
        }  # fmt: skip

    def _end_assignment(self, status: str, at: int, reason: str, miles: float | None = None) -> None:
        assert self.assignment is not None  # noqa: S101 - checked by the callers
        self.assignment |= {"status": status, "ended_at": at, "end_reason": reason, "miles_attributed": miles}
        self.assignment = None

    def _assignment_ids(self) -> dict[str, Any]:
        """Return the ids of assignment, driver and vehicle, as events of assignments name them."""
        named = ("assignmentId", "assignment_id"), ("driverId", "driver_id"), ("vehicleId", "vehicle_id")
        return {key: self.row.get(column) for key, column in named}


def _of_exception(row: dict[str, Any]) -> dict[str, Any]:
    """Return an exception as its events contain it."""
    due = iso(row["due_at"]) if row["due_at"] else None
    return {"exception": {key: row[key] for key in ("id", "type", "severity", "status")} | {"dueAt": due}}
