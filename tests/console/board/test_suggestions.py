"""Driver suggestions for unassigned rides: a preview, and accepting it."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.console.board import accepting_views, labels
from apps.dispatch.services import planning
from apps.dispatch.services.planning import Chosen
from apps.events.models import Event
from apps.fleet.models import Driver
from apps.rides.models import Assignment, Ride
from apps.rides.rules.eligibility import ViolationCode
from lib.access import system
from lib.ids import uuid7
from tests import factories
from tests.console.board.test_acting import able
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

BOARD = "/console/board/"
PREVIEW = f"{BOARD}suggestions/"
ACCEPT = f"{PREVIEW}accept/"
UNDO = f"{PREVIEW}undo/"
BATCH = f"{BOARD}batch/"


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def _rides(count: int, **columns: Any) -> list[Ride]:
    """Create unassigned rides, two hours apart."""
    return [
        factories.RideFactory.create(pickup_at=NOW + dt.timedelta(hours=2 + 2 * number), **columns)
        for number in range(count)
    ]


def _values(response: Any) -> list[str]:
    return [row["value"] for row in response.context["rows"]]


def _driver_ids(*rides: Ride) -> list[Any]:
    found = dict(Ride.objects.values_list("pk", "driver_id"))
    return [found[ride.pk] for ride in rides]


def test_preview_lists_drivers_and_changes_nothing(desk: Client) -> None:
    rides, driver = _rides(2), able()
    driven = factories.put_driver_on(factories.RideFactory.create(pickup_at=NOW + dt.timedelta(hours=9)), driver=driver)
    events = Event.objects.count()

    page = desk.get(PREVIEW)

    said = text_of(page)
    assert "2 unassigned rides have drivers with no conflicts." in said
    assert "Location not known, so that no arrival is predicted" in said
    assert "1 → 3 rides" in said
    assert [row["ride"].pk for row in page.context["rows"]] == [ride.pk for ride in rides]
    assert _driver_ids(*rides) == [None, None]
    assert driven.driver_id == driver.pk
    assert Event.objects.count() == events
    row = AuditEntry.objects.get(action="rides.suggestions")
    assert set(row.rider_ids) == {ride.rider_id for ride in rides}


def test_all_suggestions_are_accepted_in_one_request(desk: Client) -> None:
    rides, driver = _rides(2), able()
    page = desk.get(f"{PREVIEW}?day={NOW.date()}")

    answer = desk.post(ACCEPT, {"suggestion": _values(page), "back": BOARD}, follow=True)

    assert answer.redirect_chain == [(BOARD, 302)]
    assert told(answer) == ["2 rides are assigned."]
    assert _driver_ids(*rides) == [driver.pk, driver.pk]
    assert set(Assignment.objects.values_list("method", flat=True)) == {Assignment.Method.AUTO}


def test_many_are_assigned_in_portions_with_progress(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accepting_views, "PORTION", 1)
    rides, driver = _rides(3), able()

    begun = desk.post(ACCEPT, {"suggestion": _values(desk.get(PREVIEW)), "back": BOARD}, follow=True)
    first = _driver_ids(*rides)
    part = desk.post(BATCH, headers={"HX-Request": "true"})
    last = desk.post(BATCH, headers={"HX-Request": "true"})

    assert begun.redirect_chain == [(BATCH, 302)]
    assert "1 of 3 rides" in text_of(begun)
    assert first == [driver.pk, None, None]
    assert "2 of 3 rides" in text_of(part)
    assert "<h1>" not in part.content.decode()
    assert last["HX-Redirect"] == BOARD
    assert _driver_ids(*rides) == [driver.pk] * 3
    assert told(desk.get(BOARD)) == ["3 rides are assigned."]


def test_refused_rides_of_all_portions_are_listed_at_the_end(desk: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(accepting_views, "PORTION", 1)
    changed, stays = _rides(2)
    able()
    values = _values(desk.get(PREVIEW))
    Ride.objects.filter(pk=changed.pk).update(version=changed.version + 1)

    desk.post(ACCEPT, {"suggestion": values, "back": BOARD})
    answer = desk.post(BATCH, follow=True)

    assert answer.status_code == 422
    said = text_of(answer)
    assert "1 ride was not changed" in said
    assert "The record has changed since it was read." in said
    assert "1 ride is assigned." in said
    assert _driver_ids(changed) == [None]
    assert _driver_ids(stays) != [None]


def test_accepted_suggestions_are_undone_except_rides_that_changed(desk: Client) -> None:
    (undone, changed), _driver = _rides(2), able()
    board = desk.post(ACCEPT, {"suggestion": _values(desk.get(PREVIEW)), "back": BOARD}, follow=True)
    row = Ride.objects.get(pk=changed.pk)
    planning.unassign(chosen=Chosen(row.pk, row.version), reason_code="replanned", by=system(), at=NOW)
    other = able()
    row = Ride.objects.get(pk=changed.pk)
    planning.assign(chosen=Chosen(row.pk, row.version), driver_id=other.pk, by=system(), at=NOW)

    answer = desk.post(UNDO, {"back": BOARD})

    assert f'action="{UNDO}"' in board.content.decode()
    assert answer.status_code == 422
    assert "1 ride is unassigned again." in text_of(answer)
    assert "1 ride was not changed" in text_of(answer)
    assert _driver_ids(undone, changed) == [None, other.pk]
    again = desk.post(UNDO, {"back": BOARD}, follow=True)
    assert told(again) == ["There is nothing to undo."]


def test_batch_of_nobody_leads_to_the_board(desk: Client) -> None:
    assert desk.get(BATCH)["Location"] == BOARD


def test_life_sustaining_rides_are_marked(desk: Client) -> None:
    _rides(1, priority="life_sustaining")
    _rides(1)
    assert text_of(desk.get(PREVIEW)).count("Life-sustaining") == 1
    able()

    assert text_of(desk.get(PREVIEW)).count("Life-sustaining") == 1


def test_one_is_accepted_and_the_others_are_shown_again(desk: Client) -> None:
    rides, driver = _rides(2), able()
    page = desk.get(PREVIEW)
    first, _second = _values(page)

    answer = desk.post(
        ACCEPT,
        {"suggestion": _values(page), "one": first, "back": BOARD, "again": page.context["reload_url"]},
        follow=True,
    )

    assert answer.redirect_chain == [(PREVIEW, 302)]
    assert _driver_ids(*rides) == [driver.pk, None]
    assert len(_values(answer)) == 1


def test_b14_what_has_changed_meanwhile_is_left_out_and_named(desk: Client) -> None:
    taken, moved, stays = _rides(3)
    able()
    values = _values(desk.get(PREVIEW))
    other = able()
    planning.assign(chosen=Chosen(taken.pk, taken.version), driver_id=other.pk, by=system(), at=NOW)
    Ride.objects.filter(pk=moved.pk).update(version=moved.version + 1)

    answer = desk.post(ACCEPT, {"suggestion": values, "back": BOARD})

    assert answer.status_code == 422
    said = text_of(answer)
    assert "2 rides were not changed" in said
    assert said.count("The record has changed since it was read.") == 2
    assert "1 ride is assigned." in said
    assert _driver_ids(taken, moved)[0] == other.pk
    assert _driver_ids(moved) == [None]
    assert _driver_ids(stays) != [None]


def test_suspended_driver_is_refused_when_accepting(desk: Client) -> None:
    (ride,) = _rides(1)
    driver = able()
    values = _values(desk.get(PREVIEW))
    Driver.objects.filter(pk=driver.pk).update(activation="suspended", activation_reason="complaint")

    answer = desk.post(ACCEPT, {"suggestion": values})

    assert "The driver is suspended, not active." in text_of(answer)
    assert _driver_ids(ride) == [None]


def test_selection_is_evaluated_alone_and_may_hold_will_calls(desk: Client) -> None:
    chosen, other = _rides(2)
    waits = factories.RideFactory.create(
        pickup_at=NOW + dt.timedelta(hours=7),
        will_call=True,
        pickup_time_kind="estimated",
        promised_pickup_by=None,
        will_call_expires_at=NOW + dt.timedelta(hours=12),
    )
    able()
    back = f"{BOARD}?view=list"
    named = [f"{ride.pk}:1" for ride in (chosen, waits)]

    page = desk.post(f"{PREVIEW}?day={NOW.date()}", {"ride": [*named, "nonsense"], "back": back})

    assert {row["ride"].pk for row in page.context["rows"]} == {chosen.pk, waits.pk}
    assert (page.context["back"], page.context["reload_url"]) == (back, back)
    whole = {row["ride"].pk for row in desk.get(PREVIEW).context["rows"]}
    assert whole == {chosen.pk, other.pk}
    nothing = desk.post(PREVIEW, {"ride": str(uuid7()), "back": "https://elsewhere.example.org/"})
    assert "None of the rides you selected waits for a driver." in text_of(nothing)
    assert nothing.context["back"] == BOARD


def test_rides_without_a_driver_show_the_conflicts(desk: Client) -> None:
    _rides(2)
    assert text_of(desk.get(PREVIEW)).count("No driver is active.") == 2
    factories.DriverFactory.create()

    said = text_of(desk.get(PREVIEW))

    assert "None of the unassigned rides has a driver" in said
    assert "2 rides without an available driver" in said
    assert "vehicle does not fit (1)" in said


def test_a_day_on_which_nothing_waits_says_so(desk: Client) -> None:
    able()

    assert "No ride of this day waits for a driver." in text_of(desk.get(PREVIEW))


def test_the_vehicle_of_the_shift_is_suggested(desk: Client) -> None:
    _rides(1)
    driver = able()
    own = driver.default_vehicle
    van = factories.VehicleFactory.create(provider=driver.provider, unit_number="SHIFT-1")
    factories.file_credentials(factories.DriverFactory.create(provider=driver.provider), van)
    factories.ShiftFactory.create(
        provider=driver.provider, driver=driver, vehicle=van, starts_at=NOW, ends_at=NOW + dt.timedelta(hours=8)
    )

    (row,) = desk.get(PREVIEW).context["rows"]

    assert own is not None
    assert row["unit"] == "SHIFT-1"


@pytest.mark.parametrize("sent", [[], ["x"], ["a:1:b:c"], [f"{uuid7()}:x:{uuid7()}:{uuid7()}"], ["0"] * 401])
def test_what_was_never_suggested_is_not_accepted(desk: Client, sent: list[str]) -> None:
    answer = desk.post(ACCEPT, {"suggestion": sent}, follow=True)

    assert answer.redirect_chain == [(BOARD, 302)]
    assert told(answer) == ["Select at least one suggestion."]


def test_suggestions_are_for_those_who_assign() -> None:
    for role in (UserRole.PLANNER, UserRole.ADMIN, UserRole.AUDITOR):
        assert visitor(role).get(PREVIEW).status_code == 403
        for url in (ACCEPT, UNDO, BATCH):
            assert visitor(role).post(url).status_code == 403


@pytest.mark.parametrize("count", [1, 4])
def test_suggesting_asks_the_same_however_many_rides(desk: Client, count: int, django_assert_num_queries: Any) -> None:
    _rides(count)
    for _ in range(count):
        able()

    # session and user; rides, drivers, shifts, vehicles, their related rows, shared rides; audit trail; inbox
    with django_assert_num_queries(17):
        desk.get(PREVIEW)


def test_what_stands_against_drivers_is_said_with_most_first() -> None:
    counted = {ViolationCode.OUTSIDE_SHIFT: 2, ViolationCode.SCHEDULE_CONFLICT: 5, ViolationCode.CREDENTIAL_INVALID: 2}

    assert labels.conflict_summary(counted) == "overlap (5), without valid credentials (2), not on shift (2)"
    assert set(labels.CONFLICT_LABELS) == set(ViolationCode)
    assert labels.conflict_summary({}) == "No driver is active."
