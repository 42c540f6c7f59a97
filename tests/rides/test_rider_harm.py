"""Severity follows what happens to the rider: a test per row of the table."""

import datetime as dt
from typing import Any

import pytest

from apps.rides.rules.exception_rules import Facts, Forecast, Terms, evaluate, expires_at
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.rider_harm import MISSED_AFTER, Stake, stake_of
from tests.rides.watched_facts import HOUR, MINUTE, NOON, SECOND, ride, terms

X = ExceptionType
DIALYSIS: dict[str, Any] = {"service_type": "dialysis", "appointment_at": NOON + HOUR}
INFUSION: dict[str, Any] = {"priority": "life_sustaining", "appointment_at": NOON + HOUR}
DISCHARGE: dict[str, Any] = {"service_type": "hospital_discharge", "accept_by": (NOON + HOUR).isoformat()}
# What waits for the rider, the predicted minutes of the arrival there after noon (due: 60), and the severity of a
# pickup that is 25 minutes late.
ROWS: dict[str, tuple[dict[str, Any], int, str]] = {
    "dialysis, chair lost": (DIALYSIS, 76, "critical"),
    "dialysis, treated later": (DIALYSIS, 75, "warning"),
    "infusion missed": (INFUSION, 76, "critical"),
    "infusion a little late": (INFUSION, 70, "warning"),
    "discharge, intake closed": (DISCHARGE, 61, "critical"),
    "discharge, in time": (DISCHARGE, 60, "warning"),
    "appointment, an hour late": ({"appointment_at": NOON + HOUR}, 120, "warning"),
    "dialysis, way home": ({"service_type": "dialysis"}, 120, "warning"),
    "way home": ({}, 120, "warning"),
}


def severities(facts: Facts, at: dt.datetime, by: Terms) -> dict[str, str]:
    return {type_.value: finding.severity.value for type_, finding in evaluate(facts, by, at).findings.items()}


@pytest.mark.parametrize("row", ROWS)
def test_late_pickup_is_as_severe_as_what_the_rider_loses(row: str) -> None:
    waiting, arrives, severity = ROWS[row]
    facts = ride("assigned", **waiting)
    by = terms(forecast=Forecast(NOON + 40 * MINUTE, NOON + arrives * MINUTE))

    before, after = (severities(facts, NOON + minutes * MINUTE, by) for minutes in (0, 16))

    assert (before["late_pickup_predicted"], after["late_pickup"]) == (severity, severity)


@pytest.mark.parametrize(("late", "severity"), [(59, "warning"), (60, "critical")])
def test_rider_who_waits_for_an_hour_is_critical_on_any_way(late: int, severity: str) -> None:
    by = terms(forecast=Forecast(NOON + (15 + late) * MINUTE, None))

    assert severities(ride("assigned"), NOON, by)["late_pickup_predicted"] == severity
    assert severities(ride("assigned"), NOON + (15 + late) * MINUTE, terms())["late_pickup"] == severity


def test_treatment_is_critical_without_a_prediction_once_it_cannot_be_reached() -> None:
    facts = ride(**DIALYSIS, estimated_minutes=50)  # no driver yet: the rider has to leave by 12:25

    assert severities(facts, NOON + 25 * MINUTE, terms())["late_pickup"] == "warning"
    assert severities(facts, NOON + 25 * MINUTE + SECOND, terms())["late_pickup"] == "critical"


@pytest.mark.parametrize(
    ("service_type", "priority", "is_awaited", "stake"),
    [
        ("dialysis", "routine", True, Stake.TREATMENT),
        ("appointment", "life_sustaining", True, Stake.TREATMENT),
        ("hospital_discharge", "time_critical", True, Stake.ADMISSION),
        ("appointment", "routine", True, Stake.APPOINTMENT),
        ("dialysis", "life_sustaining", False, Stake.NOTHING_BOOKED),
    ],
)
def test_stake_of_a_ride(service_type: str, priority: str, is_awaited: bool, stake: Stake) -> None:
    assert stake_of(service_type=service_type, priority=priority, is_awaited=is_awaited) is stake
    assert set(MISSED_AFTER) == set(Stake)


@pytest.mark.parametrize("status", ["assigned", "scheduled"])
def test_ride_that_never_started_is_pointed_out_as_long_as_somebody_can_end_it(status: str) -> None:
    facts = ride(status)
    promised = NOON + 15 * MINUTE

    assert "milestone_gap" not in severities(facts, promised + 4 * HOUR - SECOND, terms())
    assert severities(facts, promised + 4 * HOUR, terms()) == {"milestone_gap": "info"}
    assert severities(facts, promised + 24 * HOUR, terms()) == {}
    assert expires_at(X.MILESTONE_GAP, ride("en_route", departed_at=NOON)) is None
