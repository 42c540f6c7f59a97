"""A delivery that kills its worker, or whose body cannot be rendered, is quarantined; the others continue."""

import time
from collections.abc import Sequence
from typing import Any

import pytest

from apps.accounts.models import Alert
from apps.webhooks.models import Delivery
from apps.webhooks.rules import payloads
from apps.webhooks.rules.payloads import EventFacts
from apps.webhooks.services import delivery
from apps.webhooks.services.delivery import DatabaseClock
from tests.chaos import dice, longer, tell
from tests.chaos.forking import Options, workers
from tests.webhooks import made
from tests.webhooks.receiver import Receiver

pytestmark = [pytest.mark.usefixtures("transactional_db"), pytest.mark.real_clock, pytest.mark.untraced]

POISON = "ride.no_show"
LEASE = 0.4
PATIENCE = 60


@pytest.mark.parametrize("ends_by", ["exit", pytest.param("segfault", marks=longer)])
def test_what_kills_workers_is_put_aside_and_the_others_arrive(receiver: Receiver, ends_by: str) -> None:
    made.endpoint(f"{receiver.url}/hook", payload_level="summary")
    poison = made.event(POISON)
    good = [made.event() for _ in range(20)]

    deaths, claims = _work_until_quarantined(Options(lease=LEASE, deadline=0.2, poison=POISON, ends_by=ends_by), good)

    row = Delivery.objects.get(event=poison)
    arrived = {one.headers["webhook-id"] for one in receiver.got}
    tell(f"R-13: quarantined after {claims} claims and {deaths} workers, {len(arrived)} others arrived")
    assert (row.status, row.attempts, claims <= delivery.MAX_CLAIMS) == ("quarantined", 0, True)
    assert deaths >= 1
    assert arrived == {str(event.pk) for event in good}
    assert Alert.objects.filter(kind="webhook.delivery.quarantined").count() == 1


def test_without_the_count_of_claims_it_kills_for_ever(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    limit = delivery.MAX_CLAIMS
    monkeypatch.setattr(delivery, "MAX_CLAIMS", 1_000)
    made.endpoint(f"{receiver.url}/hook")
    poison = made.event(POISON)
    clock = DatabaseClock()

    with workers(Options(lease=0.05, deadline=0.04, poison=POISON)) as running:
        give_up = time.monotonic() + PATIENCE
        while Delivery.objects.filter(event=poison, claims__gt=limit).count() == 0:
            assert time.monotonic() < give_up
            running.refill(2)
            delivery.release_expired_leases(at=clock())
            time.sleep(0.03)

    assert Delivery.objects.get(event=poison).status in {"pending", "in_flight"}


def test_unrenderable_body_is_quarantined_and_others_arrive(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    render = payloads.render

    def broken(event: EventFacts, **given: Any) -> bytes:
        if event.type == POISON:
            raise RecursionError
        return render(event, **given)

    monkeypatch.setattr(payloads, "render", broken)
    made.endpoint(f"{receiver.url}/hook")
    poison, good = made.event(POISON), made.event()
    worked = 0

    while Delivery.objects.filter(event=poison, status="quarantined").count() == 0 and worked < 20:
        made.work(for_seconds=1.0)
        worked += 1
        Delivery.objects.filter(status="pending").update(due_at=made.due_now())

    row = Delivery.objects.get(event=poison)
    assert (row.status, row.attempts, worked <= delivery.MAX_CLAIMS) == ("quarantined", 0, True)
    assert [one.headers["webhook-id"] for one in receiver.got] == [str(good.pk)]


def _work_until_quarantined(options: Options, good: Sequence[object]) -> tuple[int, int]:
    """Let workers die, and replace them; return how many died, and the maximum number of claims of the poison."""
    dice()
    clock, deaths, claims = DatabaseClock(), 0, 0
    with workers(options) as running:
        give_up = time.monotonic() + PATIENCE
        while Delivery.objects.filter(status__in=["delivered", "quarantined"]).count() <= len(good):
            assert time.monotonic() < give_up, Delivery.objects.values_list("status", "claims")
            deaths += running.refill(3)
            delivery.release_expired_leases(at=clock())
            claims = max([claims, *Delivery.objects.filter(event__type=POISON).values_list("claims", flat=True)])
            time.sleep(0.05)
    return deaths, claims
