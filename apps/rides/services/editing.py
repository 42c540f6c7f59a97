"""Edits of existing rides, and what follows from them for the driver, later legs of the trip and open exceptions.

`edit` saves an edit.  `preview` makes the same edit, reads what follows and rolls it back, so that both always agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, cast
from uuid import UUID

import orjson
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.events.models import Event
from apps.riders.models import Rider
from apps.rides.models import Ride, RideChange
from apps.rides.models.ride import OccurrenceState
from apps.rides.queries.candidates import Candidate, candidates
from apps.rides.rules.change_values import ChangedValues
from apps.rides.rules.eligibility import Violation
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import (
    arrival_times,
    assignment,
    booking,
    edit_checks,
    eligibility_checks,
    exceptions,
    legs,
    milestones,
    ride_edit,
)
from apps.rides.services.edit_checks import ChangeQuestioned
from apps.rides.services.eligibility_checks import Override, recheck
from apps.rides.services.return_leg import WAITING
from apps.rides.services.ride_edit import RideEdit
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal
from lib.errors import Detail, FieldRefused, InvalidInput, ScopeMissing
from lib.messages import Message, lowered
from lib.scopes import Scope

_TIME_PARTS: Final = frozenset({"pickup_at", "appointment_at"})
# Changes after which driver and vehicle are checked again.
_TOUCHES_ASSIGNMENT: Final = frozenset(
    {"pickup_at", "pickup", "dropoff", "accommodation", "companions", "vehicle_type_requested"}
)
# Changes that affect whether the rider is on time.
_DECIDES_PUNCTUALITY: Final = frozenset(
    {"pickup_at", "appointment_at", "pickup", "dropoff", "accommodation", "discharge", "service_type"}
)
SLIPPED_BY: Final = timedelta(minutes=30)  # `discharge_slipped`
# Statuses in which the crew is checked by a preview.
_CHECKED: Final = frozenset({RideStatus.ASSIGNED, RideStatus.EN_ROUTE, RideStatus.ARRIVED})
RETURN_PATH: Final = "returnLeg."  # of later legs of the trip in the request
UNASSIGNED_BECAUSE: Final = "replanned"  # the reason code of a driver who is unassigned by an edit


class CrewAction(StrEnum):
    """What an edit does with the driver of the ride."""

    KEEP = "keep"
    REASSIGN = "reassign"
    UNASSIGN = "unassign"


@dataclass(frozen=True, slots=True)
class CrewChoice:
    """What an edit does with the driver; the ids are the new crew of a reassignment."""

    action: CrewAction = CrewAction.KEEP
    driver_id: UUID | None = None
    vehicle_id: UUID | None = None
    attendant_ids: tuple[UUID, ...] = ()


KEEP_CREW: Final = CrewChoice()
NO_OVERRIDE: Final = Override()


@dataclass(frozen=True, slots=True)
class EditOptions:
    """How an edit is made.

    `override` accepts broken soft rules with a reason.  `move_return` moves the later legs of the trip that have not
    begun by the same time.  With `replace_needs` accommodation and companions replace those of the ride and apply to
    the rider's profile, as in a booking.  A ride of a series whose own columns change gets `occurrence_state`:
    customized when a person edits it, and then the series no longer changes it; the series passes its own state.
    """

    allow_duplicate: bool = False
    override: Override = NO_OVERRIDE
    crew: CrewChoice = KEEP_CREW
    move_return: bool = False
    occurrence_state: str = OccurrenceState.CUSTOMIZED
    replace_needs: bool = False


KEEP_ALL: Final = EditOptions()


@dataclass(frozen=True, slots=True)
class LaterLeg:
    """A later leg of the trip in a preview, and its pickup time if it moves along."""

    ride: Ride
    pickup_at: datetime
    is_moved: bool
    loses_driver: bool


@dataclass(frozen=True, slots=True)
class EditPreview:
    """What an edit would change.

    `ride` is the unsaved result; `questions` are broken soft rules of booking, `violations` those of the crew that the
    ride would have; both as details of errors.  `best` is the best other driver, for callers who assign.  `events` are
    ride ids and event types in order.
    """

    before: Ride
    ride: Ride
    changed: list[str]
    values: ChangedValues
    questions: list[Detail]
    violations: list[Violation]
    overlapping_ids: list[UUID]
    later_legs: list[LaterLeg]
    best: Candidate | None
    events: list[tuple[UUID, str]]


def edit(
    *,
    ride_id: UUID,
    changes: Mapping[str, Any],
    options: EditOptions = KEEP_ALL,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Ride:
    """Change a ride.

    `changes` has keys of `RideDraft`; stops, accommodation, companions, discharge, dialysis, payment, notes and
    requested_by hold only what differs and are merged (RFC 7396), external_ids replace the list.

    Records `ride.rescheduled` when the pickup time moves, else `ride.updated`, one audit entry, and the old and new
    values for the history of the ride; nothing if nothing differs.  A driver who stays is checked again: one who no
    longer fits opens `accommodation_mismatch`.  An expected ready time that moves by more than half an hour opens
    `discharge_slipped`; opens the exceptions of a booking as well.  Of later legs that move along, a driver who is not
    free then is unassigned, unless there is an override.  Locks the rider before the ride if a time changes.

    Raises:
        NotFound, StaleVersion: see `status.locked`.
        ScopeMissing: the caller may not book, or a driver is en route and they may not dispatch; or they may not
            replace the driver.  Who may book can unassign a driver whom the change conflicts with.
        FieldLocked, AlreadyReleased: the status of the ride does not allow the change.
        InvalidInput, FieldRefused: a hard rule is broken; the field is named.
        ChangeQuestioned: the new time or place breaks a soft rule, and there is no override.
        AssignmentRejected: checks of a new driver fail.
        booking.RiderNotBookable, booking.OverlappingRide: as for a booking, when the time moves.
    """
    with transaction.atomic():
        plan = _planned(ride_id, changes, options, expected_version=expected_version, by=by, at=at)
        _save(plan, options, by=by, at=at)
        return plan.main.ride


def preview(
    *,
    ride_id: UUID,
    changes: Mapping[str, Any],
    options: EditOptions = KEEP_ALL,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> EditPreview:
    """Say what `edit` would change, and store nothing.

    Broken soft rules and conflicts of the driver are in the result; the errors of hard rules are raised as by `edit`.
    """
    with transaction.atomic():
        lenient = replace(options, allow_duplicate=True)
        plan = _planned(ride_id, changes, lenient, expected_version=expected_version, by=by, at=at)
        versions = {edit.ride.pk: edit.ride.version for edit in plan.edits}
        before = plan.main.before
        saved = _save(plan, lenient, enforce=False, by=by, at=at)
        result = EditPreview(
            before=before,
            ride=plan.main.ride,
            changed=plan.main.changed,
            values=plan.main.values,
            questions=saved.questions,
            violations=saved.violations,
            overlapping_ids=plan.main.overlapping_ids,
            later_legs=_later_legs_of(plan, saved, by=by),
            best=_best(before, saved, options.crew, by=by, at=at),
            events=_events_since(versions),
        )
        transaction.set_rollback(True)
    return result


@dataclass(slots=True)
class _Plan:
    """The locked and changed rides of an edit: the ride, and the later legs that move along by `delay`."""

    main: RideEdit
    later: list[RideEdit]
    delay: timedelta

    @property
    def edits(self) -> list[RideEdit]:
        return [self.main, *self.later]


@dataclass(slots=True)
class _Saved:
    """Broken soft rules, violations of the crew that the ride has now, and the later legs that lost their driver."""

    questions: list[Detail]
    violations: list[Violation]
    without_driver: set[UUID]


def _planned(
    ride_id: UUID,
    changes: Mapping[str, Any],
    options: EditOptions,
    *,
    expected_version: int | None,
    by: Principal,
    at: datetime,
) -> _Plan:
    """Lock the rides, and then their crews if they may change; apply the changes in memory."""
    rider = booking.locked_rider(ride_id, by) if _TIME_PARTS & set(changes) else None
    ride = locked(ride_id, by, expected_version=expected_version)
    edit_checks.require_editable(ride, changes, by)
    _require_crew_choice(ride, options.crew, by)
    moves_later_legs = options.move_return and rider is not None
    later = [locked(leg.pk, by) for leg in _waiting_legs(ride, by)] if moves_later_legs else []
    if later or options.crew.action is CrewAction.REASSIGN:
        people = [pk for pk in (options.crew.driver_id, *options.crew.attendant_ids) if pk is not None]
        vehicles = [options.crew.vehicle_id] if options.crew.vehicle_id is not None else []
        eligibility_checks.lock_crews([ride, *later], people=people, vehicles=vehicles)
    main = ride_edit.edited(
        ride,
        rider,
        changes,
        allow_duplicate=options.allow_duplicate,
        replace_needs=options.replace_needs,
        by=by,
        at=at,
    )
    delay = _delay(main)
    edits = [_moved(leg, rider, delay, options, by=by, at=at) for leg in later if delay]
    plan = _Plan(main, edits, delay)
    for edit in plan.edits:
        if edit.moves:
            edit_checks.require_order(edit.ride, field=edit.time_field, instead=[other.ride for other in plan.edits])
    return plan


def _require_crew_choice(ride: Ride, crew: CrewChoice, by: Principal) -> None:
    """Check that the driver of the ride can be replaced or unassigned by an edit.

    Raises:
        ScopeMissing: the caller may not assign.
        FieldRefused: names the field of the choice.
    """
    if crew.action is CrewAction.KEEP:
        return
    if crew.action is CrewAction.REASSIGN and not by.has_scope(Scope.ASSIGNMENTS_WRITE):
        raise ScopeMissing(Scope.ASSIGNMENTS_WRITE)
    possible = {RideStatus.ASSIGNED, RideStatus.EN_ROUTE}
    if crew.action is CrewAction.REASSIGN:
        possible |= {RideStatus.ARRIVED}
    status = RideStatus(ride.status)
    if status not in possible:
        message = Message(
            _("The driver cannot change by an edit while the status is %(status)s."), {"status": lowered(status.label)}
        )
        raise FieldRefused([Detail(field="assignment.action", code="not_here", message=message)])
    if crew.action is CrewAction.REASSIGN:
        ids = {"assignment.driverId": crew.driver_id, "assignment.vehicleId": crew.vehicle_id}
        if missing := [name for name, pk in ids.items() if pk is None]:
            required = _("%(field)s is required to reassign the ride.")
            raise FieldRefused([Detail(field=name, code="required", message=required) for name in missing])


def _waiting_legs(ride: Ride, by: Principal) -> list[Ride]:
    """List the later legs of the trip in the caller's data scope that have not begun."""
    if ride.trip_id is None:
        return []
    legs = Ride.objects.in_charge_of(by).filter(trip_id=ride.trip_id, leg_sequence__gt=ride.leg_sequence)
    return list(legs.filter(status__in=sorted(WAITING), ready_at=None).order_by("leg_sequence", "pk"))


def _delay(edit: RideEdit) -> timedelta:
    """Return by how much later the rider is free: by the appointment if there is one, else by the pickup."""
    was, will_be = edit.before.appointment_at, edit.ride.appointment_at
    if was is not None and will_be is not None and was != will_be:
        return will_be - was
    return edit.ride.pickup_at - edit.before.pickup_at


def _moved(
    leg: Ride, rider: Rider | None, delay: timedelta, options: EditOptions, *, by: Principal, at: datetime
) -> RideEdit:
    changes = {"pickup_at": leg.pickup_at + delay}
    if leg.appointment_at is not None:
        changes["appointment_at"] = leg.appointment_at + delay
    return ride_edit.edited(
        leg, rider, changes, allow_duplicate=options.allow_duplicate, path=RETURN_PATH, by=by, at=at
    )


def _save(plan: _Plan, options: EditOptions, *, enforce: bool = True, by: Principal, at: datetime) -> _Saved:
    """Save all rides of an edit; without `enforce` despite conflicts.

    Later legs first: the driver's day then has their new times when the ride is checked.
    """
    main, keeps = plan.main, options.crew.action is CrewAction.KEEP
    questions = [
        detail
        for edit in plan.edits
        if edit_checks.needs_check(edit.before, edit.ride)
        for detail in edit_checks.questions(edit.before, edit.ride, edit.leg, at=at)
    ]
    for edit in plan.later:
        _save_one(edit, options, {}, checks_crew=False, by=by, at=at)
    conflicts = list(questions)
    if keeps and edit_checks.needs_check(main.before, main.ride):
        new = edit_checks.new_violations(main.before, main.ride, by=by, at=at)
        conflicts += edit_checks.violation_details(new)
    overridden = _overridden(conflicts, options.override, by) if enforce else []
    _save_one(main, options, {"overridden": overridden} if overridden else {}, checks_crew=keeps, by=by, at=at)
    violations = _crew_after(main, options, enforce=enforce, by=by, at=at)
    without_driver = {edit.ride.pk for edit in plan.later if _loses_driver(edit, options.override, by=by, at=at)}
    return _Saved(questions, violations, without_driver)


def _overridden(conflicts: list[Detail], override: Override, by: Principal) -> list[str]:
    """Return the codes of the overridden rules.

    Raises:
        ChangeQuestioned: there are conflicts, and no override.
        ScopeMissing, InvalidInput: see `require_override_right`.
    """
    if not conflicts:
        return []
    if not override.requested:
        raise ChangeQuestioned(conflicts[0].message, details=conflicts)
    eligibility_checks.require_override_right(override, by)
    return list(dict.fromkeys(detail.code for detail in conflicts))


def _save_one(
    edit: RideEdit, options: EditOptions, data: dict[str, Any], *, checks_crew: bool, by: Principal, at: datetime
) -> None:
    """Save a ride with its event, audit entry and values; nothing if no part differs."""
    before, ride = edit.before, edit.ride
    if not edit.names:
        ride.refresh_from_db(fields=edit.columns)  # derived columns alone are neither saved nor returned
        return
    values = edit.values
    names = set(edit.names)
    ride_edit.customize(edit, options.occurrence_state)
    ride_edit.review_again(edit, at=at)
    noted = dict(data)
    if "pickup_at" in names:
        noted["previousPickupTime"] = before.pickup_at.isoformat().replace("+00:00", "Z")
    event_type = "ride.rescheduled" if "pickup_at" in names else "ride.updated"
    note = Note(data={"changed": edit.changed, **noted})
    touch(ride, event_type, by=by, at=at, also=edit.columns, note=note)
    change = RideChange(ride=ride, version=ride.version)
    change.values = orjson.dumps(values.as_json()).decode()
    change.save(force_insert=True)
    crew = options.crew.action if edit.leg.path == "" else CrewAction.KEEP
    audit.record(
        by=by,
        action="rides.amend",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        reason=options.override.reason if data else "",
        details={"fields": edit.changed, **data, **({} if crew is CrewAction.KEEP else {"assignment": crew.value})},
    )
    _open_and_settle(before, ride, names, checks_crew=checks_crew, by=by, at=at)
    booking.open_duplicate(ride, edit.overlapping_ids, detected_by="amend", by=by, at=at)


def _crew_after(edit: RideEdit, options: EditOptions, *, enforce: bool, by: Principal, at: datetime) -> list[Violation]:
    """Replace or unassign the driver as chosen; return the violations of the crew, if `enforce` only of a new one."""
    ride, choice = edit.ride, options.crew
    if choice.action is CrewAction.KEEP:
        return [] if enforce or ride.status not in _CHECKED else edit_checks.crew_violations(ride, by=by, at=at)
    if choice.action is CrewAction.UNASSIGN:
        if not by.has_scope(Scope.ASSIGNMENTS_WRITE) and edit_checks.crew_violations(ride, by=by, at=at):
            by = by.elevated(Scope.ASSIGNMENTS_WRITE)
        assignment.detach(ride, reason_code=UNASSIGNED_BECAUSE, note="", by=by, at=at)
        return []
    crew = _new_crew(choice, by)
    violations = eligibility_checks.judge(ride, crew, by=by, at=at)
    overridden = eligibility_checks.require_fit(violations, options.override, by) if enforce else []
    assignment.reassign(ride, crew, overridden=overridden, reason=options.override.reason, by=by, at=at)
    return violations


def _new_crew(choice: CrewChoice, by: Principal) -> eligibility_checks.Crew:
    try:
        return eligibility_checks.locked_crew(
            driver_id=cast(UUID, choice.driver_id),  # both are there, see `_require_crew_choice`
            vehicle_id=cast(UUID, choice.vehicle_id),
            attendant_ids=choice.attendant_ids,
            by=by,
        )
    except InvalidInput as refusal:
        refusal.details = legs.prefixed(refusal.details, "assignment.")
        raise


def _loses_driver(edit: RideEdit, override: Override, *, by: Principal, at: datetime) -> bool:
    """Unassign the driver of a later leg that moved along if they are not free then and there is no override."""
    ride = edit.ride
    if ride.driver_id is None:
        return False
    everybody = by.elevated(Scope.ASSIGNMENTS_WRITE)
    if override.requested or not edit_checks.new_violations(edit.before, ride, by=everybody, at=at):
        recheck(ride, by=by, at=at, detected_by="amend")
        return False
    assignment.detach(ride, reason_code=UNASSIGNED_BECAUSE, note="", by=everybody, at=at)
    assignment.audit_release(ride, reason_code=UNASSIGNED_BECAUSE, note="", by=by)
    return True


# What follows, for the preview


def _later_legs_of(plan: _Plan, saved: _Saved, *, by: Principal) -> list[LaterLeg]:
    if plan.later:
        return [
            LaterLeg(edit.before, edit.ride.pickup_at, True, edit.ride.pk in saved.without_driver)
            for edit in plan.later
        ]
    if not plan.delay:
        return []
    return [LaterLeg(leg, leg.pickup_at + plan.delay, False, False) for leg in _waiting_legs(plan.main.ride, by)]


def _best(before: Ride, saved: _Saved, crew: CrewChoice, *, by: Principal, at: datetime) -> Candidate | None:
    """Return the best driver instead of one who does not fit, for callers who may assign."""
    replaces = before.driver_id is not None and before.status in _CHECKED
    if not replaces or not by.has_scope(Scope.ASSIGNMENTS_WRITE):
        return None
    if not saved.violations and crew.action is CrewAction.KEEP:
        return None
    for candidate in candidates(ride_id=before.pk, by=by, at=at):
        if candidate.driver_id != before.driver_id and candidate.vehicle_id is not None and not candidate.refused:
            return candidate
    return None


def _events_since(versions: Mapping[UUID, int]) -> list[tuple[UUID, str]]:
    rows = Event.objects.filter(subject_type="ride", subject_id__in=versions).order_by("pk")
    return [
        (row.subject_id, row.type)
        for row in rows.only("subject_id", "type", "sequence")
        if row.sequence > versions[row.subject_id]
    ]


def _open_and_settle(
    before: Ride, ride: Ride, names: set[str], *, checks_crew: bool, by: Principal, at: datetime
) -> None:
    """Open and settle exceptions after the change; the crew is checked again if `checks_crew`."""
    if checks_crew and ride.assignment_id is not None and _TOUCHES_ASSIGNMENT & names:
        recheck(ride, by=by, at=at, detected_by="amend")
    if _DECIDES_PUNCTUALITY & names:
        arrival_times.check_appointment(ride, detected_by="amend", by=by, at=at)
    if _has_slipped(before, ride):
        exceptions.open_exception(ride, ExceptionType.DISCHARGE_SLIPPED, by=by, at=at, detected_by="amend")
    milestones.settle_address_exceptions(ride, names & {"pickup", "dropoff"}, by=by, at=at)


def _has_slipped(before: Ride, after: Ride) -> bool:
    """Check whether the expected ready time of a patient changed by more than `SLIPPED_BY`."""
    was, will_be = _expected_ready_at(before), _expected_ready_at(after)
    if after.ready_at is not None or after.after_the_fact or was is None or will_be is None:
        return False
    return abs(will_be - was) > SLIPPED_BY


def _expected_ready_at(ride: Ride) -> datetime | None:
    expected_at = (ride.discharge or {}).get("expectedReadyAt")
    return datetime.fromisoformat(expected_at) if expected_at else None
