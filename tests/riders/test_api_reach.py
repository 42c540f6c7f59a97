"""Visibility of riders over the API, and its audit entries."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from tests.callers import TokenClient, api_with
from tests.factories import FacilityFactory, RiderFactory
from tests.riders.requests import (
    BODY,
    FULL_BODY,
    MRN,
    URL,
    fields_of,
    refusal,
    state,
)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("level", "keys"),
    [
        ("none", ["createdAt", "facilityIds", "id", "mobility", "status", "updatedAt", "version"]),
        (
            "limited",
            [
                "createdAt",
                "externalIds",
                "facilityIds",
                "firstName",
                "id",
                "lastName",
                "medicaidId",
                "memberId",
                "mobility",
                "preferredName",
                "status",
                "updatedAt",
                "verified",
                "version",
            ],
        ),
    ],
)
def test_phi_level_decides_what_is_shown_everywhere(
    hospital_api: TokenClient, hospital: Facility, level: str, keys: list[str]
) -> None:
    rider_id = hospital_api.post(URL, FULL_BODY).json()["id"]
    reader = api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[hospital.pk], phi_level=level)

    one, listed = reader.get(f"{URL}/{rider_id}"), reader.get(URL)

    assert sorted(one.json()) == keys
    assert listed.json()["data"] == [one.json()]
    content = one.content + listed.content
    for hidden in (b"1951", b"Canary notes", b"orla@", b"+1312", b"N Canary Ave", b"IL44719925", b"Ann", b"hospital"):
        assert hidden not in content
    assert (b"Canary" in content) is (level == "limited")
    assert one.json().get("medicaidId") == {"none": None, "limited": "••••9925"}[level]
    assert (
        list(AuditEntry.objects.filter(action__in=["riders.read", "riders.list"]).values_list("phi", flat=True))
        == [level] * 2
    )


@pytest.mark.django_db
def test_field_asked_for_by_name_above_the_level_is_refused(hospital_api: TokenClient, hospital: Facility) -> None:
    rider_id = hospital_api.post(URL, FULL_BODY).json()["id"]
    reader = api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[hospital.pk], phi_level="limited")
    trail = AuditEntry.objects.count()

    refused = [
        reader.get(f"{URL}/{rider_id}?fields=lastName,phones,homeAddress"),
        reader.get(f"{URL}?fields=lastName,phones,homeAddress"),
    ]
    versions = reader.get(f"{URL}/{rider_id}/accommodation/versions")

    assert [(refusal(response), fields_of(response)) for response in refused] == [
        ((403, "PHI_NOT_PERMITTED"), ["phones", "homeAddress"])
    ] * 2
    assert (refusal(versions), fields_of(versions)) == ((403, "PHI_NOT_PERMITTED"), ["accommodation"])
    assert AuditEntry.objects.filter(outcome="done").count() == trail
    narrow = reader.get(f"{URL}/{rider_id}?fields=lastName,id")
    assert narrow.json() == {"id": rider_id, "lastName": "Canary"}
    assert "ETag" not in narrow
    assert refusal(reader.get(f"{URL}/{rider_id}?fields=secret")) == (400, "VALIDATION_ERROR")


@pytest.mark.django_db
def test_search_criterion_above_the_level_is_refused(hospital_api: TokenClient, hospital: Facility) -> None:
    hospital_api.post(URL, FULL_BODY)
    criteria: dict[str, Any] = {
        "name": "canary",
        "externalId": {"system": "epic", "value": "MRN-771"},
        "phone": "+13125550111",
        "medicaidId": "IL44719925",
        "memberId": "MEM-0042-77",
        "dateOfBirth": "1951-04-02",
    }

    def allowed(level: str) -> set[str]:
        reader = api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[hospital.pk], phi_level=level)
        answers = {key: reader.post(f"{URL}/search", {key: value}) for key, value in criteria.items()}
        assert {response.status_code for response in answers.values()} <= {200, 403}
        refused = {key for key, response in answers.items() if response.status_code == 403}
        assert all(fields_of(answers[key]) == [key] for key in refused)
        assert all(len(answers[key].json()["data"]) == 1 for key in answers.keys() - refused)
        return set(answers) - refused

    assert allowed("none") == set()
    assert allowed("limited") == {"name", "externalId"}
    assert allowed("full") == set(criteria)


@pytest.mark.django_db
def test_every_reading_leaves_one_row_with_every_rider_shown(hospital_api: TokenClient, hospital: Facility) -> None:
    riders = RiderFactory.create_batch(3, facility=hospital, last_name="Canary")
    shown = sorted(rider.pk for rider in riders)

    hospital_api.get(URL)
    hospital_api.post(f"{URL}/search", {"name": "canary"})
    hospital_api.get(f"{URL}/{shown[0]}")
    hospital_api.get(f"{URL}/{shown[0]}/accommodation/versions")
    hospital_api.get(f"{URL}?limit=2")

    trail = AuditEntry.objects.order_by("pk").values_list("action", "rider_ids", "details", "subject_id")
    assert list(trail) == [
        ("riders.list", shown, {}, None),
        ("riders.search", shown, {"criteria": ["name"]}, None),
        ("riders.read", shown[:1], {}, shown[0]),
        ("riders.read_accommodation", shown[:1], {}, shown[0]),
        ("riders.list", sorted(shown[1:]), {}, None),
    ]
    assert "anary" not in str(list(AuditEntry.objects.values()))


@pytest.mark.django_db
def test_change_that_changes_nothing_is_a_reading_in_the_trail(hospital_api: TokenClient) -> None:
    made = hospital_api.post(URL, FULL_BODY).json()
    before = state()

    hospital_api.patch(f"{URL}/{made['id']}", {})
    hospital_api.put(f"{URL}/{made['id']}/accommodation", FULL_BODY["accommodation"])

    trail = (
        AuditEntry.objects.exclude(action="riders.register").order_by("pk").values_list("action", "rider_ids", "phi")
    )
    rider_id = uuid.UUID(made["id"])
    assert list(trail) == [("riders.read", [rider_id], "full"), ("riders.read_accommodation", [rider_id], "full")]
    assert state() == before


@pytest.mark.django_db
def test_outsider_learns_nothing_of_a_rider(hospital_api: TokenClient, api_as: Callable[..., TokenClient]) -> None:
    rider_id = hospital_api.post(URL, FULL_BODY).json()["id"]
    own = FacilityFactory.create()
    outsider = api_as(TokenRole.EHR_INTEGRATOR, facility_ids=[own.pk])
    before = state()

    lists = [outsider.get(URL), outsider.get(f"{URL}?facilityId={own.pk}")]
    searches = [
        outsider.post(f"{URL}/search", criterion)
        for criterion in (
            {"name": "canary"},
            {"phone": "+13125550111"},
            {"medicaidId": "IL44719925"},
            {"externalId": {"system": "epic", "value": "MRN-771"}},
            {"dateOfBirth": "1951-04-02"},
        )
    ]
    ones = [
        answer
        for target in (rider_id, str(uuid.UUID(int=7)))
        for answer in (
            outsider.get(f"{URL}/{target}"),
            outsider.patch(f"{URL}/{target}", {"verified": True}),
            outsider.put(f"{URL}/{target}/accommodation", {"mobility": "stretcher"}),
            outsider.get(f"{URL}/{target}/accommodation/versions"),
        )
    ]
    taken = outsider.post(URL, {"firstName": "Eve", "lastName": "Doe", "externalIds": [MRN]})

    assert [response.json()["data"] for response in lists + searches] == [[]] * 7
    assert {(refusal(response), response.json()["error"]["message"]) for response in ones} == {
        ((404, "NOT_FOUND"), "There is no such rider.")
    }
    assert refusal(taken) == (409, "DUPLICATE_RESOURCE")
    content = b"".join(response.content for response in [*lists, *searches, *ones, taken])
    for canary in (b"Canary", b"1951", b"IL4471", b"MRN-771", rider_id.encode()):
        assert canary not in content
    assert state() == before


@pytest.mark.django_db
def test_provider_bound_token_reaches_no_rider(api_as: Callable[..., TokenClient]) -> None:
    RiderFactory.create(facility=FacilityFactory.create())
    partner = api_as(TokenRole.FULL_ACCESS, provider_ids=[uuid.UUID(int=7)])

    assert partner.get(URL).json()["data"] == []
    assert refusal(partner.post(URL, BODY)) == (403, "FORBIDDEN")


@pytest.mark.django_db
def test_operations_take_their_scopes(api_as: Callable[..., TokenClient]) -> None:
    rider = RiderFactory.create(facility=FacilityFactory.create())
    without = api_as(TokenRole.BILLING_READONLY)
    reader = api_as(TokenRole.EHR_INTEGRATOR, scopes=["riders:read"])
    before = state()

    reads = [
        without.get(URL),
        without.post(f"{URL}/search", {"name": "canary"}),
        without.get(f"{URL}/{rider.pk}"),
        without.get(f"{URL}/{rider.pk}/accommodation/versions"),
    ]
    writes = [
        reader.post(URL, BODY),
        reader.patch(f"{URL}/{rider.pk}", {"verified": True}),
        reader.put(f"{URL}/{rider.pk}/accommodation", {}),
    ]

    for response in reads + writes:
        assert refusal(response) == (403, "INSUFFICIENT_SCOPE")
    assert state() == before
