"""Actions on the page of an order: single days, holds, its end; each reports the effect on rides."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.organizations.models import Facility
from apps.recurring.models import Hold, OccurrenceChange, StandingOrder
from apps.recurring.services import calendar_shifts, edit_order, generate_rides, hold_order
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.rides.models import Ride
from apps.rides.services import booking, editing
from lib.access import system
from lib.errors import NotFound
from lib.messages import Message
from tests.console.recurring.visiting import page_of, send
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import MONDAY
from tests.rides.drafts import draft

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)
WEDNESDAY, FRIDAY = MONDAY + 2 * DAY, MONDAY + 4 * DAY
TOLD: dict[str, Any] = {"by": system(), "at": NOW}
ACTIONS = ("move", "skip", "restore", "hold", "resume", "end", "activate")
GOOD: dict[str, dict[str, Any]] = {
    "move": {"day": MONDAY, "shown": MONDAY, "to_date": MONDAY + DAY},
    "skip": {"day": MONDAY, "shown": MONDAY},
    "restore": {"day": MONDAY, "shown": MONDAY},
    "hold": {"reason": "travel", "from_date": MONDAY, "until": FRIDAY},
    "resume": {"from_date": MONDAY},
    "end": {},
    "activate": {},
}


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def order(centre: Facility) -> StandingOrder:
    return cast.order(centre)


@pytest.fixture
def desk(db: None) -> Client:
    return visitor(UserRole.DISPATCHER)


def _kept(order: StandingOrder) -> tuple[Any, ...]:
    """Return everything that a refused form must not change."""
    order.refresh_from_db()
    return order.version, order.status, order.end_date, Hold.objects.count(), OccurrenceChange.objects.count()


def test_day_is_moved_with_its_times(order: StandingOrder, desk: Client) -> None:
    form = {"day": MONDAY, "shown": MONDAY, "to_date": MONDAY + DAY, "chair_time": "07:00", "pickup_time": "06:10"}

    response = send(desk, order, "move", **form, return_time="12:00")

    assert response.redirect_chain == [(page_of(order, f"?day={MONDAY + DAY}#day"), 302)]
    assert told(response) == ["The day is changed. 2 rides are changed: Tue, Nov 24."]
    change = OccurrenceChange.objects.get()
    assert (change.to_date, change.chair_time, change.pickup_time, change.return_time) == (
        MONDAY + DAY,
        dt.time(7),
        dt.time(6, 10),
        dt.time(12),
    )
    page = text_of(response)
    assert "2 rides moved from Monday, November 23" in page
    assert "There Tue, Nov 24, 06:10 07:00 booked" in page


def test_day_is_skipped_and_restored(order: StandingOrder, desk: Client) -> None:
    skipped = send(desk, order, "skip", day=MONDAY, shown=MONDAY)
    restored = send(desk, order, "restore", day=MONDAY, shown=MONDAY)

    assert told(skipped) == ["The day is skipped. 2 rides are canceled: Mon, Nov 23."]
    assert told(restored) == ["The day follows the series again. 2 rides are booked: Mon, Nov 23."]
    assert restored.redirect_chain == [(page_of(order, f"?day={MONDAY}#day"), 302)]
    assert not OccurrenceChange.objects.exists()


def test_hold_tells_what_is_called_off_and_resume_what_is_booked(order: StandingOrder, desk: Client) -> None:
    held = send(desk, order, "hold", reason="hospital_stay", from_date=MONDAY, until="")
    resumed = send(desk, order, "resume", from_date=WEDNESDAY)

    named = (
        "Wed, Nov 25; Fri, Nov 27; Mon, Nov 30; Wed, Dec 2; Fri, Dec 4; Mon, Dec 7; Wed, Dec 9; Fri, Dec 11; "
        "Mon, Dec 14;"
    )
    assert told(held) == [
        f"The hold is set. 24 rides are canceled: Mon, Nov 23; {named} Wed, Dec 16; Fri, Dec 18.",
    ]
    assert told(resumed) == [f"The rides are resumed. 22 rides are booked: {named} Wed, Dec 16; Fri, Dec 18."]
    hold = Hold.objects.get()
    assert (hold.from_date, hold.until) == (MONDAY, MONDAY + DAY)


def test_resume_tells_what_could_not_be_booked_and_why(centre: Facility, order: StandingOrder, desk: Client) -> None:
    send(desk, order, "hold", reason="travel", from_date=MONDAY, until="")
    ride = Ride.objects.filter(standing_order_id=order.pk).earliest("pickup_at")
    booking.book(draft=draft(centre, order.rider, pickup_at=ride.pickup_at), **TOLD)

    response = send(desk, order, "resume", from_date=MONDAY)

    assert told(response)[1:] == [
        "Could not be booked or changed: Mon, Nov 23. The rider has another ride at this time."
    ]
    assert "1 coming day could not be booked: Mon, Nov 23" in text_of(response)


def test_skip_does_not_report_previously_customized_days(order: StandingOrder, desk: Client) -> None:
    ride = cast.rides(order)[0]
    later = ride.pickup_at - dt.timedelta(minutes=10)
    editing.edit(ride_id=ride.pk, changes={"pickup_at": later}, **TOLD)
    terms = {"days_of_week": (1, 3, 5)}
    edit_order.change(order_id=order.pk, terms=terms, **TOLD)

    response = send(desk, order, "skip", day=MONDAY + DAY, shown=MONDAY + DAY)

    assert told(response) == ["The day is skipped. 2 rides are canceled: Tue, Nov 24."]


def test_order_ends_now_or_after_a_day(centre: Facility, desk: Client) -> None:
    now, then = cast.order(centre), cast.order(centre)

    ended = send(desk, now, "end", last_date="")
    ends = send(desk, then, "end", last_date=WEDNESDAY)

    assert told(ended)[0].startswith("The end is set. 24 rides are canceled:")
    assert told(ends)[0].startswith("The end is set. 20 rides are canceled: Fri, Nov 27;")
    now.refresh_from_db()
    then.refresh_from_db()
    assert (now.status, then.status, then.end_date) == ("ended", "active", WEDNESDAY)


def test_draft_is_activated(centre: Facility, desk: Client) -> None:
    order = cast.order(centre, is_draft=True)
    before = desk.get(page_of(order))

    response = send(desk, order, "activate")

    assert "It is a draft: nothing is booked until it is activated." in text_of(before)
    assert "Activate" in text_of(before)
    assert told(response)[0].startswith("The standing order is active. 24 rides are booked: Mon, Nov 23;")
    assert "Activate" not in text_of(response)


@pytest.mark.parametrize(
    ("action", "form", "wrong"),
    [
        ("move", {"to_date": MONDAY + 9 * DAY}, ["to_date"]),
        ("move", {"to_date": ""}, ["to_date"]),
        ("move", {"to_date": NOW.date() - DAY}, ["to_date"]),
        ("move", {"to_date": MONDAY, "chair_time": "25:00"}, ["chair_time"]),
        ("move", {"to_date": MONDAY, "pickup_time": "10:40"}, ["pickup_time"]),
        ("move", {"to_date": MONDAY, "return_time": "10:30"}, ["return_time"]),
        ("move", {"day": MONDAY + DAY}, ["day"]),
        ("skip", {"day": MONDAY + DAY}, ["day"]),
        ("skip", {"day": "x", "shown": "x"}, ["day", "shown"]),
        ("skip", {"day": "9999-12-31", "shown": "0001-01-01"}, ["day"]),
        ("skip", {"day": "0001-01-01", "shown": "9999-12-31"}, ["day"]),
        ("restore", {"day": MONDAY + DAY}, ["day"]),
        ("hold", {"until": MONDAY - DAY}, ["until"]),
        ("hold", {"from_date": MONDAY - 30 * DAY}, ["from_date"]),
        ("hold", {"from_date": "9999-12-31"}, ["from_date"]),
        ("hold", {"reason": "boredom"}, ["reason"]),
        ("resume", {"from_date": ""}, ["from_date"]),
        ("resume", {"from_date": MONDAY - 30 * DAY}, ["from_date"]),
        ("end", {"last_date": "soon"}, ["last_date"]),
        ("end", {"last_date": "1999-01-01"}, ["last_date"]),
        ("activate", {"version": "x"}, ["version"]),
    ],
)
def test_form_that_is_wrong_comes_back_by_its_fields(
    order: StandingOrder, desk: Client, action: str, form: dict[str, Any], wrong: list[str]
) -> None:
    before = _kept(order)

    response = send(desk, order, action, **(GOOD[action] | form))

    assert response.status_code == 422
    assert list(response.context["error_form"].errors) == wrong
    assert "Fix" in text_of(response)
    assert _kept(order) == before


def test_values_are_kept_and_the_form_stands_open(order: StandingOrder, desk: Client) -> None:
    held = send(desk, order, "hold", reason="transplant", from_date=FRIDAY, until=MONDAY).content.decode()
    moved = send(desk, order, "move", day=WEDNESDAY, shown=WEDNESDAY, to_date=WEDNESDAY + 9 * DAY).content.decode()

    assert '<option value="transplant" selected>' in held
    assert f'value="{FRIDAY}"' in held
    assert '<a href="#hold_until">' in held
    assert '<a href="#move_to_date">' in moved
    assert f'value="{WEDNESDAY + 9 * DAY}"' in moved
    assert moved.count("<details open>") == 1


def test_refusal_names_other_fields_by_their_labels(order: StandingOrder, desk: Client) -> None:
    response = send(desk, order, "move", day=MONDAY, shown=MONDAY, to_date=MONDAY, pickup_time="10:40")

    held = send(desk, order, "hold", reason="travel", from_date=NOW.date(), until=NOW.date() - DAY)

    assert "Pickup: The pickup must be within the six hours before the chair time." in text_of(response)
    assert "Last day without rides: Last day without rides must not be before the first day." in text_of(held)
    assert "must not be in the past" not in text_of(held)


def test_move_that_comes_back_stands_by_its_own_occurrence(order: StandingOrder, desk: Client) -> None:
    there: dict[str, Any] = {"edit": edit_order.OccurrenceEdit(to_date=MONDAY + DAY), "pattern_date": WEDNESDAY}
    edit_order.change_occurrence(order_id=order.pk, **TOLD, **there)
    terms = {"days_of_week": (0, 1, 2, 4)}
    edit_order.change(order_id=order.pk, terms=terms | {"chair_time": dt.time(15)}, **TOLD)

    form = {"day": WEDNESDAY, "shown": MONDAY + DAY, "to_date": WEDNESDAY + 9 * DAY}
    response = send(desk, order, "move", **form)

    found = {one["view"].pattern_date: one["move"].is_bound for one in response.context["occurrences"]}
    assert found == {MONDAY + DAY: False, WEDNESDAY: True}


@pytest.mark.parametrize("action", ACTIONS)
def test_stale_form_changes_nothing_and_can_be_sent_again(centre: Facility, desk: Client, action: str) -> None:
    order = cast.order(centre, is_draft=action == "activate")
    if action == "resume":
        hold_order.hold(order_id=order.pk, from_date=MONDAY, until=None, reason="travel", **TOLD)
    stale = StandingOrder.objects.get().version
    edit_order.skip(order_id=order.pk, pattern_date=WEDNESDAY, **TOLD)
    before = _kept(order)

    response = send(desk, order, action, **GOOD[action], version=stale)

    assert response.status_code == 422
    assert "Someone else changed the standing order." in text_of(response)
    assert _kept(order) == before
    assert f'name="version" value="{order.version}"' in str(response.context["error_form"]["version"])
    assert send(desk, order, action, **GOOD[action]).redirect_chain


def test_order_that_has_ended_says_so(order: StandingOrder, desk: Client) -> None:
    edit_order.end(order_id=order.pk, last_date=None, **TOLD)

    response = send(desk, order, "hold", **GOOD["hold"])

    assert response.status_code == 422
    assert "The standing order has ended." in text_of(response)


def test_second_press_of_a_button_does_it_once(order: StandingOrder, desk: Client) -> None:
    form = {"version": order.version, **GOOD["hold"]}

    first, second = (desk.post(page_of(order, "hold/"), form) for _ in range(2))

    assert (first.status_code, second.status_code) == (302, 422)
    assert Hold.objects.count() == 1


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("role", [UserRole.AUDITOR, UserRole.FLEET_ADMIN, UserRole.ADMIN])
def test_those_who_may_not_change_schedules_are_refused(order: StandingOrder, action: str, role: UserRole) -> None:
    before = _kept(order)

    response = send(visitor(role), order, action, **GOOD[action])

    assert response.status_code == 403
    assert _kept(order) == before


def test_order_that_vanishes_meanwhile_is_not_found(
    order: StandingOrder, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Membership may end between the read of the order and its lock."""

    def gone(*args: Any, **kwargs: Any) -> Any:
        raise NotFound(Message("standing order"))

    monkeypatch.setattr(edit_order, "activate", gone)

    assert send(desk, order, "activate").status_code == 404


def _present(response: Any) -> dict[str, Any]:
    """Return the initial data of the form that moves the day."""
    form = response.context["occurrences"][0]["move"]
    return {name: form[name].value() for name in ("to_date", "chair_time", "pickup_time", "return_time")}


def _arranged() -> list[tuple[Any, ...]]:
    return list(OccurrenceChange.objects.values_list("to_date", "chair_time", "pickup_time", "return_time"))


def _move(client: Client, order: StandingOrder, day: dt.date, **changes: Any) -> Any:
    """Open a day and submit its form with some fields changed."""
    filled = _present(client.get(page_of(order, f"?day={day}"))) | changes
    occurrence = client.get(page_of(order, f"?day={day}")).context["occurrences"][0]["view"]
    sent = {name: value for name, value in filled.items() if value is not None}
    return send(client, order, "move", day=occurrence.pattern_date, shown=day, **sent)


def test_form_that_moves_a_day_begins_with_its_present_times(order: StandingOrder, desk: Client) -> None:
    single = cast.order(of={"return_mode": "none"})

    response = desk.get(page_of(order, f"?day={MONDAY}"))

    assert _present(response) == {
        "to_date": MONDAY,
        "chair_time": dt.time(10, 30),
        "pickup_time": dt.time(9, 55),
        "return_time": dt.time(15),
    }
    assert 'name="chair_time" value="10:30"' in response.content.decode()
    assert _present(desk.get(page_of(single, f"?day={MONDAY}")))["return_time"] is None


def test_times_that_are_left_move_along(order: StandingOrder, desk: Client) -> None:
    _move(desk, order, MONDAY, chair_time="07:00")

    assert _arranged() == [(None, dt.time(7), None, None)]
    assert _present(desk.get(page_of(order, f"?day={MONDAY}"))) == {
        "to_date": MONDAY,
        "chair_time": dt.time(7),
        "pickup_time": dt.time(6, 25),
        "return_time": dt.time(11, 30),
    }


def test_day_alone_is_moved_with_the_times_of_the_series(order: StandingOrder, desk: Client) -> None:
    _move(desk, order, MONDAY, to_date=MONDAY + DAY)

    assert _arranged() == [(MONDAY + DAY, None, None, None)]


def test_what_was_arranged_before_stays_where_it_is_left(order: StandingOrder, desk: Client) -> None:
    _move(desk, order, MONDAY, pickup_time="09:15")
    first = _arranged()
    _move(desk, order, MONDAY, to_date=MONDAY + DAY)
    second = _arranged()
    _move(desk, order, MONDAY + DAY, pickup_time="")

    assert first == [(None, None, dt.time(9, 15), None)]
    assert second == [(MONDAY + DAY, None, dt.time(9, 15), None)]
    assert _arranged() == [(MONDAY + DAY, None, None, None)]


def test_day_shifted_by_facility_retains_its_time_when_unmoved(
    centre: Facility, order: StandingOrder, desk: Client
) -> None:
    shift = ShiftDraft(MONDAY, MONDAY + DAY, new_chair_time=dt.time(6))
    entered = calendar_shifts.enter(facility_id=centre.pk, draft=shift, **TOLD)
    calendar_shifts.apply(shift_id=entered.pk, **TOLD)
    generate_rides.generate(**TOLD)

    _move(desk, order, MONDAY + DAY, pickup_time="05:00")

    assert _arranged() == [(MONDAY + DAY, dt.time(6), dt.time(5), None)]


def test_ride_that_people_moved_keeps_its_time_where_it_is_left(order: StandingOrder, desk: Client) -> None:
    ride = cast.rides(order)[0]
    changes = {"pickup_at": ride.pickup_at - dt.timedelta(minutes=20)}
    editing.edit(ride_id=ride.pk, changes=changes, **TOLD)

    shown = _present(desk.get(page_of(order, f"?day={MONDAY}")))
    _move(desk, order, MONDAY, to_date=MONDAY + DAY)

    assert shown["pickup_time"] == dt.time(9, 35)
    assert _arranged() == [(MONDAY + DAY, None, dt.time(9, 35), None)]


def test_day_changed_since_page_load_is_moved_as_typed(order: StandingOrder, desk: Client) -> None:
    send(desk, order, "move", day=MONDAY, shown=FRIDAY, to_date=MONDAY, chair_time="10:30", pickup_time="10:00")

    assert _arranged() == [(None, dt.time(10, 30), dt.time(10), None)]
