"""Standing orders over HTTP: listed, searched and read."""

import datetime as dt
from typing import Any

import pytest
import time_machine

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.organizations.models import ExternalId, Facility
from apps.recurring.models import StandingOrder
from apps.recurring.services import edit_order
from apps.riders.models import Rider
from lib.access import system
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.calls import fields_of
from tests.recurring.cast import DATES, MONDAY

pytestmark = pytest.mark.django_db

DAY = dt.timedelta(days=1)


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def rider(centre: Facility) -> Rider:
    return factories.RiderFactory.create(facility=centre)


@pytest.fixture
def order(centre: Facility, rider: Rider) -> StandingOrder:
    return cast.order(centre, rider)


def test_orders_of_a_rider_are_listed_latest_first_page_by_page(
    api: TokenClient, centre: Facility, rider: Rider, order: StandingOrder
) -> None:
    later = cast.order(centre, rider, at=NOW + dt.timedelta(minutes=1), of={"days_of_week": (5,)})
    cast.order(centre)
    path = f"/api/riders/{rider.pk}/standing-orders"

    first = api.get(f"{path}?limit=1").json()
    second = api.get(f"{path}?limit=1&cursor={first['page']['nextCursor']}").json()

    assert [one["id"] for one in first["data"] + second["data"]] == [str(later.pk), str(order.pk)]
    assert (second["page"]["hasMore"], "rides" in first["data"][0]) == (False, False)
    entries = AuditEntry.objects.filter(action="standing_orders.list")
    assert [entry.rider_ids for entry in entries] == [[rider.pk]] * 2


def test_rider_without_orders_has_empty_list_unknown_rider_404(api: TokenClient, rider: Rider) -> None:
    empty = api.get(f"/api/riders/{rider.pk}/standing-orders")
    nobody = api.get("/api/riders/01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e5f/standing-orders")

    assert (empty.status_code, empty.json()["data"]) == (200, [])
    assert (nobody.status_code, error_of(nobody)["code"]) == (404, "NOT_FOUND")


def test_orders_are_found_by_facility_rider_and_status(api: TokenClient, order: StandingOrder) -> None:
    draft_of_other = cast.order(is_draft=True)

    def found(query: str) -> set[str]:
        return {one["id"] for one in api.get(f"/api/standing-orders?{query}").json()["data"]}

    both_of_them = {str(order.pk), str(draft_of_other.pk)}
    assert found("") == both_of_them
    assert found(f"facilityId={order.facility_id}") == {str(order.pk)}
    assert found(f"riderId={draft_of_other.rider_id}") == {str(draft_of_other.pk)}
    assert found("status=draft") == {str(draft_of_other.pk)}
    assert found("status=draft,active") == both_of_them
    assert found(f"status=ended&riderId={order.rider_id}") == set()


def test_orders_are_found_by_the_names_of_other_systems(
    api: TokenClient, centre: Facility, rider: Rider, order: StandingOrder
) -> None:
    named = cast.order(centre, external_ids=({"system": "epic", "value": "SO-17", "type": ""},))
    # A ride with that external id is not an order.
    ExternalId.objects.create(subject_type="ride", subject_id=order.pk, system="epic", value="SO-17")

    def found(query: str) -> list[str]:
        return [one["id"] for one in api.get(f"/api/standing-orders?{query}").json()["data"]]

    assert found("externalRef=epic%7CSO-17") == found("externalRef=SO-17") == [str(named.pk)]
    assert found("externalRef=SO-17&status=active") == [str(named.pk)]
    for query in ("externalRef=mrn%7CSO-17", "externalRef=SO-1", "externalRef=SO-17&status=ended"):
        assert found(query) == []


def test_external_reference_search_needs_phi_level(order: StandingOrder) -> None:
    caller = api_with(TokenRole.FULL_ACCESS, phi_level="none")

    response = caller.get("/api/standing-orders?externalRef=SO-17")

    assert (response.status_code, error_of(response)["code"]) == (403, "PHI_NOT_PERMITTED")


@pytest.mark.parametrize(
    "query", ["status=alive", "status=", "facilityId=x", "colour=red", "limit=0", "limit=1&limit=2"]
)
def test_odd_query_of_the_list_is_refused(api: TokenClient, query: str) -> None:
    response = api.get(f"/api/standing-orders?{query}")

    assert error_of(response)["code"] == "VALIDATION_ERROR"
    assert fields_of(response)[0].partition("[")[0] == query.partition("=")[0]


def test_list_costs_the_same_however_many_orders(
    api: TokenClient, centre: Facility, django_assert_max_num_queries: Any
) -> None:
    for _ in range(3):
        cast.order(centre)

    # The orders and their terms, holds and days; the token; the audit entry.
    with django_assert_max_num_queries(8):
        listed = api.get("/api/standing-orders").json()["data"]
    assert (len(listed), "nextOccurrences" in listed[0]) == (3, False)


def test_order_is_read_and_the_look_recorded(api: TokenClient, order: StandingOrder) -> None:
    response = api.get(f"/api/standing-orders/{order.pk}")
    ended = edit_order.end(order_id=order.pk, last_date=None, by=system(), at=NOW).order
    held = api.get(f"/api/standing-orders/{order.pk}", headers={"If-None-Match": f'"{ended.version}"'})

    assert (response.status_code, response["ETag"]) == (200, '"1"')
    assert (response.json()["id"], "rides" in response.json()) == (str(order.pk), False)
    assert held.status_code == 304
    entry = AuditEntry.objects.filter(action="standing_orders.read").first()
    assert entry is not None
    assert (entry.subject_id, entry.rider_ids, entry.facility_id) == (order.pk, [order.rider_id], order.facility_id)


def test_order_that_looks_otherwise_tomorrow_is_sent_whole(api: TokenClient, order: StandingOrder) -> None:
    edit_order.skip(order_id=order.pk, pattern_date=DATES[1], by=system(), at=NOW)

    response = api.get(f"/api/standing-orders/{order.pk}", headers={"If-None-Match": '"2"'})

    assert (response.status_code, response.json()["skips"]) == (200, [DATES[1].isoformat()])


def test_order_shows_next_occurrences_and_etag_ages_with_them(api: TokenClient, order: StandingOrder) -> None:
    first = api.get(f"/api/standing-orders/{order.pk}")
    with time_machine.travel(NOW + 4 * DAY, tick=False):
        later = api.get(f"/api/standing-orders/{order.pk}", headers={"If-None-Match": first["ETag"]})

    shown = first.json()["nextOccurrences"]
    assert shown[0] == {
        "date": "2026-11-23",
        "serviceDate": "2026-11-23",
        "change": "as_generated",
        "pickupTime": "09:55",
        "chairTime": "10:30",
        "returnTime": "15:00",
    }
    assert [one["date"] for one in shown] == [day.isoformat() for day in DATES[:10]]
    assert (later.status_code, later.json()["nextOccurrences"][0]["date"]) == (200, DATES[1].isoformat())


def test_terms_in_force_are_those_of_the_day(api: TokenClient, centre: Facility, rider: Rider) -> None:
    order = cast.order(centre, rider, start_date=MONDAY - 28 * DAY)
    terms = {"chair_time": dt.time(6)}
    edit_order.change(order_id=order.pk, terms=terms, from_date=DATES[3], by=system(), at=NOW)

    shown = api.get(f"/api/standing-orders/{order.pk}").json()

    assert (shown["chairTime"], [(one["fromDate"], one["chairTime"]) for one in shown["laterTerms"]]) == (
        "10:30",
        [(DATES[3].isoformat(), "06:00")],
    )
