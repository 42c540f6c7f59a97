"""Timing and fault of outcomes."""

import datetime as dt

import pytest

from apps.rides.rules.lifecycle import ReasonList, RideStatus
from apps.rides.rules.reasons import CancellationTiming, Cancelled, Fault, cancellation_timing, default_fault

# 00:30 in Chicago on 20 November: still the 20th there, and already 06:30 in UTC.
PICKUP = dt.datetime(2026, 11, 20, 6, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("status", "before_pickup", "timing"),
    [
        (RideStatus.ARRIVED, dt.timedelta(days=2), CancellationTiming.AT_DOOR),
        (RideStatus.EN_ROUTE, dt.timedelta(days=2), CancellationTiming.LATE),
        (RideStatus.ASSIGNED, dt.timedelta(minutes=119), CancellationTiming.LATE),
        (RideStatus.ASSIGNED, dt.timedelta(minutes=-30), CancellationTiming.LATE),
        (RideStatus.SCHEDULED, dt.timedelta(minutes=120), CancellationTiming.ADVANCE),
        (RideStatus.SCHEDULED, dt.timedelta(days=1), CancellationTiming.ADVANCE),
    ],
)
def test_timing_takes_the_first_rule_that_holds(
    status: RideStatus, before_pickup: dt.timedelta, timing: CancellationTiming
) -> None:
    facts = Cancelled(
        status=status, pickup_at=PICKUP, at=PICKUP - before_pickup, zone="America/Chicago", late_minutes=120
    )

    assert cancellation_timing(facts) is timing


def test_same_day_is_the_local_day() -> None:
    pickup = dt.datetime(2026, 11, 21, 3, 0, tzinfo=dt.UTC)  # 21:00 on the 20th in Chicago
    at = dt.datetime(2026, 11, 20, 14, 0, tzinfo=dt.UTC)  # 08:00 on the 20th

    facts = Cancelled(status=RideStatus.SCHEDULED, pickup_at=pickup, at=at, zone="America/Chicago", late_minutes=120)

    assert cancellation_timing(facts) is CancellationTiming.SAME_DAY


@pytest.mark.parametrize(("at_facility", "fault"), [(True, Fault.FACILITY), (False, Fault.RIDER)])
def test_waiting_in_vain_is_the_facilitys_fault_at_a_facility(at_facility: bool, fault: Fault) -> None:
    assert default_fault(ReasonList.NO_SHOW, "not_ready_wait_exceeded", at_facility=at_facility) is fault


def test_provider_failures_never_hide_as_nobodys_fault() -> None:
    assert default_fault(ReasonList.UNFULFILLED, "late_rider_left", at_facility=False) is Fault.PROVIDER
