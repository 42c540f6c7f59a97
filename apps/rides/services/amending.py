"""Changes to a ride that exists: what may change when, and what follows from it."""

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from apps.accounts.services import audit
from apps.organizations import services as organizations
from apps.organizations import stops
from apps.organizations.models import SubjectType
from apps.riders import accommodation
from apps.riders.models import Rider
from apps.rides.draft import Notes, Payment, RideDraft
from apps.rides.lifecycle import RideStatus
from apps.rides.models import Ride
from apps.rides.queries import bookings
from apps.rides.services import booking, legs
from apps.rides.services.legs import Leg
from apps.rides.services.recheck import recheck
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal
from lib.errors import Code, Detail, DomainError, ScopeMissing
from lib.scopes import Scope

_WINDOW: Final = ("window_starts_at", "window_ends_at", "promised_pickup_by")
_TIMES: Final = (*_WINDOW, "timezone", "service_date", "will_call_expires_at", "estimated_miles", "estimated_minutes")
_SPACES: Final = ("spaces_ambulatory", "spaces_wheelchair", "spaces_stretcher")
# What each part of a draft decides.  Columns of other parts stay, though the rules behind them may have changed since.
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
# Whoever books may change these until somebody has been sent (security.md, section 2).
BEFORE_ASSIGNMENT: Final = frozenset({RideStatus.REQUESTED, RideStatus.SCHEDULED})
# Changes that can make the driver or vehicle the wrong one.
_TOUCHES_ASSIGNMENT: Final = frozenset(
    {"pickup_at", "pickup", "dropoff", "accommodation", "companions", "vehicle_type_requested"}
)
_WIRE: Final = {"pickup_at": "pickupTime", "appointment_at": "appointmentTime", "payment": "payer"}
_ADDRESS: Final = ("addressLine1", "city", "state", "postalCode")


class FieldLocked(DomainError):
    """The ride has gone too far for these changes."""

    code = Code.RULE_VIOLATION

    def __init__(self, names: list[str], status: RideStatus) -> None:
        message = f"A ride that is {status.label.lower()} can no longer change this."
        details = [Detail(field=name, code="locked", message=message) for name in names]
        super().__init__(message, details=details)


class AlreadyReleased(DomainError):
    """A will-call ride that has been released stays one."""

    code = Code.RULE_VIOLATION


@transaction.atomic
def amend(
    *,
    ride_id: UUID,
    changes: Mapping[str, Any],
    allow_duplicate: bool = False,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Ride:
    """Change what was booked.

    `changes` has keys of `RideDraft`; stops, accommodation, companions, discharge, dialysis, payment, notes and
    requested_by hold only what differs and are merged (RFC 7396), external_ids replace the list.  Records
    `ride.rescheduled` when the pickup time moves, else `ride.updated`; nothing when nothing is different.  A driver
    and vehicle on the ride are checked again: what no longer fits opens `accommodation_mismatch`.

    Raises:
        NotFound, StaleVersion: see `status.locked`.
        ScopeMissing: the caller may not book, or a driver has been assigned and they may not dispatch.
        FieldLocked, AlreadyReleased: the ride has gone too far.
        InvalidInput, FieldRefused: a hard rule is broken; the field is named.
        booking.RiderNotBookable, booking.OverlappingRide: as for a booking, when the time moves.
    """
    ride = locked(ride_id, by, expected_version=expected_version)
    _require_editable(ride, changes, by)
    leg = _leg_after(ride, changes, by)
    legs.require_sound(leg, at=at, time_is_new="pickup_at" in changes)
    columns = _columns_after(ride, leg, changes)
    different = [name for name, value in columns.items() if getattr(ride, name) != value]
    if "pickup_at" in different:
        _require_time(ride, columns, allow_duplicate, by)
    was_due = ride.pickup_at
    for name in different:
        setattr(ride, name, columns[name])
    different += _seal(ride, leg, changes)
    names = [name for name in changes if _is_different(name, different)]
    if "external_ids" in changes and _rename(ride, changes, by):
        names.append("external_ids")
    if not names:
        ride.refresh_from_db(fields=different)  # what merely would follow is not saved, and not shown
        return ride
    if ride.status == RideStatus.REQUESTED:
        ride.open_questions = legs.open_questions(leg, columns | _kept(ride, columns), at=at)
        different.append("open_questions")
    _record(ride, names, different, was_due, by=by, at=at)
    if ride.assignment_id is not None and _TOUCHES_ASSIGNMENT & set(names):
        recheck(ride, by=by, at=at, detected_by="amend")
    return ride


def _require_editable(ride: Ride, changes: Mapping[str, Any], by: Principal) -> None:
    if not by.may(Scope.RIDES_WRITE):
        raise ScopeMissing(Scope.RIDES_WRITE)
    status = RideStatus(ride.status)
    if status not in BEFORE_ASSIGNMENT and not by.may(Scope.ASSIGNMENTS_WRITE):
        raise ScopeMissing(Scope.ASSIGNMENTS_WRITE)
    if too_late := [wire_name(name) for name in changes if name not in EDITABLE[status]]:
        raise FieldLocked(too_late, status)
    if ride.ready_at is not None and changes.get("will_call", True) is False:
        raise AlreadyReleased("The ride has been released; take the release back first.")


def wire_name(part: str) -> str:
    """Spell a part of a draft as the API does."""
    if part in _WIRE:
        return _WIRE[part]
    first, *rest = part.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _leg_after(ride: Ride, changes: Mapping[str, Any], by: Principal) -> Leg:
    """Put the changes on top of the ride as it is."""
    draft = _draft_of(ride)
    merged = {name: _merged(name, getattr(draft, name), value) for name, value in changes.items()}
    if "service_type" in changes and "priority" not in changes:
        merged["priority"] = ""
    draft = replace(draft, **merged)
    known = bookings.facilities(
        [UUID(str(draft_stop["facilityId"])) for draft_stop in _changed_stops(draft, changes)], by
    )
    doors = legs.entrances_of(draft)
    pickup, pickup_facility = dict(draft.pickup), ride.pickup_facility
    dropoff, dropoff_facility = dict(draft.dropoff), ride.dropoff_facility
    access: list[Mapping[str, str] | None] = [None, None]
    if "pickup" in changes:
        pickup, pickup_facility = legs.resolved_stop(draft.pickup, path="pickup", known=known, entrances=doors)
    if "dropoff" in changes:
        dropoff, dropoff_facility = legs.resolved_stop(draft.dropoff, path="dropoff", known=known, entrances=doors)
    if "pickupEntranceId" in (changes.get("discharge") or {}):
        legs.require_meeting_point(draft, pickup_facility, doors)
    if "accessCode" in (changes.get("pickup") or {}):
        access[0] = legs.access_of(changes["pickup"])
    if "accessCode" in (changes.get("dropoff") or {}) or "homeAccess" in (changes.get("discharge") or {}):
        access[1] = _ways_in(legs.opened_access(ride.dropoff_access), changes)
    needs = _needs_after(ride, changes)
    return Leg(
        draft=replace(draft, pickup=pickup, dropoff=dropoff),
        leg_type=ride.leg_type,
        sequence=ride.leg_sequence,
        owner=ride.facility,
        pickup_facility=pickup_facility,
        dropoff_facility=dropoff_facility,
        # A payer that no longer pays stays on the rides it was booked for.
        payer=booking.payer_of(draft.payment.payer_id) if draft.payment.payer_id != ride.payer_id else ride.payer,
        needs=needs,
        needs_version=ride.accommodation_version,
        access=(access[0], access[1]),
    )


def _ways_in(held: Mapping[str, str], changes: Mapping[str, Any]) -> dict[str, str]:
    """Bring what opens the drop-off up to date: door code and key are changed apart, and an empty text removes one."""
    dropoff, home = changes.get("dropoff") or {}, (changes.get("discharge") or {}).get("homeAccess") or {}
    given = {key: source[key] for key, source in (("accessCode", dropoff), (legs.KEY_INFO, home)) if key in source}
    return {key: text for key, text in {**held, **given}.items() if text}


def _draft_of(ride: Ride) -> RideDraft:
    """Read a ride back as what was asked for; sealed parts stay sealed."""
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
        given = {key: getattr(empty, key) if value is None else value for key, value in change.items()}
        return replace(before, **given)
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
    """Merge a stop; one that moves does not keep what belonged to the old place."""
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
    both = {"pickup": draft.pickup, "dropoff": draft.dropoff}
    return [stop for name, stop in both.items() if name in changes and stop.get("facilityId")]


def _needs_after(ride: Ride, changes: Mapping[str, Any]) -> dict[str, Any]:
    before = dict(ride.accommodation)
    if "accommodation" not in changes:
        return {**accommodation.complete(before), "overridden": before.get("overridden", [])}
    base = accommodation.complete(before)
    after = accommodation.overridden(base, changes["accommodation"])
    marked = {*before.get("overridden", []), *(key for key in accommodation.KEYS if after[key] != base[key])}
    return {**after, "overridden": [key for key in accommodation.KEYS if key in marked]}


def _columns_after(ride: Ride, leg: Leg, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Keep of the leg's columns those that the changes decide.

    A ride that was released or reached keeps the promise it was given: by it the ride was on time, or late.
    """
    decided = {column for name in changes for column in _DECIDES[name]}
    if ride.ready_at is not None or ride.arrived_pickup_at is not None:
        decided -= set(_WINDOW)
    return {name: value for name, value in legs.columns(leg).items() if name in decided}


def _kept(ride: Ride, columns: Mapping[str, Any]) -> dict[str, Any]:
    names = ("service_date", *_SPACES)
    return {name: getattr(ride, name) for name in names if name not in columns}


def _require_time(ride: Ride, columns: Mapping[str, Any], allow_duplicate: bool, by: Principal) -> None:
    rider = Rider.objects.select_for_update(no_key=True).get(pk=ride.rider_id)
    booking.require_bookable(rider, columns["service_date"])
    besides = [ride.pk]
    if ride.trip_id is not None:
        besides += Ride.objects.filter(trip_id=ride.trip_id).values_list("pk", flat=True)
    if not allow_duplicate:
        booking.require_free(ride.rider_id, columns, besides=besides, by=by)


def _seal(ride: Ride, leg: Leg, changes: Mapping[str, Any]) -> list[str]:
    legs.seal_access(ride, pickup=leg.access[0], dropoff=leg.access[1])
    sealed = [
        f"{name}_access_sealed"
        for name, value in zip(("pickup", "dropoff"), leg.access, strict=True)
        if value is not None
    ]
    if "member_id" in (changes.get("payment") or {}):
        ride.payer_member_id = changes["payment"]["member_id"] or ""
        sealed.append("payer_member_id_sealed")
    return sealed


_SEALED_OF: Final = {
    "pickup": ("pickup_access_sealed",),
    "dropoff": ("dropoff_access_sealed",),
    "discharge": ("dropoff_access_sealed",),
    "payment": ("payer_member_id_sealed",),
}


def _is_different(name: str, different: list[str]) -> bool:
    """Whether a change changed anything of its own; what merely follows does not count."""
    own = {"pickup_at": ("pickup_at",), "pickup": ("pickup",), "dropoff": ("dropoff",)}.get(name, _DECIDES[name])
    return any(column in different for column in (*own, *_SEALED_OF.get(name, ())))


def _rename(ride: Ride, changes: Mapping[str, Any], by: Principal) -> bool:
    return organizations.replace_external_ids(
        subject_type=SubjectType.RIDE,
        subject_id=ride.pk,
        wanted=[{item.name: getattr(one, item.name) for item in fields(one)} for one in changes["external_ids"]],
        in_reach=lambda pk: Ride.objects.visible_to(by).filter(pk=pk).exists(),
    )


def _record(
    ride: Ride, names: list[str], different: list[str], was_due: datetime, *, by: Principal, at: datetime
) -> None:
    changed = [wire_name(name) for name in names]
    note = Note(data={"changed": changed})
    event_type = "ride.updated"
    if "pickup_at" in names:
        event_type = "ride.rescheduled"
        note = Note(data={"changed": changed, "previousPickupTime": was_due.isoformat().replace("+00:00", "Z")})
    touch(ride, event_type, by=by, at=at, also=different, note=note)
    audit.record(
        by=by,
        action="rides.amend",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        details={"fields": changed},
    )
