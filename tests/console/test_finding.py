"""Command palette search: drivers, riders and rides, for users who may open them."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Driver
from apps.organizations.models import ExternalId
from apps.riders.models import Rider
from apps.rides.models import Ride
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import visitor

pytestmark = pytest.mark.django_db

FIND = "/console/find/"


def _found(client: Client, said: str) -> list[str]:
    answer = client.post(FIND, {"q": said})
    assert answer.status_code == 200
    return re.findall(r'data-value="([^"]*)"', answer.content.decode())


@pytest.fixture
def ride(db: None) -> Ride:
    rider = factories.RiderFactory.create(first_name="Ana", last_name="Zamora")
    found = factories.RideFactory.create(rider=rider, client_reference="ORD-77")
    ExternalId.objects.create(subject_type="ride", subject_id=found.pk, system="epic", value="E-4711")
    factories.DriverFactory.create(first_name="Ana", last_name="Alvarez")
    return found


@pytest.mark.parametrize("role", list(UserRole))
def test_l1_only_what_opens_is_offered(role: UserRole, ride: Ride) -> None:
    client = visitor(role)
    sees_drivers = role not in (UserRole.PLANNER, UserRole.FLEET_ADMIN, UserRole.ANALYST)
    sees_riders = role in (UserRole.DISPATCHER, UserRole.DISPATCH_SUPERVISOR)
    sees_rides = role in (UserRole.DISPATCHER, UserRole.DISPATCH_SUPERVISOR, UserRole.AUDITOR)
    # Planners and fleet admins without a facility or provider: no row is in their data scope.
    alvarez = Driver.objects.get(last_name="Alvarez")
    drivers = [f"/console/fleet/drivers/{alvarez.pk}/"] if sees_drivers else []
    if sees_riders:  # they dispatch
        drivers.append(f"/console/board/drivers/{alvarez.pk}/out/")
    named = [f"/console/riders/{ride.rider_id}/"] if sees_riders else []
    page = [f"/console/rides/{ride.pk}/"]

    upcoming = page if sees_riders else []
    assert _found(client, "ana") == [*named, *upcoming, *drivers]
    assert _found(client, "ORD-77") == (page if sees_rides else [])
    assert _found(client, "E-4711") == (page if sees_rides else [])
    assert _found(client, str(ride.pk)) == (page if sees_rides or role == UserRole.ANALYST else [])
    for address in (*drivers, *named, *(page if sees_rides else [])):
        assert client.get(address, follow=True).status_code == 200, address


def test_vehicles_match_by_unit_and_plate_and_link_to_page(ride: Ride) -> None:
    van = factories.VehicleFactory.create(unit_number="VAN-12", license_plate="QX 4711", status="maintenance")
    page = [f"/console/fleet/vehicles/{van.pk}/"]
    desk = visitor(UserRole.DISPATCHER)

    assert _found(desk, "van-1") == _found(desk, "qx 47") == page
    assert _found(visitor(UserRole.PLANNER), "van-1") == _found(desk, "an-12") == []
    assert "aintenance" in desk.post(FIND, {"q": "van-12"}).content.decode()
    assert desk.get(page[0]).status_code == 200


def test_planner_finds_riders_and_rides_of_own_facilities_alone(client: Client, ride: Ride) -> None:
    factories.RiderFactory.create(first_name="Ana", last_name="Zorn")
    own = factories.RiderFactory.create(first_name="Ana", last_name="Zuniga", facility=ride.facility)
    assert ride.facility is not None
    planner = factories.UserFactory.create(role=UserRole.PLANNER)
    planner.facilities.set([ride.facility])
    sign_in(client, planner)
    known = Rider.objects.visible_to(factories.principal(facility_ids=frozenset({ride.facility_id})))

    assert own in known
    found = set(_found(client, "ana")) - {f"/console/rides/{ride.pk}/"}
    assert found == {f"/console/riders/{rider.pk}/" for rider in known}
    assert _found(client, "ord-77") == []
    assert _found(client, "ORD-77") == [f"/console/rides/{ride.pk}/"]


@pytest.mark.parametrize("said", ["", "a", " a ", "nobody", ",", ",,", "0" * 500, "a\0", "%%", "''"])
def test_nothing_is_found_where_nothing_is_meant(ride: Ride, said: str) -> None:
    answer = visitor(UserRole.DISPATCHER).post(FIND, {"q": said})

    assert answer.content.decode().strip() == '<ul data-announcement=""></ul>'


def test_five_of_a_kind_are_offered(ride: Ride) -> None:
    for number in range(6):
        factories.DriverFactory.create(first_name="Same", last_name=f"Driver{number}", activation="inactive")
        factories.RiderFactory.create(first_name="Same", last_name=f"Rider{number}", status="inactive")
        ExternalId.objects.create(
            subject_type="ride", subject_id=factories.RideFactory.create().pk, system=f"s{number}", value="same"
        )

    page = visitor(UserRole.DISPATCHER).post(FIND, {"q": "same"}).content.decode()

    assert [page.count(f'<span class="kind">{kind}<') for kind in ("Driver", "Rider", "Ride")] == [5, 5, 5]
    assert 'data-announcement="15 results"' in page
    assert page.count("nactive") == 10


def test_rider_search_is_audited_without_the_typed_text(ride: Ride) -> None:
    client = visitor(UserRole.DISPATCHER)

    _found(client, "zamora")
    _found(client, "ORD-77")
    _found(visitor(UserRole.ADMIN), "zamora")

    rows = AuditEntry.objects.filter(action__endswith=".search").order_by("at", "pk")
    assert [(row.action, row.rider_ids, row.phi) for row in rows] == [
        ("riders.search", [ride.rider_id], "full"),
        ("rides.search", [ride.rider_id], "full"),
        ("riders.search", [], "full"),
        ("rides.search", [ride.rider_id], "full"),
    ]
    assert "zamora" not in str([row.details for row in rows]).lower()


def test_ride_of_unnamed_rider_matches_by_id_without_name(ride: Ride) -> None:
    page = visitor(UserRole.ANALYST).post(FIND, {"q": str(ride.pk)}).content.decode()

    assert f"Rider …{str(ride.rider_id)[-4:]}" in page
    assert "Zamora" not in page


def test_finding_takes_a_post_with_its_token(ride: Ride) -> None:
    assert visitor().get(f"{FIND}?q=ana").status_code == 405
    assert visitor(UserRole.DISPATCHER, checks_csrf=True).post(FIND, {"q": "ana"}).status_code == 403
    assert AuditEntry.objects.filter(action="riders.search").count() == 0


@pytest.mark.parametrize("count", [1, 3])
def test_finding_asks_the_same_however_many(count: int, django_assert_num_queries: Any) -> None:
    for _ in range(count):
        factories.DriverFactory.create(last_name="Same")
        factories.RiderFactory.create(last_name="Same")
        ExternalId.objects.create(
            subject_type="ride", subject_id=factories.RideFactory.create().pk, system=f"s{_}", value="same"
        )
    client = visitor(UserRole.DISPATCHER)

    # Session and user; riders by name and alike, their audit entry and facts; rides, next rides and their entry;
    # drivers by name and alike, vehicles, facilities.
    with django_assert_num_queries(15):
        client.post(FIND, {"q": "same"})


def test_page_shortcuts_are_on_links_of_permitted_roles() -> None:
    def keys(role: UserRole) -> list[str]:
        return re.findall(r'data-keys="([^"]*)"', visitor(role).get("/console/home/").content.decode())

    assert keys(UserRole.DISPATCHER) == ["g h", "g b", "c", "g o", "g e", "g v", "g c", "g d", "g s", "g r"]
    assert keys(UserRole.PLANNER) == ["g h", "c", "g o", "g e", "g r"]
    assert keys(UserRole.ADMIN) == ["g h", "g c", "g d", "g s"]
    roles = (UserRole.DISPATCHER, UserRole.ADMIN)
    help_of = {role: visitor(role).get("/console/home/").content.decode() for role in roles}
    assert ["Unassign the driver" in page for page in help_of.values()] == [True, False]


def test_rider_is_found_by_everything_a_caller_says() -> None:
    rider = factories.RiderFactory.create(
        first_name="Ernest",
        last_name="Kettleworth",
        preferred_name="Ernie",
        date_of_birth="1945-04-27",
        home_address=factories.stop(city="Evanston"),
        phones=[{"number": "+13125550131", "ext": "", "kind": "home"}],
    )
    ExternalId.objects.create(subject_type="rider", subject_id=rider.pk, system="epic", value="E-4712")
    factories.RiderFactory.create(date_of_birth="1950-01-01")
    desk = visitor(UserRole.DISPATCHER)
    page = [f"/console/riders/{rider.pk}/"]

    texts = ("kettle", "ernest kettleworth", "Kettleworth, Ernest", "kettleworth ernest", "ernie kettl")
    typos = ("ketleworth", "kettlewroth", "kettlewortth", "kettleworthx", "hettleworth", "ernets ketleworth")
    numbers = ("(312) 555-0131", "04/27/1945", "4/27/45", "1945-04-27", "E-4712", "epic|E-4712")
    for text in (*texts, *typos, *numbers):
        assert _found(desk, text) == page, text
    assert _found(desk, "ketlewroth") == []
    facts = desk.post(FIND, {"q": "kettle"}).content.decode()
    assert "04/27/1945 (age 81) · E-4712 · Ambulatory · Evanston" in facts


def test_similar_names_follow_exact_ones() -> None:
    smith = factories.RiderFactory.create(first_name="Ada", last_name="Smith")
    smyth = factories.RiderFactory.create(first_name="Abe", last_name="Smyth")
    desk = visitor(UserRole.DISPATCHER)

    assert _found(desk, "smith") == [f"/console/riders/{rider.pk}/" for rider in (smith, smyth)]
    assert _found(desk, "smyth") == [f"/console/riders/{rider.pk}/" for rider in (smyth, smith)]


def test_ride_is_found_by_the_end_of_its_id_within_the_data_scope() -> None:
    ride = factories.RideFactory.create(pk="01a21500-0000-7000-8000-00001234abcd")
    other = factories.RideFactory.create(pk="01a21500-0000-7000-9000-00001234abcd")
    desk = visitor(UserRole.DISPATCHER)
    pages = {f"/console/rides/{row.pk}/" for row in (ride, other)}

    assert set(_found(desk, "1234ABCD")) == set(_found(desk, "4abcd")) == set(_found(desk, "34abcd")) == pages
    assert _found(desk, "8000-00001234abcd") == [f"/console/rides/{ride.pk}/"]
    assert _found(desk, "abcd") == []  # a name more often than an id
    assert _found(desk, "9abcd") == []
    stranger = factories.UserFactory.create(role=UserRole.PLANNER)
    stranger.facilities.set([factories.FacilityFactory.create()])
    elsewhere = Client()
    sign_in(elsewhere, stranger)
    assert _found(elsewhere, "1234abcd") == []


def test_drivers_are_found_with_a_typo_by_phone_and_external_id() -> None:
    driver = factories.DriverFactory.create(first_name="Marek", last_name="Galarza", phone="+13125550177")
    ExternalId.objects.create(subject_type="driver", subject_id=driver.pk, system="hr", value="D-9")
    desk = visitor(UserRole.DISPATCHER)
    page = [f"/console/fleet/drivers/{driver.pk}/", f"/console/board/drivers/{driver.pk}/out/"]

    for text in ("galarza marek", "Galarza, M", "galaza", "maerk galarza", "312-555-0177", "D-9"):
        assert _found(desk, text) == page, text
    assert driver.provider.name in desk.post(FIND, {"q": "galarza"}).content.decode()
    assert _found(visitor(UserRole.PLANNER), "galarza") == []


def test_plates_are_found_without_spaces_and_by_external_id() -> None:
    van = factories.VehicleFactory.create(unit_number="VAN-12", license_plate="QX 4711")
    ExternalId.objects.create(subject_type="vehicle", subject_id=van.pk, system="telematics", value="T9")
    desk = visitor(UserRole.DISPATCHER)

    for text in ("qx4711", "QX-4711", "van12", "T9"):
        assert _found(desk, text) == [f"/console/fleet/vehicles/{van.pk}/"], text


def test_facilities_open_where_the_user_works_with_them() -> None:
    mercy = factories.FacilityFactory.create(name="Mercy West Hospital")
    factories.ContactFactory.create(facility=mercy, phone="+13125550188")
    factories.FacilityFactory.create(name="Lakeview Dialysis")
    closed = factories.FacilityFactory.create(name="Mercy East", active=False)
    planner = factories.UserFactory.create(role=UserRole.PLANNER)
    planner.facilities.set([mercy, closed])
    planners = Client()
    sign_in(planners, planner)

    board = [f"/console/board/?facility={mercy.pk}"]
    for text in ("mercy", "west mer", "mercyy west", "(312) 555-0188"):
        assert _found(visitor(UserRole.DISPATCHER), text) == board, text
    assert _found(planners, "mercy") == [f"/console/day/?facility={mercy.pk}"]
    assert _found(planners, "lakeview") == []
    assert _found(visitor(UserRole.ADMIN), "mercy") == [f"/admin/organizations/facility/{mercy.pk}/change/"]
    assert _found(visitor(UserRole.FLEET_ADMIN), "mercy") == []
