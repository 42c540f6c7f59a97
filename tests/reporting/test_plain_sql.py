"""Three figures computed independently, in plain SQL written from the text of their definitions."""

from typing import Any

from django.db import connection

from tests.reporting import legs
from tests.reporting.test_golden_month import figures, month

__all__ = ["month"]  # the fixture


def answer(statement: str) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        (row,) = cursor.fetchall()
        return tuple(row)


def test_pickups_on_time(month: legs.Cast) -> None:
    plain = answer(
        """
        WITH leg AS (
            SELECT *, CASE WHEN will_call THEN promised_pickup_by ELSE pickup_at END AS p, arrived_pickup_at AS a
            FROM rides_ride WHERE coalesce((SELECT parent_code FROM rides_reasoncode
                WHERE code = reason_code AND reason_list = rides_ride.status), reason_code) NOT IN
                ('duplicate', 'booking_error', 'standing_order_hold', 'standing_order_ended', 'calendar_shift')
        ), counted AS (
            SELECT * FROM leg WHERE a IS NOT NULL
            UNION SELECT * FROM leg WHERE status = 'unfulfilled' AND fault = 'provider'
            UNION SELECT * FROM leg WHERE status = 'completed' AND a IS NULL
        )
        SELECT (SELECT count(*) FROM counted WHERE a <= p + interval '15 minutes'
            AND NOT (status = 'unfulfilled' AND fault = 'provider')), (SELECT count(*) FROM counted)
        """
    )

    found = figures(month)["pickupOnTimeRate"]

    assert (found.numerator, found.denominator) == plain


def test_will_call_response(month: legs.Cast) -> None:
    plain = answer(
        """
        SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY minutes),
            percentile_cont(0.9) WITHIN GROUP (ORDER BY minutes), count(*)
        FROM (SELECT trunc(extract(epoch FROM arrived_pickup_at) / 60 - extract(epoch FROM ready_at) / 60) AS minutes
            FROM rides_ride WHERE will_call AND ready_at IS NOT NULL AND arrived_pickup_at IS NOT NULL
                AND status <> 'cancelled') waited
        """
    )

    found = figures(month)
    median, highest = found["willCallResponse"], found["willCallResponseP90"]

    assert (median.value, highest.value, median.denominator) == plain


def test_treatments_at_risk(month: legs.Cast) -> None:
    plain = answer(
        """
        SELECT count(*) FILTER (WHERE status = 'unfulfilled' OR arrived_dropoff_at IS NULL
                OR extract(epoch FROM arrived_dropoff_at - appointment_at) > 15 * 60),
            count(*)
        FROM rides_ride WHERE service_type = 'dialysis' AND leg_type <> 'return'
            AND status IN ('completed', 'unfulfilled')
        """
    )

    found = figures(month)["treatmentsAtRisk"]

    assert (found.numerator, found.denominator) == plain
