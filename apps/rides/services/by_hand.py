"""What dispatchers enter from the telephone: one moment of the road, by a report as drivers' systems send it."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from apps.rides.models import Milestone, Ride
from apps.rides.queries import rides
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import MilestoneReport, StatusReport
from apps.rides.services import milestones, report
from apps.rides.services.eligibility_checks import Override
from lib.access import Principal

_LEADS_TO: Final = {
    Milestone.Type.DEPARTED: RideStatus.EN_ROUTE,
    Milestone.Type.ARRIVED_PICKUP: RideStatus.ARRIVED,
    Milestone.Type.BOARDED: RideStatus.IN_PROGRESS,
    Milestone.Type.DROPPED_OFF: RideStatus.COMPLETED,
}


@dataclass(frozen=True, slots=True)
class Moment:
    """One moment as somebody tells it; `handoff_name` goes with the drop-off alone, `contacted` with attempts."""

    type: Milestone.Type
    occurred_at: datetime
    note: str = ""
    contacted: str = ""
    secured: bool = False
    handoff_name: str = ""
    override: Override = field(default_factory=Override)


def enter_moment(*, ride_id: UUID, moment: Moment, expected_version: int, by: Principal, at: datetime) -> Ride:
    """Bring a ride to where a moment leads it; one that it has passed completes or corrects its record.

    Raises:
        As `report.change_status`.
    """
    ride = rides.ride(ride_id, by)  # as it was read: another one by now is a StaleVersion under the lock
    leads_to = _LEADS_TO.get(moment.type)
    moves = leads_to is not None and not milestones.has_passed(ride, moment.type)
    said = MilestoneReport(
        type=moment.type.value, occurred_at=moment.occurred_at, note=moment.note, contacted=moment.contacted
    )
    whole = StatusReport(
        status=leads_to if leads_to is not None and moves else RideStatus(ride.status),
        source=Milestone.Source.DISPATCHER_MANUAL.value,
        milestones=(said,),
        securement_confirmed=moment.secured,
        handoff_name=moment.handoff_name if moves and leads_to is RideStatus.COMPLETED else "",
        override=moment.override.wanted,
        override_reason=moment.override.reason,
    )
    return report.change_status(ride_id=ride_id, report=whole, expected_version=expected_version, by=by, at=at)
