"""Credential board and list of drivers, without a browser."""

import csv
import datetime as dt
from io import StringIO
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.audit.models import AuditEntry
from apps.console.fleet.credential_board import NARROWED, SOUND, UNVERIFIED, BoardQuery, board
from apps.fleet.models import Driver
from apps.fleet.rules.credentials import Subject
from apps.rides.models import Ride
from lib.scopes import Scope
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, visitor
from tests.factories import NOW
from tests.fleet.crew import fit_driver, fit_vehicle

pytestmark = pytest.mark.django_db

BOARD = "/console/fleet/credentials/"
FILE = f"{BOARD}credentials.csv"
DRIVERS = "/console/fleet/drivers/"
TODAY = dt.date(2026, 11, 20)
DAY = dt.timedelta(days=1)


@pytest.fixture
def admin() -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


def _driver(days: int | None, *, type_: str = "cpr_first_aid", **columns: Any) -> Driver:
    """Return a driver with every required credential, and a further one that expires this many days from today."""
    driver = fit_driver(**columns)
    if days is not None:
        factories.CredentialFactory.create(driver=driver, type=type_, expires_on=TODAY + days * DAY, blocking=False)
    return driver


def _give(driver: Driver, *days: int) -> None:
    """Assign a ride to a driver on each of these days from today."""
    for number in days:
        ride = factories.RideFactory.create(
            pickup_at=factories.PICKUP + number * DAY, service_date=TODAY + number * DAY
        )
        factories.put_driver_on(ride, driver=driver)


def _names(response: Any) -> list[str]:
    return [row["name"].partition(",")[0] for row in response.context["rows"]]


def _rows(response: Any) -> list[list[str]]:
    return list(csv.reader(StringIO(response.content.decode("utf-8-sig"))))


@pytest.mark.parametrize("role", list(UserRole))
def test_pages_are_for_those_who_read_drivers(role: UserRole) -> None:
    client = visitor(role)
    expected = 200 if Scope.DRIVERS_READ in SCOPES_OF_USER[role] else 403

    assert {client.get(path).status_code for path in (BOARD, FILE, DRIVERS)} == {expected}
    assert client.post(DRIVERS).status_code == expected


def test_cells_say_how_credentials_stand(admin: Client) -> None:
    driver = factories.DriverFactory.create(last_name="Diaz")
    credentials: dict[str, dict[str, Any]] = {
        "driver_license": {"expires_on": TODAY - DAY},
        "exclusion_check_oig": {"rejected": True},
        "mvr": {"expires_on": TODAY + 7 * DAY},
        "drug_screen": {"expires_on": TODAY + 8 * DAY},
        "cpr_first_aid": {"expires_on": TODAY + 60 * DAY},
        "tb_test": {"expires_on": None},
        "dot_physical": {"expires_on": TODAY},
    }
    for type_, columns in credentials.items():
        factories.CredentialFactory.create(driver=driver, type=type_, **columns)

    page = admin.get(BOARD)

    assert [label for _kind, label in page.context["types"]] == [
        "Driver's license", "OIG exclusion check", "Background check", "Motor vehicle record", "Drug screen",
        "CPR and first aid", "DOT physical", "TB test",
    ]  # fmt: skip
    said = text_of(page)
    assert "✕ Expired Nov 19, 2026 ⊘ Rejected Jan 1, 2028 ○ Missing ▲ 7 days left Nov 27, 2026 ◆ 8 days left" in said
    assert "◷ 60 days left Jan 19, 2027 ▲ Expires today Nov 20, 2026 ✓ Valid" in said


def test_c2_soonest_comes_first_or_the_names_do(admin: Client) -> None:
    for name, days in {"Adams": 40, "Baker": 3, "Clark": None, "Diaz": -2}.items():
        _driver(days, last_name=name)
    lacking = _driver(None, last_name="Evans")
    lacking.credentials.filter(type="mvr").delete()
    _driver(1, last_name="Foster", activation="inactive")

    assert _names(admin.get(BOARD)) == ["Evans", "Diaz", "Baker", "Adams", "Clark"]
    assert _names(admin.get(f"{BOARD}?sort=name")) == ["Adams", "Baker", "Clark", "Diaz", "Evans"]
    assert _names(admin.get(f"{BOARD}?sort=-name")) == ["Evans", "Diaz", "Clark", "Baker", "Adams"]
    assert _names(admin.get(f"{BOARD}?sort=mvr"))[0] == "Evans"
    assert _names(admin.get(f"{BOARD}?sort=cpr_first_aid")) == ["Diaz", "Baker", "Adams", "Clark", "Evans"]
    assert "Soonest first" in text_of(admin.get(f"{BOARD}?sort=name")).partition("Drivers Vehicles")[2]


def test_board_and_drivers_are_sorted_by_their_heads(admin: Client) -> None:
    for name, provider, rides in (("Adams", "Zest", 1), ("Baker", "Able", 3), ("Clark", "Mid", 0)):
        driver = _driver(5, last_name=name, provider=factories.TransportProviderFactory.create(name=provider))
        driver.credentials.filter(type="mvr").update(expires_on=TODAY + 3 * DAY)
        _give(driver, *range(4, 4 + rides))

    assert _names(admin.get(f"{BOARD}?sort=-broken")) == ["Baker", "Adams", "Clark"]
    assert _names(admin.get(f"{BOARD}?sort=broken")) == ["Clark", "Adams", "Baker"]
    for sort, names in (
        ("", ["Adams", "Baker", "Clark"]),
        ("provider", ["Baker", "Clark", "Adams"]),
        ("-given", ["Baker", "Adams", "Clark"]),
        ("soonest", ["Adams", "Baker", "Clark"]),
    ):
        assert _names(admin.get(f"{DRIVERS}?sort={sort}")) == names, sort
    kinds = {str(label): url for label, url, _now in admin.get(f"{BOARD}?sort=mvr&rows=50").context["kinds"]}
    assert kinds == {"Drivers": "?rows=50", "Vehicles": "?rows=50&of=vehicles"}
    assert admin.get(f"{BOARD}?sort=-broken").context["kinds"][1][1] == "?sort=-broken&of=vehicles"


@pytest.mark.parametrize(
    ("status", "names"),
    [
        ("not_valid", ["Evans", "Gray", "Diaz"]),
        ("expired", ["Diaz"]),
        ("missing", ["Evans"]),
        ("rejected", ["Gray"]),
        ("within_7", ["Baker"]),
        ("within_30", ["Baker", "Hill"]),
        ("within_60", ["Baker", "Hill", "Adams"]),
        ("sound", ["Clark"]),
        ("nonsense", ["Evans", "Gray", "Diaz", "Baker", "Hill", "Adams", "Clark"]),
    ],
)
def test_rows_are_filtered_by_status(admin: Client, status: str, names: list[str]) -> None:
    for name, days in {"Adams": 40, "Baker": 3, "Clark": None, "Diaz": -2, "Hill": 20}.items():
        _driver(days, last_name=name)
    _driver(None, last_name="Evans").credentials.filter(type="mvr").delete()
    _driver(None, last_name="Gray").credentials.filter(type="mvr").update(rejected=True)

    page = admin.get(f"{BOARD}?status={status}")

    assert _names(page) == names
    assert {str(label): count for label, _tone, count, _url, _chosen in page.context["counts"]} == {
        "Not valid": 3, "7 days or less": 1, "30 days or less": 2, "60 days or less": 3, "Not verified": 0,
        "All valid": 1,
    }  # fmt: skip


def test_unverified_credentials_are_marked_and_filtered(admin: Client) -> None:
    unseen = {"verified_at": None, "verified_by": ""}
    _driver(None, last_name="Adams").credentials.filter(type="mvr").update(**unseen)
    _driver(None, last_name="Baker").credentials.filter(type="mvr").update(rejected=True, **unseen)
    _driver(None, last_name="Clark").credentials.filter(type="mvr").delete()

    page = admin.get(f"{BOARD}?status=unverified")

    assert _names(page) == ["Adams"]
    assert "✓ Valid Jan 1, 2028 · not verified" in text_of(page)
    assert {str(label): count for label, _tone, count, _url, _chosen in page.context["counts"]}["Not verified"] == 1
    (_heads, row) = _rows(admin.get(f"{FILE}?status=unverified"))
    assert row[9:11] == ["Valid, not verified", "2028-01-01"]


def test_rows_are_narrowed_by_provider_and_counters_take_it_back(admin: Client) -> None:
    ours, _theirs = _driver(3, last_name="Ours"), _driver(3, last_name="Theirs")
    provider = f"provider={ours.provider_id}"

    page = admin.get(f"{BOARD}?{provider}&status=within_7&sort=name&provider_x=1")

    assert _names(page) == ["Ours"]
    links = {str(label): url for label, _tone, _count, url, _chosen in page.context["counts"]}
    assert links["7 days or less"] == f"?{provider}&sort=name"
    assert links["60 days or less"] == f"?{provider}&status=within_60&sort=name"
    assert "No drivers match this filter." in text_of(admin.get(f"{BOARD}?{provider}&status=rejected"))


def test_rides_after_a_needed_credential_lapses_are_counted(admin: Client) -> None:
    driver = _driver(1, last_name="Diaz")  # first aid, which is not required
    driver.credentials.filter(type="mvr").update(expires_on=TODAY + 3 * DAY)
    driver.credentials.filter(type="driver_license").update(expires_on=TODAY + 5 * DAY)
    _give(driver, 0, 3, 4, 5, 6)
    over = factories.RideFactory.create(pickup_at=NOW - 2 * DAY, service_date=TODAY + 9 * DAY)
    factories.put_driver_on(over, driver=driver)

    (row,) = board(BoardQuery(), by=factories.principal(), at=NOW).rows

    assert {cell.type: cell.rides for cell in row.cells if cell.rides} == {"mvr": 3, "driver_license": 1}
    assert (row.broken, row.given) == (3, 5)
    assert "3 rides at risk" in text_of(admin.get(BOARD))


def test_rides_of_who_lacks_a_needed_credential_are_all_counted() -> None:
    driver = _driver(None)
    _give(driver, 0, 4)
    driver.credentials.filter(type="mvr").delete()

    (row,) = board(BoardQuery(), by=factories.principal(), at=NOW).rows

    assert row.broken == 2


def test_day_of_the_credentials_is_the_providers() -> None:
    there = factories.TransportProviderFactory.create(timezone="Pacific/Auckland")  # 04:00 on the 21st
    _driver(0, provider=there)

    (row,) = board(BoardQuery(), by=factories.principal(), at=NOW).rows

    assert row.worst is not None
    assert row.worst.urgency == "expired"


def test_vehicles_have_a_board_of_their_own(admin: Client) -> None:
    vehicle = fit_vehicle(unit_number="V17")
    vehicle.credentials.filter(type="insurance").update(expires_on=TODAY + 2 * DAY)
    fit_vehicle(unit_number="V18", status="retired")
    ride = factories.RideFactory.create(service_date=TODAY + 3 * DAY)
    factories.put_driver_on(ride, vehicle=vehicle)

    page = admin.get(f"{BOARD}?of=vehicles")

    assert _names(page) == ["V17"]
    assert [label for _kind, label in page.context["types"]] == ["Registration", "Insurance", "Inspection"]
    assert "▲ 2 days left Nov 22, 2026 · 1 ride at risk" in text_of(page)
    assert "No vehicles match this filter." in text_of(admin.get(f"{BOARD}?of=vehicles&status=rejected"))


def test_board_without_anybody_says_so(admin: Client) -> None:
    assert "There are no drivers yet" in text_of(admin.get(BOARD))
    assert "There are no vehicles yet" in text_of(admin.get(f"{BOARD}?of=vehicles"))
    assert "No drivers yet" in text_of(admin.get(DRIVERS))


def test_fleet_admin_sees_the_own_providers_alone_and_no_rider() -> None:
    ours, theirs = _driver(3, last_name="Ours"), _driver(3, last_name="Theirs")
    for driver in (ours, theirs):
        driver.credentials.filter(type="mvr").update(expires_on=TODAY)
        _give(driver, 2)
    person = factories.UserFactory.create(role=UserRole.FLEET_ADMIN)
    person.providers.add(ours.provider)
    client = Client()
    sign_in(client, person)

    pages = [client.get(path) for path in (BOARD, f"{BOARD}?provider={theirs.provider_id}", DRIVERS, FILE)]

    for page in pages:
        body = page.content.decode()
        assert "Ours" in body
        assert "Theirs" not in body
        assert not any(name in body for name in Ride.objects.values_list("rider__last_name", flat=True))
    assert "1 ride at risk" in text_of(pages[0])


@pytest.mark.parametrize("path", [BOARD, f"{BOARD}?of=vehicles", DRIVERS])
@pytest.mark.parametrize("count", [1, 3])
def test_pages_cost_the_same_queries_however_many_rows(
    admin: Client, django_assert_num_queries: Any, path: str, count: int
) -> None:
    for _ in range(count):
        _give(_driver(3), 4)

    # session and user; providers; owners, credentials and rides; list preferences and views; the inbox
    with django_assert_num_queries(9):
        admin.get(path)


def test_page_holds_two_hundred_rows(admin: Client) -> None:
    provider = factories.TransportProviderFactory.create()
    Driver.objects.bulk_create(
        Driver(provider=provider, first_name="Ada", last_name=f"Diaz{number:03}", phone="+13125550122")
        for number in range(201)
    )

    first, second = admin.get(f"{BOARD}?sort=name"), admin.get(f"{BOARD}?sort=name&page=2")

    assert (len(first.context["rows"]), _names(second)) == (200, ["Diaz200"])
    assert "Later" in text_of(first)
    assert "Earlier" in text_of(second)
    drivers, last = admin.get(DRIVERS), admin.get(f"{DRIVERS}?page=2")
    assert (len(drivers.context["rows"]), _names(last)) == (200, ["Diaz200"])
    assert "Only the first 200 are listed." in text_of(admin.post(DRIVERS, {"q": "diaz"}))
    assert len(_rows(admin.get(FILE))) == 202
    assert len(admin.get(f"{BOARD}?rows=50").context["rows"]) == 50


QUERIES = ["", "status=within_7", "sort=name", "sort=-name", "sort=mvr", "of=vehicles", "status=rejected"]


@pytest.mark.parametrize("query", QUERIES)
def test_c4_file_has_the_rows_of_the_filter_in_its_order(admin: Client, query: str) -> None:
    for name, days in {"Adams": 40, "Baker": 3, "Clark": 5}.items():
        _driver(days, last_name=name)
    fit_vehicle(unit_number="V17")

    page, answer = admin.get(f"{BOARD}?{query}"), admin.get(f"{FILE}?{query}")

    rows = _rows(answer)
    assert [row[0].partition(",")[0] for row in rows[1:]] == _names(page)
    assert [head for head in rows[0][3:-2] if "expiration date" not in head] == [
        one for _kind, one in page.context["types"]
    ]
    kind = page.context["kind"]
    assert answer["Content-Disposition"] == f'attachment; filename="credentials-{kind}-2026-11-20-0900-CT.csv"'


def test_c4_file_says_what_the_board_says_and_runs_nothing(admin: Client) -> None:
    driver = _driver(3, first_name="Ada", last_name="=HYPERLINK(1)")
    _give(driver, 1)
    driver.credentials.filter(type="mvr").delete()

    _heads, row = _rows(admin.get(FILE))

    assert row == [
        "'=HYPERLINK(1), Ada", driver.provider.name, "Active",
        "Valid", "2028-01-01", "Valid", "2028-01-01", "Valid", "2028-01-01", "Missing", "",
        "7 days or less", "2026-11-23", "1", "",
    ]  # fmt: skip


def test_file_says_who_took_it_along_and_when() -> None:
    _driver(3)
    client = Client()
    sign_in(client, factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR, name="Sam Supervisor"))

    heads, row = _rows(client.get(FILE))

    assert heads[-1] == "Exported Fri, Nov 20, 2026, 09:00 CT by Sam Supervisor"
    assert (len(heads), row[-1]) == (len(row), "")


def test_file_leaves_a_row_in_the_trail(admin: Client) -> None:
    _driver(3)

    admin.get(f"{FILE}?status=within_7")

    entry = AuditEntry.objects.get(action="credentials.export")
    assert (entry.subject_type, entry.details["rows"], entry.rider_ids) == ("driver", 1, [])


def test_drivers_are_found_by_name_and_by_whether_they_may_drive(admin: Client) -> None:
    _driver(3, first_name="Ada", last_name="de la Cruz")
    _driver(None, first_name="Ben", last_name="Adair", activation="suspended", activation_reason="Complaint")
    _driver(None, first_name="Cleo", last_name="Brooks", activation="inactive")

    assert _names(admin.get(DRIVERS)) == ["Adair", "de la Cruz"]
    assert _names(admin.post(DRIVERS, {"q": "ada"})) == ["Adair", "de la Cruz"]
    assert _names(admin.post(DRIVERS, {"q": "Cruz, Ada"})) == ["de la Cruz"]
    assert _names(admin.post(DRIVERS, {"activation": "inactive"})) == ["Brooks"]
    assert _names(admin.get(f"{DRIVERS}?activation=suspended")) == ["Adair"]
    assert "No drivers match this filter." in text_of(admin.post(DRIVERS, {"q": "nobody"}))


def test_driver_list_shows_next_expiry_and_rides_ahead(admin: Client) -> None:
    driver = _driver(None, last_name="Diaz")
    driver.credentials.filter(type="mvr").update(expires_on=TODAY + 2 * DAY)
    _give(driver, 1, 4)
    _driver(None, last_name="Evans")

    said = text_of(admin.get(DRIVERS))

    assert "▲ 2 days left Motor vehicle record 2 1 after a credential expires" in said
    assert "All valid 0" in said


def test_every_narrowing_has_its_words_and_its_filter(admin: Client) -> None:
    page = admin.get(BOARD)

    offered = {value for value, _label in page.context["form"].fields["status"].choices}
    assert offered == {"", *NARROWED, UNVERIFIED, SOUND}
    assert board(BoardQuery(subject=Subject.VEHICLE), by=factories.principal(), at=NOW).rows == []
