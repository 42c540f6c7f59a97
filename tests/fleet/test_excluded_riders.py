"""Excluded riders of a driver: who sees them, and who can remove them."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Driver
from apps.organizations.models import Facility
from apps.riders.models import Rider
from tests import factories
from tests.callers import TokenClient, api_with

pytestmark = pytest.mark.django_db


@pytest.fixture
def ours() -> Rider:
    return factories.RiderFactory.create(facility=factories.FacilityFactory.create())


@pytest.fixture
def theirs() -> Rider:
    return factories.RiderFactory.create(facility=factories.FacilityFactory.create())


@pytest.fixture
def driver(ours: Rider, theirs: Rider) -> Driver:
    return factories.DriverFactory.create(excluded_rider_ids=[theirs.pk, ours.pk])


def caller(rider: Rider, **columns: Any) -> TokenClient:
    """Return a caller bound to the rider's facility."""
    facility: Facility = rider.facilities.get()
    return api_with(TokenRole.DISPATCH_CONSOLE, facility_ids=[facility.pk], **columns)


def looks() -> list[tuple[str, object, list[Any], str]]:
    rows = AuditEntry.objects.filter(action="drivers.read").order_by("at", "id")
    return [(row.subject_type, row.subject_id, row.rider_ids, row.phi) for row in rows]


def test_driver_names_the_riders_within_reach_and_the_trail_does(driver: Driver, ours: Rider, theirs: Rider) -> None:
    api = caller(ours, phi_level="limited")

    one = api.get(f"/api/drivers/{driver.pk}").json()
    (listed,) = api.get("/api/drivers").json()["data"]
    whole = api_with(TokenRole.DISPATCH_CONSOLE).get(f"/api/drivers/{driver.pk}").json()

    assert one["excludedRiderIds"] == listed["excludedRiderIds"] == [str(ours.pk)]
    assert whole["excludedRiderIds"] == [str(theirs.pk), str(ours.pk)]
    assert looks() == [
        ("driver", driver.pk, [ours.pk], "limited"),
        ("driver", driver.pk, [ours.pk], "limited"),
        ("driver", driver.pk, sorted([ours.pk, theirs.pk]), "full"),
    ]


def test_caller_without_phi_is_shown_no_rider(driver: Driver, ours: Rider) -> None:
    api = caller(ours, phi_level="none")

    answers = [api.get(path) for path in (f"/api/drivers/{driver.pk}", "/api/drivers")]

    assert not any(
        b"excludedRiderIds" in answer.content or str(ours.pk).encode() in answer.content for answer in answers
    )
    assert [answer.status_code for answer in answers] == [200, 200]
    assert looks() == []


@pytest.mark.parametrize(("phi_level", "left"), [("full", ["theirs"]), ("none", ["theirs", "ours"])])
def test_write_takes_back_no_rider_that_the_caller_was_not_shown(
    driver: Driver, ours: Rider, theirs: Rider, phi_level: str, left: list[str]
) -> None:
    api = caller(ours, phi_level=phi_level)

    answer = api.patch(f"/api/drivers/{driver.pk}", {"excludedRiderIds": []})

    assert answer.status_code == 200, answer.json()
    riders = {"ours": ours.pk, "theirs": theirs.pk}
    assert Driver.objects.get().excluded_rider_ids == [riders[name] for name in left]


def test_what_was_read_and_is_sent_back_changes_nothing(driver: Driver, ours: Rider) -> None:
    api, before = caller(ours), Driver.objects.values().get()
    read = api.get(f"/api/drivers/{driver.pk}").json()["excludedRiderIds"]

    answer = api.patch(f"/api/drivers/{driver.pk}", {"excludedRiderIds": read})

    assert (answer.status_code, answer.json()["excludedRiderIds"]) == (200, [str(ours.pk)])
    assert Driver.objects.values().get() == before


def test_another_rider_is_added_to_those_out_of_sight(driver: Driver, ours: Rider, theirs: Rider) -> None:
    another = factories.RiderFactory.create(facility=ours.facilities.get())

    answer = caller(ours).patch(f"/api/drivers/{driver.pk}", {"excludedRiderIds": [str(another.pk)]})

    assert answer.json()["excludedRiderIds"] == [str(another.pk)]
    assert Driver.objects.get().excluded_rider_ids == [another.pk, theirs.pk]


@pytest.mark.parametrize("count", [1, 3])
def test_list_that_names_riders_asks_the_same_number_of_queries(
    api: TokenClient, ours: Rider, django_assert_num_queries: Callable[..., Any], count: int
) -> None:
    for _ in range(count):
        factories.DriverFactory.create(excluded_rider_ids=[ours.pk])

    with django_assert_num_queries(10):  # those of any list, the riders in scope, and the audit entry
        response = api.get("/api/drivers")

    assert [one["excludedRiderIds"] for one in response.json()["data"]] == [[str(ours.pk)]] * count
