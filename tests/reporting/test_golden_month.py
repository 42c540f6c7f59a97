"""Every figure of kpi-1 for one month of 60 legs, computed by hand.

Of the 60: 35 completed, 4 no-shows (2 rider, 1 facility, 1 no fault), 8 unfulfilled (5 provider, 3 others), 7 cancelled
(2 in advance, 2 same day, 2 late, 1 at the door), 5 that belong to no figure, 1 still scheduled; 9 of the 55 that count
are will-call.
"""

import datetime as dt
from dataclasses import replace
from typing import Any, Final

import pytest
from django.db.models import F

from apps.events.models import EventQuerySet
from apps.reporting.models import Basis
from apps.reporting.queries.figures import Figure
from apps.reporting.queries.reports import facility_kpis
from apps.reporting.queries.selection import select
from apps.reporting.rules.kpis import ALL_KPIS, KPI_BY_KEY
from apps.reporting.services import rollups
from apps.rides.models import Ride
from apps.rides.models.reason_code import ReasonCode
from lib.access import system
from tests.factories import NOW
from tests.reporting import legs, ride_changes
from tests.reporting.golden import MONTH

FIRST, LAST = dt.date(2026, 11, 1), dt.date(2026, 11, 30)

# key: value, numerator, denominator, excluded in the order of the definition
EXPECTED: Final[dict[str, tuple[float | None, int | None, int, dict[str, int]]]] = {
    # 35 completed of 35 + 8
    "fulfillmentRate": (0.814, 35, 43, {"not_booked": 5, "cancelled": 7, "no_show": 4, "not_ended": 1}),
    # of 60 - 5 - 2
    "completionRate": (0.6604, 35, 53, {"not_booked": 5, "cancelled_in_advance": 2}),
    # 5 of 35 + 5
    "providerFailureRate": (
        0.125,
        5,
        40,
        {"not_booked": 5, "cancelled": 7, "no_show": 4, "unfulfilled_by_others": 3, "not_ended": 1},
    ),
    # 2 of 35 + 4 + 1
    "noShowRate": (0.05, 2, 40, {"not_booked": 5, "cancelled_before_arrival": 6, "unfulfilled": 8, "not_ended": 1}),
    # 2 late and 1 at the door
    "lateCancelRate": (0.0566, 3, 53, {"not_booked": 5, "cancelled_in_advance": 2}),
    # With an arrival time: 19 + 5 + 3 no-shows + 2 unfulfilled + 1 at the door + 4 discharges + 6 dialysis = 40; one
    # completed without, four provider failures without.  Late: 16 minutes, 20 of a no-show, 170 of a discharge, and the
    # one that the provider failed although its vehicle came after 10.
    "pickupOnTimeRate": (
        0.8,
        36,
        45,
        {
            "not_booked": 5,
            "after_the_fact": 0,
            "no_show_without_arrival": 1,
            "cancelled_without_arrival": 6,
            "unfulfilled_by_others_without_arrival": 2,
            "not_ended_without_arrival": 1,
        },
    ),
    # 40 with an arrival time, 6 of them will-call; 46 firm rides, 12 without one
    "pickupEarlyRate": (0.0294, 1, 34, {"not_booked": 5, "will_call": 9, "without_arrival": 12}),
    # 20 + 1 failed + 5 to dialysis; late: 61 minutes, no time, failed, and 45 and 46 minutes and a failure at dialysis
    "appointmentOnTimeRate": (0.7692, 20, 26, {"not_booked": 5, "without_appointment": 25, "not_carried_out": 4}),
    "tooEarlyRate": (0.0385, 1, 26, {"not_booked": 5, "without_appointment": 25, "not_carried_out": 4}),
    # 20 30 40 50 55 170
    "willCallResponse": (
        45.0,
        None,
        6,
        {"not_booked": 5, "not_will_call": 46, "not_released": 1, "not_reached": 1, "without_arrival": 1},
    ),
    "willCallResponseP90": (
        112.5,
        None,
        6,
        {"not_booked": 5, "not_will_call": 46, "not_released": 1, "not_reached": 1, "without_arrival": 1},
    ),
    # all but 170 of the six, and the leg that the provider failed
    "willCallResponseOnTarget": (
        0.7143,
        5,
        7,
        {"not_booked": 5, "not_will_call": 46, "not_released": 1, "not_reached": 1},
    ),
    # 45 60 61 181
    "dischargeReadyToDepart": (
        60.5,
        None,
        4,
        {"not_booked": 5, "not_discharge": 48, "not_released": 1, "not_boarded": 1, "without_boarding": 1},
    ),
    "dischargeReadyToDepartP90": (
        145.0,
        None,
        4,
        {"not_booked": 5, "not_discharge": 48, "not_released": 1, "not_boarded": 1, "without_boarding": 1},
    ),
    "dischargeWithin60": (0.4, 2, 5, {"not_booked": 5, "not_discharge": 48, "not_released": 1, "not_boarded": 1}),
    "dischargeWithin180": (0.6, 3, 5, {"not_booked": 5, "not_discharge": 48, "not_released": 1, "not_boarded": 1}),
    # 90 120 150
    "dischargeOrderToReady": (
        120.0,
        None,
        3,
        {"not_booked": 5, "not_discharge": 48, "not_released": 1, "without_order_time": 3},
    ),
    # 46 firm rides x 15, six discharges 5 x 60 + 70, dialysis 65 and 50
    "etaDeviation": (21.7593, 1175, 54, {"not_booked": 5, "without_promise": 1}),
    # 46 of 54 were requested a day ahead
    "leadTime": (1440.0, None, 54, {"not_booked": 5, "without_due_time": 1}),
    # 42 x 30, six that had a driver before they were ready, and 10
    "timeToAssign": (30.0, None, 49, {"not_booked": 5, "never_assigned": 6, "without_start": 0}),
    # 8 x 0, 1, 2, 6 x 4, 18 x 5, 11
    "driverWait": (5.0, None, 35, {"not_booked": 5, "not_boarded": 19, "without_times": 1}),
    # on board 949 + 337 + 108 + 130 + 43, direct 800 + 250 + 80 + 80 + 40
    "rideTimeIndex": (1.2536, 1567, 1250, {"not_booked": 5, "not_completed": 20, "without_ride_time": 1}),
    # 81 of 40, 161 of 100, 42 and 43 of 20
    "excessiveRideTimeRate": (0.1176, 4, 34, {"not_booked": 5, "not_completed": 20, "without_ride_time": 1}),
    # 25 minutes, of 25 26 45 46 and a failure
    "dialysisChairOnTime": (0.2, 1, 5, {"not_booked": 5, "not_to_dialysis": 48, "not_carried_out": 2}),
    # 46 minutes and two unfulfilled, of six
    "treatmentsAtRisk": (50.0, 3, 6, {"not_booked": 5, "not_to_dialysis": 48, "not_carried_out": 1}),
    # 20 40
    "returnWait": (30.0, None, 2, {"not_booked": 5, "not_from_dialysis": 53, "without_arrival": 0}),
    "returnWaitP90": (38.0, None, 2, {"not_booked": 5, "not_from_dialysis": 53, "without_arrival": 0}),
    # 4 on 55
    "exceptionRate": (7.2727, 4, 55, {"not_booked": 5}),
    # 2 4 5 10
    "mtta": (4.5, None, 4, {"alerts_not_acknowledged": 0}),
    # 20 65 92
    "mttr": (65.0, None, 3, {"alerts_not_resolved": 1}),
    "documentationComplete": (0.9714, 34, 35, {"not_booked": 5, "not_completed": 20}),
    # the first twelve; the thirteenth position was 151 meters off
    "gpsVerified": (0.3429, 12, 35, {"not_booked": 5, "not_completed": 20}),
    # an accident on the way to dialysis, and a medical emergency
    "incidentRate": (57.1429, 2, 35, {"not_booked": 5, "not_completed": 20}),
}
PARTS: Final[dict[str, dict[str, tuple[float, int, int]]]] = {
    "providerFailureRate": {
        "outbound": (0.1081, 4, 37),
        "return": (0.3333, 1, 3),
        "noticeOver48h": (0.025, 1, 40),
        "noticeUnder48h": (0.1, 4, 40),
    },
    "noShowRate": {"facilityFault": (0.025, 1, 40), "otherFault": (0.025, 1, 40)},
    "pickupOnTimeRate": {"withoutArrivalTime": (0.0222, 1, 45)},
}


@pytest.fixture
def month(db: None) -> legs.Cast:
    by = legs.cast()
    ReasonCode.objects.create(
        reason_list="cancelled", code="hospital_week", label="Week in hospital", parent_code="standing_order_hold"
    )
    legs.write_all(MONTH, by)
    rollups.refresh(by=system(), at=NOW)
    return by


def figures(by: legs.Cast, basis: Basis = Basis.CLOSED) -> dict[str, Figure]:
    selection = select(by=system(), first=FIRST, last=LAST, basis=basis)
    report = facility_kpis(by=system(), selection=selection, compared=False)
    (row,) = report.rows
    assert row.facility_id == by.facility.pk
    return dict(row.figures)


def shown(figure: Figure) -> tuple[Any, ...]:
    return figure.value, figure.numerator, figure.denominator, dict(figure.excluded)


def test_golden_month_covers_every_figure() -> None:
    assert EXPECTED.keys() == KPI_BY_KEY.keys()
    assert len(MONTH) == 60


def test_every_figure_matches_the_golden_month(month: legs.Cast) -> None:
    found = figures(month)

    assert {key: shown(figure) for key, figure in found.items()} == EXPECTED
    assert {
        key: {name: (part.value, part.numerator, part.denominator) for name, part in figure.parts.items()}
        for key, figure in found.items()
        if figure.parts
    } == PARTS


def test_corrected_ending_counts_only_as_corrected(month: legs.Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first outcome is in no figure any more, neither as numerator nor as denominator."""
    monkeypatch.setattr(EventQuerySet, "settled", lambda events: events)  # because a test runs inside a transaction
    (corrected,) = [leg for leg in MONTH if any(trouble.code == "false_alarm" for trouble in leg.troubles)]
    failed = next(leg for leg in MONTH if leg.status == "unfulfilled")
    mistaken = Ride.objects.get(exceptions__resolution_code="false_alarm")

    ride_changes.become(mistaken, replace(failed, day=corrected.day, at=corrected.at), month)
    rollups.refresh(by=system(), at=NOW)
    wrong = figures(month, Basis.LIVE)
    ride_changes.become(mistaken, corrected, month)
    rollups.refresh(by=system(), at=NOW)

    assert shown(wrong["fulfillmentRate"])[:3] == (0.7907, 34, 43)
    assert {key: shown(figure) for key, figure in figures(month, Basis.LIVE).items()} == EXPECTED


def test_what_counts_and_what_is_left_out_are_all_legs(month: legs.Cast) -> None:
    found = figures(month)

    of_legs = [one.key for one in ALL_KPIS if one.key not in ("rideTimeIndex", "mtta", "mttr")]
    assert {
        key: (found[key].denominator or 0) + sum(filter(None, found[key].excluded.values())) for key in of_legs
    } == dict.fromkeys(of_legs, 60)


def test_ride_recorded_after_the_fact_has_no_punctuality(month: legs.Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EventQuerySet, "settled", lambda events: events)  # because a test runs inside a transaction
    ride = Ride.objects.filter(
        status="completed", will_call=False, arrived_pickup_at__lte=F("pickup_at"), boarded_at__gte=F("pickup_at")
    ).earliest("pk")
    ride.after_the_fact, ride.promised_pickup_by = True, None

    ride_changes.tell(ride)
    rollups.refresh(by=system(), at=NOW)
    found = figures(month, Basis.LIVE)

    excluded = {**EXPECTED["pickupOnTimeRate"][3], "after_the_fact": 1}
    assert shown(found["pickupOnTimeRate"]) == (0.7955, 35, 44, excluded)  # one on-time pickup less
    assert shown(found["leadTime"])[2:] == (53, {"not_booked": 5, "without_due_time": 2})
    assert shown(found["completionRate"]) == EXPECTED["completionRate"]
