"""What a driver's system, a dispatcher or an integration says of a ride: the input of `change_status`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.reasons import Fault


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
        """The odometer at boarding: `odometer` of a report of boarding, else `odometer_start`."""
        boards = self.status is RideStatus.IN_PROGRESS
        return self.odometer if boards and self.odometer_start is None else self.odometer_start


_S = RideStatus
_ENDINGS = frozenset({_S.CANCELLED, _S.NO_SHOW, _S.UNFULFILLED})
_ON_BOARD = frozenset({_S.IN_PROGRESS, _S.COMPLETED})
_DELIVERED = frozenset({_S.COMPLETED})
# The statuses with which a part of a report is taken over; with another one it would be lost.
TAKEN_WITH: Final[Mapping[str, frozenset[RideStatus]]] = {
    "reason_code": _ENDINGS | {_S.SCHEDULED},
    "fault": _ENDINGS,
    "odometer": _ON_BOARD,
    "odometer_start": _ON_BOARD,
    "signatures": _ON_BOARD,
    "loaded_miles": _DELIVERED,
    "loaded_miles_source": _DELIVERED,
    "attestation": _DELIVERED,
    "handoff_name": _DELIVERED,
    "arrived_dropoff_at": _DELIVERED,
}
_OF_BOARDING: Final = frozenset({"odometer_start", "signatures"})


def misplaced(report: StatusReport, *, corrects: bool) -> list[str]:
    """List the parts of a report that do not apply to its status, in the order of `TAKEN_WITH`.

    A source of miles needs the miles.  `corrects`: the report takes back the end of a ride, so only a reason applies.
    """
    boards = any(moment.type == "boarded" for moment in report.milestones)
    present = [name for name in TAKEN_WITH if getattr(report, name) not in (None, "", ())]
    if corrects:
        return [name for name in present if name != "reason_code"]
    unused = [
        name for name in present if report.status not in TAKEN_WITH[name] and not (boards and name in _OF_BOARDING)
    ]
    if report.loaded_miles is None and report.loaded_miles_source and "loaded_miles_source" not in unused:
        unused.append("loaded_miles_source")
    return unused
