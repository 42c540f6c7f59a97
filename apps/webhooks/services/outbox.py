"""Publish events: turn entries of the outbox into deliveries, one for each endpoint that subscribes to the event.

A trigger writes an outbox entry with every event, in the transaction of the event (`apps/events`).  `publish` takes the
oldest entries and inserts the deliveries in one transaction, so that an event is published to all endpoints or to none.
One publisher works at a time, under an advisory lock, so that the events of a ride are inserted in order.

Publishing locks the endpoints that match (FOR SHARE) and so waits for a change of one of them: otherwise an event that
is published with the state before a resume would stay held forever.

`MATCHES` decides which endpoint receives which event.  It is the same data scope as `Event.objects.visible_to` with the
endpoint's client, facilities and providers as the principal; tests/webhooks/test_data_scope.py compares them.
"""

import time
from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction
from django.utils.translation import gettext_lazy as _

from apps.events.models import OF_CLIENTS
from apps.events.services import claim_outbox, is_anything_unpublished
from apps.webhooks.models.delivery import NEW_ID
from apps.webhooks.rules.event_types import TEST
from apps.webhooks.rules.schedule import MAX_AGE
from lib.errors import Code, DomainError

# Events in one transaction: with a hundred endpoints, more would delay the deliveries that are inserted first.
EVENTS_PER_BATCH: Final = 20
MAX_CANCELLED: Final = 50_000  # rows in one statement: one or two seconds
LOCKED_ROW_RETRIES: Final = 200
RETRY_INTERVAL: Final = 0.01  # seconds
PUBLISHER_LOCK: Final = 0x77686B01  # advisory lock

# An endpoint that is paused or disabled matches too: its deliveries are held.  Events of clients (tokens, endpoints,
# exports) have no facility or provider: they match the endpoints of their client and of the operator.  An endpoint
# never receives events about itself.
MATCHES: Final = f"""
    e.deleted_at IS NULL AND e.state <> 'pending'
    AND e.event_types && ARRAY[ev.type, split_part(ev.type, '.', 1) || '.*', '*']::varchar[]
    AND ev.type <> '{TEST}'
    AND NOT (ev.subject_type = 'endpoint' AND ev.subject_id = e.id)
    AND CASE WHEN ev.subject_type IN {OF_CLIENTS}
        THEN e.client_id IS NULL OR e.client_id::text = ev.data->>'clientId'
        ELSE (e.facility_ids IS NULL OR ev.facility_id = ANY(e.facility_ids))
            AND (e.provider_ids IS NULL OR ev.provider_id = ANY(e.provider_ids)) END
"""

_PUBLISH: Final = f"""
    INSERT INTO webhooks_delivery (id, endpoint_id, event_id, event_type, subject_id, subject_sequence, status,
        priority, trigger, round, ordered, attempts, claims, last_error, body_level, due_at, created_at, expires_at)
    SELECT {NEW_ID}, e.id, ev.id, ev.type, ev.subject_id, ev.sequence,
        CASE WHEN e.state = 'active' AND coalesce(c.active, true) THEN 'pending' ELSE 'held' END, 0,
        'event', 0, e.ordering = 'subject', 0, 0, '', '', %(at)s, %(at)s, %(expires)s
    FROM unnest(%(events)s::uuid[]) WITH ORDINALITY AS entry(id, position)
    JOIN events_event ev ON ev.id = entry.id
    -- Events from before the endpoint was registered are for a recovery to send; clocks may differ by a minute.
    JOIN webhooks_endpoint e ON {MATCHES} AND ev.recorded_at >= e.created_at - interval '1 minute'
    LEFT JOIN accounts_apiclient c ON c.id = e.client_id
    ORDER BY entry.position
    FOR SHARE OF e
    ON CONFLICT (event_id, endpoint_id, round) DO NOTHING
"""  # noqa: S608  # constants of this module

# Waiting deliveries that the endpoint does not subscribe to anymore; tests are outside of any subscription.
_UNMATCHED: Final = f"""
    SELECT w.id FROM webhooks_delivery w
    JOIN webhooks_endpoint e ON e.id = w.endpoint_id
    JOIN events_event ev ON ev.id = w.event_id
    WHERE w.endpoint_id = %(endpoint)s AND w.status IN ('pending', 'held') AND w.trigger <> 'test'
        AND ({MATCHES}) IS NOT TRUE
"""  # noqa: S608  # constants of this module
# Skips locked rows: a worker that records attempts holds them while it waits for the endpoint, which is locked here.
_CANCEL_UNMATCHED: Final = f"""
    UPDATE webhooks_delivery d SET status = 'cancelled', ended_at = %(at)s
    WHERE d.id = ANY(ARRAY({_UNMATCHED} LIMIT %(max)s FOR NO KEY UPDATE OF w SKIP LOCKED))
"""  # noqa: S608  # constants of this module
_CANCEL_UNMATCHED_OF: Final = f"""
    UPDATE webhooks_delivery d SET status = 'cancelled', ended_at = %(at)s
    FROM webhooks_endpoint e, events_event ev
    WHERE d.id = ANY(%(ids)s) AND d.status = 'pending' AND e.id = d.endpoint_id AND ev.id = d.event_id
        AND (e.deleted_at IS NOT NULL OR d.trigger <> 'test' AND ({MATCHES}) IS NOT TRUE)
    RETURNING d.id
"""  # noqa: S608  # constants of this module


class DeliveriesLocked(DomainError):
    """Another transaction holds deliveries of the endpoint for longer than a claim takes."""

    code = Code.RESOURCE_BUSY
    template = _("Deliveries of the endpoint are being changed. Try again.")


def publish(*, at: datetime, limit: int = EVENTS_PER_BATCH) -> int:
    """Insert the deliveries of the oldest unpublished events and return the number of events.

    Returns 0 while another publisher is at work.  One query if nothing is unpublished.
    """
    if not is_anything_unpublished():
        return 0
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [PUBLISHER_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        events = claim_outbox(most=limit)
        if events:
            cursor.execute(_PUBLISH, {"events": events, "at": at, "expires": at + MAX_AGE})
    return len(events)


def matches(endpoint_id: UUID, event_id: UUID) -> bool:
    """Whether the endpoint, as it is now, receives the event."""
    sql = f"SELECT FROM webhooks_endpoint e, events_event ev WHERE e.id = %s AND ev.id = %s AND {MATCHES}"  # constants
    with connection.cursor() as cursor:
        cursor.execute(sql, [endpoint_id, event_id])
        return cursor.fetchone() is not None


def cancel_unmatched_of(delivery_ids: Collection[UUID], *, at: datetime) -> set[UUID]:
    """Cancel those of the deliveries that wait for endpoints that do not receive their events anymore; return ids.

    The caller has locked the health rows of the endpoints, as a change of a subscription does: one waits for the
    other, so that no delivery escapes both.  No query without ids.
    """
    if not delivery_ids:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_CANCEL_UNMATCHED_OF, {"ids": list(delivery_ids), "at": at})
        return {row[0] for row in cursor.fetchall()}


def cancel_unmatched(endpoint_id: UUID, *, at: datetime) -> int:
    """Cancel deliveries that wait for a locked endpoint and that it does not receive anymore; return their number.

    Checks deliveries again that another transaction has locked: they were claimed, and the worker that records their
    attempts cancels them, or they are pending again.

    Raises:
        DeliveriesLocked: rows stayed locked for two seconds.
    """
    cancelled = 0
    with connection.cursor() as cursor:
        for _attempt in range(LOCKED_ROW_RETRIES):
            cursor.execute(_CANCEL_UNMATCHED, {"endpoint": endpoint_id, "at": at, "max": MAX_CANCELLED})
            cancelled += int(cursor.rowcount)
            if cursor.rowcount == MAX_CANCELLED:
                continue
            cursor.execute(f"SELECT EXISTS ({_UNMATCHED})", {"endpoint": endpoint_id})
            if not cursor.fetchone()[0]:
                return cancelled
            time.sleep(RETRY_INTERVAL)
    raise DeliveriesLocked
