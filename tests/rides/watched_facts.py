"""Facts and terms for tests of the exception rules, to vary."""

import datetime as dt
from typing import Any

from apps.rides.rules.exception_rules import Facts, Terms

MINUTE = dt.timedelta(minutes=1)
HOUR = dt.timedelta(hours=1)
SECOND = dt.timedelta(seconds=1)
NOON = dt.datetime(2026, 11, 20, 18, tzinfo=dt.UTC)  # in Chicago
EXPIRES = dt.datetime(2026, 11, 21, 5, 59, tzinfo=dt.UTC)  # 23:59


def ride(status: str = "scheduled", **changes: Any) -> Facts:
    """A firm ride at noon, requested a week before."""
    facts = Facts(
        status=status,
        status_changed_at=NOON - 168 * HOUR,
        service_type="appointment",
        priority="routine",
        pickup_at=NOON,
        window_ends_at=NOON + 15 * MINUTE,
        appointment_at=None,
        will_call=False,
        ready_at=None,
        promised_pickup_by=NOON + 15 * MINUTE,
        will_call_expires_at=None,
        requested_at=NOON - 168 * HOUR,
        scheduled_at=NOON - 168 * HOUR,
        confirm_by=None,
        departed_at=None,
        arrived_pickup_at=None,
        boarded_at=None,
        arrived_dropoff_at=None,
        dropped_off_at=None,
        eta_pickup_at=None,
        estimated_minutes=None,
        pickup_at_facility=True,
        lacks_documentation=False,
        load_minutes=0,
        accept_by=None,
        expected_ready_at=None,
        after_the_fact=False,
    )
    return facts._replace(**changes)


def will_call(status: str = "scheduled", **changes: Any) -> Facts:
    """A will-call leg that expires at 23:59 in Chicago; `ready_at` releases it, with a promised hour."""
    ready_at = changes.get("ready_at")
    promised = None if ready_at is None else ready_at + 60 * MINUTE
    given_up: dict[str, Any] = {
        "will_call": True,
        "promised_pickup_by": promised,
        "will_call_expires_at": EXPIRES,
    }
    return ride(status, **(given_up | changes))


def terms(**changes: Any) -> Terms:
    usual = Terms(
        response_minutes=60,
        wait_minutes=10,
        ladder=(0, 15, 30, 45, 60),
        closes_at=None,
        was_brought=False,
        ladder_ahead=60 * MINUTE,
    )
    return usual._replace(**changes)
