"""Assigning and unassigning drivers from the board: one ride, or a selection ride by ride.

Each ride of a selection has a transaction of its own; a refusal does not affect the others.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.dispatch.queries.crew import vehicle_for
from apps.rides.models import Assignment, Ride
from apps.rides.services import assignment
from lib.access import Principal
from lib.errors import DomainError


@dataclass(frozen=True, slots=True)
class Chosen:
    """A ride as the dispatcher saw it."""

    ride_id: UUID
    version: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted suggestion: the ride as the dispatcher saw it, and the driver and vehicle to assign."""

    chosen: Chosen
    driver_id: UUID
    vehicle_id: UUID


@dataclass(frozen=True, slots=True)
class SelectionResult:
    """The result for one ride of a selection: the changed ride, or the reason for the refusal."""

    ride_id: UUID
    ride: Ride | None = None
    refusal: DomainError | None = None


def assign(
    *,
    chosen: Chosen,
    driver_id: UUID,
    vehicle_id: UUID | None = None,
    attendant_ids: Collection[UUID] = (),
    override_reason: str = "",
    method: str = Assignment.Method.MANUAL,
    by: Principal,
    at: datetime,
) -> Ride:
    """Assign a driver to a ride, with `vehicle_id` or the vehicle that the driver has at that time.

    Raises:
        As `assignment.assign` and `vehicle_for`.
    """
    row = assignment.assign(
        ride_id=chosen.ride_id,
        driver_id=driver_id,
        vehicle_id=vehicle_id or vehicle_for(ride_id=chosen.ride_id, driver_id=driver_id, by=by, at=at),
        attendant_ids=attendant_ids,
        method=method,
        override=bool(override_reason.strip()),
        override_reason=override_reason,
        expected_version=chosen.version,
        by=by,
        at=at,
    )
    return row.ride


def unassign(*, chosen: Chosen, reason_code: str, note: str = "", by: Principal, at: datetime) -> Ride:
    """Unassign the driver of a ride.

    Raises:
        As `assignment.unassign`.
    """
    return assignment.unassign(
        ride_id=chosen.ride_id, reason_code=reason_code, note=note, expected_version=chosen.version, by=by, at=at
    )


def assign_all(
    *, selection: Sequence[Chosen], driver_id: UUID, override_reason: str = "", by: Principal, at: datetime
) -> list[SelectionResult]:
    """Assign one driver to every ride of a selection; outcomes include refusals."""
    return _each(
        selection,
        lambda chosen: assign(chosen=chosen, driver_id=driver_id, override_reason=override_reason, by=by, at=at),
    )


def unassign_all(
    *, selection: Sequence[Chosen], reason_code: str, note: str = "", by: Principal, at: datetime
) -> list[SelectionResult]:
    """Unassign the drivers of a selection; outcomes include refusals."""
    return _each(selection, lambda chosen: unassign(chosen=chosen, reason_code=reason_code, note=note, by=by, at=at))


def accept_all(*, suggestions: Sequence[Accepted], by: Principal, at: datetime) -> list[SelectionResult]:
    """Assign every suggested driver; outcomes include refusals.

    All rules are checked again: a ride that has changed since the suggestion is refused.
    """
    by_ride = {suggestion.chosen: suggestion for suggestion in suggestions}
    return _each(
        [suggestion.chosen for suggestion in suggestions],
        lambda chosen: assign(
            chosen=chosen,
            driver_id=by_ride[chosen].driver_id,
            vehicle_id=by_ride[chosen].vehicle_id,
            method=Assignment.Method.AUTO,
            by=by,
            at=at,
        ),
    )


def _each(selection: Sequence[Chosen], act: Callable[[Chosen], Ride]) -> list[SelectionResult]:
    outcomes = []
    for chosen in selection:
        try:
            outcomes.append(SelectionResult(chosen.ride_id, act(chosen)))
        except DomainError as refusal:
            outcomes.append(SelectionResult(chosen.ride_id, refusal=refusal))
    return outcomes
