"""Apply the results of delivery attempts to their endpoints, in the transaction that records the attempts.

`update` moves the circuit breaker (`rules.circuit_breaker`) of each endpoint.  `apply_results` changes states of
endpoints: verified by a test, paused by 410 Gone, recovered; and it alerts people about urgent and quarantined
deliveries.  What only time brings about is in `endpoint_monitor`.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.rules import circuit_breaker
from apps.webhooks.rules.circuit_breaker import CircuitState
from apps.webhooks.services import endpoint_monitor, endpoint_states, recovery
from lib.access import system

GONE: Final = 410
URGENT_AFTER: Final = 4  # attempts, if they take less time than `endpoint_monitor.LATE_AFTER`


class Result(NamedTuple):
    """An attempt at a delivery; `status` is the new status of the delivery, None if another worker holds it now."""

    delivery: Delivery
    endpoint_version: int
    code: int | None
    status: str | None


@dataclass(frozen=True, slots=True)
class StateChange:
    before: CircuitState
    after: CircuitState


def update(successes: Mapping[UUID, Sequence[bool]], *, at: datetime) -> dict[UUID, StateChange]:
    """Lock the health rows of endpoints and apply their attempts in order, by whether they succeeded."""
    changes = {}
    for endpoint_id, before in endpoint_states.lock_health(successes).items() if successes else ():
        state = before
        for succeeded in successes[endpoint_id]:
            state = circuit_breaker.after(state, succeeded=succeeded, at=at, roll=random.random())  # noqa: S311  # jitter
        changes[endpoint_id] = StateChange(before, state)
    endpoint_states.store_health({endpoint_id: change.after for endpoint_id, change in changes.items()})
    return changes


def apply_results(results: Sequence[Result], changes: Mapping[UUID, StateChange], *, at: datetime) -> None:
    """Apply state changes in the transaction that records the attempts.  No-op if every delivery succeeded."""
    for endpoint_id, change in changes.items():
        if change.before.alert_level and not change.after.alert_level:
            endpoint_states.report_recovery(endpoint_id, change.before, at=at)
    if all(result.status == Delivery.Status.DELIVERED and not _is_test(result) for result in results):
        return
    verified = {
        _endpoint(result) for result in results if _is_test(result) and result.status == Delivery.Status.DELIVERED
    }
    for endpoint_id, version in sorted(verified):
        verify(endpoint_id, version=version, at=at)
    for endpoint_id, version in sorted({_endpoint(result) for result in results if result.code == GONE}):
        endpoint_states.pause_gone(endpoint_id, version=version, at=at)
    if any(result.status == Delivery.Status.QUARANTINED for result in results):
        endpoint_states.report_quarantine(at=at)
    late = [
        result.delivery.pk
        for result in results
        if result.status == Delivery.Status.PENDING and result.delivery.attempts + 1 == URGENT_AFTER
    ]
    if late:
        endpoint_monitor.alert_urgent(Delivery.objects.filter(pk__in=late), at=at)


def _is_test(result: Result) -> bool:
    return result.delivery.trigger == Delivery.Trigger.TEST


def _endpoint(result: Result) -> tuple[UUID, int]:
    return result.delivery.endpoint_id, result.endpoint_version


def verify(endpoint_id: UUID, *, version: int, at: datetime) -> None:
    """Activate an endpoint that waited for the answer to a test.

    No-op if the endpoint is not at `version`: the test may have gone to an earlier address.
    """
    endpoint_states.lock_health([endpoint_id])
    endpoint = endpoint_states.lock(endpoint_id)
    if endpoint.version != version:
        return
    if endpoint.state_reason == endpoint_states.PAUSED_UNVERIFIED:
        endpoint_states.change(endpoint, Endpoint.State.PAUSED, endpoint_states.BY_PEOPLE, at)
    elif endpoint.state == Endpoint.State.PENDING or endpoint.state_reason == endpoint_states.UNVERIFIED:
        by = system("webhooks")
        endpoint_states.activate(endpoint, endpoint_states.ANSWERS_AGAIN, by=by, at=at)
        recovery.release_held(endpoint, by=by, at=at)
