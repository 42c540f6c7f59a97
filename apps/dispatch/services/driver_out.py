"""A driver is out: reports it, gives the chosen rides to other drivers, and remembers which rides nobody can take."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from apps.dispatch.queries.replacements import replacements
from apps.dispatch.rules.suggesting import Suggestion, UnplacedRide
from apps.dispatch.services import planning
from apps.dispatch.services.planning import Accepted, SelectionResult
from apps.fleet.services import absences
from apps.rides.services import driver_absence
from apps.rides.services.driver_absence import ReportedAbsence
from lib.access import Principal


@dataclass(frozen=True, slots=True)
class DriverOut:
    """A reported absence, the outcome for each chosen ride, and what is known of the rides that still wait.

    `best` has a suggestion, and `unplaced` the conflicts, by ride.
    """

    reported: ReportedAbsence
    outcomes: list[SelectionResult]
    best: Mapping[UUID, Suggestion]
    unplaced: Mapping[UUID, UnplacedRide]


def report(
    *,
    driver_id: UUID,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
    reason: str,
    note: str = "",
    accepted: Sequence[Accepted] = (),
    by: Principal,
    at: datetime,
) -> DriverOut:
    """Report a driver out, then assign the rides of `accepted` that this frees, each in a transaction of its own.

    `accepted` names the rides by the version that they had before the report; a ride with another version, or one
    that a rule refuses by now, waits like the others.

    Raises:
        As `driver_absence.report`.
    """
    reported = driver_absence.report(
        driver_id=driver_id, starts_at=starts_at, ends_at=ends_at, reason=reason, note=note, by=by, at=at
    )
    outcomes = planning.accept_all(suggestions=_freed(accepted, reported), by=by, at=at)
    placed = {result.ride_id for result in outcomes if result.ride is not None}
    waiting = [ride_id for ride_id in reported.freed_ids if ride_id not in placed]
    plans = [preview.plan for preview in replacements(waiting, by=by, at=at)]
    unplaced = {each.ride_id: each for plan in plans for each in plan.unplaced}
    absences.remember_unplaced(reported.leave.pk, [each.as_row() for each in unplaced.values()])
    best = {suggestion.ride_id: suggestion for plan in plans for suggestion in plan.suggestions}
    return DriverOut(reported, outcomes, best, unplaced)


def _freed(accepted: Collection[Accepted], reported: ReportedAbsence) -> list[Accepted]:
    """Return the suggestions for freed rides that nobody changed before the report, with the version after it."""
    freed = {(row.ride_id, row.former_version): row.version for row in reported.freed}
    return [
        replace(each, chosen=replace(each.chosen, version=freed[each.chosen.ride_id, each.chosen.version]))
        for each in accepted
        if (each.chosen.ride_id, each.chosen.version) in freed
    ]
