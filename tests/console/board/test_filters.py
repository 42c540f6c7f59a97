"""Board filtered by facility, provider or time zone."""

import datetime as dt
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from apps.accounts.rules.roles import UserRole
from apps.fleet.models import Driver
from apps.rides.models import Ride
from tests import factories
from tests.console.visits import text_of, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

BOARD = "/console/board/"
HOUR = dt.timedelta(hours=1)
DENVER = "America/Denver"


@pytest.fixture
def desk() -> Client:
    return visitor(UserRole.DISPATCHER)


def _driven(driver: Driver | None = None, **columns: Any) -> Ride:
    ride = factories.RideFactory.create(**({"pickup_at": NOW + HOUR} | columns))
    factories.put_driver_on(ride, driver=driver)
    return ride


def _on_duty(**columns: Any) -> Driver:
    driver = factories.DriverFactory.create(activation="active", **columns)
    factories.ShiftFactory.create(driver=driver, starts_at=NOW - HOUR, ends_at=NOW + 6 * HOUR)
    return driver


def _shown(response: Any) -> tuple[set[str], set[Any]]:
    """Return the drivers of the rows and the rides of the queue."""
    drivers = {
        part.partition('"')[0] for row in response.context["driver_rows"] for part in row.split('data-driver="')[1:]
    }
    return drivers, {one["ride"].pk for one in response.context["queue"]}


def _counted(response: Any) -> dict[str, int]:
    return {str(one["label"]): one["count"] for one in response.context["counters"]}


def test_who_has_one_of_everything_sees_nothing_to_narrow(desk: Client) -> None:
    facility = factories.FacilityFactory.create()
    _driven(facility=facility)
    factories.RideFactory.create(facility=facility)

    page = desk.get(BOARD)

    assert page.context["parts"]["fields"] == []
    assert "Filter" not in text_of(page)


def test_facility_filter_keeps_whole_days_of_its_drivers(desk: Client) -> None:
    ours, theirs = factories.FacilityFactory.create(name="Ours"), factories.FacilityFactory.create(name="Theirs")
    mine, foreign = _driven(facility=ours), _driven(facility=theirs)
    beside = _driven(mine.driver, facility=theirs, pickup_at=NOW + 3 * HOUR)
    waits, _other = (factories.RideFactory.create(facility=one) for one in (ours, theirs))
    near, far = _on_duty(), _on_duty(provider=factories.TransportProviderFactory.create(timezone=DENVER))

    whole, page = desk.get(BOARD), desk.get(f"{BOARD}?facility={ours.pk}")

    assert len(_shown(whole)[0]) == 4
    assert _shown(page) == ({str(mine.driver_id), str(near.pk)}, {waits.pk})
    assert str(far.pk) not in page.content.decode()
    row = next(one for one in page.context["driver_rows"] if str(mine.pk) in one)
    assert "aside" in row.partition(f'id="ride-{beside.pk}"')[0].rpartition("<a ")[2]
    assert "aside" not in row.partition(f'id="ride-{mine.pk}"')[0].rpartition("<a ")[2]
    assert str(foreign.pk) not in page.content.decode()
    assert _counted(page)["Unassigned"] == 1
    assert "Facility: Ours" in text_of(page)
    listed = desk.get(f"{BOARD}?view=list&facility={ours.pk}").context["rows"]
    assert {row["ride"].pk for row in listed} == {mine.pk, waits.pk}


def test_provider_leaves_its_drivers_and_all_that_waits(desk: Client) -> None:
    ours = _driven()
    other = factories.TransportProviderFactory.create(name="Other Transit")
    idle = _on_duty(provider=other)
    waits = factories.RideFactory.create()

    page = desk.get(f"{BOARD}?provider={other.pk}")

    assert _shown(page) == ({str(idle.pk)}, {waits.pk})
    assert "Provider: Other Transit" in text_of(page)
    assert str(ours.driver_id) not in page.content.decode()


def test_zone_leaves_what_goes_by_its_clocks_and_shows_them(desk: Client) -> None:
    there = _driven(timezone=DENVER)
    _driven()
    waits = factories.RideFactory.create(timezone=DENVER, pickup_at=NOW + 2 * HOUR)
    factories.RideFactory.create()
    free = _on_duty(provider=factories.TransportProviderFactory.create(timezone=DENVER))
    _on_duty()

    page = desk.get(f"{BOARD}?zone={DENVER}")

    assert _shown(page) == ({str(there.driver_id), str(free.pk)}, {waits.pk})
    assert page.context["axis"].zone == DENVER
    assert "10:00" in page.context["queue"][0]["clock"], "Denver is an hour behind Chicago"
    assert "Driver timeline (Mountain Time)" in text_of(page)
    assert page.context["suggest"].endswith("zone=America%2FDenver")


def test_what_is_asked_for_stays_on_the_way_round_the_board(desk: Client) -> None:
    ride, _other = _driven(), _driven()
    query = f"facility={ride.facility_id}&provider={ride.provider_id}&zone=America%2FChicago"

    page = desk.get(f"{BOARD}?day=2026-11-20&show=late&{query}")

    links = [page.context["later"], *(url for _label, url, _now in page.context["views"])]
    links += [one["url"] for one in page.context["counters"] if one.get("url")]
    assert all(query in link for link in links)
    chosen = [(one["label"], one["url"]) for one in page.context["parts"]["chosen"]]
    assert [label for label, _url in chosen] == ["Facility", "Provider", "Time zone"]
    assert all(
        f"{name}=" not in url for name, (_label, url) in zip(("facility", "provider", "zone"), chosen, strict=True)
    )
    assert page.context["parts"]["other_params"] == {"show": "late"}


def test_changes_are_narrowed_as_the_page_is(desk: Client) -> None:
    mine, foreign = _driven(), _driven()

    page = desk.get(f"{BOARD}changes/?facility={mine.facility_id}&ride={mine.pk}&ride={foreign.pk}")

    assert page.context["removed_ids"] == [str(foreign.driver_id)]
    assert f'id="driver-row-{mine.driver_id}"' in page.content.decode()


def test_late_rides_of_elsewhere_are_not_counted(desk: Client) -> None:
    mine = _driven()
    _driven(mine.driver, pickup_at=NOW - HOUR)

    narrow, whole = desk.get(f"{BOARD}?facility={mine.facility_id}"), desk.get(BOARD)

    assert (_counted(narrow)["Late"], _counted(whole)["Late"] > 0) == (0, True)
    assert desk.get(f"{BOARD}?facility={mine.facility_id}&show=late").context["driver_rows"] == []


def test_unknown_filter_values_show_nothing_or_everything(desk: Client) -> None:
    ride = _driven()

    nowhere = desk.get(f"{BOARD}?facility={uuid4()}")
    wrong = desk.get(f"{BOARD}?facility=x&provider=x&zone=Mars/Olympus")

    assert _shown(nowhere) == (set(), set())
    assert "Facility: Not found" in text_of(nowhere)
    assert _shown(wrong)[0] == {str(ride.driver_id)}
    assert wrong.context["parts"]["chosen"] == []


def test_counts_are_of_what_is_wanted(desk: Client) -> None:
    done = _driven(pickup_at=NOW - 2 * HOUR)
    _driven(pickup_at=NOW - 2 * HOUR)
    Ride.objects.update(
        status="completed", status_before_end="in_progress", departed_at=NOW - 2 * HOUR,
        arrived_pickup_at=NOW - 2 * HOUR, boarded_at=NOW - 2 * HOUR, arrived_dropoff_at=NOW - HOUR,
        dropped_off_at=NOW - HOUR,
    )  # fmt: skip

    for query in (f"facility={done.facility_id}", f"provider={done.provider_id}"):
        assert _counted(desk.get(f"{BOARD}?{query}"))["Done"] == 1, query
    assert _counted(desk.get(f"{BOARD}?zone={DENVER}"))["Done"] == 0
    assert _counted(desk.get(BOARD))["Done"] == 2
