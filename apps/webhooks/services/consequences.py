"""What a batch of results means beyond its rows: endpoints that wake, rest or recover, and people to be told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from apps.webhooks.models import Delivery
from apps.webhooks.rules.lane import Lane
from apps.webhooks.services import states, urgency
from apps.webhooks.services.claiming import Claimed

GONE: Final = 410  # the receiver wants no more of it
URGENT_AFTER: Final = 4  # attempts, where they take less time than `urgency.LATE`


class Result(NamedTuple):
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
    if all(one.status is Delivery.Status.DELIVERED and one.row.trigger != Delivery.Trigger.TEST for one in results):
        return
    for endpoint_id, version in sorted(
        {
            (one.row.endpoint_id, one.row.endpoint_version)
            for one in results
            if one.row.trigger == Delivery.Trigger.TEST and one.status == Delivery.Status.DELIVERED
        }
    ):
        states.answered(endpoint_id, version=version, at=at)
    for endpoint_id, version in sorted(
        {(one.row.endpoint_id, one.row.endpoint_version) for one in results if one.code == GONE}
    ):
        states.gone(endpoint_id, version=version, at=at)
    if any(one.status == Delivery.Status.QUARANTINED for one in results):
        states.quarantined(at=at)
    late = [
        one.row.id for one in results if one.status == Delivery.Status.PENDING and one.row.attempts + 1 == URGENT_AFTER
    ]
    if late:
        urgency.tell(Delivery.objects.filter(pk__in=late), at=at)
