"""Shifts planned, changed, ended, cancelled and repeated on their pages."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.audit.models import AuditEntry
from apps.dispatch.queries.uncovered_rides import left_without
from apps.fleet.models import Driver, Shift, Vehicle
from apps.rides.models import Ride
from lib.access import system
from lib.ids import uuid7
from lib.scopes import Scope
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db

PLAN = "/console/fleet/shifts/"
NEW = f"{PLAN}new/"
HOUR = dt.timedelta(hours=1)
DAY = dt.timedelta(days=1)
# Monday 23 November, 06:00 in Chicago.
SIX = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def _form(driver: Driver, vehicle: Vehicle, **more: Any) -> dict[str, Any]:
    known = {"day": "2026-11-23", "starts": "0600", "ends": "2p", "version": 0}
    return {"driver": str(driver.pk), "vehicle": str(vehicle.pk), **known, **more}


def _shift(starts_at: dt.datetime = SIX, hours: float = 8, **columns: Any) -> Shift:
    made: Shift = factories.ShiftFactory.create(starts_at=starts_at, ends_at=starts_at + hours * HOUR, **columns)
    return made


def _of(shift: Shift, act: str = "") -> str:
    return f"{PLAN}{shift.pk}/{act}"


def _as_it_is(shift: Shift, **more: Any) -> dict[str, Any]:
    return _form(shift.driver, shift.vehicle, version=shift.version, **more)


def _ride(shift: Shift, at: dt.datetime) -> Ride:
    ride: Ride = factories.RideFactory.create(pickup_at=at, service_date=at.date())
    factories.put_driver_on(ride, driver=shift.driver, vehicle=shift.vehicle)
    return ride


def _looked(asked: Any, sent: dict[str, Any]) -> dict[str, Any]:
    """Submit the same form again, after a review of the affected rides."""
    return {**sent, "accept": "on", "seen": asked.context["seen"]}


def _rows() -> list[Any]:
    return list(Shift.objects.order_by("pk").values())


def _span(shift: Shift) -> tuple[dt.datetime, dt.datetime, str]:
    shift.refresh_from_db()
    return shift.starts_at, shift.ends_at, shift.status


@pytest.mark.parametrize("role", sorted(role for role in UserRole if Scope.DRIVERS_WRITE not in SCOPES_OF_USER[role]))
def test_shifts_are_planned_by_those_who_may(role: UserRole) -> None:
    shift, client = _shift(), visitor(role)
    before = _rows()

    answers = [client.get(NEW), client.get(_of(shift)), client.post(NEW, _as_it_is(shift))]
    answers += [client.post(_of(shift), _as_it_is(shift, ends="15:00"))]
    answers += [client.post(_of(shift, act), {"version": 1, "do": "cancel"}) for act in ("step/", "break/")]

    assert {answer.status_code for answer in answers} == {403}
    assert _rows() == before


def test_shifts_out_of_reach_are_not_there() -> None:
    ours, theirs = _shift(), _shift()
    person = factories.UserFactory.create(role=UserRole.FLEET_ADMIN)
    person.providers.add(ours.provider)
    bound = Client()
    sign_in(bound, person)
    before = _rows()

    absent = [bound.get(_of(theirs)), bound.post(_of(theirs), _as_it_is(theirs, ends="15:00"))]
    absent += [bound.post(_of(theirs, act), {"version": 1}) for act in ("step/", "break/")]
    absent += [bound.get(f"{NEW}?copy={theirs.pk}"), bound.get(_of(Shift(pk=uuid7())))]
    refused = bound.post(NEW, _as_it_is(theirs))
    page = bound.get(f"{NEW}?driver={theirs.driver_id}")

    assert {answer.status_code for answer in absent} == {404}
    assert (refused.status_code, set(refused.context["form"].errors)) == (422, {"driver", "vehicle"})
    assert str(theirs.driver_id) not in page.content.decode()
    assert _rows() == before


def test_new_shift_takes_driver_and_day_from_the_address(desk: Client) -> None:
    driver, vehicle = fit_pair()

    page = desk.get(f"{NEW}?driver={driver.pk}&day=2026-11-23")
    done = desk.post(NEW, _form(driver, vehicle), follow=True)

    first = page.context["form"].initial
    assert (first["driver"], first["vehicle"], first["day"]) == (str(driver.pk), str(vehicle.pk), "2026-11-23")
    shift = Shift.objects.get()
    assert (shift.driver_id, shift.vehicle_id, shift.starts_at, shift.ends_at) == (
        driver.pk, vehicle.pk, SIX, SIX + 8 * HOUR,
    )  # fmt: skip
    assert done.redirect_chain == [(f"{PLAN}?day=2026-11-23", 302)]
    assert told(done) == ["The shift is planned: Mon, Nov 23, 06:00 \N{EN DASH} 14:00 CT."]
    assert AuditEntry.objects.filter(action="shifts.plan").count() == 1


def test_a_new_shift_begins_with_today_and_nobody(desk: Client) -> None:
    for query in ("", "?driver=nonsense", f"?driver={uuid7()}", "?copy=nonsense"):
        assert desk.get(f"{NEW}{query}").context["form"].initial == {"version": 0, "day": "2026-11-20"}


def test_overnight_shift_uses_the_providers_time_zone(desk: Client) -> None:
    there = factories.TransportProviderFactory.create(timezone="America/New_York")
    driver, vehicle = fit_pair(there)

    desk.post(NEW, _form(driver, vehicle, starts="22:00", ends="06:00"))

    shift = Shift.objects.get()
    assert (shift.starts_at, shift.ends_at - shift.starts_at) == (SIX + 15 * HOUR, 8 * HOUR)


def test_break_of_an_overnight_shift_is_on_the_next_day_and_in_the_plan(desk: Client) -> None:
    driver, vehicle = fit_pair()

    desk.post(NEW, _form(driver, vehicle, starts="22:00", ends="06:00", break_starts="1:30a", break_ends="02:00"))

    shift = Shift.objects.get()
    pause = (shift.break_starts_at, shift.break_ends_at)
    assert pause == (shift.starts_at + 3.5 * HOUR, shift.starts_at + 4 * HOUR)
    page = desk.get(f"/console/fleet/shifts/{shift.pk}/").content.decode()
    assert 'value="01:30"' in page
    plan = desk.get("/console/fleet/shifts/", {"day": shift.starts_at.date().isoformat()}).content.decode()
    assert f"break 01:30{chr(0x2013)}02:00" in plan


@pytest.mark.parametrize(
    ("given", "field", "said"),
    [
        ({"break_starts": "07:00"}, "break_ends", "A break has a start and an end."),
        ({"break_starts": "07:00", "break_ends": "+10"}, "break_ends", "Enter a time of day, such as 14:30 or 2:30p."),
        ({"break_starts": "23:00", "break_ends": "23:30"}, "break_starts", "The break must lie inside the shift."),
        ({"driver": ""}, "driver", "This field is required."),
        ({"vehicle": str(uuid7())}, "vehicle", "Select a valid choice"),
        ({"day": "someday"}, "day", "Enter a valid date."),
        ({"starts": "25:00"}, "starts", "Enter a time such as 14:30, 2:30p, +45 or now."),
        ({"starts": "+45"}, "starts", "Enter a time of day, such as 14:30 or 2:30p."),
        ({"ends": "now"}, "ends", "Enter a time of day, such as 14:30 or 2:30p."),
        ({"ends": "06:00"}, "ends", "A shift cannot start and end at the same time."),
        ({"day": "2027-03-14", "starts": "02:30"}, "starts", "There is no 02:30 on that day: the clocks go forward."),
        ({"day": "2026-11-01", "starts": "01:30"}, "starts", "01:30 occurs twice on that day: choose one of the two."),
    ],
)
def test_what_is_no_shift_is_said_beside_it(desk: Client, given: dict[str, str], field: str, said: str) -> None:
    driver, vehicle = fit_pair()

    answer = desk.post(NEW, _form(driver, vehicle) | given)

    assert (answer.status_code, list(answer.context["form"].errors)) == (422, [field])
    assert said in answer.context["form"].errors[field][0]
    assert _rows() == []


@pytest.mark.parametrize(("which", "hour"), [("first", 6), ("second", 7)])
def test_an_hour_that_comes_twice_is_one_of_the_two(desk: Client, which: str, hour: int) -> None:
    driver, vehicle = fit_pair()
    asked = desk.post(NEW, _form(driver, vehicle, day="2026-11-01", starts="01:30"))

    desk.post(NEW, _form(driver, vehicle, day="2026-11-01", starts="01:30", which=which))

    assert "The clocks go back: which of the two" in text_of(asked)
    assert Shift.objects.get().starts_at == dt.datetime(2026, 11, 1, hour, 30, tzinfo=dt.UTC)


def test_one_that_overlaps_is_refused_beside_whom_it_is_about(desk: Client) -> None:
    first = _shift()
    other, van = fit_pair(first.provider)
    before = _rows()

    answers = {
        "driver": desk.post(NEW, _form(first.driver, van, starts="13:59", ends="20:00")),
        "vehicle": desk.post(NEW, _form(other, first.vehicle, starts="5", ends="7")),
    }

    for field, answer in answers.items():
        assert answer.status_code == 422
        assert answer.context["form"].errors == {field: [f"The {field} is in another shift at that time."]}
    assert _rows() == before
    assert desk.post(NEW, _form(first.driver, first.vehicle, starts="14:00", ends="20:00")).status_code == 302


def test_a_vehicle_of_another_provider_is_refused(desk: Client) -> None:
    driver, _van = fit_pair()
    _other, theirs = fit_pair()

    answer = desk.post(NEW, _form(driver, theirs))

    assert "belongs to another provider" in answer.context["form"].errors["vehicle"][0]
    assert f"({theirs.provider.name})" in text_of(answer)  # several matches are distinguished by provider


def test_a_shift_is_moved_and_given_to_others(desk: Client) -> None:
    shift = _shift()
    other, van = fit_pair(shift.provider)

    page = desk.get(_of(shift))
    done = desk.post(_of(shift), _form(other, van, starts="7a", ends="3p", version=1), follow=True)

    form = page.context["form"]
    assert (form["starts"].value(), form["ends"].value(), form["day"].value()) == ("06:00", "14:00", "2026-11-23")
    assert _span(shift) == (SIX + HOUR, SIX + 9 * HOUR, "planned")
    assert (shift.driver_id, shift.vehicle_id) == (other.pk, van.pk)
    assert told(done) == ["The shift is changed: Mon, Nov 23, 07:00 \N{EN DASH} 15:00 CT."]


def test_a_change_that_is_no_shift_is_said_beside_it(desk: Client) -> None:
    shift = _shift()

    answer = desk.post(_of(shift), _as_it_is(shift, ends="25:00"))

    assert (answer.status_code, list(answer.context["form"].errors)) == (422, ["ends"])
    assert _span(shift) == (SIX, SIX + 8 * HOUR, "planned")


def test_shift_changed_by_others_is_shown_first(desk: Client) -> None:
    shift = _shift()
    Shift.objects.update(version=3)

    answer = desk.post(_of(shift), _form(shift.driver, shift.vehicle, ends="15:00", version=1))

    assert answer.status_code == 422
    assert "Someone else changed it." in text_of(answer)
    assert _span(shift)[1] == SIX + 8 * HOUR


def test_rides_left_without_a_shift_are_shown_first(desk: Client) -> None:
    shift = _shift()
    left, kept = _ride(shift, SIX + 7 * HOUR), _ride(shift, SIX + 2 * HOUR)
    sent = _as_it_is(shift, ends="12:00")

    asked = desk.post(_of(shift), sent)
    before = _span(shift)
    done = desk.post(_of(shift), _looked(asked, sent), follow=True)

    assert asked.status_code == 422
    assert "1 ride would be outside the driver's shifts" in text_of(asked)
    assert "I have reviewed these rides: keep them with the driver" in text_of(asked)
    shown = asked.content.decode()
    assert f"/{left.pk}/" in shown
    assert f"/{kept.pk}/" not in shown
    assert AuditEntry.objects.get(action="drivers.rides").rider_ids == [left.rider_id]
    assert before[1] == SIX + 8 * HOUR
    assert _span(shift)[1] == SIX + 6 * HOUR
    assert told(done)[0].startswith("The shift is changed")
    left.refresh_from_db()
    assert left.driver_id == shift.driver_id


@pytest.mark.parametrize("act", ["", "step/"])
def test_rides_added_meanwhile_are_shown_before_the_change(desk: Client, act: str) -> None:
    shift = _shift()
    seen = _ride(shift, SIX + 7 * HOUR)
    sent = {"do": "cancel", "version": 1} if act else _as_it_is(shift, ends="12:00")
    asked = desk.post(_of(shift, act), sent)
    new, before = _ride(shift, SIX + 6.5 * HOUR), _rows()

    again = desk.post(_of(shift, act), _looked(asked, sent))
    unchanged = _rows() == before
    once_more = desk.post(_of(shift, act), {**_looked(again, sent), "seen": f"{seen.pk} nonsense"})
    done = desk.post(_of(shift, act), _looked(again, sent))

    assert (asked.status_code, again.status_code, once_more.status_code, done.status_code) == (422, 422, 422, 302)
    assert "Since you looked" not in text_of(asked)
    said = text_of(again)
    assert "More rides would be outside the driver's shifts than you reviewed. Review them again." in said
    assert "2 rides would be outside the driver's shifts" in said
    assert [(row["ride"].pk, row["becomes"]) for row in again.context["rides"]] == [
        (new.pk, "Added since your review; stays with the driver"),
        (seen.pk, "Stays with the driver"),
    ]
    assert 'name="accept" checked' not in again.content.decode()
    assert (unchanged, _rows() == before) == (True, False)


def test_rides_removed_meanwhile_need_no_confirmation(desk: Client) -> None:
    shift = _shift()
    ride, sent = _ride(shift, SIX + HOUR), {"do": "cancel", "version": 1}
    asked = desk.post(_of(shift, "step/"), sent)
    Ride.objects.filter(pk=ride.pk).update(pickup_at=SIX - HOUR)

    assert desk.post(_of(shift, "step/"), _looked(asked, sent)).status_code == 302
    assert _span(shift)[2] == "cancelled"


def test_rides_that_another_shift_covers_are_not_left(desk: Client) -> None:
    shift = _shift()
    crew: dict[str, Any] = {"driver": shift.driver, "vehicle": shift.vehicle}
    later = _shift(SIX + 8 * HOUR, 2, **crew)
    ride = _ride(shift, SIX + 7 * HOUR)
    _shift(SIX + 6 * HOUR, 2, **crew, status="cancelled")
    _shift(SIX + 6 * HOUR, 2, driver=fit_pair(shift.provider)[0], vehicle=fit_pair(shift.provider)[1])

    def left() -> list[Ride]:
        return list(left_without(shift, keeps=None, by=system()))

    assert left() == [ride]
    Shift.objects.filter(pk=shift.pk).update(ends_at=SIX + 7 * HOUR)
    Shift.objects.filter(pk=later.pk).update(starts_at=SIX + 7 * HOUR)
    assert left() == []


def test_who_is_given_another_shift_leaves_the_rides_of_this_one(desk: Client) -> None:
    shift = _shift()
    _ride(shift, SIX + HOUR)
    other, van = fit_pair(shift.provider)

    asked = desk.post(_of(shift), _form(other, van, version=1))

    assert "1 ride would be outside the driver's shifts" in text_of(asked)
    assert _span(shift) == (SIX, SIX + 8 * HOUR, "planned")


def test_a_shift_to_come_is_cancelled_after_its_rides_were_shown(desk: Client) -> None:
    shift = _shift()
    _ride(shift, SIX + HOUR)
    sent = {"do": "cancel", "version": 1}

    asked = desk.post(_of(shift, "step/"), sent)
    before = _span(shift)
    done = desk.post(_of(shift, "step/"), _looked(asked, sent), follow=True)
    again = desk.post(_of(shift, "step/"), {"do": "cancel", "version": 2}, follow=True)

    assert "Cancel anyway" in text_of(asked)
    assert before[2] == "planned"
    assert _span(shift)[2] == "cancelled"
    assert told(done) == ["The shift is canceled."]
    assert told(again) == ["The shift is canceled."]
    page = text_of(desk.get(_of(shift)))
    assert "This shift is canceled." in page
    assert "Save the shift" not in page
    assert "With the driver" in page


def test_a_shift_that_has_begun_is_ended_and_not_cancelled(desk: Client) -> None:
    shift = _shift(NOW - 2 * HOUR)
    _ride(shift, NOW + 3 * HOUR)

    page = text_of(desk.get(_of(shift)))
    refused = desk.post(_of(shift, "step/"), {"do": "cancel", "version": 1, "accept": "on"})
    asked = desk.post(_of(shift, "step/"), {"do": "end", "version": 1})
    done = desk.post(_of(shift, "step/"), _looked(asked, {"do": "end", "version": 1}), follow=True)

    assert "End now" in page
    assert "Cancel the shift" not in page
    assert (refused.status_code, "End it instead of canceling it" in text_of(refused)) == (422, True)
    assert "End anyway" in text_of(asked)
    assert _span(shift) == (NOW - 2 * HOUR, NOW, "planned")
    assert told(done) == ["The shift has ended."]


@pytest.mark.parametrize("starts_at", [NOW - 9 * HOUR, NOW + HOUR])
def test_only_a_shift_under_way_ends_now(desk: Client, starts_at: dt.datetime) -> None:
    shift = _shift(starts_at)

    answer = desk.post(_of(shift, "step/"), {"do": "end", "version": 1})

    assert answer.status_code == 422
    assert "The shift is not in progress." in text_of(answer)
    assert "End now" not in text_of(answer)
    assert _span(shift) == (starts_at, starts_at + 8 * HOUR, "planned")


def test_a_step_without_a_version_is_none(desk: Client) -> None:
    assert desk.post(_of(_shift(), "step/"), {"do": "cancel"}).status_code == 404


def test_a_break_begins_and_ends_from_the_shift(desk: Client) -> None:
    shift = _shift(NOW - HOUR)

    begun = desk.post(_of(shift, "break/"), {"on_break": "on"}, follow=True)
    on_break = Driver.objects.get(pk=shift.driver_id).on_break
    ended = desk.post(_of(shift, "break/"), follow=True)

    assert (told(begun), told(ended)) == (["The driver is on a break."], ["The driver is back from the break."])
    assert "End break" in text_of(begun)
    assert "Takes a break" in text_of(ended)
    assert (on_break, Driver.objects.get(pk=shift.driver_id).on_break) == (True, False)


@pytest.mark.parametrize(("query", "same"), [("&driver=same", True), ("", False)])
def test_a_shift_is_planned_once_more_with_or_without_its_driver(desk: Client, query: str, same: bool) -> None:
    shift = _shift()

    first = desk.get(f"{NEW}?copy={shift.pk}{query}").context["form"].initial

    assert first == {
        "version": 0, "day": "2026-11-24", "starts": "06:00", "ends": "14:00", "vehicle": str(shift.vehicle_id),
        **({"driver": str(shift.driver_id)} if same else {}),
    }  # fmt: skip


def test_former_drivers_are_offered_only_for_their_own_shift(desk: Client) -> None:
    shift = _shift(driver__activation="inactive", vehicle__status="retired")
    other, _van = fit_pair(shift.provider)

    own, new = desk.get(_of(shift)).content.decode(), desk.get(NEW).content.decode()

    for pk in (shift.driver_id, shift.vehicle_id):
        assert f'value="{pk}"' in own
        assert f'value="{pk}"' not in new
    assert f'value="{other.pk}"' in new
