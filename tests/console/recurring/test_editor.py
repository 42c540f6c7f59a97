"""Series editor: a rider is searched, an order created once, and changed from a date on."""

import datetime as dt
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import ExternalId, Facility
from apps.recurring.models import OccurrenceChange, StandingOrder, Terms
from apps.recurring.services import create_order, edit_order
from apps.recurring.services.edit_order import OccurrenceEdit
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.rules.draft import Notes, Payment, ReturnLeg
from apps.rides.services import booking
from lib.access import system
from lib.errors import NotFound
from lib.ids import uuid7
from lib.messages import Message
from tests import factories
from tests.console.recurring.visiting import BASE, change_series, page_of
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.cast import MONDAY
from tests.rides.drafts import HOME, dialysis

pytestmark = pytest.mark.django_db

ADD = f"{BASE}add/"
DAY = dt.timedelta(days=1)
TOLD: dict[str, Any] = {"by": system(), "at": NOW}


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def rider(centre: Facility) -> Rider:
    place = {**HOME, "name": "Daughter", "addressLine1": "9 Elm St"}
    return factories.RiderFactory.create(
        facility=centre, first_name="Orla", last_name="Canary", home_address=HOME, saved_places=[place]
    )


@pytest.fixture
def desk(db: None) -> Client:
    return visitor(UserRole.DISPATCHER)


def _form(centre: Facility, **changes: Any) -> dict[str, Any]:
    asked = {
        "key": str(uuid7()),
        "facility": str(centre.pk),
        "service_type": "dialysis",
        "start_date": str(MONDAY),
        "days": ["0", "2", "4"],
        "interval_weeks": "1",
        "chair_time": "10:30",
        "pickup_from": "home",
        "return_mode": "will_call",
        "horizon_days": "28",
    }
    return asked | changes


def _add(desk: Client, rider: Rider, form: dict[str, Any]) -> Any:
    return desk.post(f"{ADD}?rider={rider.pk}", form, follow=True)


def test_rider_is_found_by_name_and_by_the_id_of_another_system(rider: Rider, desk: Client) -> None:
    ExternalId.objects.create(subject_type="rider", subject_id=rider.pk, system="epic", value="E-123")

    by_name, by_id = desk.post(ADD, {"q": "can, or"}), desk.post(ADD, {"q": "E-123"})

    assert "Who rides? Canary, Orla" in text_of(by_name)
    assert "Who rides? Canary, Orla" in text_of(by_id)
    assert f'href="?rider={rider.pk}"' in by_name.content.decode()
    entries = AuditEntry.objects.filter(action="riders.search", rider_ids=[rider.pk])
    assert {str(entry.details["criteria"]) for entry in entries} == {"['name']", "['external_id']"}


def test_rider_who_is_not_there_or_out_of_reach_is_not_found(rider: Rider) -> None:
    planner = visitor(UserRole.PLANNER)
    User.objects.get().facilities.set([cast.dialysis_centre(name="Other")])

    assert "No rider found" in text_of(planner.post(ADD, {"q": "canary"}))
    assert "No rider found" in text_of(planner.post(ADD, {"q": "1"}))
    assert planner.get(f"{ADD}?rider={rider.pk}").status_code == 404


@pytest.mark.parametrize("form", [{}, {"q": " "}, {"q": "x" * 101}, {"q": "a\0b"}])
def test_search_that_says_too_little_or_too_much_is_refused(desk: Client, form: dict[str, str]) -> None:
    response = desk.post(ADD, form)

    assert response.status_code == 422
    assert list(response.context["form"].errors) == ["q"]


def test_search_shows_twenty_and_says_that_there_are_more(centre: Facility, desk: Client) -> None:
    for number in range(21):
        factories.RiderFactory.create(facility=centre, last_name=f"Same{number:02}")

    response = desk.post(f"{ADD}?facility={centre.pk}", {"q": "same"})

    assert response.content.decode().count(f'href="?facility={centre.pk}&amp;rider=') == 20
    assert "There are more matches. Enter more of the name." in text_of(response)


def test_first_look_asks_who_rides(desk: Client) -> None:
    assert "First find the rider" in text_of(desk.get(ADD))


def test_order_is_made_with_all_that_was_said(centre: Facility, rider: Rider, desk: Client) -> None:
    payer = factories.PayerFactory.create()
    opened = desk.get(f"{ADD}?rider={rider.pk}&facility={centre.pk}")
    form = _form(
        centre,
        end_date=str(MONDAY + 30 * DAY),
        interval_weeks="2",
        treatment_minutes="200",
        post_treatment_minutes="20",
        arrive_early_minutes="10",
        pickup_from="saved-0",
        pickup_time="09:30",
        return_mode="scheduled",
        return_time="15:00",
        return_mobility="wheelchair",
        vehicle_type="wheelchair_van",
        payer=str(payer.pk),
        authorization_number="A-17",
        authorization_ends_on=str(MONDAY + 29 * DAY),
        driver_notes="Ring",
        dispatcher_notes="Call",
        facility_notes="Chair 4",
        horizon_days="14",
    )

    response = _add(desk, rider, form)

    order, terms = StandingOrder.objects.get(), Terms.objects.get()
    assert opened.context["form"]["facility"].value() == str(centre.pk)
    assert "Canary, Orla" in text_of(opened)
    assert response.redirect_chain == [(page_of(order), 302)]
    assert str(order.pk) == form["key"]
    assert told(response) == [
        "The standing order is created. 6 rides are booked: Mon, Nov 23; Wed, Nov 25; Fri, Nov 27."
    ]
    assert (order.rider, order.facility, order.payer, order.status) == (rider, centre, payer, "active")
    assert (order.end_date, order.authorization_ends_on) == (MONDAY + 30 * DAY, MONDAY + 29 * DAY)
    assert (order.authorization_number, order.vehicle_type_requested) == ("A-17", "wheelchair_van")
    assert (order.driver_notes, order.dispatcher_notes, order.facility_notes) == ("Ring", "Call", "Chair 4")
    assert order.generation_horizon_days == 14
    assert (terms.days_of_week, terms.interval_weeks, terms.chair_time) == ([0, 2, 4], 2, dt.time(10, 30))
    assert (terms.treatment_minutes, terms.post_treatment_minutes, terms.arrive_early_minutes) == (200, 20, 10)
    assert (terms.pickup["addressLine1"], terms.pickup_time) == ("9 Elm St", dt.time(9, 30))
    assert (terms.return_mode, terms.return_time, terms.return_mobility) == ("scheduled", dt.time(15), "wheelchair")


def test_entrance_first_week_program_and_other_ids_are_set_and_changed(
    centre: Facility, rider: Rider, desk: Client
) -> None:
    north, south = (factories.EntranceFactory.create(facility=centre, name=name) for name in ("North", "South"))
    wanted = {
        "interval_weeks": "2",
        "anchor_date": str(MONDAY + 7 * DAY),
        "entrance": str(north.pk),
        "program_code": "P-1",
        "external_ids": "Epic: 12345\r\nurn:oid:1.2: 7",
    }

    added = _add(desk, rider, _form(centre, **wanted))

    order, terms = StandingOrder.objects.get(), Terms.objects.get()
    assert (terms.anchor_date, terms.dropoff["entranceId"], order.program_code) == (
        MONDAY + 7 * DAY,
        str(north.pk),
        "P-1",
    )
    ids = ExternalId.objects.filter(subject_id=order.pk)
    assert set(ids.values_list("system", "value")) == {("Epic", "12345"), ("urn:oid:1.2", "7")}
    assert Ride.objects.filter(leg_type="outbound").order_by("pickup_at")[0].service_date == MONDAY + 7 * DAY
    page = text_of(added)
    assert "First week the week of Mon, Nov 30, 2026" in page
    assert "Entrance: North" in page
    assert "Program code P-1" in page
    ids.filter(system="Epic").update(type="order")

    change_series(desk, order)
    order.refresh_from_db()
    assert order.version == 1
    changes = {"anchor_date": str(MONDAY), "entrance": str(south.pk), "program_code": "", "external_ids": "Epic:12345"}
    change_series(desk, order, **changes)

    order.refresh_from_db()
    terms = Terms.objects.get()
    assert (terms.anchor_date, terms.dropoff["entranceId"], order.program_code) == (MONDAY, str(south.pk), "")
    assert list(ids.values_list("system", "value", "type")) == [("Epic", "12345", "order")]
    change_series(desk, order, entrance="")
    assert Terms.objects.get().dropoff["entranceId"] is None


def test_entrance_or_id_that_cannot_be_is_named(centre: Facility, rider: Rider, desk: Client) -> None:
    elsewhere = factories.EntranceFactory.create(facility=cast.dialysis_centre(name="Other"))
    inside = factories.EntranceFactory.create(facility=centre)
    taken = cast.order(centre)
    ExternalId.objects.create(subject_type="standing_order", subject_id=taken.pk, system="Epic", value="1")

    for changes, name in [
        ({"entrance": str(elsewhere.pk)}, "entrance"),
        ({"entrance": str(inside.pk), "dropoff_at": "saved-0"}, "entrance"),
        ({"external_ids": "12345"}, "external_ids"),
        ({"external_ids": "Epic: 1"}, "external_ids"),
        ({"anchor_date": "x"}, "anchor_date"),
        ({"program_code": "x" * 31}, "program_code"),
    ]:
        response = _add(desk, rider, _form(centre, **changes))
        assert (response.status_code, list(response.context["form"].errors)) == (422, [name])
    assert StandingOrder.objects.get() == taken


def test_draft_books_nothing(centre: Facility, rider: Rider, desk: Client) -> None:
    response = _add(desk, rider, _form(centre, is_draft="on"))

    assert told(response) == ["The standing order is created."]
    assert StandingOrder.objects.get().status == "draft"
    assert not Ride.objects.exists()


def test_another_address_is_typed(centre: Facility, rider: Rider, desk: Client) -> None:
    where = {"address_line1": "5 Oak St", "city": "Chicago", "state": "IL", "instructions": "Side door"}

    _add(desk, rider, _form(centre, pickup_from="typed", pickup_time="09:30", **where))

    pickup = Terms.objects.get().pickup
    assert (pickup["addressLine1"], pickup["city"], pickup["instructions"]) == ("5 Oak St", "Chicago", "Side door")


def test_form_that_is_sent_twice_makes_one_order(centre: Facility, rider: Rider, desk: Client) -> None:
    form = _form(centre)

    first, second = (_add(desk, rider, form) for _ in range(2))

    assert first.redirect_chain == second.redirect_chain == [(page_of(StandingOrder.objects.get()), 302)]
    assert told(second) == ["This standing order already exists."]


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"days": [], "chair_time": ""}, ["days", "chair_time"]),
        ({"days": ["7"]}, ["days"]),
        ({"facility": "x"}, ["facility"]),
        ({"service_type": "hospital_discharge"}, ["service_type"]),
        ({"start_date": "2020-01-01"}, ["start_date"]),
        ({"end_date": str(MONDAY - DAY)}, ["end_date"]),
        ({"interval_weeks": "13"}, ["interval_weeks"]),
        ({"treatment_minutes": "900", "post_treatment_minutes": "200"}, ["treatment_minutes"]),
        ({"pickup_time": "10:45"}, ["pickup_time"]),
        ({"return_time": "15:00"}, ["return_time"]),
        ({"authorization_ends_on": str(MONDAY - DAY)}, ["authorization_ends_on"]),
        ({"horizon_days": "91"}, ["horizon_days"]),
        ({"pickup_from": "typed"}, ["address_line1", "city"]),
        ({"pickup_from": "typed", "address_line1": "5 Oak St", "city": "Chicago"}, ["pickup_time"]),
        ({"pickup_from": "saved-7"}, ["pickup_from"]),
        ({"key": "x"}, ["key"]),
    ],
)
def test_order_that_cannot_be_comes_back_by_its_fields(
    centre: Facility, rider: Rider, desk: Client, changes: dict[str, Any], wrong: list[str]
) -> None:
    response = _add(desk, rider, _form(centre, dispatcher_notes="Call first", **changes))

    assert response.status_code == 422
    assert list(response.context["form"].errors) == wrong
    assert "Call first" in response.content.decode()
    assert not StandingOrder.objects.exists()


def test_rider_who_may_not_be_booked_is_told(centre: Facility, rider: Rider, desk: Client) -> None:
    Rider.objects.update(home_address=None, saved_places=[])

    response = desk.get(f"{ADD}?rider={rider.pk}")

    assert [key for key, _ in response.context["form"].fields["pickup_from"].choices] == ["typed"]


def test_change_of_every_day_to_come(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)

    response = change_series(desk, order, chair_time="11:00", driver_notes="Ring twice")

    assert response.redirect_chain == [(page_of(order), 302)]
    assert told(response)[0].startswith("The standing order is changed. 24 rides are changed: Mon, Nov 23;")
    order.refresh_from_db()
    assert (order.driver_notes, order.version) == ("Ring twice", 2)
    assert [(row.from_date, row.chair_time) for row in Terms.objects.all()] == [(MONDAY, dt.time(11))]


def test_change_from_day_on_preserves_customized_by_default(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)
    later, day = MONDAY + 7 * DAY, MONDAY + 9 * DAY
    edit_order.change_occurrence(
        order_id=order.pk, pattern_date=day, edit=OccurrenceEdit(chair_time=dt.time(12)), **TOLD
    )
    wanted = {"scope": "following", "from_date": str(later)}

    kept = change_series(desk, order, chair_time="09:00", pickup_from="typed", **wanted, **_elsewhere())
    overwritten = change_series(desk, order, chair_time="09:15", overwrite_customized="on", **wanted)

    assert told(kept)[0].startswith("The standing order is changed. 16 rides are changed: Mon, Nov 30; Fri, Dec 4;")
    assert told(kept)[1] == "These days were customized and stay as they are: Wed, Dec 2."
    assert told(overwritten)[0].startswith(
        "The standing order is changed. 18 rides are changed: Mon, Nov 30; Wed, Dec 2;"
    )
    rows = list(Terms.objects.order_by("from_date"))
    assert [(row.from_date, row.chair_time) for row in rows] == [(MONDAY, dt.time(10, 30)), (later, dt.time(9, 15))]
    assert rows[1].pickup["addressLine1"] == "5 Oak St"
    assert not OccurrenceChange.objects.exists()


def _elsewhere() -> dict[str, str]:
    return {"address_line1": "5 Oak St", "city": "Chicago", "pickup_time": "08:30"}


def test_nothing_that_is_changed_changes_nothing(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)

    response = change_series(desk, order)

    assert told(response) == ["The standing order is changed."]
    order.refresh_from_db()
    assert order.version == 1


def test_order_retains_inactive_payer_others_cannot_select_it(centre: Facility, rider: Rider, desk: Client) -> None:
    payer = factories.PayerFactory.create(name="County Aid")
    order, other = cast.order(centre, rider), cast.order(centre)
    edit_order.change(order_id=order.pk, columns={"payer_id": payer.pk}, **TOLD)
    payer.active = False
    payer.save()

    form = desk.get(page_of(order, "change/")).context["form"]
    change_series(desk, order, chair_time="11:00")
    refused = change_series(desk, other, payer=str(payer.pk))

    assert (str(payer.pk), "County Aid (inactive)") in form.fields["payer"].choices
    order.refresh_from_db()
    assert (order.payer, order.version) == (payer, 3)
    assert list(refused.context["form"].errors) == ["payer"]


def test_form_shows_the_terms_of_today(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider, start_date=NOW.date() - 7 * DAY)
    for day, chair in ((NOW.date(), dt.time(9)), (MONDAY + 7 * DAY, dt.time(8))):
        edit_order.change(order_id=order.pk, terms={"chair_time": chair}, from_date=day, **TOLD)

    form = desk.get(page_of(order, "change/")).context["form"]

    assert form["chair_time"].value() == dt.time(9)


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({"scope": "following"}, ["from_date"]),
        ({"scope": "following", "from_date": "x"}, ["from_date"]),
        ({"scope": "following", "from_date": str(NOW.date() - DAY)}, ["from_date"]),
        ({"scope": "sometimes"}, ["scope"]),
        ({"end_date": str(MONDAY - DAY)}, ["end_date"]),
        ({"days": []}, ["days"]),
        ({"return_mode": "none", "return_time": "15:00"}, ["return_time"]),
    ],
)
def test_change_that_cannot_be_comes_back_by_its_fields(
    centre: Facility, rider: Rider, desk: Client, changes: dict[str, Any], wrong: list[str]
) -> None:
    order = cast.order(centre, rider)

    response = change_series(desk, order, **changes)

    assert response.status_code == 422
    assert list(response.context["form"].errors) == wrong
    order.refresh_from_db()
    assert order.version == 1


def test_stale_change_goes_over_nothing(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)
    edit_order.skip(order_id=order.pk, pattern_date=MONDAY, **TOLD)

    response = change_series(desk, order, version=1, chair_time="08:00")

    assert response.status_code == 422
    assert "Someone else changed the standing order. Open it again" in text_of(response)
    assert 'value="08:00"' in response.content.decode()
    assert Terms.objects.get().chair_time == dt.time(10, 30)


def test_order_that_vanishes_while_it_is_changed_is_not_found(
    centre: Facility, rider: Rider, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Membership may end between the read of the order and its lock."""
    order = cast.order(centre, rider)

    def gone(*args: Any, **kwargs: Any) -> Any:
        raise NotFound(Message("standing order"))

    monkeypatch.setattr(edit_order, "change", gone)
    monkeypatch.setattr(create_order, "create", gone)

    assert change_series(desk, order).status_code == 404
    assert _add(desk, rider, _form(centre)).status_code == 404


@pytest.mark.parametrize("role", [UserRole.AUDITOR, UserRole.FLEET_ADMIN, UserRole.ADMIN])
def test_those_who_may_not_change_schedules_have_no_editor(centre: Facility, rider: Rider, role: UserRole) -> None:
    order, client = cast.order(centre, rider), visitor(role)

    answers = [client.get(page_of(order, "change/")), client.get(ADD), client.post(ADD, {"q": "canary"})]
    answers.append(_add(client, rider, _form(centre)))

    assert {response.status_code for response in answers} == {403}
    assert StandingOrder.objects.count() == 1


def test_no_name_stands_in_a_title_or_an_address(centre: Facility, rider: Rider, desk: Client) -> None:
    order = cast.order(centre, rider)

    for path in (page_of(order, "change/"), f"{ADD}?rider={rider.pk}"):
        page = desk.get(path).content.decode()
        assert "Canary" not in page.partition("</title>")[0]
        assert 'href="' in page
        assert "canary" not in " ".join(part.partition('"')[0] for part in page.lower().split('href="')[1:])


def _ride(centre: Facility, rider: Rider, **changes: Any) -> Ride:
    """Book a trip to dialysis on Monday, 10:30 in Chicago, with a will-call return."""
    chair_at = dt.datetime.combine(MONDAY, dt.time(10, 30), ZoneInfo(centre.timezone)).astimezone(dt.UTC)
    asked = dialysis(
        centre,
        rider,
        pickup_at=chair_at - dt.timedelta(minutes=50),
        appointment_at=chair_at,
        return_leg=ReturnLeg(pickup_at=chair_at + dt.timedelta(hours=4), will_call=True),
        **changes,
    )
    return booking.book(draft=asked, **TOLD).ride


def test_ride_made_recurring_fills_in_the_whole_form(centre: Facility, rider: Rider, desk: Client) -> None:
    payer = factories.PayerFactory.create()
    door = factories.EntranceFactory.create(facility=centre, name="North")
    ride = _ride(
        centre,
        rider,
        pickup={**HOME, "addressLine1": "9 Elm St", "accessCode": "47#"},
        dropoff={"facilityId": str(centre.pk), "entranceId": str(door.pk)},
        accommodation={"mobility": "wheelchair"},
        companions={"escorts": 1},
        payment=Payment(payer_id=payer.pk, program_code="P-1", authorization_number="A-17"),
        notes=Notes(driver="Ring", dispatcher="Call", facility="Chair 4"),
        vehicle_type_requested="wheelchair_van",
        dialysis={"treatmentMinutes": 200, "postTreatmentMinutes": 20},
    )
    url = f"{ADD}?rider={rider.pk}&ride={ride.pk}"
    assert f"?rider={rider.pk}&amp;ride={ride.pk}" in desk.get(f"/console/rides/{ride.pk}/").content.decode()

    form = desk.get(url).context["form"]
    values = {name: form[name].value() for name in form.fields}
    assert (values["facility"], values["start_date"], values["days"]) == (str(centre.pk), MONDAY, [0])
    assert (values["chair_time"], values["pickup_time"]) == (dt.time(10, 30), dt.time(9, 40))
    filled = {name: value for name, value in values.items() if value not in (None, False)} | {"is_confirmed": "on"}
    response = desk.post(url, filled, follow=True)

    order, terms = StandingOrder.objects.get(), Terms.objects.get()
    assert response.redirect_chain == [(page_of(order), 302)]
    assert (order.facility, order.service_type, order.payer, order.program_code) == (centre, "dialysis", payer, "P-1")
    assert (order.authorization_number, order.vehicle_type_requested) == ("A-17", "wheelchair_van")
    assert (order.driver_notes, order.dispatcher_notes, order.facility_notes) == ("Ring", "Call", "Chair 4")
    assert (terms.days_of_week, terms.chair_time, terms.pickup_time) == ([0], dt.time(10, 30), dt.time(9, 40))
    assert (terms.treatment_minutes, terms.post_treatment_minutes) == (200, 20)
    assert (terms.pickup["addressLine1"], terms.pickup_access) == ("9 Elm St", "47#")
    assert terms.dropoff["entranceId"] == str(door.pk)
    assert (terms.return_mode, terms.return_time, terms.return_dropoff) == ("will_call", None, None)
    assert (terms.accommodation, terms.companions) == ({"mobility": "wheelchair"}, {"escorts": 1})


def test_ride_out_of_reach_or_of_another_rider_fills_in_nothing(centre: Facility, rider: Rider, desk: Client) -> None:
    ride = _ride(centre, rider)
    other = factories.RiderFactory.create(facility=centre, home_address=HOME)

    form = desk.get(f"{ADD}?rider={other.pk}&ride={ride.pk}").context["form"]

    assert form["chair_time"].value() is None
    assert desk.get(f"{ADD}?rider={rider.pk}&ride={other.pk}").status_code == 200


def test_rides_booked_already_are_shown_before_the_order_is_created(
    centre: Facility, rider: Rider, desk: Client
) -> None:
    ride = _ride(centre, rider)
    form = _form(centre)

    shown = _add(desk, rider, form)

    assert "2 rides exist already and are kept, not booked twice: Mon, Nov 23." in text_of(shown)
    assert f"/console/rides/{ride.pk}/" in shown.content.decode()
    assert not StandingOrder.objects.exists()
    assert Ride.objects.count() == 2

    created = _add(desk, rider, form | {"is_confirmed": "on"})

    order = StandingOrder.objects.get()
    assert created.redirect_chain == [(page_of(order), 302)]
    assert "2 rides exist already and are kept, not booked twice: Mon, Nov 23." in told(created)[0]
    assert Ride.objects.filter(standing_order_id=order.pk).count() == 24
