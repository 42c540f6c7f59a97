"""Rider's page: what each reader sees, its audit entry, and its links."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import ExternalId
from apps.riders.models import Rider
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, visitor
from tests.factories import NOW, PICKUP
from tests.recurring import cast

pytestmark = pytest.mark.django_db


def address(rider: Rider, more: str = "") -> str:
    return f"/console/riders/{rider.pk}/{more}"


def planner_of(facility: Any) -> Client:
    person = factories.UserFactory.create(role=UserRole.PLANNER)
    person.facilities.set([facility])
    client = Client()
    sign_in(client, person)
    return client


def _rider(**columns: Any) -> Rider:
    """Create a rider with something in every section of the page."""
    never = factories.DriverFactory.create(first_name="Nico", last_name="Never")
    columns = {
        "first_name": "Ernest",
        "last_name": "Kettleworth",
        "preferred_name": "Ernie",
        "date_of_birth": dt.date(1945, 4, 27),
        "phones": [{"number": "+13125550131", "ext": "2725", "kind": "home"}],
        "home_address": factories.stop(name="", addressLine1="1 Elm St", unit="2B", instructions="Side gate"),
        "caregivers": [{"name": "Cara Giver", "phone": "+13125550132", "relation": "daughter", "notify": []}],
        "emergency_contact": {"name": "Emil Urgent", "phone": "+13125550133", "relation": ""},
        "excluded_driver_ids": [never.pk],
        "driver_gender_preference": "female",
        "status": "on_hold",
        "status_reason": "Away",
        "status_from": dt.date(2026, 11, 1),
        "status_until": dt.date(2026, 11, 30),
        "interpreter_needed": True,
        "language": "es",
        "email": "ernest@example.com",
        **columns,
    }
    rider = factories.RiderFactory.create(**columns)
    factories.DriverFactory.create(first_name="Rae", last_name="Refuses", excluded_rider_ids=[rider.pk])
    factories.AccommodationProfileFactory.create(
        rider=rider,
        mobility="wheelchair",
        return_mobility="stretcher",
        assist_level="door_through_door",
        chair_width_in="26.5",
        chair_weight_lb=45,
        provide_chair=True,
        rider_weight_lb=310,
        oxygen_uses=True,
        oxygen_liters_per_minute="2.0",
        oxygen_source="own_tank",
        home_steps=12,
        stair_equipment="stair_chair",
        second_person=True,
        handoff_required=True,
        must_not_be_left_alone=True,
        precautions="contact",
        hearing="some",
        equipment=["walker"],
        driver_notes="Knock loudly",
        dispatcher_notes="Pays late",
    )
    ExternalId.objects.create(subject_type="rider", subject_id=rider.pk, system="epic", value="E-1", type="mrn")
    return rider


def test_dispatchers_see_all_of_a_rider() -> None:
    seen = text_of(visitor(UserRole.DISPATCHER).get(address(_rider())))

    for text in (
        "Kettleworth, Ernest On hold",
        "Born 04/27/1945, age 81 · called Ernie · (312) 555-0131 ext. 2725",
        "On hold, Sun, Nov 1, 2026 to Mon, Nov 30, 2026. Away",
        "Hand-to-hand: a person has to receive the rider",
        "Infection precautions: contact",
        "Identity not verified",
        "No ride is booked.",
        "Wheelchair (back: Stretcher) Door through door Own chair: 26.5 in wide, 45 lb Bring a wheelchair",
        "Weighs 310 lb Bariatric vehicle and crew Oxygen, 2 L/min, own tank 12 steps at home Stair chair",
        "A second person helps Hand-to-hand Do not leave alone Hard of hearing: some Walker",
        "Emergency contact Emil Urgent (312) 555-0133",
        "Caregiver, daughter Cara Giver (312) 555-0132",
        "Spanish, interpreter needed",
        "1 Elm St",
        "Side gate",
        "Knock loudly",
        "Pays late",
        "Never with Never, Nico; Refuses, Rae Drivers Women only",
        "MRN E-1",
    ):
        assert text in seen, text


def test_phones_dial() -> None:
    page = visitor(UserRole.DISPATCHER).get(address(_rider())).content.decode()

    assert 'href="tel:+13125550131;ext=2725">(312) 555-0131 ext. 2725</a>' in page


def test_planners_see_neither_dispatcher_notes_nor_refusing_drivers() -> None:
    facility = factories.FacilityFactory.create()
    rider = _rider(facility=facility)

    seen = text_of(planner_of(facility).get(address(rider)))

    assert "Kettleworth, Ernest" in seen
    assert "Knock loudly" in seen
    assert "Pays late" not in seen
    assert "Refuses" not in seen
    assert facility.name in seen


def test_next_ride_comes_first_and_past_rides_have_their_status() -> None:
    rider = factories.RiderFactory.create(first_name="Ernest", last_name="Kettleworth")
    hour = dt.timedelta(hours=1)
    later = factories.RideFactory.create(rider=rider, pickup_at=PICKUP + 48 * hour)
    soon = factories.RideFactory.create(rider=rider, pickup_at=PICKUP)
    factories.put_driver_on(soon)
    forgotten = factories.RideFactory.create(rider=rider, pickup_at=NOW - 30 * hour)
    other = factories.RideFactory.create()

    page = visitor(UserRole.DISPATCHER).get(address(rider)).content.decode()

    assert f'href="/console/rides/{soon.pk}/" autofocus' in page
    places = [page.index(str(ride.pk)) for ride in (soon, later, forgotten)]
    assert places == sorted(places)
    assert str(other.pk) not in page


def test_standing_orders_are_listed_with_days() -> None:
    order = cast.order()

    seen = text_of(visitor(UserRole.DISPATCHER).get(address(order.rider)))

    assert f"Standing orders {order.facility.name} Active" in seen


def test_title_and_address_name_nobody_and_read_is_audited() -> None:
    rider = _rider()

    page = visitor(UserRole.DISPATCHER).get(address(rider)).content.decode()

    assert page.partition("<title>")[2].partition("</title>")[0] == "Rider · Carelane"
    row = AuditEntry.objects.get(action="riders.read")
    assert (row.subject_id, row.rider_ids, row.phi) == (rider.pk, [rider.pk], "full")


@pytest.mark.parametrize("more", ["", "edit/", "needs/", "stay/"])
def test_pages_are_closed_to_other_roles_and_facilities(more: str) -> None:
    rider = _rider()

    assert planner_of(factories.FacilityFactory.create()).get(address(rider, more)).status_code == 404
    for role in (UserRole.ADMIN, UserRole.ANALYST, UserRole.FLEET_ADMIN, UserRole.AUDITOR):
        assert visitor(role).get(address(rider, more)).status_code == 403
    assert not AuditEntry.objects.filter(action="riders.read").exists()


@pytest.mark.parametrize("count", [1, 3])
def test_page_takes_the_same_queries_for_more_rows(count: int, django_assert_max_num_queries: Any) -> None:
    order = cast.order()
    for _ in range(count):
        factories.put_driver_on(factories.RideFactory.create(rider=order.rider))
    client = visitor(UserRole.DISPATCHER)

    with django_assert_max_num_queries(22):
        client.get(address(order.rider))


def test_ride_page_links_to_the_rider() -> None:
    ride = factories.RideFactory.create()

    page = visitor(UserRole.DISPATCHER).get(f"/console/rides/{ride.pk}/").content.decode()

    assert f'href="/console/riders/{ride.rider_id}/"' in page
    assert "/admin/riders/rider/0" not in page


def test_rows_of_the_table_of_riders_open_the_page() -> None:
    rider = factories.RiderFactory.create()

    page = visitor(UserRole.DISPATCHER).get("/admin/riders/rider/").content.decode()

    assert f'href="{address(rider)}"' in page
    assert f"{rider.pk}/change/" not in page
