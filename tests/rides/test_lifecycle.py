"""The transition table as a graph, written independently of the code."""

from collections import deque

from apps.accounts.rules.roles import SCOPES_OF_TOKEN, SCOPES_OF_USER, TokenRole, UserRole
from apps.rides.rules.guards import CHECKS
from apps.rides.rules.lifecycle import BY_ACTION, BY_STATUSES, OPEN, TERMINAL, TRANSITIONS, Action, Guard, RideStatus
from apps.rides.rules.reasons import CODES, FAULT_OF_CANCELLATION, FAULT_OF_FAILURE, FAULT_OF_NO_SHOW
from lib.scopes import Scope

# row by row.
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

# row by row: actors, guards, list of the reason, events.
DESIGNED_MORE = """
T01 | planner, dispatcher, integration | - | - | requested
T02 | planner, dispatcher, integration | - | - | scheduled
T03 | dispatcher | - | - | scheduled
T04 | dispatcher | - | unfulfilled | unfulfilled, exception
T05 | planner, dispatcher, integration | - | cancelled | cancelled
T06 | dispatcher, partner | - | - | driver_assigned
T07 | planner, dispatcher, integration | - | cancelled | cancelled
T08 | dispatcher | - | unfulfilled | unfulfilled, exception
T09 | dispatcher, driver | - | unassign | driver_unassigned
T10 | dispatcher, partner | - | - | driver_unassigned, driver_assigned
T11 | driver, dispatcher, partner | released, credentials, in service, checklist | - | driver_en_route
T12 | driver, dispatcher, partner | released, credentials, in service, checklist | - | driver_arrived
T13 | planner, dispatcher, integration | - | cancelled | cancelled
T14 | dispatcher | - | unfulfilled | unfulfilled, exception
T15 | driver, dispatcher, partner | - | - | driver_arrived
T16 | dispatcher, driver | - | unassign | driver_unassigned, exception
T17 | dispatcher, partner | - | - | driver_unassigned, driver_assigned
T18 | planner, dispatcher, integration | - | cancelled | cancelled
T19 | dispatcher | - | unfulfilled | unfulfilled, exception
T20 | driver, dispatcher, partner | securement, payer's proof | - | started
T21 | driver, dispatcher | in window, waited, contact | no_show | no_show, exception
T22 | driver, dispatcher, planner | - | cancelled | cancelled
T23 | dispatcher | - | unfulfilled | unfulfilled, exception
T24 | dispatcher | - | unassign | driver_unassigned, exception
T25 | dispatcher | - | - | driver_unassigned, driver_assigned, exception
T26 | dispatcher | where the rider is | unassign | driver_unassigned, driver_assigned, exception
T27 | driver, dispatcher, partner | handoff | - | completed
T28 | dispatcher, driver | where the rider is | unfulfilled | unfulfilled, exception
"""
GUARD_IN_WORDS = {
    Guard.WILL_CALL_RELEASED: "released",
    Guard.CREDENTIALS_VALID: "credentials",
    Guard.VEHICLE_IN_SERVICE: "in service",
    Guard.DISCHARGE_CHECKLIST: "checklist",  # 4.12.4
    Guard.SECUREMENT_CONFIRMED: "securement",
    Guard.PICKUP_PROOF: "payer's proof",
    Guard.ARRIVED_IN_WINDOW: "in window",
    Guard.WAITED_LONG_ENOUGH: "waited",
    Guard.CONTACT_ATTEMPTED: "contact",
    Guard.HANDOFF_NAMED: "handoff",
    Guard.RIDER_LOCATION_KNOWN: "where the rider is",
}
# Actors of the design as scopes.  Its integration books as an EHR does, and drives as a partner does: a partner has the
# scopes of drivers and dispatchers, so that its rows are those of either.
PEOPLE = {
    "planner": SCOPES_OF_USER[UserRole.PLANNER],
    "dispatcher": SCOPES_OF_USER[UserRole.DISPATCHER],
    "integration": SCOPES_OF_TOKEN[TokenRole.EHR_INTEGRATOR],
    "driver": frozenset({Scope.RIDES_READ, Scope.RIDES_STATUS}),
}


def rows_designed() -> dict[str, list[list[str]]]:
    lines = [line.split(" | ") for line in DESIGNED_MORE.strip().splitlines()]
    return {number: [[] if one == "-" else one.split(", ") for one in rest] for number, *rest in lines}


def test_each_step_is_taken_by_those_the_design_names() -> None:
    for row in TRANSITIONS:
        named = {one for one in rows_designed()[row.number][0] if one != "partner"}
        permitted = {name for name, scopes in PEOPLE.items() if scopes & set(row.scopes)}
        # T22: planners and integrations, who book remotely, may cancel at the door too.
        assert permitted - named == ({"integration"} if row.number == "T22" else set()), row.number
        assert named <= permitted, row.number
        if "partner" in rows_designed()[row.number][0]:
            assert SCOPES_OF_TOKEN[TokenRole.DISPATCH_PARTNER] & set(row.scopes), row.number


def test_guards_reasons_and_events_are_the_designed_ones() -> None:
    rows = {
        row.number: [
            [GUARD_IN_WORDS[guard] for guard in row.guards],
            [] if row.reasons is None else [row.reasons.value],
            [event.removeprefix("ride.") for event in row.events],
        ]
        for row in TRANSITIONS
    }

    assert rows == {number: rest for number, (_, *rest) in rows_designed().items()}


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
        "unassign": 13,
    }
