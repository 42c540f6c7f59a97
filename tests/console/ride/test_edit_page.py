"""The page that edits a booked ride."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.console.ride import ride_views
from apps.organizations.models import Facility
from apps.riders import services as riders
from apps.rides.models import Ride
from apps.rides.rules.draft import ReturnLeg
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import booking, editing, trips
from lib.access import Principal, system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, told, visitor
from tests.fleet.crew import fit_pair
from tests.rides.drafts import HOME, draft
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import traces

pytestmark = pytest.mark.django_db

HOUR = dt.timedelta(hours=1)


@pytest.fixture
def ride(hospital: Facility, planner: Principal) -> Ride:
    rider = factories.RiderFactory.create(facility=hospital, home_address=HOME)
    back = ReturnLeg(pickup_at=factories.PICKUP + 3 * HOUR)
    return booking.book(draft=draft(hospital, rider, return_leg=back), by=planner, at=factories.NOW).ride


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def page(ride: Ride, tail: str = "") -> str:
    return f"/console/rides/{ride.pk}/edit/{tail}"


def posted(client: Client, ride: Ride) -> dict[str, str]:
    """Return what the untouched form posts."""
    form = client.get(page(ride)).context["form"]
    shown = {name: form[name].value() for name in form.fields if name not in ("crew", "new_driver", "new_vehicle")}
    return {
        name: "on" if value is True else str(value) for name, value in shown.items() if value not in (None, False, "")
    }


def test_untouched_form_changes_nothing(desk: Client, ride: Ride) -> None:
    before = traces(ride)

    answer = desk.post(page(ride), posted(desk, ride))

    assert answer.status_code == 302, text_of(answer)
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}


def test_new_time_moves_the_return_along_and_is_in_the_history(desk: Client, ride: Ride) -> None:
    values = posted(desk, ride) | {"clock": "2:30p"}
    seen = text_of(desk.post(page(ride, "check/"), values))
    assert "Pickup time: Fri, Nov 20, 14:00 CT → Fri, Nov 20, 14:30 CT" in seen
    assert "Return trip: 17:00 CT → 17:30 CT" in seen
    assert "Moved to another time" in seen

    answer = desk.post(page(ride), values, follow=True)

    ride.refresh_from_db()
    assert ride.pickup_at == factories.PICKUP + HOUR / 2
    assert set(Ride.objects.values_list("pickup_at", flat=True)) == {ride.pickup_at, ride.pickup_at + 3 * HOUR}
    assert "Pickup time: Fri, Nov 20, 14:00 CT → Fri, Nov 20, 14:30 CT" in text_of(answer)


def test_address_notes_needs_and_contact_change(desk: Client, ride: Ride) -> None:
    values = posted(desk, ride) | {
        "dropoff_at": "typed",
        "dropoff_address_line1": "9 Elm St",
        "dropoff_city": "Elgin",
        "driver_notes": "Ring twice.",
        "escorts": "1",
        "mobility": "wheelchair",
        "contact_name": "Pat",
        "authorization_number": "A-2",
    }

    answer = desk.post(page(ride), values)

    ride.refresh_from_db()
    assert answer.status_code == 302, text_of(answer)
    assert (ride.dropoff["addressLine1"], ride.driver_notes, ride.companions["escorts"]) == (
        "9 Elm St",
        "Ring twice.",
        1,
    )
    assert (ride.accommodation["mobility"], ride.requested_by["name"]) == ("wheelchair", "Pat")
    assert ride.authorization_number == "A-2"
    assert AuditEntry.objects.filter(action="rides.amend").count() == 1


def test_emptied_need_is_empty_and_no_longer_that_of_the_profile(desk: Client, hospital: Facility) -> None:
    rider = factories.RiderFactory.create(facility=hospital, home_address=HOME)
    needs = {
        "mobility": "wheelchair",
        "riderWeightLb": 210,
        "chair": {"widthIn": 24.5, "weightLb": 40},
        "oxygen": {"uses": True, "litersPerMinute": 2, "source": "own_tank"},
        "equipment": ["walker"],
        "driverNotes": "Slow on stairs.",
    }
    riders.set_accommodation(rider_id=rider.pk, needs=needs, by=system(), at=factories.NOW)
    ride = booking.book(draft=draft(hospital, rider), by=system(), at=factories.NOW).ride
    values = posted(desk, ride)
    assert (values["rider_weight_lb"], values["chair_width_in"], values["equipment"]) == ("210", "24.5", "walker")
    emptied = ("rider_weight_lb", "chair_width_in", "oxygen_source", "equipment", "needs_for_drivers")

    answer = desk.post(page(ride), {name: value for name, value in values.items() if name not in emptied})

    assert answer.status_code == 302, text_of(answer)
    after = Ride.objects.get(pk=ride.pk).accommodation
    assert (after["riderWeightLb"], after["equipment"], after["driverNotes"]) == (None, [], "")
    assert after["chair"] == {"widthIn": None, "weightLb": 40, "provide": False}
    assert after["oxygen"] == {"uses": True, "litersPerMinute": 2, "source": None}
    form = desk.get(page(ride)).context["form"]
    assert "" not in dict(form.fields["mobility"].choices)
    assert dict(form.fields["oxygen_source"].choices)[""] == "Not specified"


def busy_crew(ride: Ride) -> None:
    driver, vehicle = fit_pair()
    factories.put_driver_on(ride, driver=driver, vehicle=vehicle)
    other = factories.RideFactory.create(pickup_at=factories.PICKUP + HOUR)
    factories.put_driver_on(other, driver=driver, vehicle=vehicle)


@pytest.mark.parametrize("choice", ["reassign", "unassign", "keep"])
def test_driver_in_conflict_is_decided_about(desk: Client, ride: Ride, choice: str) -> None:
    busy_crew(ride)
    best, _ = fit_pair()
    first = ride.driver_id
    values = posted(desk, ride) | {"clock": "15:00"}
    before = traces(ride)

    asked = desk.post(page(ride), values)
    seen = asked.context["seen"]
    assert (asked.status_code, seen.chosen) == (422, "reassign")
    assert f"Reassign to {best.first_name} {best.last_name}" in text_of(asked)
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}
    chosen = {"crew": choice, "new_driver": seen.new_driver, "new_vehicle": seen.new_vehicle}
    if choice == "keep":
        refused = desk.post(page(ride), values | chosen)
        assert refused.status_code == 422
        chosen["override_reason"] = "The clinic asked for it."

    assert desk.post(page(ride), values | chosen).status_code == 302

    ride.refresh_from_db()
    assert ride.pickup_at == factories.PICKUP + HOUR
    assert ride.driver_id == {"reassign": best.pk, "unassign": None, "keep": first}[choice]


def test_changes_of_somebody_else_are_shown_field_by_field(desk: Client, ride: Ride, dispatcher: Principal) -> None:
    values = posted(desk, ride) | {"clock": "14:30", "driver_notes": "Mine"}
    theirs = {"notes": {"driver": "Theirs", "facility": "Call the unit"}}
    editing.edit(ride_id=ride.pk, changes=theirs, by=dispatcher, at=factories.NOW)
    before = traces(ride)

    conflict = desk.post(page(ride), values)

    assert conflict.status_code == 409
    merges = {merge.name: (merge.mine, merge.theirs, merge.chosen) for merge in conflict.context["merges"]}
    assert merges == {
        "driver_notes": ("Mine", "Theirs", "mine"),
        "facility_notes": ("empty", "Call the unit", "theirs"),
    }
    assert traces(ride) | {"audit": 0} == before | {"audit": 0}

    form = conflict.context["form"]
    again = values | {"version": form["version"].value(), "base": form["base"].value()}
    again |= {"merge_driver_notes": "mine", "merge_facility_notes": "theirs"}
    assert desk.post(page(ride), again).status_code == 302
    ride.refresh_from_db()
    assert (ride.driver_notes, ride.facility_notes) == ("Mine", "Call the unit")
    assert ride.pickup_at == factories.PICKUP + HOUR / 2


def test_rider_on_board_leaves_destination_and_notes(desk: Client) -> None:
    ride = ride_in(RideStatus.IN_PROGRESS)

    form = desk.get(page(ride)).context["form"]

    assert "clock" not in form.fields
    assert "payer" not in form.fields
    assert [part.place.wire for part in form.places] == ["dropoff"]
    values = posted(desk, ride) | {"driver_notes": "Side door"}
    assert desk.post(page(ride), values).status_code == 302
    assert Ride.objects.get(pk=ride.pk).driver_notes == "Side door"


def test_planner_edits_until_a_driver_is_en_route(ride: Ride) -> None:
    planner = factories.UserFactory.create(role=UserRole.PLANNER)
    planner.facilities.set(Facility.objects.all())
    client = Client()
    sign_in(client, planner)
    factories.put_driver_on(ride)

    assert client.get(page(ride)).status_code == 200
    Ride.objects.filter(pk=ride.pk).update(status="en_route", departed_at=factories.NOW)
    assert client.get(page(ride)).status_code == 403
    assert client.post(page(ride), {"version": "1"}).status_code == 403
    assert visitor(UserRole.AUDITOR).get(page(ride)).status_code == 403


def test_wrong_input_names_its_field(desk: Client, ride: Ride) -> None:
    values = posted(desk, ride)
    for changes, name in [
        ({"clock": "25:99"}, "clock"),
        ({"clock": "06:00"}, "clock"),
        ({"dropoff_at": "typed"}, "dropoff_address_line1"),
        ({"contact_phone": "12"}, "contact_phone"),
    ]:
        answer = desk.post(page(ride), values | changes)
        assert answer.status_code == 422, changes
        assert name in answer.context["form"].errors, (changes, answer.context["form"].errors)


def test_ride_is_reinstated_and_unlinked_from_its_page(desk: Client, ride: Ride) -> None:
    desk.post(f"/console/rides/{ride.pk}/unlink/")
    ride.refresh_from_db()
    assert (ride.trip_id, ride.leg_type) == (None, "one_way")
    desk.post(f"/console/rides/{ride.pk}/cancel/", {"version": ride.version, "reason_code": "rider_ill"})
    ride.refresh_from_db()
    assert "Reinstate" in text_of(desk.get(f"/console/rides/{ride.pk}/"))

    desk.post(f"/console/rides/{ride.pk}/reinstate/", {"version": ride.version})

    ride.refresh_from_db()
    assert ride.status == "scheduled"


def _later(ride: Ride, hours: int, planner: Principal) -> Ride:
    assert ride.facility is not None
    asked = draft(ride.facility, ride.rider, pickup_at=factories.PICKUP + hours * HOUR)
    return booking.book(draft=asked, by=planner, at=factories.NOW).ride


def test_ride_is_linked_with_others_of_that_day_and_the_next(
    desk: Client, hospital: Facility, planner: Principal
) -> None:
    rider = factories.RiderFactory.create(facility=hospital, home_address=HOME)
    ride = booking.book(draft=draft(hospital, rider), by=planner, at=factories.NOW).ride
    page_url = f"/console/rides/{ride.pk}/"
    assert "Link…" not in text_of(desk.get(page_url))
    later, next_day, _too_late = (_later(ride, hours, planner) for hours in (2, 24, 50))
    _ended = _later(ride, 4, planner)
    Ride.objects.filter(pk=_ended.pk).update(
        status="unfulfilled", status_before_end="scheduled", reason_code="other", fault="none", ended_by="system"
    )
    form: Any = desk.get(page_url).context["link"]
    options = list(form["rides"])
    assert [option.data["value"] for option in options] == [str(later.pk), str(next_day.pk)]
    assert options[0].choice_label.startswith("Fri, Nov 20, 16:00 CT: ")

    answer = desk.post(f"{page_url}link/", {"version": ride.version, "rides": [str(next_day.pk)]}, follow=True)

    assert told(answer) == ["The rides are linked as one trip."]
    assert set(Ride.objects.exclude(trip=None).values_list("pk", flat=True)) == {ride.pk, next_day.pk}
    assert "Link…" not in text_of(answer)


def test_refused_link_names_the_ride_and_what_to_do(
    desk: Client, ride: Ride, hospital: Facility, planner: Principal
) -> None:
    rider = factories.RiderFactory.create(facility=hospital)
    first = booking.book(draft=draft(hospital, rider), by=planner, at=factories.NOW).ride
    others = [_later(first, hours, planner) for hours in (2, 4)]
    link_url = f"/console/rides/{first.pk}/link/"
    values: dict[str, Any] = {"version": first.version, "rides": [str(other.pk) for other in others]}
    before = traces(first)

    nothing = desk.post(link_url, {"version": first.version})
    assert (nothing.status_code, nothing.context["link"].errors) == (422, {"rides": ["This field is required."]})
    with pytest.MonkeyPatch.context() as patch:  # linked by somebody else between page and press
        offered = ride_views.linkable_rides(first, planner)
        trips.link(ride_ids=[other.pk for other in others], by=planner, at=factories.NOW)
        patch.setattr(ride_views, "linkable_rides", lambda *_arguments: offered)
        refused = desk.post(link_url, values)

    assert refused.status_code == 422
    errors = refused.context["link"].errors["rides"]
    assert errors == [f"{offered[pk]}: The ride is a leg of a trip. Unlink it first." for pk in values["rides"]]
    assert traces(first) | {"audit": 0} == before | {"audit": 0}
    assert desk.post(f"/console/rides/{ride.pk}/link/", {"version": 1, "rides": [str(first.pk)]}).status_code == 422
    assert visitor(UserRole.AUDITOR).post(link_url, values).status_code == 403
