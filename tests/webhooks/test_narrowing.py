"""An endpoint that is bound to less is sent nothing of the rest any more, whatever waits."""

from typing import Any

import pytest

from apps.webhooks.models import Delivery, Endpoint
from apps.webhooks.services import endpoints, publishing, recovering
from lib.access import system
from lib.errors import Code
from tests.factories import NOW, FacilityFactory, TransportProviderFactory
from tests.webhooks import made

pytestmark = pytest.mark.django_db


def _change(endpoint: Endpoint, **changes: Any) -> None:
    endpoints.change(endpoint_id=endpoint.pk, changes=changes, expected_version=None, by=system(), at=NOW)


def _statuses() -> list[str]:
    return list(Delivery.objects.order_by("pk").values_list("status", flat=True))


@pytest.mark.parametrize("bound", ["facility", "provider"])
def test_what_waits_of_other_facilities_and_providers_is_cancelled(bound: str) -> None:
    factory = FacilityFactory if bound == "facility" else TransportProviderFactory
    here, there = factory.create(), factory.create()
    endpoint, other = made.endpoint(), made.endpoint()
    columns: list[dict[str, Any]] = [{f"{bound}_id": one} for one in (here.pk, there.pk, None)]
    ours, theirs, nobodys = (made.event(**one) for one in columns)
    for event in (ours, theirs, nobodys):
        made.delivery(endpoint, event)
    made.delivery(endpoint, theirs, round=1, status="held")
    made.delivery(endpoint, theirs, round=2, status="delivered", ended_at=NOW)
    made.delivery(other, theirs)

    _change(endpoint, **{f"{bound}_ids": frozenset({here.pk})})

    assert _statuses() == ["pending", "cancelled", "cancelled", "cancelled", "delivered", "pending"]
    assert set(Delivery.objects.filter(status="cancelled").values_list("ended_at", flat=True)) == {NOW}


def test_what_waits_of_other_types_is_cancelled_and_tests_are_not() -> None:
    endpoint = made.endpoint()
    for kind, columns in (("ride.started", {}), ("ride.completed", {}), ("webhook.test", {"trigger": "test"})):
        made.delivery(endpoint, made.event(kind), **columns)

    _change(endpoint, event_types=["ride.started"])

    assert _statuses() == ["pending", "cancelled", "pending"]


def test_however_much_waits_nothing_of_it_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "MOST_WITHDRAWN", 2)
    endpoint = made.endpoint()
    for _ in range(4):
        made.delivery(endpoint, made.event("ride.completed"))

    _change(endpoint, event_types=["ride.started"])

    assert _statuses() == ["cancelled"] * 4


def test_change_of_something_else_cancels_nothing() -> None:
    endpoint = made.endpoint(event_types=["ride.started"])
    made.delivery(endpoint, made.event("ride.completed"))  # of a time when it heard of more

    _change(endpoint, name="Other")

    assert _statuses() == ["pending"]


@pytest.mark.parametrize("status", ["held", "exhausted"])
def test_what_it_does_not_hear_of_any_more_is_not_sent_again(status: str) -> None:
    endpoint = made.endpoint(event_types=["ride.started"])
    delivery = made.delivery(
        endpoint, made.event("ride.completed"), status=status, ended_at=NOW if status == "exhausted" else None
    )

    with pytest.raises(recovering.NoLongerHeard) as refusal:
        recovering.resend(delivery_id=delivery.pk, by=system(), at=NOW)

    assert refusal.value.code is Code.RULE_VIOLATION
    assert _statuses() == [status]
