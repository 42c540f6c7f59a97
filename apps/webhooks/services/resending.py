"""Sending several deliveries again: each by itself, so that one that cannot be is not in the way of the others."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from apps.webhooks.services import recovering
from lib.access import Principal
from lib.errors import DomainError


@dataclass(frozen=True, slots=True)
class Resent:
    """How many are sent again, and how many are not, by the reason."""

    sent: int
    refused: Mapping[str, int]


def resend_each(*, delivery_ids: Iterable[UUID], confirmed: bool, by: Principal, at: datetime) -> Resent:
    """Send deliveries again now, as `recovering.resend` does with one; the oldest first."""
    sent, refused = 0, Counter[str]()
    for delivery_id in sorted(delivery_ids):
        try:
            recovering.resend(delivery_id=delivery_id, confirmed=confirmed, by=by, at=at)
        except DomainError as refusal:
            refused[refusal.message] += 1
        else:
            sent += 1
    return Resent(sent, refused)
