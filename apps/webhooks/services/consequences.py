"""What a batch of results means beyond its rows: endpoints that wake, rest or recover, and people to be told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.rides.models import Ride
from apps.webhooks.event_types import URGENT
from apps.webhooks.lane import Lane
from apps.webhooks.models import Delivery
from apps.webhooks.services import states
from apps.webhooks.services.claiming import Claimed
from lib.scopes import Scope

GONE: Final = 410  # the receiver wants no more of it
URGENT_AFTER: Final = 4  # attempts, 2 minutes 40 seconds after the first: somebody may be waiting at a door
DISCHARGE: Final = "hospital_discharge"


@dataclass(frozen=True, slots=True)
class Result:
    """An attempt, for its consequences; `status` is what became of the delivery, None: another worker has it."""

    row: Claimed
    code: int | None
    status: str | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A lane before and after a batch."""

    was: Lane
    now: Lane


def draw(results: Sequence[Result], turns: Mapping[UUID, Turn], *, at: datetime) -> None:
    """Draw them, in the transaction of the results.  Nothing, for a batch that simply arrived."""
    for endpoint_id, turn in turns.items():
        if turn.was.told and not turn.now.told:
            states.recovered(endpoint_id, turn.was, at=at)
    for endpoint_id, version in sorted(
        {
            (one.row.endpoint_id, one.row.endpoint_version)
            for one in results
            if one.row.trigger == Delivery.Trigger.TEST and one.status == Delivery.Status.DELIVERED
        }
    ):
        states.answered(endpoint_id, version=version, at=at)
    for endpoint_id in sorted({one.row.endpoint_id for one in results if one.code == GONE}):
        states.gone(endpoint_id, at=at)
    if any(one.status == Delivery.Status.QUARANTINED for one in results):
        states.quarantined(at=at)
    _tell_of_urgent([one for one in results if one.status == Delivery.Status.PENDING], at)


def _tell_of_urgent(failed: Sequence[Result], at: datetime) -> None:
    late = [one.row for one in failed if one.row.attempts + 1 == URGENT_AFTER]
    rides = {row.event.subject_id for row in late if row.event.subject_type == "ride" and row.event.type not in URGENT}
    discharges = set(Ride.objects.filter(pk__in=rides, service_type=DISCHARGE).values_list("pk", flat=True))
    for row in late:
        if row.event.type in URGENT or row.event.subject_id in discharges:
            alerts.tell(
                kind="webhook.delivery.urgent",
                severity=Alert.Severity.CRITICAL,
                scope=Scope.WEBHOOKS_MANAGE,
                key=f"webhook.urgent:{row.endpoint_id}:{row.event.id}",
                title=f"An endpoint has not been told of {row.event.type} after {URGENT_AFTER} attempts",
                path=f"/console/developers/deliveries/{row.id}/",
                at=at,
            )
