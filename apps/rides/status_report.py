"""What a driver's system, a dispatcher or an integration says of a ride: the input of `change_status`."""

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from apps.rides.lifecycle import RideStatus
from apps.rides.reasons import Fault


@dataclass(frozen=True, slots=True)
class Place:
    """Where a device was, WGS84."""

    lat: Decimal
    lng: Decimal
    accuracy_meters: int | None = None


@dataclass(frozen=True, slots=True)
class MilestoneReport:
    """One moment.  `contacted` ("rider", "facility") belongs to contact attempts alone."""

    type: str
    occurred_at: datetime
    place: Place | None = None
    note: str = ""
    contacted: str = ""


@dataclass(frozen=True, slots=True)
class StatusReport:
    """The status that the ride has now and what came with it.

    `milestones` happened before it and are applied first, in order: an offline device catches up in one call.
    `occurred_at` None: now.  `rider_location` says in words where the rider is, for aborts.  `odometer` is read at the
    status reported; `odometer_start` where that is later than the pickup.
    """

    status: RideStatus
    source: str
    occurred_at: datetime | None = None
    place: Place | None = None
    reason_code: str = ""
    fault: Fault | None = None
    note: str = ""
    override: bool = False
    override_reason: str = ""
    milestones: tuple[MilestoneReport, ...] = ()
    securement_confirmed: bool = False
    arrived_dropoff_at: datetime | None = None
    odometer: Decimal | None = None
    odometer_start: Decimal | None = None
    loaded_miles: Decimal | None = None
    loaded_miles_source: str = ""
    signatures: tuple[dict[str, Any], ...] = field(default=())
    attestation: dict[str, Any] | None = None
    handoff_name: str = ""
    rider_location: str = ""
    eta_pickup: datetime | None = None

    @property
    def odometer_at_pickup(self) -> Decimal | None:
        """What the odometer said when the rider boarded: of a report that goes on to the delivery, not `odometer`."""
        boards = self.status is RideStatus.IN_PROGRESS
        return self.odometer if boards and self.odometer_start is None else self.odometer_start
