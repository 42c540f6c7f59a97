"""One edited ride before it is saved: its columns after the changes, and what the change conflicts with."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from apps.organizations import services as organizations
from apps.organizations.models import SubjectType
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.rules.change_values import ChangedValues, values_of
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking, edit_checks, legs
from apps.rides.services.edit_checks import wire_name
from apps.rides.services.legs import Leg
from apps.rides.services.ride_changes import leg_after
from lib.access import Principal

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
_TIME_PARTS: Final = frozenset({"pickup_at", "appointment_at"})


@dataclass(slots=True)
class RideEdit:
    """A locked ride before and after the changes, not saved.

    `names` are the parts of the draft that differ, `columns` the columns to save, `overlapping_ids` other rides of the
    rider at the new time.
    """

    before: Ride
    ride: Ride
    leg: Leg
    names: list[str]
    columns: list[str]
    overlapping_ids: list[UUID] = field(default_factory=list)

    @property
    def changed(self) -> list[str]:
        """Return the changed parts by their names in the API."""
        return [wire_name(name) for name in self.names]

    @property
    def time_field(self) -> str:
        """Return the path of the changed time in the request."""
        return f"{self.leg.path}{'pickupTime' if 'pickup_at' in self.columns else 'appointmentTime'}"

    @property
    def moves(self) -> bool:
        return bool(_TIME_PARTS & set(self.columns))

    @property
    def values(self) -> ChangedValues:
        secrets = [path for column, path in _SECRETS.items() if column in self.columns]
        return ChangedValues(
            values_of(self.before, self.changed), values_of(self.ride, self.changed), secrets=tuple(secrets)
        )


def edited(
    ride: Ride,
    rider: Rider | None,
    changes: Mapping[str, Any],
    *,
    allow_duplicate: bool = False,
    replace_needs: bool = False,
    path: str = "",
    by: Principal,
    at: datetime,
) -> RideEdit:
    """Apply changes to a locked ride; see `editing.edit`.  `rider` is locked, None if no time changes.

    Saves external ids only.  `path` is that of the ride in the request.

    Raises:
        InvalidInput, FieldRefused: a hard rule is broken; the field is named.
        booking.RiderNotBookable, booking.OverlappingRide: as for a booking, when the time moves.
    """
    leg = replace(leg_after(ride, changes, by, replace_needs=replace_needs), path=path)
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
    different += _encrypt(ride, leg, changes)
    names = [name for name in changes if _is_different(name, different)]
    if "external_ids" in changes and _replace_external_ids(ride, changes, by):
        names.append("external_ids")
    return RideEdit(before, ride, leg, names, different, overlapping_ids)


def customize(edit: RideEdit, occurrence_state: str) -> None:
    """Set the state of a ride of a series whose own columns changed: the series no longer changes it."""
    ride = edit.ride
    if ride.occurrence_key and ride.occurrence_state != occurrence_state and edit.names != ["external_ids"]:
        ride.occurrence_state = occurrence_state
        edit.names.append("occurrence_state")
        edit.columns.append("occurrence_state")


def review_again(edit: RideEdit, *, at: datetime) -> None:
    """Apply the soft rules of booking to a request again."""
    if edit.ride.status == RideStatus.REQUESTED:
        time_is_new = "pickup_at" in edit.names
        edit.ride.review_reasons = edit_checks.review_reasons(edit.ride, edit.leg, at=at, time_is_new=time_is_new)
        edit.columns.append("review_reasons")


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


_SECRETS: Final = {  # paths in the API by column
    "pickup_access_encrypted": "pickup.accessCode",
    "dropoff_access_encrypted": "dropoff.accessCode",
    "payer_member_id_encrypted": "payer.memberId",
}
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
