"""Notifications of the trigger on events: content and time."""

import json
from typing import Any

import pytest
from django.db import transaction

from apps.events import services
from apps.events.models import Event
from lib.access import system
from lib.ids import uuid7
from lib.live.changes import read
from tests.factories import NOW, FacilityFactory, TransportProviderFactory
from tests.live.hearing import Listener, heard

pytestmark = pytest.mark.django_db(transaction=True)


def columns(**more: Any) -> dict[str, Any]:
    known = {"type": "ride.scheduled", "subject_type": "ride", "subject_id": uuid7(), "sequence": 1}
    return known | {"occurred_at": NOW, "data": {}} | more


def test_what_is_committed_is_told_by_ids_alone(listener: Listener) -> None:
    facility, provider = FacilityFactory.create(), TransportProviderFactory.create()
    event = columns(facility_id=facility.pk, provider_id=provider.pk)

    with transaction.atomic():
        services.record(**event, by=system())
        before = heard(listener)
    after = heard(listener)

    assert before == []
    told = ["ride", str(event["subject_id"]), "ride.scheduled", str(facility.pk), str(provider.pk)]
    assert [json.loads(message) for message in after] == [{"changes": [told]}]


def test_what_is_rolled_back_is_not_told(listener: Listener) -> None:
    with transaction.atomic():
        services.record(**columns(), by=system())
        transaction.set_rollback(True)

    assert heard(listener) == []
    assert Event.objects.count() == 0


@pytest.mark.parametrize(("events", "portions"), [(41, [40, 1]), (200, [40] * 5)])
def test_set_that_is_copied_is_told_in_portions(listener: Listener, events: int, portions: list[int]) -> None:
    places = {"facility_id": FacilityFactory.create().pk, "provider_id": TransportProviderFactory.create().pk}
    longest = {"type": f"standing_order.{'x' * 25}", "subject_type": "x" * 20}
    rows = [columns(**places, **longest) for _ in range(events)]

    services.record_all(rows, by=system())

    messages = heard(listener)
    told = [read(message) or [] for message in messages]
    assert [len(one) for one in told] == portions
    assert {change.id for one in told for change in one} == {str(row["subject_id"]) for row in rows}
    assert max(len(message) for message in messages) < 8000


def test_of_a_larger_set_it_is_told_that_there_is_much(listener: Listener) -> None:
    services.record_all([columns() for _ in range(201)], by=system())

    messages = heard(listener)
    assert [json.loads(message) for message in messages] == [{"resync": True}]
    assert read(messages[0]) is None


@pytest.mark.parametrize("payload", ["", "nonsense", "[]", "{}", '{"changes": 1}', '{"changes": [["ride"]]}'])
def test_word_of_somebody_else_says_to_look_at_everything(payload: str) -> None:
    assert read(payload) is None
