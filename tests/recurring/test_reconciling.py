"""Reconciliation steps: every case of a leg, and histories of changes compared to a plain model."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from apps.recurring.rules import reconciliation
from apps.recurring.rules.reconciliation import Decision, DesiredLeg, EveryDate, Leg, RecordedLeg, Step, StepType
from apps.recurring.rules.recurrence import ChangeType, Occurrence, OccurrenceStatus

NOW = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)
DAY = dt.date(2026, 1, 7)
HOUR = dt.timedelta(hours=1)
CHAIR = dt.datetime(2026, 1, 7, 12, tzinfo=dt.UTC)
OUT, BACK = Leg.OUTBOUND, Leg.RETURN


def occurrence(**others: Any) -> Occurrence:
    usual: dict[str, Any] = {
        "pattern_date": DAY,
        "service_date": DAY,
        "status": OccurrenceStatus.DUE,
        "change": ChangeType.AS_GENERATED,
        "pickup_at": CHAIR - HOUR,
        "chair_at": CHAIR,
        "return_at": CHAIR + 5 * HOUR,
        "moved_by_clock_change": False,
    }
    return Occurrence(**(usual | others))


def both(one: Occurrence, content: str = "") -> dict[reconciliation.Key, DesiredLeg]:
    return {(one.pattern_date, leg): DesiredLeg(one, content) for leg in Leg}


def made(leg: Leg, **others: Any) -> RecordedLeg:
    """Return a ride as the occurrence above creates it, before departure."""
    pickup_at, appointment_at = reconciliation.times_of(occurrence(), leg)
    usual: dict[str, Any] = {
        "decision": Decision.GENERATED,
        "pending": True,
        "pickup_at": pickup_at,
        "appointment_at": appointment_at,
    }
    return RecordedLeg(**(usual | others))


def of_both(**others: Any) -> dict[reconciliation.Key, RecordedLeg]:
    return {(DAY, leg): made(leg, **others) for leg in Leg}


def told(found: list[Step]) -> list[tuple[str, str, str]]:
    return [(one.type.value, one.leg.value, one.decision.value) for one in found]


def test_new_day_is_made_there_and_back() -> None:
    assert told(reconciliation.steps(both(occurrence()), {}, now=NOW)) == [
        ("create", "outbound", "generated"),
        ("create", "return", "generated"),
    ]


def test_day_that_is_as_planned_is_left_alone() -> None:
    assert reconciliation.steps(both(occurrence()), of_both(), now=NOW) == []


@pytest.mark.parametrize("status", [OccurrenceStatus.HELD, OccurrenceStatus.SKIPPED, OccurrenceStatus.CLOSED])
def test_day_without_service_is_not_created_or_is_cancelled(status: OccurrenceStatus) -> None:
    wanted = both(occurrence(status=status))

    assert reconciliation.steps(wanted, {}, now=NOW) == []
    assert told(reconciliation.steps(wanted, of_both(), now=NOW)) == [
        ("cancel", "outbound", status.value),
        ("cancel", "return", status.value),
    ]


def test_day_that_left_the_pattern_is_called_off() -> None:
    assert told(reconciliation.steps({}, of_both(), now=NOW)) == [
        ("cancel", "outbound", "withdrawn"),
        ("cancel", "return", "withdrawn"),
    ]


def test_way_back_that_is_no_longer_wanted_is_called_off_alone() -> None:
    wanted = {(DAY, OUT): DesiredLeg(occurrence())}

    assert told(reconciliation.steps(wanted, of_both(), now=NOW)) == [("cancel", "return", "withdrawn")]


@pytest.mark.parametrize("decision", sorted(reconciliation.REBOOKABLE))
def test_day_that_the_order_gave_up_comes_back(decision: Decision) -> None:
    assert told(reconciliation.steps(both(occurrence()), of_both(decision=decision, pending=False), now=NOW)) == [
        ("create", "outbound", "generated"),
        ("create", "return", "generated"),
    ]


def test_ride_that_a_person_cancelled_stays_cancelled() -> None:
    cancelled = {(DAY, OUT): made(OUT, pending=False), (DAY, BACK): made(BACK)}

    assert reconciliation.steps(both(occurrence()), cancelled, now=NOW) == []


def test_day_that_has_begun_is_left_alone_whatever_changes() -> None:
    begun = {(DAY, OUT): made(OUT, pending=False, begun=True), (DAY, BACK): made(BACK)}

    for wanted in ({}, both(occurrence(status=OccurrenceStatus.HELD)), both(occurrence(return_at=CHAIR + 9 * HOUR))):
        assert reconciliation.steps(wanted, begun, now=NOW) == []


def test_day_that_has_passed_is_neither_made_nor_changed() -> None:
    later = CHAIR - HOUR

    assert reconciliation.steps(both(occurrence()), {}, now=later) == []
    assert reconciliation.steps(both(occurrence(return_at=CHAIR + 9 * HOUR)), of_both(), now=later) == []
    # The return leg of a day whose outbound leg was not driven may still be cancelled.
    assert told(reconciliation.steps({}, of_both(), now=later)) == [("cancel", "return", "withdrawn")]


@pytest.mark.parametrize(
    ("becomes", "amended"),
    [
        (occurrence(pickup_at=CHAIR - 2 * HOUR), [OUT]),
        (occurrence(chair_at=CHAIR + HOUR), [OUT]),
        (occurrence(return_at=CHAIR + 6 * HOUR), [BACK]),
    ],
)
def test_leg_at_another_time_is_moved(becomes: Occurrence, amended: list[Leg]) -> None:
    found = reconciliation.steps(both(becomes), of_both(), now=NOW)

    assert told(found) == [("amend", leg.value, "generated") for leg in amended]


def test_rides_made_of_something_else_are_amended() -> None:
    assert told(reconciliation.steps(both(occurrence(), "new"), of_both(content="old"), now=NOW)) == [
        ("amend", "outbound", "generated"),
        ("amend", "return", "generated"),
    ]


def test_nobody_is_moved_to_a_time_that_has_passed() -> None:
    assert reconciliation.steps(both(occurrence(pickup_at=NOW - HOUR)), of_both(), now=NOW) == []


@pytest.mark.parametrize(
    ("wanted", "overwrite", "expected"),
    [
        ({}, (), ["leave", "leave"]),
        ({}, EveryDate(), ["cancel", "cancel"]),
        ({}, {DAY}, ["cancel", "cancel"]),
        ({}, {DAY + dt.timedelta(days=2)}, ["leave", "leave"]),
        (both(occurrence(status=OccurrenceStatus.CLOSED)), (), ["leave", "leave"]),
        (both(occurrence(status=OccurrenceStatus.HELD)), (), ["cancel", "cancel"]),
        (both(occurrence(status=OccurrenceStatus.SKIPPED)), (), ["cancel", "cancel"]),
        (both(occurrence(), "new"), (), ["leave", "leave"]),
        (both(occurrence(), "new"), {DAY}, ["amend", "amend"]),
        (both(occurrence()), (), []),
    ],
)
def test_customized_rides_stay_unless_overwritten_or_rider_away(
    wanted: dict[reconciliation.Key, DesiredLeg], overwrite: Any, expected: list[str]
) -> None:
    found = reconciliation.steps(wanted, of_both(customized=True), now=NOW, overwrite=overwrite)

    assert [one.type.value for one in found] == expected
    assert all(one.decision is Decision.GENERATED for one in found if one.type is StepType.LEAVE)


def test_days_come_in_their_order() -> None:
    days = [dt.date(2026, 1, number) for number in (12, 9, 7)]
    wanted: dict[reconciliation.Key, DesiredLeg] = {}
    for day in days:
        wanted |= both(replace(occurrence(), pattern_date=day))

    assert [(one.pattern_date.day, one.leg) for one in reconciliation.steps(wanted, {}, now=NOW)] == [
        (7, OUT), (7, BACK), (9, OUT), (9, BACK), (12, OUT), (12, BACK),
    ]  # fmt: skip


def test_times_are_those_of_the_leg() -> None:
    one = occurrence()

    assert reconciliation.times_of(one, OUT) == (one.pickup_at, one.chair_at)
    assert reconciliation.times_of(one, BACK) == (one.return_at, None)
