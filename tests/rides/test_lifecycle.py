"""The table of transitions as a graph: the same facts as the design's appendix A."""

from collections import deque

from apps.rides.guards import CHECKS
from apps.rides.lifecycle import BY_ACTION, BY_STATUSES, OPEN, TERMINAL, TRANSITIONS, Action, Guard, RideStatus
from apps.rides.reasons import CODES, FAULT_OF_CANCELLATION, FAULT_OF_FAILURE, FAULT_OF_NO_SHOW

# domain.md, appendix A, row by row.
DESIGNED = """
T01 - create requested; T02 - create scheduled; T03 requested confirm scheduled; T04 requested turn_down unfulfilled;
T05 requested cancel cancelled; T06 scheduled assign assigned; T07 scheduled cancel cancelled;
T08 scheduled mark_unfulfilled unfulfilled; T09 assigned unassign scheduled; T10 assigned reassign assigned;
T11 assigned depart en_route; T12 assigned arrive arrived; T13 assigned cancel cancelled;
T14 assigned mark_unfulfilled unfulfilled; T15 en_route arrive arrived; T16 en_route unassign scheduled;
T17 en_route reassign assigned; T18 en_route cancel cancelled; T19 en_route mark_unfulfilled unfulfilled;
T20 arrived start in_progress; T21 arrived mark_no_show no_show; T22 arrived cancel cancelled;
T23 arrived mark_unfulfilled unfulfilled; T24 arrived unassign scheduled; T25 arrived reassign assigned;
T26 in_progress transfer in_progress; T27 in_progress complete completed; T28 in_progress abort unfulfilled
"""


def test_table_is_the_designed_one() -> None:
    rows = [f"{row.number} {row.source or '-'} {row.action} {row.target}" for row in TRANSITIONS]

    assert rows == [" ".join(line.split()) for line in DESIGNED.split(";")]


def test_each_action_from_a_status_leads_to_one_status() -> None:
    steps = [(row.source, row.action) for row in TRANSITIONS if row.action is not Action.CREATE]

    assert len(steps) == len(set(steps)) == len(BY_ACTION)


def test_each_pair_of_statuses_names_one_action() -> None:
    pairs = [(row.source, row.target) for row in TRANSITIONS if row.source not in (None, row.target)]

    assert len(pairs) == len(set(pairs)) == len(BY_STATUSES)


def test_every_status_is_reachable_and_ended_ones_are_closed() -> None:
    reached = {RideStatus.REQUESTED}
    waiting = deque(reached)
    while waiting:
        status = waiting.popleft()
        for row in TRANSITIONS:
            if row.source is status and row.target not in reached:
                reached.add(row.target)
                waiting.append(row.target)

    assert reached == set(RideStatus)
    assert {row.source for row in TRANSITIONS if row.source is not None} == OPEN
    assert set(RideStatus) == OPEN | TERMINAL


def test_every_guard_has_its_check() -> None:
    assert set(CHECKS) == set(Guard)


def test_first_event_of_a_row_is_the_change_itself() -> None:
    assert all(row.events and row.events[0] != "ride.exception" for row in TRANSITIONS)


def test_reason_lists_hold_every_code_with_a_fault() -> None:
    lists = {name.value: set(codes) for name, codes in CODES.items()}

    assert lists["cancelled"] == set(FAULT_OF_CANCELLATION)
    assert lists["unfulfilled"] == set(FAULT_OF_FAILURE)
    assert lists["no_show"] == set(FAULT_OF_NO_SHOW)
    assert {name: len(codes) for name, codes in lists.items()} == {
        "cancelled": 22,
        "unfulfilled": 19,
        "no_show": 6,
        "unassign": 12,
    }
