"""List of rides: every row as the serializer shows it, every page complete, every read in the audit trail."""

import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
import time_machine
from django.db import connection

from apps.accounts.rules.roles import SCOPES_OF_TOKEN, TokenRole, UserRole
from apps.audit.models import AuditEntry
from apps.organizations.models import ExternalId
from apps.riders.rules import accommodation
from apps.rides.models import Assignment, Ride
from apps.rides.queries import ride_list
from apps.rides.queries.ride_forecasts import etas_of
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.rules.lifecycle import TERMINAL, RideStatus
from apps.rides.schemas.ride_output import RideRow
from apps.rides.services import assignment, listing
from apps.rides.services.listing import RideListQuery
from lib.access import Phi, Principal, system
from tests import factories
from tests.callers import TokenClient
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db
MINUTE = dt.timedelta(minutes=1)
ENDED = {RideStatus.CANCELLED, RideStatus.NO_SHOW, RideStatus.UNFULFILLED}


@pytest.fixture(autouse=True)
def _frozen() -> Iterator[None]:
    with time_machine.travel(factories.NOW, tick=False):
        yield


def full_ride(status: RideStatus, **columns: Any) -> Ride:
    """Create a ride with a value in every column that the status allows."""
    at = factories.PICKUP
    driver = factories.DriverFactory.create()
    filled: dict[str, Any] = {
        "accommodation": accommodation.complete({"mobility": "wheelchair", "dispatcherNotes": "canary-dispatch"}),
        "companions": {"escorts": 1},
        "payer": factories.PayerFactory.create(),
        "program_code": "NEMT",
        "authorization_number": "A-1",
        "authorization_expires_on": dt.date(2027, 1, 1),
        "appointment_at": at + 60 * MINUTE,
        "client_reference": f"R-{status}",
        "discharge": {"unit": "4 West"},
        "dialysis": {"chair": "7"},
        "occurrence_key": f"{status}:2026-11-18:outbound",
        "occurrence_state": "shifted",
        "requested_by": {"name": "Canary Planner"},
        "driver_notes": "ring twice",
        "dispatcher_notes": "canary-dispatch",
        "facility_notes": "desk",
        "estimated_miles": "15.18",
        "estimated_minutes": 38,
        "odometer_start": "10021.5",
        "vehicle_type_requested": "wheelchair_van",
        "signatures": [{"signer": "rider", "stop": "pickup", "name": "O", "at": "2026-11-20T20:00:00Z"}],
        "attestation": {"driverName": "M", "at": "2026-11-20T20:00:00Z", "text": "so it was"},
        "missing_documents": ["odometer_end"],
        "review_reasons": ["lead_time"],
        "departed_at": at - 20 * MINUTE,
        "arrived_pickup_at": at + 16 * MINUTE + dt.timedelta(seconds=59, microseconds=120),
        "boarded_at": at + 20 * MINUTE,
        "arrived_dropoff_at": at + 40 * MINUTE,
        "dropped_off_at": at + 41 * MINUTE,
        "eta_pickup_at": at,
    }
    ride = factories.RideFactory.create(**(filled | columns))
    factories.put_driver_on(ride, driver=driver)
    ending: dict[str, Any] = {}
    if status in ENDED:
        ending = {"reason_code": "other", "fault": "none", "ended_by": "system", "end_note": "canary-note"}
    if status in TERMINAL:
        ending["status_before_end"] = "in_progress"
    if status is RideStatus.CANCELLED:
        ending["cancellation_timing"] = "late"
    if status in (RideStatus.REQUESTED, RideStatus.SCHEDULED):
        ending = {"driver": None, "vehicle": None, "provider": None, "assignment_id": None}
    Ride.objects.filter(pk=ride.pk).update(status=status, **ending)
    ExternalId.objects.create(subject_type="ride", subject_id=ride.pk, system="epic", value=f"E-{status}")
    return Ride.objects.get(pk=ride.pk)


def rows_by_serializer(rides: list[Ride], by: Principal) -> list[dict[str, Any]]:
    names = {ride.pk: list(ExternalId.objects.filter(subject_id=ride.pk)) for ride in rides}
    etas = etas_of(rides, at=factories.NOW)
    context = {"disclosure": disclosure_of(by), "at": factories.NOW, "external_ids": names, "etas": etas}
    return [orjson.loads(orjson.dumps(RideRow(ride, context=context).data)) for ride in rides]


def rows_by_list(by: Principal) -> list[dict[str, Any]]:
    wanted = RideListQuery(filters={}, sort="pickupTime", limit=200)
    rows = listing.list_rides(query=wanted, by=by, at=factories.NOW).rows
    return list(orjson.loads(orjson.dumps(rows, option=orjson.OPT_UTC_Z)))


@pytest.mark.parametrize("phi", list(Phi))
@pytest.mark.parametrize("role", [UserRole.DISPATCHER, UserRole.PLANNER])
def test_fast_rows_equal_the_serializers_for_every_status(role: UserRole, phi: Phi) -> None:
    for status in RideStatus:
        full_ride(status)
    factories.RideFactory.create()
    by = factories.principal(role, phi=phi)

    fast = rows_by_list(by)

    assert len(fast) == len(RideStatus) + 1
    assert fast == rows_by_serializer(list(Ride.objects.order_by("pickup_at", "pk")), by)


@pytest.mark.parametrize("minutes", [-600, -1, 0, 15, 16, 90])
def test_fast_rows_judge_lateness_and_release_as_the_rules_do(minutes: int) -> None:
    pickup_at = factories.NOW - minutes * MINUTE
    will_call = {"will_call": True, "pickup_time_kind": "estimated"}
    factories.RideFactory.create(pickup_at=pickup_at)
    factories.RideFactory.create(pickup_at=pickup_at, **will_call, will_call_expires_at=pickup_at)
    factories.RideFactory.create(
        pickup_at=pickup_at,
        **will_call,
        will_call_expires_at=pickup_at,
        ready_at=pickup_at,
        ready_source="phone",
        promised_pickup_by=pickup_at + dt.timedelta(minutes=15, seconds=30),
    )
    by = factories.principal()

    assert rows_by_list(by) == rows_by_serializer(list(Ride.objects.order_by("pickup_at", "pk")), by)


def test_list_shows_the_scope_that_visible_to_shows() -> None:
    assigned, offered = full_ride(RideStatus.ASSIGNED), factories.RideFactory.create()
    asked = offer(offered)
    factories.RideFactory.create()
    scopes: list[dict[str, Any]] = [
        {"provider_ids": frozenset({asked.provider_id})},
        {"provider_ids": frozenset({asked.provider_id}), "facility_ids": frozenset({assigned.facility_id})},
        {},
        {"facility_ids": frozenset()},
        {"facility_ids": frozenset({assigned.facility_id})},
        {"provider_ids": frozenset({assigned.provider_id})},
        {"provider_ids": frozenset()},
        {"facility_ids": frozenset({assigned.facility_id}), "provider_ids": frozenset({assigned.provider_id})},
    ]

    for scope in scopes:
        by = factories.principal(**scope)
        expected = Ride.objects.visible_to(by).order_by("pickup_at", "pk").values_list("pk", flat=True)
        assert [row["id"] for row in rows_by_list(by)] == [str(pk) for pk in expected]


def offer(ride: Ride) -> Assignment:
    """Offer a ride to a driver of a provider that has no other."""
    driver, vehicle = fit_pair(employment="contractor")
    return assignment.assign(
        ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, offer=True, by=system(), at=factories.NOW
    )


def test_list_records_one_read_with_every_rider_shown(api: TokenClient) -> None:
    first, second = factories.RideFactory.create_batch(2)
    factories.RideFactory.create(pickup_at=factories.PICKUP + MINUTE)

    api.get("/api/rides?limit=2")

    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.phi) == ("rides.list", f"token:{api.token.pk}", "full")
    assert entry.rider_ids == sorted([first.rider_id, second.rider_id])
    assert entry.request_id != ""


@pytest.mark.parametrize("count", [0, 1, 3])
def test_list_costs_the_same_queries_for_any_number_of_rides(
    count: int,
    api: TokenClient,
    django_assert_num_queries: Any,
) -> None:
    factories.RideFactory.create_batch(count)

    # The token, the page, its external ids if it has rides, and the row of the audit trail.
    with django_assert_num_queries(3 + bool(count)):
        response = api.get("/api/rides")

    assert len(response.json()["data"]) == count


@pytest.mark.parametrize("sort", list(ride_list.SORTS))
def test_cursor_over_equal_keys_is_stable_during_inserts(
    sort: str,
    api: TokenClient,
) -> None:
    rides = factories.RideFactory.create_batch(7)
    seen: list[str] = []
    cursor = ""

    while True:
        page = api.get(f"/api/rides?limit=2&sort={sort}{cursor}").json()
        seen += [row["id"] for row in page["data"]]
        factories.RideFactory.create()
        if not page["page"]["hasMore"] or len(seen) > 50:
            break
        cursor = f"&cursor={page['page']['nextCursor']}"

    assert len(seen) == len(set(seen))
    assert {str(ride.pk) for ride in rides} <= set(seen)


def test_next_page_stands_in_the_link_header(api: TokenClient) -> None:
    factories.RideFactory.create_batch(2)

    first = api.get("/api/rides?limit=1&status=scheduled")
    url = first["Link"].partition(">")[0].removeprefix("<")
    second = api.get(url)

    assert first["Link"].endswith('; rel="next"')
    assert second.json()["data"][0]["id"] != first.json()["data"][0]["id"]
    assert "Link" not in second


def test_cursor_of_other_filters_or_another_reach_is_refused(
    api: TokenClient,
    api_as: Callable[..., TokenClient],
) -> None:
    ride, _ = factories.RideFactory.create_batch(2)
    cursor = api.get("/api/rides?limit=1").json()["page"]["nextCursor"]
    other = api_as(TokenRole.EHR_INTEGRATOR, facility_ids=[ride.facility_id])

    for response in (
        api.get(f"/api/rides?status=scheduled&cursor={cursor}"),
        api.get(f"/api/rides?sort=-createdAt&cursor={cursor}"),
        api.get(f"/api/rides?cursor={cursor[:-2]}AA"),
        other.get(f"/api/rides?cursor={cursor}"),
    ):
        assert (response.status_code, response.json()["error"]["code"]) == (400, "INVALID_CURSOR")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=ten", "limit"),
        ("limit=", "limit"),
        ("status=", "status"),
        ("status=late", "status[0]"),
        ("colour=red", "colour"),
        ("pickupTimeFrom=2026-11-20T14:00:00", "pickupTimeFrom"),
        ("facilityId=7", "facilityId"),
        ("sort=riderId", "sort"),
        ("fields=name", "fields[0]"),
        ("expand=payer", "expand[0]"),
        ("limit=1&limit=2", "limit"),
    ],
)
def test_wrong_parameter_is_refused_by_name(query: str, field: str, api: TokenClient) -> None:
    response = api.get(f"/api/rides?{query}")

    assert response.status_code == 400
    assert [detail["field"] for detail in response.json()["error"]["details"]] == [field]


def test_limit_above_the_most_is_clamped(api: TokenClient) -> None:
    assert api.get("/api/rides?limit=100000").json()["page"]["limit"] == 200
    assert api.get("/api/rides").json()["page"]["limit"] == 50


def test_filters_find_the_one_they_name(api: TokenClient) -> None:
    ride = full_ride(RideStatus.CANCELLED, service_type="dialysis", pickup_at=factories.PICKUP + 5 * MINUTE)
    Ride.objects.update(client_id=api.token.client_id, updated_at=factories.NOW)
    factories.RideFactory.create()
    wanted = [
        "status=canceled",
        "status=cancelled,no_show",
        "type=dialysis",
        f"facilityId={ride.facility_id}",
        f"riderId={ride.rider_id}",
        f"driverId={ride.driver_id}",
        "clientReference=R-cancelled",
        "externalRef=epic%7CE-cancelled",
        "externalRef=E-cancelled",
        "pickupTimeFrom=2026-11-20T20:05:00Z",
        "pickupTimeFrom=2026-11-20T14:05:00-06:00&pickupTimeTo=2026-11-20T20:05:00.000001Z",
        "updatedSince=2026-11-20T15:00:00Z",
    ]

    for query in wanted:
        assert [row["id"] for row in api.get(f"/api/rides?{query}").json()["data"]] == [str(ride.pk)], query
    for query in ("pickupTimeTo=2026-11-20T20:00:00Z", "externalRef=mrn%7CE-cancelled", "status=arrived"):
        assert api.get(f"/api/rides?{query}").json()["data"] == [], query


def test_fields_asks_for_less(api: TokenClient) -> None:
    ride = factories.RideFactory.create()

    response = api.get("/api/rides?fields=id,pickupWindow")

    assert response.json()["data"] == [
        {
            "id": str(ride.pk),
            "pickupWindow": {"start": "2026-11-20T19:45:00Z", "end": "2026-11-20T20:15:00Z"},
        }
    ]


def test_total_is_counted_when_asked(api: TokenClient) -> None:
    factories.RideFactory.create_batch(3)

    page = api.get("/api/rides?limit=1&includeTotal=true").json()["page"]

    assert (page["total"], page["totalIsCapped"]) == (3, False)


def test_expand_adds_the_records_that_rides_name(api: TokenClient) -> None:
    ride = full_ride(RideStatus.ASSIGNED)

    row = api.get("/api/rides?expand=rider,driver,facility").json()["data"][0]

    assert (row["rider"]["id"], row["rider"]["firstName"]) == (str(ride.rider_id), "Orla")
    assert (row["driver"]["id"], row["driver"]["firstName"]) == (str(ride.driver_id), "Marek")
    assert ride.facility is not None
    assert row["facility"]["name"] == ride.facility.name


def test_expand_takes_the_scope_and_shows_what_the_level_allows(
    api_as: Callable[..., TokenClient],
) -> None:
    full_ride(RideStatus.ASSIGNED)
    billing = api_as(TokenRole.BILLING_READONLY)
    anonymous = api_as(TokenRole.EHR_INTEGRATOR, phi_level="none")

    refused = billing.get("/api/rides?expand=rider")
    row = anonymous.get("/api/rides?expand=rider").json()["data"][0]

    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "INSUFFICIENT_SCOPE")
    assert set(row["rider"]) == {"id", "status"}


@pytest.mark.parametrize("query", ["clientReference=R-1", "externalRef=E-1", "fields=id,notes"])
def test_filter_or_field_above_the_level_is_refused(
    query: str,
    api_as: Callable[..., TokenClient],
) -> None:
    response = api_as(TokenRole.FULL_ACCESS, phi_level="none").get(f"/api/rides?{query}")

    assert (response.status_code, response.json()["error"]["code"]) == (403, "PHI_NOT_PERMITTED")


def test_dispatchers_notes_reach_dispatch_alone(api_as: Callable[..., TokenClient]) -> None:
    ride = full_ride(RideStatus.ASSIGNED)
    partner = api_as(TokenRole.DISPATCH_PARTNER, provider_ids=[ride.provider_id])

    for caller, shown in (
        (api_as(TokenRole.DISPATCH_CONSOLE), True),
        (partner, False),
        (api_as(TokenRole.EHR_INTEGRATOR), False),
        (api_as(TokenRole.DISPATCH_CONSOLE, phi_level="limited"), False),
    ):
        for url in ("/api/rides", f"/api/rides/{ride.pk}"):
            response = caller.get(url)
            assert response.status_code == 200
            assert (b"canary-dispatch" in response.content) is shown


def test_every_scope_of_expand_is_one_of_the_catalogue() -> None:
    assert set(ride_list.EXPANDABLE) == {"rider", "driver", "facility"}
    assert SCOPES_OF_TOKEN[TokenRole.FULL_ACCESS] >= {"riders:read", "drivers:read", "facilities:read"}


@pytest.mark.django_db(transaction=True)
def test_list_that_cannot_be_recorded_shows_nothing(api: TokenClient) -> None:
    ride = factories.RideFactory.create()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE audit_auditentry ADD CONSTRAINT no_reads CHECK (action <> 'rides.list')")

    try:
        response = api.get("/api/rides")
    finally:
        with connection.cursor() as cursor:
            cursor.execute("ALTER TABLE audit_auditentry DROP CONSTRAINT no_reads")

    assert response.status_code == 500
    assert str(ride.pk).encode() not in response.content


def test_reference_is_found_by_its_index_without_a_client() -> None:
    rows = ride_list.matching(Ride.objects.all(), {"client_reference": "ORDER-1001"}, system())

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("DROP INDEX ride_client_reference_once")  # on an empty table it costs the same
    plan = rows.values("pk").explain()

    assert "ride_by_client_reference" in plan
