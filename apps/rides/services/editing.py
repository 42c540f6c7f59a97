"""Edits of existing rides: which fields can change at which status, and the consequences."""

import copy
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.organizations import services as organizations
from apps.organizations.models import SubjectType
from apps.organizations.rules import stops
from apps.riders.models import Rider
from apps.riders.rules import accommodation
from apps.rides.models import Ride
from apps.rides.models.ride import OccurrenceState
from apps.rides.queries import bookings
from apps.rides.queries.conflicts import hide_rides, rides_out_of_reach
from apps.rides.rules import booking_rules
from apps.rides.rules.booking_rules import Question
from apps.rides.rules.draft import Notes, Payment, RideDraft
from apps.rides.rules.eligibility import Violation, ViolationKind
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import (
    arrival_times,
    booking,
    eligibility_checks,
    exceptions,
    legs,
    milestones,
)
from apps.rides.services.eligibility_checks import Override, recheck
from apps.rides.services.legs import Leg
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, FieldRefused, ScopeMissing
from lib.messages import Message, lowered
from lib.scopes import Scope

_WINDOW: Final = ("window_starts_at", "window_ends_at", "promised_pickup_by")
_TIMES: Final = (*_WINDOW, "timezone", "service_date", "will_call_expires_at", "estimated_miles", "estimated_minutes")
_SPACES: Final = ("spaces_ambulatory", "spaces_wheelchair", "spaces_stretcher")
# Columns determined by each part of a draft.  Columns of other parts stay, even if their rules have changed since.
_DECIDES: Final[dict[str, tuple[str, ...]]] = {
    "pickup_at": ("pickup_at", *_TIMES),
    "pickup": ("pickup", "pickup_facility", *_TIMES),
    "dropoff": ("dropoff", "dropoff_facility", *_TIMES),
    "service_type": ("service_type", "priority"),
    "priority": ("priority",),
    "appointment_at": ("appointment_at", *_TIMES),
    "scheduling_anchor": ("scheduling_anchor", *_TIMES),
    "will_call": ("will_call", "pickup_time_kind", *_TIMES),
    "accommodation": ("accommodation", *_SPACES),
    "companions": ("companions", *_SPACES),
    "vehicle_type_requested": ("vehicle_type_requested",),
    "discharge": ("discharge",),
    "dialysis": ("dialysis",),
    "payment": ("payer", "program_code", "authorization_number", "authorization_expires_on"),
    "notes": ("driver_notes", "dispatcher_notes", "facility_notes"),
    "requested_by": ("requested_by",),
    "external_ids": (),
}
_ANY: Final = frozenset(_DECIDES)
_UNDER_WAY: Final = _ANY - {"pickup_at", "will_call", "service_type", "priority", "scheduling_anchor"}
_ON_BOARD: Final = frozenset({"dropoff", "payment", "notes", "requested_by", "external_ids"})
_ENDED: Final = frozenset({"payment", "notes", "external_ids"})
EDITABLE: Final[Mapping[RideStatus, frozenset[str]]] = {
    RideStatus.REQUESTED: _ANY,
    RideStatus.SCHEDULED: _ANY,
    RideStatus.ASSIGNED: _ANY,
    RideStatus.EN_ROUTE: _UNDER_WAY,
    RideStatus.ARRIVED: _UNDER_WAY,
    RideStatus.IN_PROGRESS: _ON_BOARD,
    RideStatus.COMPLETED: _ENDED,
    RideStatus.CANCELLED: _ENDED,
    RideStatus.NO_SHOW: _ENDED,
    RideStatus.UNFULFILLED: _ENDED,
}
# Callers who may book can change these until a driver is en route.
BEFORE_ASSIGNMENT: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED})
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
_WIRE: Final = {"pickup_at": "pickupTime", "appointment_at": "appointmentTime", "payment": "payer"}


class FieldLocked(DomainError):
    """The status of the ride does not allow these changes."""

    code = Code.RULE_VIOLATION

    def __init__(self, names: list[str], status: RideStatus) -> None:
        message = Message(
            _("This cannot be changed while the status is %(status)s."), {"status": lowered(status.label)}
        )
        details = [Detail(field=name, code="locked", message=message) for name in names]
        super().__init__(message, details=details)


class AlreadyReleased(DomainError):
    """A released ride cannot change its will-call setting."""

    code = Code.RULE_VIOLATION
    template = _("The rider is marked ready. Undo that first.")


@transaction.atomic
def edit(
    *,
    ride_id: UUID,
    changes: Mapping[str, Any],
    allow_duplicate: bool = False,
    override: Override | None = None,
    expected_version: int | None = None,
    occurrence_state: str = OccurrenceState.CUSTOMIZED,
    replace_needs: bool = False,
    by: Principal,
    at: datetime,
) -> Ride:
    """Change a ride.

    `changes` has keys of `RideDraft`; stops, accommodation, companions, discharge, dialysis, payment, notes and
    requested_by hold only what differs and are merged (RFC 7396), external_ids replace the list.  With `replace_needs`
    accommodation and companions replace those of the ride and apply to the rider's profile, as in a booking.

    Records `ride.rescheduled` when the pickup time moves, else `ride.updated`; no event if nothing differs.  Checks the
    driver and vehicle again: a crew that no longer fits opens `accommodation_mismatch`.  An expected ready time that
    moves by more than half an hour opens `discharge_slipped`; opens the exceptions of a booking as well.  Locks the
    rider before the ride if a time changes.

    A ride of a series whose own columns change gets `occurrence_state`: customized when a person edits it, and then
    the series no longer changes it; the series passes its own state.

    Raises:
        NotFound, StaleVersion: see `status.locked`.
        ScopeMissing: the caller may not book, or a driver has been assigned and they may not dispatch.
        FieldLocked, AlreadyReleased: the status of the ride does not allow the change.
        InvalidInput, FieldRefused: a hard rule is broken; the field is named.
        ChangeQuestioned: the new time or place breaks a soft rule, and there is no override.
        booking.RiderNotBookable, booking.OverlappingRide: as for a booking, when the time moves.
    """
    rider = booking.locked_rider(ride_id, by) if _TIME_PARTS & set(changes) else None
    ride = locked(ride_id, by, expected_version=expected_version)
    _require_editable(ride, changes, by)
    leg = leg_after(ride, changes, by, replace_needs=replace_needs)
    is_moved = changes.get("pickup_at", ride.pickup_at) != ride.pickup_at
    legs.require_sound(leg, at=at, time_is_new=is_moved)
    columns = _columns_after(ride, leg, changes, not_before=at if is_moved else ride.requested_at)
    different = [name for name, value in columns.items() if getattr(ride, name) != value]
    overlapping_ids: list[UUID] = []
    if rider is not None and "pickup_at" in different:
        overlapping_ids = _require_time(ride, rider, columns, allow_duplicate, by)
    before = copy.copy(ride)
    for name in different:
        setattr(ride, name, columns[name])
    if _TIME_PARTS & set(different):
        require_order(ride, field="pickupTime" if "pickup_at" in different else "appointmentTime")
    overridden = require_no_conflicts(before, ride, leg, override or Override(), by=by, at=at)
    different += _encrypt(ride, leg, changes)
    names = [name for name in changes if _is_different(name, different)]
    if "external_ids" in changes and _replace_external_ids(ride, changes, by):
        names.append("external_ids")
    if not names:
        ride.refresh_from_db(fields=different)  # derived columns alone are neither saved nor returned
        return ride
    if ride.occurrence_key and ride.occurrence_state != occurrence_state and names != ["external_ids"]:
        ride.occurrence_state = occurrence_state
        names.append("occurrence_state")
        different.append("occurrence_state")
    if ride.status == RideStatus.REQUESTED:
        ride.review_reasons = review_reasons(ride, leg, at=at, time_is_new="pickup_at" in names)
        different.append("review_reasons")
    data: dict[str, Any] = {"overridden": overridden} if overridden else {}
    if "pickup_at" in names:
        data["previousPickupTime"] = before.pickup_at.isoformat().replace("+00:00", "Z")
    _record(ride, names, different, data, reason=override.reason if override and overridden else "", by=by, at=at)
    _open_and_settle(before, ride, set(names), by=by, at=at)
    booking.open_duplicate(ride, overlapping_ids, detected_by="amend", by=by, at=at)
    return ride


def _open_and_settle(before: Ride, ride: Ride, names: set[str], *, by: Principal, at: datetime) -> None:
    """Open and settle exceptions after the change."""
    if ride.assignment_id is not None and _TOUCHES_ASSIGNMENT & names:
        recheck(ride, by=by, at=at, detected_by="amend")
    if _DECIDES_PUNCTUALITY & names:
        arrival_times.check_appointment(ride, detected_by="amend", by=by, at=at)
    if _has_slipped(before, ride):
        exceptions.open_exception(ride, ExceptionType.DISCHARGE_SLIPPED, by=by, at=at, detected_by="amend")
    milestones.settle_address_exceptions(ride, names & {"pickup", "dropoff"}, by=by, at=at)


def _has_slipped(before: Ride, after: Ride) -> bool:
    """Check whether the expected ready time of a patient changed by more than `SLIPPED_BY`."""
    was, will_be = _expected_ready_at(before), _expected_ready_at(after)
    if after.ready_at is not None or was is None or will_be is None:
        return False
    return abs(will_be - was) > SLIPPED_BY


def _expected_ready_at(ride: Ride) -> datetime | None:
    expected_at = (ride.discharge or {}).get("expectedReadyAt")
    return datetime.fromisoformat(expected_at) if expected_at else None


def _require_editable(ride: Ride, changes: Mapping[str, Any], by: Principal) -> None:
    if not by.has_scope(Scope.RIDES_WRITE):
        raise ScopeMissing(Scope.RIDES_WRITE)
    status = RideStatus(ride.status)
    if status not in BEFORE_ASSIGNMENT and not by.has_scope(Scope.ASSIGNMENTS_WRITE):
        raise ScopeMissing(Scope.ASSIGNMENTS_WRITE)
    if too_late := [wire_name(name) for name in changes if name not in EDITABLE[status]]:
        raise FieldLocked(too_late, status)
    if ride.ready_at is not None and changes.get("will_call", True) is False:
        raise AlreadyReleased


def wire_name(part: str) -> str:
    """Return the API's name of a part of a draft."""
    if part in _WIRE:
        return _WIRE[part]
    first, *rest = part.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _columns_after(ride: Ride, leg: Leg, changes: Mapping[str, Any], *, not_before: datetime) -> dict[str, Any]:
    """Return the columns of the leg that the changes determine; its window begins after `not_before`.

    A ride that was released or reached keeps its promised times: punctuality is measured by them.
    """
    decided = {column for name in changes for column in _DECIDES[name]}
    if ride.ready_at is not None or ride.arrived_pickup_at is not None:
        decided -= set(_WINDOW)
    return {name: value for name, value in legs.columns(leg, not_before=not_before).items() if name in decided}


def _require_time(
    ride: Ride, rider: Rider, columns: Mapping[str, Any], allow_duplicate: bool, by: Principal
) -> list[UUID]:
    booking.require_bookable(rider, columns["service_date"])
    besides = booking.legs_of_trip(ride)
    return booking.require_free(ride.rider_id, columns, besides=besides, allowed=allow_duplicate, by=by)


def _encrypt(ride: Ride, leg: Leg, changes: Mapping[str, Any]) -> list[str]:
    # Only changed texts: encrypting the same text again gives another value.
    new = {
        name: ways_in
        for name, ways_in in zip(("pickup", "dropoff"), leg.access, strict=True)
        if ways_in is not None and ways_in != legs.opened_access(getattr(ride, f"{name}_access"))
    }
    legs.seal_access(ride, pickup=new.get("pickup"), dropoff=new.get("dropoff"))
    sealed = [f"{name}_access_encrypted" for name in new]
    if "member_id" in (changes.get("payment") or {}):
        ride.payer_member_id = changes["payment"]["member_id"] or ""
        sealed.append("payer_member_id_encrypted")
    return sealed


_ENCRYPTED_COLUMNS: Final = {
    "pickup": ("pickup_access_encrypted",),
    "dropoff": ("dropoff_access_encrypted",),
    "discharge": ("dropoff_access_encrypted",),
    "payment": ("payer_member_id_encrypted",),
}


def _is_different(name: str, different: list[str]) -> bool:
    """Check whether fields of the change differ; derived columns do not count."""
    own_columns = {"pickup_at": ("pickup_at",), "pickup": ("pickup",), "dropoff": ("dropoff",)}.get(
        name, _DECIDES[name]
    )
    return any(column in different for column in (*own_columns, *_ENCRYPTED_COLUMNS.get(name, ())))


def _replace_external_ids(ride: Ride, changes: Mapping[str, Any], by: Principal) -> bool:
    return organizations.replace_external_ids(
        subject_type=SubjectType.RIDE,
        subject_id=ride.pk,
        external_ids=[
            {item.name: getattr(external_id, item.name) for item in fields(external_id)}
            for external_id in changes["external_ids"]
        ],
        in_reach=lambda pk: Ride.objects.visible_to(by).filter(pk=pk).exists(),
    )


def _record(
    ride: Ride,
    names: list[str],
    different: list[str],
    data: Mapping[str, Any],
    *,
    reason: str,
    by: Principal,
    at: datetime,
) -> None:
    changed = [wire_name(name) for name in names]
    event_type = "ride.rescheduled" if "pickup_at" in names else "ride.updated"
    touch(ride, event_type, by=by, at=at, also=different, note=Note(data={"changed": changed, **data}))
    audit.record(
        by=by,
        action="rides.amend",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        reason=reason,
        details={"fields": changed, **({"overridden": data["overridden"]} if "overridden" in data else {})},
    )


_ADDRESS: Final = ("addressLine1", "city", "state", "postalCode")


def leg_after(ride: Ride, changes: Mapping[str, Any], by: Principal, *, replace_needs: bool = False) -> Leg:
    """Apply the changes to the current ride.

    With `replace_needs` accommodation and companions replace those of the ride and apply to the rider's profile, as in
    a booking.
    """
    draft = _draft_of(ride)
    replaced = {"companions"} if replace_needs else set[str]()
    merged = {
        name: value if name in replaced else _merged(name, getattr(draft, name), value)
        for name, value in changes.items()
    }
    if "service_type" in changes and "priority" not in changes:
        merged["priority"] = ""
    draft = replace(draft, **merged)
    facilities = bookings.facilities(
        [UUID(str(draft_stop["facilityId"])) for draft_stop in _changed_stops(draft, changes)], by
    )
    entrances = legs.entrances_of([draft])
    pickup, pickup_facility = dict(draft.pickup), ride.pickup_facility
    dropoff, dropoff_facility = dict(draft.dropoff), ride.dropoff_facility
    access: list[Mapping[str, str] | None] = [None, None]
    if "pickup" in changes:
        pickup, pickup_facility = legs.resolved_stop(
            draft.pickup, path="pickup", facilities=facilities, entrances=entrances
        )
    if "dropoff" in changes:
        dropoff, dropoff_facility = legs.resolved_stop(
            draft.dropoff, path="dropoff", facilities=facilities, entrances=entrances
        )
    if "pickupEntranceId" in (changes.get("discharge") or {}):
        legs.require_meeting_point(draft, pickup_facility, entrances)
    if "accessCode" in (changes.get("pickup") or {}):
        access[0] = legs.access_of(changes["pickup"])
    if "accessCode" in (changes.get("dropoff") or {}) or "homeAccess" in (changes.get("discharge") or {}):
        access[1] = _ways_in(legs.opened_access(ride.dropoff_access), changes)
    return replace(
        leg_of(ride),
        draft=replace(draft, pickup=pickup, dropoff=dropoff),
        pickup_facility=pickup_facility,
        dropoff_facility=dropoff_facility,
        # An inactive payer stays on existing rides.
        payer=booking.payer_of(draft.payment.payer_id) if draft.payment.payer_id != ride.payer_id else ride.payer,
        needs=_replaced_needs(ride, changes["accommodation"])
        if replace_needs and "accommodation" in changes
        else _needs_after(ride, changes),
        access=(access[0], access[1]),
    )


def leg_of(ride: Ride) -> Leg:
    """Convert a ride into a leg; encrypted parts stay encrypted."""
    return Leg(
        draft=_draft_of(ride),
        leg_type=ride.leg_type,
        sequence=ride.leg_sequence,
        owner=ride.facility,
        pickup_facility=ride.pickup_facility,
        dropoff_facility=ride.dropoff_facility,
        payer=ride.payer,
        needs=ride.accommodation,
        needs_version=ride.accommodation_version,
    )


def review_reasons(ride: Ride, leg: Leg, *, at: datetime, time_is_new: bool = True) -> list[str]:
    """List the soft rules that the current ride breaks; `leg` is the ride as a leg.

    Without `time_is_new` the rule of the lead time keeps its result from when the time was requested.  One query, two
    if no vehicle fits.
    """
    names = ("service_date", "spaces_ambulatory", "spaces_wheelchair", "spaces_stretcher")
    broken = {*legs.review_reasons(leg, {name: getattr(ride, name) for name in names}, at=at)}
    if not time_is_new:
        broken = broken - {Question.LEAD_TIME} | {*ride.review_reasons} & {Question.LEAD_TIME}
    return [question.value for question in Question if question in broken]


def _ways_in(current: Mapping[str, str], changes: Mapping[str, Any]) -> dict[str, str]:
    """Merge the access to the drop-off: door code and key change separately, and an empty text removes one."""
    dropoff, home = changes.get("dropoff") or {}, (changes.get("discharge") or {}).get("homeAccess") or {}
    changed = {key: source[key] for key, source in (("accessCode", dropoff), (legs.KEY_INFO, home)) if key in source}
    return {key: text for key, text in {**current, **changed}.items() if text}


def _draft_of(ride: Ride) -> RideDraft:
    """Convert a ride into a draft; encrypted parts stay encrypted."""
    return RideDraft(
        pickup_at=ride.pickup_at,
        pickup=stops.normal(ride.pickup),
        dropoff=stops.normal(ride.dropoff),
        rider_id=ride.rider_id,
        service_type=ride.service_type,
        priority=ride.priority,
        appointment_at=ride.appointment_at,
        scheduling_anchor=ride.scheduling_anchor,
        will_call=ride.will_call,
        companions=ride.companions,
        vehicle_type_requested=ride.vehicle_type_requested,
        discharge=ride.discharge,
        dialysis=ride.dialysis,
        payment=Payment(
            payer_id=ride.payer_id,
            program_code=ride.program_code,
            authorization_number=ride.authorization_number,
            authorization_expires_on=ride.authorization_expires_on,
        ),
        notes=Notes(ride.driver_notes, ride.dispatcher_notes, ride.facility_notes),
        requested_by=ride.requested_by,
    )


def _merged(name: str, before: Any, change: Any) -> Any:
    if name == "vehicle_type_requested":
        return change or ""
    if name in ("payment", "notes"):
        empty = type(before)()
        values = {key: getattr(empty, key) if value is None else value for key, value in change.items()}
        return replace(before, **values)
    if name in ("pickup", "dropoff"):
        return _merged_stop(before, change)
    if isinstance(change, Mapping) and name != "accommodation":
        return merge(before or {}, change)
    return change


def merge(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a JSON merge patch (RFC 7396): null removes, objects merge, everything else replaces."""
    merged = {key: value for key, value in before.items() if key not in patch or patch[key] is not None}
    for key, value in patch.items():
        if isinstance(value, Mapping):
            merged[key] = merge(before.get(key) or {}, value)
        elif value is not None:
            merged[key] = value
    return merged


def _merged_stop(before: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Merge a stop; after a move, details of the old place are removed."""
    moved = "facilityId" in patch and patch["facilityId"] != before.get("facilityId")
    moved = moved or any(key in patch and patch[key] != before.get(key) for key in _ADDRESS)
    if not moved:
        return merge(before, patch)
    stale = {"lat", "lng", "entranceId", "entranceText"}
    if "facilityId" in patch and patch["facilityId"] is not None:
        stale |= {"name", "addressLine1", "addressLine2", "city", "state", "postalCode"}
    elif "facilityId" not in patch:
        stale |= {"facilityId"}
    return merge({key: value for key, value in before.items() if key not in stale}, patch)


def _changed_stops(draft: RideDraft, changes: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    draft_stops = {"pickup": draft.pickup, "dropoff": draft.dropoff}
    return [stop for name, stop in draft_stops.items() if name in changes and stop.get("facilityId")]


def _replaced_needs(ride: Ride, ride_needs: Mapping[str, Any]) -> dict[str, Any]:
    profile = bookings.current_profile(ride.rider_id)
    base = accommodation.snapshot(profile) if profile else accommodation.complete({})
    return legs.needs_of(base, ride_needs, leg_type=ride.leg_type)


def _needs_after(ride: Ride, changes: Mapping[str, Any]) -> dict[str, Any]:
    before = dict(ride.accommodation)
    if "accommodation" not in changes:
        return {**accommodation.complete(before), "overridden": before.get("overridden", [])}
    base = accommodation.complete(before)
    after = accommodation.overridden(base, changes["accommodation"])
    marked = {*before.get("overridden", []), *(key for key in accommodation.KEYS if after[key] != base[key])}
    return {**after, "overridden": [key for key in accommodation.KEYS if key in marked]}


# Legs with these statuses do not count for the sequence.
_NOT_RIDDEN: Final = (RideStatus.CANCELLED, RideStatus.NO_SHOW, RideStatus.UNFULFILLED)
# Soft rules of a new time or place; needs and payer are facts that need no override.
_OF_TIME: Final = frozenset({Question.LEAD_TIME, Question.AUTHORIZATION_EXPIRED})
_OF_PLACE: Final = frozenset({Question.SERVICE_AREA, Question.UNKNOWN_COORDINATES})
_MOVED_BY: Final = ("pickup_at", "pickup", "dropoff", "estimated_minutes", "will_call")


class ChangeQuestioned(DomainError):
    """The change breaks soft rules, listed in the details; it needs an override with a reason."""

    code = Code.RULE_VIOLATION


def require_order(ride: Ride, *, field: str) -> None:
    """Refuse a time that puts the legs of a trip out of sequence.  One query, none without a trip.

    Raises:
        FieldRefused: names `field`.
    """
    if ride.trip_id is None:
        return
    other_legs = Ride.objects.filter(trip_id=ride.trip_id).exclude(pk=ride.pk).exclude(status__in=_NOT_RIDDEN)
    for other_leg in other_legs.only("leg_sequence", "pickup_at", "appointment_at"):
        first, second = sorted((ride, other_leg), key=lambda leg: leg.leg_sequence)
        if not booking_rules.follows(second.pickup_at, first.pickup_at, first.appointment_at):
            message = _("The legs of a trip must stay in order.")
            raise FieldRefused([Detail(field=field, code="leg_order", message=message)])


def require_no_conflicts(
    before: Ride, after: Ride, leg: Leg, override: Override, *, by: Principal, at: datetime
) -> list[str]:
    """Refuse a new time or place of a scheduled ride that breaks soft rules, or return the overridden rules.

    Counts only conflicts that the change causes.  Once the driver is en route, no override is needed.  `leg` is `after`
    as a leg.  Locks the crew.

    Raises:
        ChangeQuestioned: lists review reasons by code, and violations with their subjects.
        ScopeMissing, InvalidInput: see `require_override_right`.
    """
    moved = any(getattr(before, name) != getattr(after, name) for name in _MOVED_BY)
    if not moved or after.status not in (RideStatus.SCHEDULED, RideStatus.ASSIGNED):
        return []
    conflicts = _questions(before, after, leg, at=at)
    conflicts += [
        Detail(
            code=violation.code.value,
            message=violation.message,
            also={"kind": violation.kind.value, "subjectId": str(violation.subject_id)},
        )
        for violation in new_violations(before, after, by=by, at=at)
    ]
    if not conflicts:
        return []
    if not override.requested:
        raise ChangeQuestioned(conflicts[0].message, details=conflicts)
    eligibility_checks.require_override_right(override, by)
    return list(dict.fromkeys(detail.code for detail in conflicts))


def _questions(before: Ride, after: Ride, leg: Leg, *, at: datetime) -> list[Detail]:
    was = review_reasons(before, leg_of(before), at=at)
    if after.pickup_at < before.pickup_at:
        was = [question for question in was if question != Question.LEAD_TIME]
    new_questions = [Question(code) for code in review_reasons(after, leg, at=at) if code not in was]
    place = "dropoff" if before.pickup == after.pickup else "pickup"
    return [
        Detail(
            field="pickupTime" if question in _OF_TIME else place,
            code=question.value,
            message=booking_rules.QUESTION_TEXTS[question],
            also={"kind": ViolationKind.SOFT.value},
        )
        for question in new_questions
        if question in _OF_TIME | _OF_PLACE
    ]


def new_violations(before: Ride, after: Ride, *, by: Principal, at: datetime) -> list[Violation]:
    """List the soft violations of the crew of a locked ride that a change causes, such as the end of a shift.

    Considers rides outside the caller's data scope without naming them.  Locks the crew; no query without a crew.
    """
    if after.driver_id is None or after.vehicle_id is None:
        return []
    crew = eligibility_checks.locked_crew(
        driver_id=after.driver_id,
        vehicle_id=after.vehicle_id,
        attendant_ids=after.attendant_ids,
        by=by.elevated(),
    )
    everybody = by.elevated()
    earlier = {
        (violation.code, violation.subject_id)
        for violation in eligibility_checks.judge(before, crew, by=everybody, at=at)
    }
    soft = [
        violation
        for violation in eligibility_checks.judge(after, crew, by=everybody, at=at)
        if violation.kind is ViolationKind.SOFT
    ]
    new = [violation for violation in soft if (violation.code, violation.subject_id) not in earlier]
    return hide_rides(new, rides_out_of_reach(new, by), driver_id=after.driver_id)
