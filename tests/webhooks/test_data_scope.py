"""Webhook matching, the event feed and the live stream show what `Event.objects.visible_to` defines, for every role."""

from dataclasses import replace
from itertools import product
from typing import Any
from uuid import UUID, uuid4

import pytest

from apps.accounts.models import ApiClient
from apps.accounts.rules.roles import TokenRole, UserRole
from apps.events import queries as feed
from apps.events.models import OF_CLIENTS, Event
from apps.events.visibility import change_filter_for
from apps.webhooks.models import Endpoint
from apps.webhooks.services import outbox
from lib.access import Principal
from lib.live.changes import RecordChange
from tests.events.test_feed import wait_until_settled
from tests.factories import ApiClientFactory
from tests.webhooks import made

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.real_clock]

FACILITIES, PROVIDERS = (UUID(int=1), UUID(int=2)), (UUID(int=3), UUID(int=4))
SCOPES: tuple[dict[str, Any], ...] = (
    {},
    {"facility_ids": frozenset(FACILITIES[:1])},
    {"provider_ids": frozenset(PROVIDERS[:1])},
    {"facility_ids": frozenset(FACILITIES), "provider_ids": frozenset(PROVIDERS[1:])},
)


def _record_events(clients: list[ApiClient]) -> None:
    for facility_id, provider_id in product((None, *FACILITIES), (None, *PROVIDERS)):
        made.event(facility_id=facility_id, provider_id=provider_id)
    for subject_type, client in product(OF_CLIENTS, (None, *clients)):
        client_id = str(client.pk) if client else "None"
        made.event(f"{subject_type}.ready", subject_type=subject_type, data={"clientId": client_id})


def _principals(client: ApiClient) -> list[Principal]:
    users = [Principal(kind="user", id=uuid4(), role=role.value, scopes=frozenset()) for role in UserRole]
    tokens = [
        Principal(kind="token", id=uuid4(), role=role.value, scopes=frozenset(), client_id=client.pk)
        for role in TokenRole
    ]
    return users + tokens


def _visible(by: Principal) -> set[UUID]:
    return set(Event.objects.visible_to(by).values_list("pk", flat=True))


def _matched(by: Principal) -> set[UUID]:
    """Return the events that an endpoint with the caller's client and data scope receives."""
    ids: dict[str, Any] = {
        name: None if values is None else sorted(values)
        for name, values in (("facility_ids", by.facility_ids), ("provider_ids", by.provider_ids))
    }
    endpoint = made.endpoint(client_id=by.client_id, **ids)
    matched = {event.pk for event in Event.objects.all() if outbox.matches(endpoint.pk, event.pk)}
    Endpoint.objects.filter(pk=endpoint.pk).delete()
    return matched


def _streamed(by: Principal) -> set[UUID]:
    is_visible = change_filter_for(by)
    return {
        event.pk
        for event in Event.objects.all()
        if is_visible(
            RecordChange(
                event.subject_type,
                str(event.subject_id),
                event.type,
                str(event.facility_id) if event.facility_id else None,
                str(event.provider_id) if event.provider_id else None,
            )
        )
    }


@pytest.mark.parametrize("scope", SCOPES)
def test_matching_feed_and_stream_have_the_scope_of_visible_to(scope: dict[str, Any]) -> None:
    clients = ApiClientFactory.create_batch(2)
    _record_events(clients)
    wait_until_settled()
    of_clients = set(Event.objects.filter(subject_type__in=OF_CLIENTS).values_list("pk", flat=True))

    for principal in _principals(clients[0]):
        by = replace(principal, **scope)
        visible = _visible(by)
        batch = feed.feed(by=by, types=None, after=feed.START, limit=1000)

        assert {event.pk for event in batch.events} == visible, by.role
        # An endpoint receives the events of its own client although they have no facility or provider.
        assert _matched(by) == (visible - of_clients) | (_visible(principal) & of_clients), by.role
        if by.kind == "user":
            assert _streamed(by) == visible, by.role
