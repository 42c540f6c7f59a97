"""From event to deliveries: one row for each endpoint that wants to hear of it."""

import time
from collections.abc import Collection
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from apps.events.models import OF_CLIENTS
from apps.events.services import take_unpublished
from apps.webhooks.models.delivery import NEW_ID
from apps.webhooks.rules.event_types import TEST
from apps.webhooks.rules.schedule import MOST_AGE
from lib.errors import Code, DomainError

MOST_EVENTS: Final = 20  # in one transaction: with a hundred endpoints, what takes longer holds up the sending
MOST_WITHDRAWN: Final = 50_000  # rows of one statement: a second or two
LOOKS: Final = 200  # at rows that somebody has in hand, for two seconds in all
BETWEEN_LOOKS: Final = 0.01  # seconds
# Advisory locks of this app, by what they keep to one at a time.
PUBLISHER_LOCK: Final = 0x77686B01

# Endpoints that are not sent to now collect: their rows are held.  Events of tokens and endpoints are of no facility or
# provider: they are their client's own business, and the operator's.  An endpoint never hears of itself through itself.
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

# What waits for an endpoint that does not hear of it any more; tests are about nothing that it hears of.
_NOT_HEARD: Final = f"""
    SELECT w.id FROM webhooks_delivery w
    JOIN webhooks_endpoint e ON e.id = w.endpoint_id
    JOIN events_event ev ON ev.id = w.event_id
    WHERE w.endpoint_id = %(endpoint)s AND w.status IN ('pending', 'held') AND w.trigger <> 'test'
        AND ({MATCHES}) IS NOT TRUE
"""  # noqa: S608  # constant names, values are parameters
# Waits for no row: whoever settles one waits, row in hand, for the lane that is held here.
_NO_LONGER: Final = f"""
    UPDATE webhooks_delivery d SET status = 'cancelled', ended_at = %(at)s
    WHERE d.id = ANY(ARRAY({_NOT_HEARD} LIMIT %(most)s FOR NO KEY UPDATE OF w SKIP LOCKED))
"""  # noqa: S608  # constant names, values are parameters
_ANY_LEFT: Final = f"SELECT EXISTS ({_NOT_HEARD})"
# The same of rows that come back to be tried again, of whichever endpoints; and tests of endpoints that are removed.
_THESE_NO_LONGER: Final = f"""
    UPDATE webhooks_delivery d SET status = 'cancelled', ended_at = %(at)s
    FROM webhooks_endpoint e, events_event ev
    WHERE d.id = ANY(%(ids)s::uuid[]) AND d.status = 'pending' AND e.id = d.endpoint_id AND ev.id = d.event_id
        AND (e.deleted_at IS NOT NULL OR d.trigger <> 'test' AND ({MATCHES}) IS NOT TRUE)
    RETURNING d.id
"""  # noqa: S608  # constant names, values are parameters
_HEARS: Final = f"""
    SELECT FROM webhooks_endpoint e, events_event ev WHERE e.id = %(endpoint)s AND ev.id = %(event)s AND {MATCHES}
"""
_PUBLISH: Final = f"""
    INSERT INTO webhooks_delivery (id, endpoint_id, event_id, event_type, subject_id, subject_sequence, status,
        priority, trigger, round, ordered, attempts, claims, last_error, body_level, due_at, created_at, expires_at)
    SELECT {NEW_ID}, e.id, ev.id, ev.type, ev.subject_id, ev.sequence,
        CASE WHEN e.state = 'active' AND coalesce(c.active, true) THEN 'pending' ELSE 'held' END, 0,
        'event', 0, e.ordering = 'subject', 0, 0, '', '', %(at)s, %(at)s, %(expires)s
    FROM unnest(%(events)s::uuid[]) WITH ORDINALITY AS taken(id, place)
    JOIN events_event ev ON ev.id = taken.id
    -- What was recorded before there was the endpoint is for a recovery to send; clocks may differ by a minute.
    JOIN webhooks_endpoint e ON {MATCHES} AND ev.recorded_at >= e.created_at - interval '1 minute'
    LEFT JOIN accounts_apiclient c ON c.id = e.client_id
    ORDER BY taken.place
    FOR SHARE OF e  -- one that is paused or resumed just now is waited for: what it collected would lie there for ever
    ON CONFLICT (event_id, endpoint_id, round) DO NOTHING
"""  # noqa: S608  # constant names, values are parameters


class RowsInHand(DomainError):
    """Somebody holds deliveries of the endpoint for longer than it takes to claim them."""

    code = Code.RESOURCE_BUSY


@transaction.atomic
def publish(*, at: datetime, most: int = MOST_EVENTS) -> int:
    """Make deliveries of the oldest unpublished events, and say how many events were taken.

    One publisher works at a time; a second one takes nothing.  Three statements, whatever the number of events.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [PUBLISHER_LOCK])
        if not cursor.fetchone()[0]:
            return 0
        events = take_unpublished(most=most)
        if events:
            cursor.execute(_PUBLISH, {"events": events, "at": at, "expires": at + MOST_AGE})
    return len(events)


def hears(endpoint_id: UUID, event_id: UUID) -> bool:
    """Say whether an event is one that the endpoint is told of, as it is now."""
    with connection.cursor() as cursor:
        cursor.execute(_HEARS, {"endpoint": endpoint_id, "event": event_id})
        return cursor.fetchone() is not None


def withdraw_these(delivery_ids: Collection[UUID], *, at: datetime) -> set[UUID]:
    """Cancel those that wait for endpoints that do not hear of them any more, and say which.  None asks nothing.

    The lanes of their endpoints are locked by its caller, as by whoever narrows an endpoint: one waits for the other,
    and either this sees the change or the change finds what waits.
    """
    if not delivery_ids:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_THESE_NO_LONGER, {"ids": list(delivery_ids), "at": at})
        return {row[0] for row in cursor.fetchall()}


def withdraw(endpoint_id: UUID, *, at: datetime) -> int:
    """Cancel what waits for a locked endpoint and is nothing that it hears of any more; say how many.

    A row that somebody has in hand at that moment is looked at again: it was claimed, and whoever settles it sees the
    change, or it waits again.

    Raises:
        RowsInHand: somebody holds one for seconds.
    """
    withdrawn = 0
    with connection.cursor() as cursor:
        for _ in range(LOOKS):
            cursor.execute(_NO_LONGER, {"endpoint": endpoint_id, "at": at, "most": MOST_WITHDRAWN})
            withdrawn += int(cursor.rowcount)
            if cursor.rowcount == MOST_WITHDRAWN:
                continue
            cursor.execute(_ANY_LEFT, {"endpoint": endpoint_id})
            if not cursor.fetchone()[0]:
                return withdrawn
            time.sleep(BETWEEN_LOOKS)
    raise RowsInHand("Deliveries of the endpoint are being changed; try again.")
