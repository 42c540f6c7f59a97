"""Ownership of endpoints and deliveries."""

from typing import Any
from uuid import UUID

import pytest

from apps.webhooks.models import Delivery, Endpoint, Job
from apps.webhooks.services import endpoint_states, recovery
from lib.access import Principal, system
from lib.errors import NotFound, StaleVersion
from lib.ids import uuid7
from tests import factories
from tests.factories import NOW
from tests.webhooks import made

pytestmark = pytest.mark.django_db


def caller(kind: Any = "user", **columns: Any) -> Principal:
    return Principal(kind=kind, id=uuid7(), role="", scopes=frozenset(), **columns)


def test_token_sees_endpoints_of_its_client_and_people_see_all() -> None:
    client = factories.ApiClientFactory.create()
    own, other = made.endpoint(client=client), made.endpoint()
    made.endpoint(client=client, deleted_at=NOW)

    seen = [
        set(Endpoint.objects.visible_to(by).values_list("pk", flat=True))
        for by in (caller("token", client_id=client.pk), caller(), system())
    ]

    assert seen == [{own.pk}, {own.pk, other.pk}, {own.pk, other.pk}]


@pytest.mark.parametrize("bound", ["facility_ids", "provider_ids"])
def test_bound_caller_sees_no_endpoint_beyond_its_bounds(bound: str) -> None:
    ids = [UUID(int=number) for number in (1, 2, 3)]
    inside, _, _ = (made.endpoint(**columns) for columns in _bounds(bound, [ids[:1], ids[1:], None]))

    seen = Endpoint.objects.visible_to(caller(**{bound: frozenset(ids[:2])}))

    assert [one.pk for one in seen] == [inside.pk]


def _bounds(name: str, values: list[Any]) -> list[dict[str, Any]]:
    return [{name: value} for value in values]


def test_jobs_are_seen_with_their_endpoints() -> None:
    client = factories.ApiClientFactory.create()
    rows = [
        Job.objects.create(endpoint=one, params={}, total=0, created_at=NOW, updated_at=NOW)
        for one in (made.endpoint(client=client), made.endpoint())
    ]

    seen = Job.objects.visible_to(caller("token", client_id=client.pk))

    assert [one.pk for one in seen] == [rows[0].pk]


def test_deliveries_outside_bounds_of_endpoint_are_invisible() -> None:
    own, other = factories.FacilityFactory.create_batch(2)
    provider, elsewhere = factories.TransportProviderFactory.create_batch(2)
    endpoint = made.endpoint(facility_ids=[own.pk], provider_ids=[provider.pk])
    inside, test = (
        made.delivery(endpoint, made.event(facility_id=own.pk, provider_id=provider.pk)),
        made.delivery(endpoint, made.event("webhook.test"), trigger="test"),
    )
    for facility_id, provider_id in ((other.pk, provider.pk), (own.pk, None), (own.pk, elsewhere.pk)):
        made.delivery(endpoint, made.event(facility_id=facility_id, provider_id=provider_id))
    operational = made.delivery(endpoint, made.event("webhook.endpoint.failing", subject_type="endpoint"))
    by = caller(facility_ids=frozenset({own.pk}), provider_ids=frozenset({provider.pk}))

    seen = set(Delivery.objects.visible_to(by).values_list("pk", flat=True))

    assert seen == {inside.pk, test.pk, operational.pk}
    assert recovery._lock_delivery(inside.pk, by) == inside


def test_what_is_not_the_callers_is_absent() -> None:
    endpoint = made.endpoint()
    delivery = made.delivery(endpoint, made.event())
    by = caller("token", client_id=factories.ApiClientFactory.create().pk)

    with pytest.raises(NotFound):
        endpoint_states.lock_for_change(endpoint.pk, by)
    with pytest.raises(NotFound):
        recovery._lock_delivery(delivery.pk, by)


def test_older_copy_is_refused_and_the_present_one_locked() -> None:
    endpoint = made.endpoint(version=3)

    with pytest.raises(StaleVersion) as refusal:
        endpoint_states.lock_for_change(endpoint.pk, system(), expected_version=2)

    assert refusal.value.current_version == 3
    assert endpoint_states.lock_for_change(endpoint.pk, system(), expected_version=3) == endpoint
