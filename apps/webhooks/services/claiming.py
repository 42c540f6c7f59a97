"""Taking deliveries that are due, lane by lane, so that no lane takes what belongs to others.

A claim is a lease under an id.  It is committed before anything is sent, and what comes of it is written by
`settling` under the same id: a worker whose lease has run out changes nothing any more.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import connection

from apps.webhooks.body import Told
from apps.webhooks.rules.schedule import IN_ORDER_FOR, MOST_AGE
from lib.ids import uuid7

# Workers renew the leases of what they hold (`renew`), so that a lease may be shorter than an attempt.  What a killed
# worker held takes room in the windows of its endpoints until its leases end and the sweep gives it back.
LEASE: Final = timedelta(seconds=12)
RENEWED_EVERY: Final = 3.0  # seconds: two renewals may be late or fail before a lease ends
CLAIM_LOCK: Final = 0x77686B02
# A row that came back from so many claims without an end may be what kills workers: it is tried alone.
SUSPECT_CLAIMS: Final = 3
MOST_CLAIMS: Final = 10  # then it is put aside, and people are told

_LANES: Final = """
    webhooks_lane l
    JOIN webhooks_endpoint e ON e.id = l.endpoint_id
    LEFT JOIN accounts_apiclient c ON c.id = e.client_id
"""
_SENDS_NOW: Final = """
    e.state = 'active' AND e.deleted_at IS NULL AND coalesce(c.active, true)
    AND (l.open_until IS NULL OR l.open_until <= %(at)s)
    AND EXISTS (SELECT FROM (VALUES (0), (1), (2)) AS p(n)
        CROSS JOIN LATERAL (SELECT d.due_at FROM webhooks_delivery d
            WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.priority = p.n
            ORDER BY d.due_at, d.id LIMIT 1) first
        WHERE first.due_at <= %(at)s)
"""
# Lanes that have nothing on the way come first, in random order, each with its share of the claim and no more than its
# window has room for, counted from the table: so both hold across workers.  A worker with much on the way asks for
# lanes with nothing on the way and no failure behind them alone: however many receivers drip, and come back to be tried
# again, there is room for those that answer.  One claim at a time: two would count the same room.  The lock and what it
# guards go to the database in one message, so that a worker that is stopped in between holds nobody up; the claim sees
# what was committed before.
# The hour in which a row waits for earlier ones of its ride begins when it may be tried at all: anew for what was held,
# and for what is recovered, whose turn may come hours after it was made.
# It asks for the first row in an index's order where any would do, and for ids in an array: while one endpoint holds
# thousands of rows, PostgreSQL takes all for such, and would read the whole table for each that has none.
_CLAIM: Final = f"""
    SELECT pg_advisory_xact_lock(%(lock)s);
    WITH lanes AS MATERIALIZED (
        SELECT e.id, least(CASE WHEN l.trips > 0 THEN 1 ELSE least(l.window, e.max_in_flight) END - f.count,
            ceil(%(most)s::numeric / count(*) OVER ())) AS room
        FROM {_LANES}
        CROSS JOIN LATERAL (SELECT count(*) FROM webhooks_delivery f
            WHERE f.endpoint_id = e.id AND f.status = 'in_flight') f
        WHERE {_SENDS_NOW} AND (NOT %(idle_only)s OR f.count = 0 AND l.failures = 0)
        ORDER BY f.count > 0, random()
    ), picked AS (
        SELECT due.id FROM lanes
        CROSS JOIN LATERAL (
            SELECT d.id FROM (VALUES (0), (1), (2)) AS p(n)
            CROSS JOIN LATERAL (
                SELECT d.id FROM webhooks_delivery d
                WHERE d.endpoint_id = lanes.id AND d.status = 'pending' AND d.priority = p.n AND d.due_at <= %(at)s
                    AND d.claims < %(suspect)s
                    AND (NOT d.ordered OR d.expires_at <= %(out_of_order)s OR NOT EXISTS (
                        SELECT FROM webhooks_delivery b
                        WHERE b.ordered AND b.endpoint_id = d.endpoint_id AND b.subject_id = d.subject_id
                            AND b.subject_sequence < d.subject_sequence AND b.status IN ('pending', 'in_flight')))
                ORDER BY d.due_at, d.id
                LIMIT greatest(lanes.room, 0)
                FOR NO KEY UPDATE SKIP LOCKED) d
            ORDER BY p.n
            LIMIT greatest(lanes.room, 0)) due
        LIMIT %(most)s
    )
    UPDATE webhooks_delivery d
    SET status = 'in_flight', claims = d.claims + 1, claim_id = %(claim)s, lease_until = %(lease)s
    WHERE d.id = ANY(ARRAY(SELECT id FROM picked))
    RETURNING d.id::text
"""  # noqa: S608  # constant names, values are parameters
# The look for due work and the claims share these conditions: what the look counts and no claim takes would wake a
# worker every second for nothing.
# Tests go to endpoints in any state but removed ones; there are few, and somebody waits for each.
_DUE_TESTS: Final = """
    webhooks_delivery t JOIN webhooks_endpoint e ON e.id = t.endpoint_id
    WHERE t.trigger = 'test' AND t.status = 'pending' AND t.due_at <= %(at)s AND t.claims < %(suspect)s
        AND e.deleted_at IS NULL
"""
_DUE_SUSPECTS: Final = """
    webhooks_delivery s
    JOIN webhooks_lane l ON l.endpoint_id = s.endpoint_id
    JOIN webhooks_endpoint e ON e.id = s.endpoint_id
    WHERE s.status = 'pending' AND s.claims >= %(suspect)s AND s.due_at <= %(at)s AND e.deleted_at IS NULL
        AND (s.trigger = 'test' OR (e.state = 'active' AND (l.open_until IS NULL OR l.open_until <= %(at)s)))
"""
_CLAIM_TESTS: Final = f"""
    UPDATE webhooks_delivery d
    SET status = 'in_flight', claims = d.claims + 1, claim_id = %(claim)s, lease_until = %(lease)s
    WHERE d.id IN (SELECT t.id FROM {_DUE_TESTS} ORDER BY t.due_at LIMIT %(most)s FOR NO KEY UPDATE OF t SKIP LOCKED)
    RETURNING d.id::text
"""  # noqa: S608  # constants of this module
_CLAIM_SUSPECT: Final = f"""
    UPDATE webhooks_delivery d
    SET status = 'in_flight', claims = d.claims + 1, claim_id = %(claim)s, lease_until = %(lease)s
    WHERE d.id IN (SELECT s.id FROM {_DUE_SUSPECTS} ORDER BY s.due_at LIMIT 1 FOR NO KEY UPDATE OF s SKIP LOCKED)
    RETURNING d.id::text
"""  # noqa: S608  # constants of this module
_LOOK: Final = f"""
    SELECT EXISTS (SELECT FROM {_DUE_SUSPECTS}),
        EXISTS (SELECT FROM {_DUE_TESTS}) OR EXISTS (SELECT FROM {_LANES} WHERE {_SENDS_NOW})
"""  # noqa: S608  # constants of this module
_RENEW: Final = """
    UPDATE webhooks_delivery SET lease_until = %(lease)s
    WHERE id = ANY(%(ids)s::uuid[]) AND claim_id = ANY(%(claims)s::uuid[]) AND lease_until < %(lease)s
"""
_ROWS: Final = """
    SELECT d.id, d.endpoint_id, e.version, d.attempts, d.claims, d.trigger, d.body_encrypted, d.body_level, d.event_id
    FROM webhooks_delivery d JOIN webhooks_endpoint e ON e.id = d.endpoint_id
    WHERE d.id = ANY(%s::uuid[])
    ORDER BY d.priority, d.due_at, d.id
"""
_EVENTS: Final = """
    SELECT id, type, subject_type, subject_id, sequence, occurred_at, facility_id, provider_id, data::text
    FROM events_event WHERE id = ANY(%s::uuid[])
"""


class Claimed(NamedTuple):
    """A delivery that this worker holds, with the event it tells of."""

    id: UUID
    endpoint_id: UUID
    endpoint_version: int
    attempts: int
    claims: int
    trigger: str
    body_encrypted: bytes | None
    body_level: str
    event: Told


@dataclass(frozen=True, slots=True)
class Claim:
    """What one claim took; nothing, too."""

    id: UUID
    rows: list[Claimed]


class Due(NamedTuple):
    """What a look found: that claims may find something, not that they will."""

    suspects: bool
    others: bool


def look(*, at: datetime) -> Due:
    """See whether anything is due.  Takes no lock, and one statement."""
    with connection.cursor() as cursor:
        cursor.execute(_LOOK, {"at": at, "suspect": SUSPECT_CLAIMS})
        return Due(*cursor.fetchone())


def claim(*, at: datetime, most: int, idle_only: bool = False) -> Claim:
    """Take up to `most` deliveries that are due, tests first, and no suspects.  Two or three statements.

    With `idle_only`, only for endpoints that have nothing on the way and did not fail last.  Waits for a claim that
    another worker is making, which takes milliseconds.
    """
    values = _values(at, most)
    ids = _ids(_CLAIM_TESTS, values)
    if most > len(ids):
        ids += _ids(_CLAIM, {**values, "most": most - len(ids), "idle_only": idle_only})
    return _claim(values["claim"], ids)


def claim_suspect(*, at: datetime) -> Claim:
    """Take one delivery that workers may have died over.  Send it while nothing else is in flight here."""
    values = _values(at, 1)
    return _claim(values["claim"], _ids(_CLAIM_SUSPECT, values))


def renew(held: Collection[tuple[UUID, UUID]], *, at: datetime) -> None:
    """Extend the leases of deliveries that this worker still holds: pairs of delivery id and claim id.  One query.

    What another worker has taken over meanwhile stays with it.
    """
    if not held:
        return
    ids, claims = zip(*held, strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_RENEW, {"ids": list(ids), "claims": list(set(claims)), "lease": at + LEASE})


def _values(at: datetime, most: int) -> dict[str, Any]:
    return {
        "at": at,
        "most": most,
        "claim": uuid7(),
        "lease": at + LEASE,
        "lock": CLAIM_LOCK,
        "suspect": SUSPECT_CLAIMS,
        "out_of_order": at + MOST_AGE - IN_ORDER_FOR,
    }


def _ids(sql: str, values: dict[str, Any]) -> list[str]:
    # Ids alone: an answer that fits the socket's buffer ends the statement and its locks even if we are stopped now.
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        while cursor.description is None or cursor.description[0].name != "id":
            cursor.nextset()
        return [row[0] for row in cursor.fetchall()]


def _claim(claim_id: UUID, ids: list[str]) -> Claim:
    if not ids:
        return Claim(claim_id, [])
    with connection.cursor() as cursor:
        cursor.execute(_ROWS, [list(ids)])
        found = cursor.fetchall()
        # Apart from the rows: hundreds of endpoints may hear of one event.
        cursor.execute(_EVENTS, [[row[-1] for row in found]])
        events = {told.id: told for told in map(_told, cursor.fetchall())}
    return Claim(claim_id, [Claimed(*[*columns, events[event_id]]) for *columns, event_id in found])


def _told(row: tuple[Any, ...]) -> Told:
    *columns, data = row
    return Told(*[*columns, orjson.loads(data)])
