"""Lists: no filter, order, expansion, count or search returns or reveals a row of the other side."""

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import pytest
from rest_framework import serializers

from apps.accounts.rules.roles import TokenRole
from apps.events.models import EventQuerySet
from apps.recurring.models import StandingOrderQuerySet
from apps.riders.models import RiderQuerySet
from apps.rides.models.exception import RideExceptionQuerySet
from apps.webhooks.models.delivery import DeliveryQuerySet
from apps.webhooks.models.endpoint import EndpointQuerySet
from lib.api import fields
from tests.access.operations import NAMED, OPERATIONS, Caller, Operation, caller_of
from tests.access.world import World, absent
from tests.callers import error_of
from tests.factories import NOW

LISTS: Final = [one for one in OPERATIONS if one.reads and one.action == "list" and not one.takes_id]
BINDINGS: Final = ("facility", "provider", "both")
CALLERS: Final = [
    *((TokenRole.FULL_ACCESS, binding) for binding in BINDINGS),
    (TokenRole.EHR_INTEGRATOR, "facility"),
    (TokenRole.DISPATCH_PARTNER, "provider"),
    (TokenRole.AUDITOR, "both"),
]
MOMENT: Final = (NOW - dt.timedelta(days=30)).isoformat().replace("+00:00", "Z")


def _queries(operation: Operation, world: World) -> Iterator[dict[str, str]]:
    """Return queries of every parameter: every choice, and the other side's name or id if it takes one."""
    yield {}
    yield {"limit": "1"}
    for name, declared in operation.query.items():
        inner = declared.child if isinstance(declared, serializers.ListField) else declared
        if name in NAMED:
            yield {name: world.other.id_of(NAMED[name])}
        elif isinstance(inner, fields.Choice):
            yield from ({name: str(word)} for word in inner.choices)
            yield {name: ",".join(str(word) for word in list(inner.choices)[:4])}
        elif isinstance(inner, fields.Instant):
            yield {name: MOMENT}
        elif isinstance(inner, fields.Boolean):
            yield {name: "true"}
        elif name in ASKED:
            yield from ({name: text} for text in ASKED[name](world))
        else:
            assert name in {"limit", "cursor"}, f"{operation.name} takes {name}: say here what to ask it for"


# Parameters whose values are names of rows.
ASKED: Final[dict[str, Any]] = {
    "after": lambda world: [world.other.id_of("events")],
    "clientReference": lambda world: [ride.client_reference for ride in world.other.rows["rides"]],
    "externalId": lambda world: [f"{row.system}|{row.value}" for row in world.other.rows["external-ids"]],
    "externalRef": lambda world: [row.value for row in world.other.rows["external-ids"]],
    "standingOrderId": lambda world: [
        str(row.standing_order_id) for row in world.other.rows["ride-exceptions"] if row.standing_order_id
    ],
    "type": lambda world: ["ride.scheduled", "ride.*"],
    "types": lambda world: ["ride.scheduled"],
}


@pytest.mark.parametrize(("role", "binding"), CALLERS)
def test_no_query_brings_a_row_of_the_other_side(world: World, role: TokenRole, binding: str) -> None:
    statuses, leaks = _walk(LISTS, caller_of(world, binding, role), world)

    assert leaks == []
    assert len(LISTS) >= 11
    assert len(statuses) > 120
    assert set(statuses) <= {200, 400, 403}
    assert role is not TokenRole.FULL_ACCESS or statuses.count(200) > 110


def _walk(lists: Sequence[Operation], caller: Caller, world: World) -> tuple[list[int], list[str]]:
    """Request every page of the lists with every parameter, and the page after it."""
    statuses, leaks = [], []
    for operation in lists:
        for query in _queries(operation, world):
            response = caller.call("GET", f"{operation.path('')}?{urlencode(query)}")
            statuses.append(response.status_code)
            leaks += [f"{operation.name} {query}: {leak}" for leak in response.leaks]
            page = response.json().get("page", {})
            if page.get("hasMore"):
                following = caller.call(
                    "GET", f"{operation.path('')}?{urlencode(query | {'cursor': page['nextCursor']})}"
                )
                statuses.append(following.status_code)
                leaks += [f"{operation.name} {query}, next: {leak}" for leak in following.leaks]
    return statuses, leaks


@pytest.mark.parametrize("binding", BINDINGS)
def test_filter_by_foreign_row_matches_like_unknown_row(world: World, binding: str) -> None:
    caller, asked = caller_of(world, binding), 0

    for operation in LISTS:
        for name in (name for name in operation.query if name in NAMED):
            theirs, nobodys = (
                caller.call("GET", f"{operation.path('')}?{name}={value}&includeTotal=true").json()
                if "includeTotal" in operation.query
                else caller.call("GET", f"{operation.path('')}?{name}={value}").json()
                for value in (world.other.id_of(NAMED[name]), absent())
            )
            asked += 1
            if world.other.id_of(NAMED[name]) in caller.hidden_ids:
                assert theirs == nobodys, (operation.name, name)

    assert asked >= 11


def test_total_counts_our_rows_alone(world: World) -> None:
    caller = caller_of(world, "facility")

    totals = {
        path: caller.call("GET", f"/api/{path}?includeTotal=true").json()["page"]["total"]
        for path in ("rides", "ride-exceptions")
    }

    assert totals == {"rides": 4, "ride-exceptions": 5}


@pytest.mark.parametrize("binding", BINDINGS)
def test_search_finds_nobody_of_the_other_side(world: World, binding: str) -> None:
    caller, codes = caller_of(world, binding), world.other.codes
    system, _, value = codes["external"].partition("|")
    rider = world.other.first("riders")

    for criterion in (
        {"name": rider.last_name},
        {"name": f"{rider.last_name}, {rider.first_name}"},
        {"externalId": {"system": system, "value": value}},
        {"phone": codes["phone"]},
        {"medicaidId": codes["medicaid_id"]},
        {"memberId": codes["member_id"]},
        {"dateOfBirth": codes["date"]},
    ):
        response = caller.call("POST", "/api/riders/search", criterion)
        assert (response.status_code, response.leaks, response.json()["data"]) == (200, [], []), criterion


def test_search_finds_our_own_by_the_same_criteria(world: World) -> None:
    caller, codes = caller_of(world, "facility"), world.own.codes

    for criterion in ({"phone": codes["phone"]}, {"medicaidId": codes["medicaid_id"]}, {"dateOfBirth": codes["date"]}):
        response = caller.call("POST", "/api/riders/search", criterion)
        assert [one["id"] for one in response.json()["data"]] == [world.own.id_of("riders")]


def test_shared_rider_lists_own_facility_only(world: World) -> None:
    caller = caller_of(world, "facility")

    response = caller.call("GET", f"/api/riders/{world.shared_rider.pk}")

    assert response.leaks == []
    assert response.json()["facilityIds"] == [world.own.id_of("facilities")]


def test_cursor_of_the_other_side_opens_nothing(world: World) -> None:
    caller = caller_of(world, "facility")
    other = [world.other.first("facilities").pk]
    theirs = Caller(world.bound("facility", facility_ids=other), [], set())
    cursor = theirs.call("GET", "/api/rides?limit=1").json()["page"]["nextCursor"]

    response = caller.call("GET", f"/api/rides?limit=1&cursor={cursor}")

    assert (response.status_code, response.leaks) == (400, [])


@pytest.mark.parametrize("columns", [{"facility_ids": None}, {"scopes": None}, {"phi_level": "full"}])
def test_idempotent_answer_is_not_replayed_to_lesser_token(world: World, columns: dict[str, Any]) -> None:
    client = world.other.first("clients")
    lesser: dict[str, Any] = {"client": client, "scopes": ["riders:read"], "phi_level": "limited"}
    narrow, wide = caller_of(world, "facility", **lesser), caller_of(world, "facility", **(lesser | columns))
    search = {"name": world.own.first("riders").last_name}
    first = wide.call("POST", "/api/riders/search", search, key="same")

    repeated = narrow.call("POST", "/api/riders/search", search, key="same")

    assert first.status_code == 200
    assert (error_of(repeated)["code"], repeated.leaks) == ("IDEMPOTENCY_KEY_REUSED", [])


@pytest.mark.parametrize(
    ("queryset", "path"),
    [
        (RiderQuerySet, "riders"),
        (RideExceptionQuerySet, "ride-exceptions"),
        (EventQuerySet, "events"),
        (StandingOrderQuerySet, "standing-orders"),
        (EndpointQuerySet, "webhooks/endpoints"),
        (DeliveryQuerySet, "webhooks/deliveries"),
    ],
)
def test_walk_finds_a_model_that_is_not_narrowed(
    world: World, monkeypatch: pytest.MonkeyPatch, queryset: type[Any], path: str
) -> None:
    monkeypatch.setattr(queryset, "visible_to", lambda rows, principal: rows)

    lists = [operation for operation in LISTS if operation.name == f"GET {path}"]
    _, leaks = _walk(lists, caller_of(world, "facility"), world)

    assert any(leak.startswith(f"GET {path} {{}}: ") for leak in leaks)
