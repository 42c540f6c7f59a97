"""Facilities over the API."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.organizations.models import CalendarShift, EscalationPolicy, Facility
from lib.access import system
from tests.callers import TokenClient, api_with
from tests.factories import ContactFactory, EntranceFactory, FacilityFactory
from tests.tiers import sized

URL = "/api/facilities"
ADDRESS = {"addressLine1": "3200 N Clark St", "city": "Chicago", "state": "IL", "postalCode": "60657"}
BODY: dict[str, Any] = {
    "name": "Lakeview Dialysis",
    "kind": "dialysis",
    "timezone": "America/Chicago",
    "address": ADDRESS,
}
NORTH = {"name": "North door"}
NURSE = {"role": "charge_nurse", "name": "Nurse station", "phone": "+13125550150"}
EPIC = {"system": "epic", "value": "DEP-19"}


def state() -> list[Any]:
    return [list(Facility.objects.order_by("pk").values()), AuditEntry.objects.count()]


def field_of(response: Any) -> tuple[int, str, str | None]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["details"][0].get("field")


@pytest.mark.django_db
def test_created_facility_is_shown_whole(api: TokenClient) -> None:
    body = {**BODY, "entrances": [NORTH], "contacts": [NURSE], "externalIds": [EPIC], "sla": {"pickupLateMinutes": 20}}
    body["hours"] = [{"days": ["mon", "wed"], "opens": "05:00", "closes": "21:30"}]
    body["address"] = {**ADDRESS, "lat": 41.94010049, "lng": -87.65}

    response = api.post(URL, body)

    shown = response.json()
    assert response.status_code == 201
    assert (response["ETag"], response["Location"]) == ('"1"', f"{URL}/{shown['id']}")
    assert shown["entrances"] == [
        {
            "id": shown["entrances"][0]["id"],
            "name": "North door",
            "lat": None,
            "lng": None,
            "instructions": "",
            "hours": "",
            "curbRules": "",
            "wheelchairOk": True,
        }
    ]
    assert {key: shown[key] for key in shown.keys() - {"id", "entrances", "createdAt", "updatedAt"}} == {
        "externalIds": [{**EPIC, "type": ""}],
        "name": "Lakeview Dialysis",
        "kind": "dialysis",
        "address": {**ADDRESS, "addressLine2": "", "lat": 41.9401, "lng": -87.65},
        "timezone": "America/Chicago",
        "geofenceRadiusMeters": 150,
        "contacts": [{"id": shown["contacts"][0]["id"], **NURSE, "ext": ""}],
        "hours": body["hours"],
        "calendarShifts": [],
        "bookingPolicy": "auto_confirm",
        "leadTimeMinutes": 0,
        "sla": {
            "dischargeTargetMinutes": 60,
            "dischargeMaxMinutes": 180,
            "willCallResponseMinutes": 60,
            "pickupLateMinutes": 20,
            "pickupEarlyMinutes": 15,
            "arriveEarlyMinutes": 15,
            "arriveTooEarlyMinutes": 60,
        },
        "noShowWaitMinutes": None,
        "lateCancelMinutes": 120,
        "returnLegPolicy": "hold",
        "escalationPolicyId": None,
        "modifierCode": "J",
        "active": True,
        "version": 1,
    }
    assert api.get(f"{URL}/{shown['id']}").json() == shown


@pytest.mark.django_db
@pytest.mark.parametrize("count", [1, 3])
def test_list_costs_the_same_however_facilities(
    api: TokenClient,
    django_assert_num_queries: Any,
    count: int,
) -> None:
    for facility in FacilityFactory.create_batch(count):
        EntranceFactory.create(facility=facility)
        ContactFactory.create(facility=facility)
        CalendarShift.objects.create(facility=facility, from_date="2026-11-26", to_date="2026-11-27")

    with django_assert_num_queries(6):  # token, facilities, entrances, contacts, calendar shifts, external ids
        response = api.get(URL)

    assert len(response.json()["data"]) == count
    assert response.json()["data"][0]["calendarShifts"][0]["toDate"] == "2026-11-27"


@pytest.mark.django_db
def test_list_is_ordered_by_name_paged_and_filtered(api: TokenClient) -> None:
    names = ["Cedar", "Ash", "Birch"]
    for name, kind in zip(names, ["snf", "hospital", "snf"], strict=True):
        FacilityFactory.create(name=name, kind=kind, active=name != "Birch")
    birch = Facility.objects.get(name="Birch")
    api.patch(f"{URL}/{birch.pk}", {"externalIds": [EPIC]})

    def names_at(query: str) -> list[str]:
        return [row["name"] for row in api.get(f"{URL}{query}").json()["data"]]

    first = api.get(f"{URL}?limit=2").json()
    rest = api.get(f"{URL}?limit=2&cursor={first['page']['nextCursor']}").json()
    assert [row["name"] for row in first["data"] + rest["data"]] == ["Ash", "Birch", "Cedar"]
    assert rest["page"] == {"limit": 2, "hasMore": False, "nextCursor": None}
    assert names_at("?kind=snf") == ["Birch", "Cedar"]
    assert names_at("?kind=snf,hospital&active=true") == ["Ash", "Cedar"]
    assert names_at("?externalId=epic|DEP-19") == ["Birch"]
    assert names_at("?externalId=epic|DEP-20") == []
    assert field_of(api.get(f"{URL}?externalId=DEP-19")) == (400, "VALIDATION_ERROR", "externalId")
    assert field_of(api.get(f"{URL}?name=Ash")) == (400, "VALIDATION_ERROR", "name")


@pytest.mark.django_db
def test_bound_token_finds_its_own_facilities_alone(api_as: Callable[..., TokenClient]) -> None:
    own, other = FacilityFactory.create(name="Own"), FacilityFactory.create(name="Canaryhouse", city="Canaryville")
    outsider = api_as(TokenRole.FULL_ACCESS, facility_ids=[own.pk])
    before = state()

    listed = outsider.get(URL)
    answers = [
        call(f"{URL}/{facility_id}")
        for facility_id in (other.pk, uuid.UUID(int=7))
        for call in (outsider.get, lambda url: outsider.patch(url, {"name": "Mine"}))
    ]
    created = outsider.post(URL, BODY)

    assert [row["name"] for row in listed.json()["data"]] == ["Own"]
    assert {field_of_404(answer) for answer in answers} == {(404, "NOT_FOUND", "There is no such facility.")}
    assert field_free(created) == (403, "FORBIDDEN")
    assert b"Canary" not in b"".join(response.content for response in (listed, created, *answers))
    facilities, entries = before
    assert state() == [facilities, entries + 1]
    assert AuditEntry.objects.get().outcome == "denied"


def field_of_404(response: Any) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["code"], error["message"]


def field_free(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


@pytest.mark.django_db
def test_writing_takes_the_write_scope(api_as: Callable[..., TokenClient]) -> None:
    facility = FacilityFactory.create()
    reader = api_as(TokenRole.EHR_INTEGRATOR)
    before = list(Facility.objects.values())

    refusals = [reader.post(URL, BODY), reader.patch(f"{URL}/{facility.pk}", {"name": "New"})]

    assert [field_free(response) for response in refusals] == [(403, "INSUFFICIENT_SCOPE")] * 2
    assert reader.get(f"{URL}/{facility.pk}").status_code == 200
    assert list(Facility.objects.values()) == before


@pytest.mark.django_db
def test_patch_merges_objects_replaces_lists_and_applies_null(api: TokenClient) -> None:
    policy = EscalationPolicy.objects.create(name="Fast")
    made = api.post(
        URL, {**BODY, "noShowWaitMinutes": 7, "escalationPolicyId": str(policy.pk), "contacts": [NURSE, NURSE]}
    ).json()
    change = {
        "address": {"city": "Evanston"},
        "sla": {"dischargeMaxMinutes": 240},
        "noShowWaitMinutes": None,
        "contacts": [{**NURSE, "id": made["contacts"][1]["id"], "ext": "9"}],
    }

    response = api.patch(f"{URL}/{made['id']}", change, headers={"If-Match": '"1"'})

    assert (response.status_code, response["ETag"]) == (200, '"2"')
    shown = response.json()
    assert shown == {
        **made,
        "address": {**made["address"], "city": "Evanston"},
        "sla": {**made["sla"], "dischargeMaxMinutes": 240},
        "noShowWaitMinutes": None,
        "contacts": [{**made["contacts"][1], "ext": "9"}],
        "version": 2,
        "updatedAt": shown["updatedAt"],
    }


@pytest.mark.django_db
def test_stale_patch_is_refused_with_the_current_tag(api: TokenClient) -> None:
    facility = FacilityFactory.create(version=4)
    before = state()

    response = api.patch(f"{URL}/{facility.pk}", {"name": "New"}, headers={"If-Match": '"3"'})

    assert (field_free(response), response["ETag"]) == ((412, "PRECONDITION_FAILED"), '"4"')
    assert state() == before


@pytest.mark.django_db
def test_taken_external_id_answers_whose_it_is(api: TokenClient) -> None:
    holder = api.post(URL, {**BODY, "externalIds": [EPIC]}).json()

    response = api.post(URL, {**BODY, "externalIds": [EPIC]})

    assert response.status_code == 409
    assert response.json()["error"]["details"] == [
        {
            "field": "externalIds[0]",
            "code": "duplicate",
            "message": "Another record is known by this external id.",
            "existingId": holder["id"],
        }
    ]
    assert Facility.objects.count() == 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"name": None}, "name"),
    ({"name": ""}, "name"),
    ({"name": "n" * 201}, "name"),
    ({"name": "a\u0007b"}, "name"),
    ({"name": 7}, "name"),
    ({"kind": "castle"}, "kind"),
    ({"kind": None}, "kind"),
    ({"timezone": "Mars/Olympus"}, "timezone"),
    ({"timezone": "EST"}, "timezone"),
    ({"address": None}, "address"),
    ({"address": {**ADDRESS, "postalCode": "6" * 21}}, "address.postalCode"),
    ({"address": {**ADDRESS, "lat": 91, "lng": 0}}, "address.lat"),
    ({"address": {**ADDRESS, "lat": 41.9, "lng": None}}, "address.lat"),
    ({"address": {**ADDRESS, "lat": 1e300, "lng": 0}}, "address.lat"),
    ({"address": {**ADDRESS, "country": "US"}}, "address.country"),
    ({"geofenceRadiusMeters": -1}, "geofenceRadiusMeters"),
    ({"geofenceRadiusMeters": 2**40}, "geofenceRadiusMeters"),
    ({"geofenceRadiusMeters": "150"}, "geofenceRadiusMeters"),
    ({"geofenceRadiusMeters": True}, "geofenceRadiusMeters"),
    ({"leadTimeMinutes": 2**31}, "leadTimeMinutes"),
    ({"leadTimeMinutes": None}, "leadTimeMinutes"),
    ({"sla": {"dischargeTargetMinutes": 181}}, "sla.dischargeTargetMinutes"),
    ({"sla": {"dischargeTargetMinutes": -1}}, "sla.dischargeTargetMinutes"),
    ({"sla": {"unheardOf": 1}}, "sla.unheardOf"),
    ({"noShowWaitMinutes": 1.5}, "noShowWaitMinutes"),
    ({"returnLegPolicy": "drop"}, "returnLegPolicy"),
    ({"escalationPolicyId": "7"}, "escalationPolicyId"),
    ({"escalationPolicyId": str(uuid.UUID(int=7))}, "escalationPolicyId"),
    ({"modifierCode": "G"}, "modifierCode"),
    ({"version": 9}, "version"),
    ({"createdAt": "2026-01-01T00:00:00Z"}, "createdAt"),
    ({"active": "yes"}, "active"),
    ({"entrances": [{}]}, "entrances[0].name"),
    ({"entrances": [NORTH, NORTH]}, "entrances[1].name"),
    ({"entrances": [{**NORTH, "lat": 1}]}, "entrances[0].lat"),
    ({"entrances": [{**NORTH, "id": str(uuid.UUID(int=7))}]}, "entrances[0].id"),
    ({"entrances": [NORTH] * 51}, "entrances"),
    ({"entrances": {}}, "entrances"),
    ({"contacts": [{"role": "unit"}]}, "contacts[0].name"),
    ({"contacts": [{**NURSE, "phone": "3125550150"}]}, "contacts[0].phone"),
    ({"contacts": [{**NURSE, "role": "king"}]}, "contacts[0].role"),
    ({"hours": [{"days": ["mon"], "opens": "5:00", "closes": "06:00"}]}, "hours[0].opens"),
    ({"hours": [{"days": ["mon"], "opens": "05:00", "closes": "24:00"}]}, "hours[0].closes"),
    ({"hours": [{"days": [], "opens": "05:00", "closes": "06:00"}]}, "hours[0].days"),
    ({"hours": [{"days": ["mon", "mon"], "opens": "05:00", "closes": "06:00"}]}, "hours[0]"),
    ({"externalIds": [{"system": "epic"}]}, "externalIds[0].value"),
    ({"externalIds": [{**EPIC, "value": "v" * 101}]}, "externalIds[0].value"),
    ({"externalIds": [EPIC, EPIC]}, "externalIds[1]"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("wrong", "field"), WRONG)
def test_wrong_value_is_named_and_leaves_no_trace(
    api: TokenClient,
    wrong: dict[str, Any],
    field: str,
) -> None:
    facility = FacilityFactory.create()
    before = state()

    posted = api.post(URL, {**BODY, **wrong})
    patched = api.patch(f"{URL}/{facility.pk}", wrong)

    assert [field_of(response) for response in (posted, patched)] == [(400, "VALIDATION_ERROR", field)] * 2
    assert state() == before


@pytest.mark.django_db
def test_every_missing_field_is_named_at_once(api: TokenClient) -> None:
    response = api.post(URL, {"address": {"city": "Chicago"}})

    assert [detail["field"] for detail in response.json()["error"]["details"]] == [
        "name",
        "kind",
        "timezone",
        "address.addressLine1",
        "address.state",
        "address.postalCode",
    ]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.untraced
@pytest.mark.django_db
@settings(max_examples=sized(short=50, nightly=150))
@given(key=st.sampled_from([*BODY, "entrances", "contacts", "hours", "sla", "externalIds", "active"]), junk=JSON)
def test_junk_is_never_our_failure(key: str, junk: Any) -> None:
    api = api_with()  # one token would run into its rate limit
    facility = FacilityFactory.create()

    answers = [api.post(URL, {**BODY, key: junk}), api.patch(f"{URL}/{facility.pk}", {key: junk})]

    for answer in answers:
        assert answer.status_code in (200, 201, 400)
        if answer.status_code == 400 and answer.json()["error"]["code"] == "VALIDATION_ERROR":
            assert answer.json()["error"]["details"][0]["field"].startswith(key)


@pytest.mark.django_db
def test_manual_modifier_code_of_facility_survives_a_patch(api: TokenClient) -> None:
    facility = FacilityFactory.create(kind="dialysis", modifier_code="G")

    shown = api.patch(f"{URL}/{facility.pk}", {"kind": "dialysis", "name": "Inside"}).json()

    assert (shown["modifierCode"], shown["name"]) == ("G", "Inside")
    assert AuditEntry.objects.get(action="facilities.amend").actor != system().actor
