"""The two clocks and the checklist of a discharge, as its planner sees them.  Pure: no query, no clock."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Protocol

from apps.rides.rules.guards import open_required_items
from apps.rides.rules.lifecycle import OPEN

_ITEMS: Final = (
    "orderSigned",
    "medsInHand",
    "belongings",
    "oxygenDelivered",
    "receivingConfirmed",
    "pcsOnFile",
    "paperwork",
)


class Leaving(Protocol):
    """The columns of a ride that are read here."""

    status: str
    will_call: bool
    ready_at: datetime | None
    boarded_at: datetime | None
    discharge: Any


class Levels(Protocol):
    """The service levels of a facility that are read here, as in apps/organizations/service_levels.py."""

    @property
    def discharge_target_minutes(self) -> int: ...
    @property
    def discharge_max_minutes(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Clock:
    """Whole minutes between two times; `running` if the second is still to come.  `target` and `limit` may be unset."""

    minutes: int
    running: bool
    target: int | None = None
    limit: int | None = None

    @property
    def tone(self) -> str:
        """Return "ok" within the target, "warn" beyond it, "bad" beyond the limit, and "" without target and limit."""
        if self.target is None or self.limit is None:
            return ""
        if self.minutes <= self.target:
            return "ok"
        return "warn" if self.minutes <= self.limit else "bad"


@dataclass(frozen=True, slots=True)
class Item:
    """A line of the checklist.

    `done` is None if unknown; `blocks_discharge` marks an open item without which the patient may not leave.
    """

    key: str
    done: bool | None
    blocks_discharge: bool


def facility_clock(ride: Leaving, at: datetime) -> Clock | None:
    """Count from the discharge order to ready; None without an order and for rides with a fixed pickup time."""
    order_at = (ride.discharge or {}).get("dischargeOrderAt")
    if not order_at or not ride.will_call:
        return None
    return _counted(datetime.fromisoformat(order_at), ride.ready_at, ride, at)


def transport_clock(ride: Leaving, levels: Levels, at: datetime) -> Clock | None:
    """Count from ready to on board, the transport provider's share; None before the patient is ready."""
    if ride.ready_at is None:
        return None
    agreed = {"target": levels.discharge_target_minutes, "limit": levels.discharge_max_minutes}
    return _counted(ride.ready_at, ride.boarded_at, ride, at, **agreed)


def _counted(since: datetime, until: datetime | None, ride: Leaving, at: datetime, **agreed: int) -> Clock | None:
    """Return the clock; None if it has not started yet, or if the ride ended before the second time."""
    if until is None and (ride.status not in OPEN or since > at):
        return None
    passed = (until or at) - since
    return Clock(max(0, int(passed.total_seconds() // 60)), until is None, **agreed)


def checklist(discharge: Mapping[str, Any], *, oxygen_uses: bool) -> list[Item]:
    """List the checklist items that every patient has, that this patient needs, and that have an answer."""
    answers = discharge.get("checklist") or {}
    needed = {
        "oxygenDelivered": oxygen_uses,
        "receivingConfirmed": bool(discharge.get("receiving")),
        "pcsOnFile": bool((discharge.get("pcs") or {}).get("required")),
    }
    blocking = open_required_items(answers, oxygen_uses=oxygen_uses)
    concerned = [key for key in _ITEMS if needed.get(key, True) or answers.get(key) is not None]
    return [Item(key, answers.get(key), key in blocking) for key in concerned]
