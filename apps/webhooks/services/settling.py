"""Writing what came of attempts: the deliveries, a row for each attempt, and how the lanes do now."""

import math
import random
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final, NamedTuple
from uuid import UUID

import orjson
from django.db import connection, transaction

from apps.webhooks.models.delivery import Delivery, ErrorClass
from apps.webhooks.rules import lane as lanes
from apps.webhooks.rules.lane import Outcome, outcome_of
from apps.webhooks.rules.schedule import ATTEMPTS, TEST_ATTEMPTS, delay_after
from apps.webhooks.services import consequences, lane_rows, publishing
from apps.webhooks.services.claiming import MOST_CLAIMS, Claimed
from apps.webhooks.services.consequences import Result, Turn
from apps.webhooks.services.sending import Answer
from lib import recordset

NOT_MADE: Final = timedelta(seconds=10)  # until a body that could not be made is tried again

_COLUMNS: Final = {
    "id": "uuid",
    "claim_id": "uuid",
    "endpoint_id": "uuid",
    "status": "varchar",
    "due_at": "timestamptz",
    "number": "smallint",  # 0 where nothing left
    "started_at": "timestamptz",
    "duration_ms": "integer",
    "code": "smallint",
    "error": "varchar",
    "headers": "jsonb",
    "snippet": "text",
    "remote_ip": "inet",
}
# The claim's id fences: where another worker has taken the row over, what we say of it changes nothing.  The attempt
# took place either way, and is kept.
_SETTLE: Final = f"""
    WITH came AS MATERIALIZED (
        SELECT * FROM {recordset.source(_COLUMNS, name="sent")}
    ), settled AS (
        UPDATE webhooks_delivery d
        SET status = came.status, attempts = d.attempts + least(came.number, 1), due_at = came.due_at,
            ended_at = CASE WHEN came.status <> 'pending' THEN %(at)s END,
            claims = CASE WHEN came.number = 0 THEN d.claims ELSE 0 END, priority = greatest(d.priority, 1),
            lease_until = NULL, claim_id = NULL, last_code = came.code,
            last_error = came.error
        FROM came
        WHERE d.id = came.id AND d.claim_id = came.claim_id
            AND d.id = ANY(ARRAY(SELECT id FROM came))  -- by the index, however small the table was when last looked at
        RETURNING d.id
    ), tried AS (
        INSERT INTO webhooks_attempt (delivery_id, endpoint_id, number, started_at, duration_ms, code, error,
            response_headers, response_snippet, remote_ip, worker)
        SELECT id, endpoint_id, number, started_at, duration_ms, code, error, headers, snippet, remote_ip, %(worker)s
        FROM came
    )
    SELECT id FROM settled
"""  # noqa: S608  # constant names


class Tried(NamedTuple):
    """One attempt that came to an end, of a row claimed under `claim_id`."""

    row: Claimed
    claim_id: UUID
    started_at: datetime
    seconds: float
    answer: Answer

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.answer.code)

    @property
    def was_sent(self) -> bool:
        """Whether anything left at all: a body that cannot be made is no fault of the receiver's."""
        return self.answer.error != ErrorClass.RENDER


@transaction.atomic
def settle(tried: Sequence[Tried], *, at: datetime, worker: str) -> int:
    """Write a batch of results, each under the claim it belongs to; say how many deliveries arrived.

    One statement for deliveries and attempts and two for the lanes; one more where any is to be tried again, and more
    where the state of an endpoint changes.
    """
    outcomes = [_next(one, at) for one in tried]
    came = [_row(one, status, due_at) for one, (status, due_at) in zip(tried, outcomes, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(_SETTLE, {"rows": recordset.rows(came), "worker": worker, "at": at})
        ours = {row[0] for row in cursor.fetchall()}
    turns = _update_lanes(tried, at)
    statuses = [status if one.row.id in ours else None for one, (status, _) in zip(tried, outcomes, strict=True)]
    again = [one.row.id for one, status in zip(tried, statuses, strict=True) if status is Delivery.Status.PENDING]
    withdrawn = publishing.withdraw_these(again, at=at)
    results = [
        Result(one.row, one.answer.code, Delivery.Status.CANCELLED if one.row.id in withdrawn else status)
        for one, status in zip(tried, statuses, strict=True)
    ]
    consequences.draw(results, turns, at=at)
    return sum(one.status is Delivery.Status.DELIVERED for one in results)


def _row(one: Tried, status: Delivery.Status, due_at: datetime) -> dict[str, Any]:
    row, answer = one.row, one.answer
    return {
        "id": row.id,
        "claim_id": one.claim_id,
        "endpoint_id": row.endpoint_id,
        "status": status.value,
        "due_at": due_at,
        "number": row.attempts + 1 if one.was_sent else 0,
        "started_at": one.started_at,
        "duration_ms": math.ceil(one.seconds * 1000),
        "code": answer.code,
        "error": answer.error,
        "headers": orjson.Fragment(answer.headers),
        "snippet": answer.snippet,
        "remote_ip": answer.remote_ip,
    }


def _next(one: Tried, at: datetime) -> tuple[Delivery.Status, datetime]:
    """Say what becomes of a delivery after an attempt, and when it is due again."""
    if not one.was_sent:
        hopeless = one.row.claims >= MOST_CLAIMS
        return (Delivery.Status.QUARANTINED if hopeless else Delivery.Status.PENDING), at + NOT_MADE
    if one.outcome is Outcome.DELIVERED:
        return Delivery.Status.DELIVERED, at
    most = TEST_ATTEMPTS if one.row.trigger == Delivery.Trigger.TEST else ATTEMPTS
    roll = random.random()  # noqa: S311  # jitter
    wait = delay_after(one.row.attempts + 1, of=most, roll=roll, retry_after=one.answer.retry_after)
    return (Delivery.Status.EXHAUSTED, at) if wait is None else (Delivery.Status.PENDING, at + wait)


def _update_lanes(tried: Sequence[Tried], at: datetime) -> dict[UUID, Turn]:
    """Carry the results of each lane into its row."""
    by_lane: dict[UUID, list[Outcome]] = defaultdict(list)
    for one in tried:
        if one.row.trigger != Delivery.Trigger.TEST:
            # Tests say how the endpoint does to whoever presses the button, and what was not sent says nothing of it;
            # the lane is locked for that, too: see `publishing.withdraw_these`.
            by_lane[one.row.endpoint_id] += [one.outcome] if one.was_sent else []
    turns = {}
    for endpoint_id, was in lane_rows.locked(by_lane) if by_lane else ():
        now = was
        for outcome, run in groupby(by_lane[endpoint_id]):
            if outcome is Outcome.DELIVERED:
                now = lanes.after_successes(now, len(list(run)), at=at)
                continue
            for _ in run:
                now = lanes.after(now, outcome, at=at, roll=random.random())  # noqa: S311  # jitter
        turns[endpoint_id] = Turn(was, now)
    lane_rows.store(
        {key: turn.now for key, turn in turns.items()},
        attempts={key: len(outcomes) for key, outcomes in by_lane.items()},
        failures={key: sum(one is not Outcome.DELIVERED for one in outcomes) for key, outcomes in by_lane.items()},
    )
    return turns
