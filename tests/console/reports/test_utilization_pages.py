"""Driver and vehicle utilization on pages, in files and over the API, and the days of each."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client

from apps.accounts.rules.roles import TokenRole, UserRole
from apps.audit.models import AuditEntry
from tests import factories
from tests.callers import api_with
from tests.console.reports.test_pages import NOVEMBER, PAGE, TOO_FEW, driven, planner_of, table_of
from tests.console.visits import text_of, visitor
from tests.reporting import legs

WORK = f"{PAGE}utilization/"
PERIOD = "from=2026-11-01&to=2026-11-30"


@pytest.fixture
def supervisor(db: None) -> Client:
    return visitor(UserRole.DISPATCH_SUPERVISOR)


@pytest.fixture
def crew(db: None) -> legs.Cast:
    """Create two rides on the 2nd and one on the 3rd, 20 minutes each; an eight-hour shift until 02:00 of the 3rd."""
    cast = legs.cast()
    cast.driver.first_name, cast.driver.last_name = "Mara", "Quill"
    cast.driver.save()
    for day, at in ((2, "10:00"), (2, "11:00"), (3, "10:00")):
        legs.write(legs.Leg(day=day, at=at, arrived=0, boarded=5, delivered=20, dropped=25, onboard=15), cast)
    ends_at = dt.datetime(2026, 11, 3, 8, 0, tzinfo=dt.UTC)
    factories.ShiftFactory.create(
        driver=cast.driver, vehicle=cast.vehicle, starts_at=ends_at - dt.timedelta(hours=8), ends_at=ends_at
    )
    return cast


@pytest.mark.parametrize("of", ["driver", "vehicle"])
def test_page_file_and_api_say_the_same(supervisor: Client, crew: legs.Cast, of: str) -> None:
    (row,) = supervisor.get(f"{WORK}?{NOVEMBER}&of={of}").context["rows"]
    heads, filed = table_of(supervisor.get(f"{WORK}file/?{NOVEMBER}&of={of}"))
    (wire,) = api_with(TokenRole.BILLING_READONLY).get(f"/api/reports/utilization?{PERIOD}&of={of}").json()["data"]

    name = "Quill, Mara" if of == "driver" else f"{crew.vehicle.unit_number}, {crew.vehicle.license_plate}"
    numbers = ("rides", "minutesBusy", "minutesOnBoard", "minutesOnShift", "miles", "shareBusy", "lastDate")
    assert [wire[one] for one in numbers] == [3, 60, 45, 480, 0, 0.125, "2026-11-03"]
    assert filed == [name, *(str(float(wire[one]) if one == "miles" else wire[one]) for one in numbers)]
    assert heads[0] == of.capitalize()
    assert [row[one] for one in ("name", "rides", "busy", "on_board", "on_shift", "share", "miles")] == [
        name, "3", "1 h 00 min", "0 h 45 min", "8 h 00 min", "12.5%", "0.0 mi",
    ]  # fmt: skip
    assert row["last"] == dt.date(2026, 11, 3)


def test_days_of_a_driver_open_the_board(supervisor: Client, crew: legs.Cast) -> None:
    (row,) = supervisor.get(f"{WORK}?{NOVEMBER}").context["rows"]

    page = supervisor.get(row["url"])

    days = [(one["date"].day, one["rides"], one["busy"], one["on_shift"], one["share"]) for one in page.context["rows"]]
    assert days == [(3, "1", "0 h 20 min", "2 h 00 min", "16.7%"), (2, "2", "0 h 40 min", "6 h 00 min", "11.1%")]
    assert "Quill, Mara" in text_of(page)
    assert "<title>Utilization by day" in page.content.decode()
    for one in page.context["rows"]:
        assert supervisor.get(one["day"]).status_code == 200


def test_vehicle_has_days_and_no_page_of_the_board(supervisor: Client, crew: legs.Cast) -> None:
    (row,) = supervisor.get(f"{WORK}?{NOVEMBER}&of=vehicle").context["rows"]

    assert row["day"] == ""
    assert [one["day"] for one in supervisor.get(row["url"]).context["rows"]] == ["", ""]


def test_driver_is_named_to_those_who_may_know_them(crew: legs.Cast) -> None:
    (row,) = planner_of(crew.facility).get(f"{WORK}?{NOVEMBER}").context["rows"]

    assert "Quill" not in row["name"]
    assert row["day"] == ""


@pytest.mark.parametrize("of", ["driver", "vehicle"])
def test_analyst_is_told_no_name_and_no_plate(crew: legs.Cast, of: str) -> None:
    for number in range(5):
        legs.write(driven(4, number), crew)
    client, worker = visitor(UserRole.ANALYST), getattr(crew, of)
    asked = f"{NOVEMBER}&of={of}"

    pages = [client.get(f"{WORK}{path}?{asked}") for path in ("", f"{of}/{worker.pk}/")]
    rows = table_of(client.get(f"{WORK}file/?{asked}"))[1:]

    said = " ".join(map(text_of, pages))
    assert [row[0] for row in rows] == [f"…{str(worker.pk)[-8:]}"]
    assert f"…{str(worker.pk)[-8:]}" in said
    assert not [one for one in ("Mara", "Quill", crew.vehicle.license_plate) if one in said]


def test_rides_out_of_reach_make_no_work(crew: legs.Cast) -> None:
    client = planner_of(factories.FacilityFactory.create())

    response = client.get(f"{WORK}?{NOVEMBER}")

    assert "No rides in this period." in text_of(response)
    assert client.get(f"{WORK}driver/{crew.driver.pk}/?{NOVEMBER}").status_code == 404


@pytest.mark.parametrize("of", ["driver", "vehicle"])
def test_analyst_sees_no_few_rides(crew: legs.Cast, of: str) -> None:
    # 3 rides of one driver, 5 and 7 of others: a suppressed small count also suppresses the smallest other one.
    others = [legs.cast(), legs.cast()]
    for cast, count in zip(others, (5, 7), strict=True):
        for number in range(count):
            legs.write(driven(2, 0) if number % 2 else driven(3, 0), cast)
    client = visitor(UserRole.ANALYST)

    response = client.get(f"{WORK}?{NOVEMBER}&of={of}")
    filed = table_of(client.get(f"{WORK}file/?{NOVEMBER}&of={of}"))
    wire = api_with(TokenRole.ANALYTICS_READONLY).get(f"/api/reports/utilization?{PERIOD}&of={of}").json()["data"]

    assert [one.get("rides", one.get("hidden")) for one in response.context["rows"]] == ["7", TOO_FEW, TOO_FEW]
    assert [row[1] for row in filed[1:]] == ["7", TOO_FEW, TOO_FEW]
    assert [(one["rides"], one["minutesBusy"], one["lastDate"], one["suppressed"]) for one in wire] == [
        (7, 40, "2026-11-03", False),  # four at once on one day, three on the other
        (None, None, None, True),
        (None, None, None, True),
    ]
    hidden = response.context["rows"][1]
    assert {one.get("hidden") for one in client.get(hidden["url"]).context["rows"]} == {TOO_FEW}


@pytest.mark.parametrize("of", ["driver", "vehicle"])
def test_who_has_two_riders_at_a_time_is_busy_once(supervisor: Client, crew: legs.Cast, of: str) -> None:
    # Another ride lasts from 10:05 to 10:25; this one has its rider on board from 10:15 to 10:35.
    legs.write(legs.Leg(day=2, at="10:10", arrived=0, boarded=5, delivered=20, dropped=25, onboard=15), crew)

    (row,) = supervisor.get(f"{WORK}?{NOVEMBER}&of={of}").context["rows"]
    days = supervisor.get(row["url"]).context["rows"]

    assert (row["rides"], row["busy"], row["on_board"]) == ("4", "1 h 10 min", "1 h 00 min")
    assert [one["busy"] for one in days] == ["0 h 20 min", "0 h 50 min"]


def test_times_out_of_order_make_no_trouble(supervisor: Client, crew: legs.Cast) -> None:
    ride = legs.write(legs.Leg(day=4, boarded=5, dropped=25, onboard=20), crew)
    ride.departed_at = ride.pickup_at + dt.timedelta(minutes=35)  # reported late, and without an arrival report
    ride.save()

    (row,) = supervisor.get(f"{WORK}?{NOVEMBER}").context["rows"]

    assert (row["rides"], row["busy"]) == ("4", "1 h 30 min")


def test_without_a_shift_there_is_no_share(supervisor: Client, crew: legs.Cast) -> None:
    legs.write(driven(4, 0), legs.cast())

    rows = supervisor.get(f"{WORK}?{NOVEMBER}").context["rows"]

    assert [(row["busy"], row["share"]) for row in rows] == [("1 h 00 min", "12.5%"), ("0 h 20 min", "\N{EN DASH}")]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("from=2026-08-01&to=2026-11-30", "The period must not be longer than 92 days."),
        ("from=2026-11-30&to=2026-11-01", "must be no earlier than"),
        ("facility=01a1fa1d-29c5-7525-aa8a-6e9f346294ae", "Select a valid choice."),
    ],
)
def test_what_does_not_hold_is_said(supervisor: Client, crew: legs.Cast, query: str, said: str) -> None:
    for path in ("", f"driver/{crew.driver.pk}/"):
        response = supervisor.get(f"{WORK}{path}?{query}")
        assert said in text_of(response)
        assert "rows" not in response.context

    assert supervisor.get(f"{WORK}file/?{query}")["Location"] == f"{WORK}?{query}"


def test_what_is_no_worker_is_not_there(supervisor: Client, crew: legs.Cast) -> None:
    assert supervisor.get(f"{WORK}rider/{crew.rider.pk}/").status_code == 404
    assert supervisor.get(f"{WORK}?of=rider&{NOVEMBER}").context["of"] == "driver"


def test_file_is_in_the_trail(supervisor: Client, crew: legs.Cast) -> None:
    supervisor.get(f"{WORK}file/?{NOVEMBER}&of=vehicle")

    entry = AuditEntry.objects.get(action="reports.export")
    assert (entry.details, entry.rider_ids) == ({"rows": 1, "figures": ["work of vehicles"]}, [])


def test_work_takes_its_scope(crew: legs.Cast) -> None:
    client = visitor(UserRole.ADMIN)

    pages = ("", "file/", f"driver/{crew.driver.pk}/")
    assert {client.get(f"{WORK}{page}").status_code for page in pages} == {403}


@pytest.mark.parametrize("count", [1, 3])
def test_pages_cost_as_many_queries_for_any_number(
    supervisor: Client, db: None, django_assert_num_queries: Any, count: int
) -> None:
    for number in range(count):
        cast = legs.cast()
        for day in range(number + 1):
            legs.write(driven(2 + day, 0), cast)
    supervisor.get(WORK)  # makes the session fresh

    with django_assert_num_queries(ALL):
        response = supervisor.get(f"{WORK}?{NOVEMBER}")
    assert len(response.context["rows"]) == count
    with django_assert_num_queries(ONE):
        supervisor.get(response.context["rows"][0]["url"])


ALL, ONE = 8, 8
