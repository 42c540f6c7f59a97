"""Input about riders is validated strictly, and errors name the field."""

import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.organizations.models import Facility
from apps.riders.models import Rider
from tests.callers import TokenClient, api_with
from tests.factories import RiderFactory
from tests.riders.requests import (
    ANN,
    BODY,
    FULL_BODY,
    HOME,
    MRN,
    URL,
    fields_of,
    refusal,
    state,
)
from tests.tiers import sized

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"firstName": None}, "firstName"),
    ({"firstName": ""}, "firstName"),
    ({"firstName": "   "}, "firstName"),
    ({"firstName": "n" * 101}, "firstName"),
    ({"firstName": "a\u0007b"}, "firstName"),
    ({"lastName": 7}, "lastName"),
    ({"preferredName": None}, "preferredName"),
    ({"dateOfBirth": "02/04/1951"}, "dateOfBirth"),
    ({"dateOfBirth": "1951-02-30"}, "dateOfBirth"),
    ({"dateOfBirth": "2999-01-01"}, "dateOfBirth"),
    ({"dateOfBirth": "2150-01-01"}, "dateOfBirth"),
    ({"medicaidId": "1" * 51}, "medicaidId"),
    ({"medicaidId": 44719925}, "medicaidId"),
    ({"externalIds": [{"system": "epic"}]}, "externalIds[0].value"),
    ({"externalIds": [{**MRN, "value": ""}]}, "externalIds[0].value"),
    ({"externalIds": [{**MRN, "system": "s" * 101}]}, "externalIds[0].system"),
    ({"externalIds": [MRN, MRN]}, "externalIds[1]"),
    ({"externalIds": [{**MRN, "type": "member_id"}]}, "externalIds[0].type"),
    ({"externalIds": None}, "externalIds"),
    ({"phones": [{"number": "3125550111"}]}, "phones[0].number"),
    ({"phones": [{"kind": "home"}]}, "phones[0].number"),
    ({"phones": [{"number": "+13125550111", "kind": "car"}]}, "phones[0].kind"),
    ({"phones": [{"number": "+13125550111", "ext": "1" * 11}]}, "phones[0].ext"),
    ({"phones": [{"number": "+13125550111"}] * 21}, "phones"),
    ({"smsConsent": "maybe"}, "smsConsent"),
    ({"smsConsent": "granted", "smsConsentAt": "2999-01-01T00:00:00Z"}, "smsConsentAt"),
    ({"smsConsentAt": "2026-01-01T00:00:00"}, "smsConsentAt"),
    ({"email": "orla"}, "email"),
    ({"email": "o@" + "e" * 300 + ".org"}, "email"),
    ({"language": "español"}, "language"),
    ({"language": ""}, "language"),
    ({"interpreterNeeded": "yes"}, "interpreterNeeded"),
    ({"interpreterNeeded": None}, "interpreterNeeded"),
    ({"contactPreference": "pigeon"}, "contactPreference"),
    ({"homeAddress": {"city": "Chicago", "addressLine1": ""}}, "homeAddress.addressLine1"),
    ({"homeAddress": {**HOME, "lat": 90.1, "lng": 0}}, "homeAddress.lat"),
    ({"homeAddress": {**HOME, "steps": -1}}, "homeAddress.steps"),
    ({"homeAddress": {**HOME, "steps": 2**31}}, "homeAddress.steps"),
    ({"homeAddress": {**HOME, "accessCode": "4417"}}, "homeAddress.accessCode"),
    ({"homeAddress": {**HOME, "facilityId": str(uuid.UUID(int=7))}}, "homeAddress.facilityId"),
    ({"homeAddress": {**HOME, "entranceId": str(uuid.UUID(int=7))}}, "homeAddress.entranceId"),
    ({"homeAddress": {**HOME, "contact": {"phone": "911"}}}, "homeAddress.contact.phone"),
    ({"homeAddress": {**HOME, "loadMinutes": 100_000}}, "homeAddress.loadMinutes"),
    ({"homeAddress": "1418 N Canary Ave"}, "homeAddress"),
    ({"savedPlaces": [HOME, {}]}, "savedPlaces[1].addressLine1"),
    ({"caregivers": [{"name": "Ann"}]}, "caregivers[0].phone"),
    ({"caregivers": [{**ANN, "notify": ["everything"]}]}, "caregivers[0].notify[0]"),
    ({"emergencyContact": {"name": "Ann", "phone": "1"}}, "emergencyContact.phone"),
    ({"facilityIds": ["mine"]}, "facilityIds[0]"),
    ({"facilityIds": [str(uuid.UUID(int=7))]}, "facilityIds"),
    ({"facilityIds": []}, "facilityIds"),
    ({"preferredDriverIds": [7]}, "preferredDriverIds[0]"),
    ({"driverGenderPreference": "any"}, "driverGenderPreference"),
    ({"status": "gone"}, "status"),
    ({"status": "do_not_book"}, "statusReason"),
    ({"status": "on_hold", "statusReason": "r" * 201}, "statusReason"),
    ({"statusFrom": "2026-12-02", "statusUntil": "2026-12-01"}, "statusUntil"),
    ({"verified": 1}, "verified"),
    ({"id": str(uuid.UUID(int=7))}, "id"),
    ({"version": 9}, "version"),
    ({"mobility": "stretcher"}, "mobility"),
    ({"createdAt": "2026-01-01T00:00:00Z"}, "createdAt"),
    ({"medicaid_id": "IL1"}, "medicaid_id"),
    ({"medicaidIdIndex": "x"}, "medicaidIdIndex"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("wrong", "field"), WRONG)
def test_wrong_value_is_named_and_leaves_no_trace(
    hospital_api: TokenClient, hospital: Facility, wrong: dict[str, Any], field: str
) -> None:
    rider = RiderFactory.create(facility=hospital)
    before = state()

    posted = hospital_api.post(URL, {**BODY, **wrong})
    patched = hospital_api.patch(f"{URL}/{rider.pk}", wrong)

    assert [refusal(response) for response in (posted, patched)] == [(400, "VALIDATION_ERROR")] * 2
    assert [fields_of(response) for response in (posted, patched)] == [[field]] * 2
    assert b"Canary" not in posted.content + patched.content
    assert state() == before


WRONG_NEEDS: list[tuple[dict[str, Any], str]] = [
    ({"mobility": "flying"}, "mobility"),
    ({"mobility": None}, "mobility"),
    ({"returnMobility": "no"}, "returnMobility"),
    ({"assistLevel": 1}, "assistLevel"),
    ({"chair": {"widthIn": 99.5}}, "chair.widthIn"),
    ({"chair": {"widthIn": 26.55}}, "chair.widthIn"),
    ({"chair": {"weightLb": 40_000}}, "chair.weightLb"),
    ({"chair": []}, "chair"),
    ({"riderWeightLb": 0}, "riderWeightLb"),
    ({"riderWeightLb": 150.5}, "riderWeightLb"),
    ({"combinedWeightLb": 300}, "combinedWeightLb"),
    ({"bariatric": True}, "bariatric"),
    ({"oxygen": {"uses": True, "litersPerMinute": 26}}, "oxygen.litersPerMinute"),
    ({"oxygen": {"source": "own_tank"}}, "accommodation.oxygen.source"),
    ({"stairs": {"home": -1}}, "stairs.home"),
    ({"stairs": {"equipment": "crane"}}, "stairs.equipment"),
    ({"hearing": "bad"}, "hearing"),
    ({"precautions": "fire"}, "precautions"),
    ({"loadMinutes": 40_000}, "loadMinutes"),
    ({"equipment": ["e" * 51]}, "equipment[0]"),
    ({"equipment": ["walker"] * 21}, "equipment"),
    ({"driverNotes": "n" * 1001}, "driverNotes"),
    ({"note": "x"}, "note"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("wrong", "field"), WRONG_NEEDS)
def test_wrong_need_is_named_and_leaves_no_trace(
    hospital_api: TokenClient, hospital: Facility, wrong: dict[str, Any], field: str
) -> None:
    rider = RiderFactory.create(facility=hospital)
    before = state()

    put = hospital_api.put(f"{URL}/{rider.pk}/accommodation", wrong)
    posted = hospital_api.post(URL, {**BODY, "accommodation": wrong})

    assert (refusal(put), fields_of(put)) == ((400, "VALIDATION_ERROR"), [field])
    assert refusal(posted) == (400, "VALIDATION_ERROR")
    assert fields_of(posted) == [field if field.startswith("accommodation") else f"accommodation.{field}"]
    assert state() == before


@pytest.mark.django_db
def test_search_wants_a_criterion_and_two_letters(hospital_api: TokenClient) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "name"),
        ({"limit": 5}, "name"),
        ({"name": "c"}, "name"),
        ({"name": "c,"}, "name"),
        ({"name": "12"}, "name"),
        ({"name": "canary", "limit": 0}, "limit"),
        ({"externalId": {"system": "epic"}}, "externalId.value"),
        ({"phone": "555"}, "phone"),
        ({"ssn": "1"}, "ssn"),
    ]

    for body, field in cases:
        response = hospital_api.post(f"{URL}/search", body)
        assert (refusal(response), fields_of(response)) == ((400, "VALIDATION_ERROR"), [field])


@pytest.mark.django_db
def test_names_keep_their_letters(hospital_api: TokenClient) -> None:
    names = ["Zoë", "Zoe\u0308", "李", "O'Brien-Ní", "\u202eabc", "😀"]

    shown = [hospital_api.post(URL, {"firstName": name, "lastName": "X"}).json()["firstName"] for name in names]

    assert shown == ["Zoë", "Zoë", "李", "O'Brien-Ní", "\u202eabc", "😀"]


@pytest.mark.django_db
def test_nul_is_refused_before_anything_is_read(hospital_api: TokenClient) -> None:
    response = hospital_api.post(URL, {**BODY, "firstName": "a\0b"})

    assert response.status_code == 400
    assert not Rider.objects.exists()


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
@settings(max_examples=sized(short=60, nightly=200))
@given(key=st.sampled_from(sorted(FULL_BODY)), junk=JSON)
def test_junk_is_never_our_failure(key: str, junk: Any) -> None:
    api = api_with()  # one token would run into its rate limit
    rider = RiderFactory.create()

    answers = [
        api.post(URL, {**BODY, key: junk}),
        api.put(f"{URL}/{rider.pk}/accommodation", {key: junk}),
        api.post(f"{URL}/search", {"name": "canary", key: junk}),
    ]
    if key != "accommodation":
        answers.append(api.patch(f"{URL}/{rider.pk}", {key: junk}))

    for answer in answers:
        assert answer.status_code in (200, 201, 400)
        if answer.status_code == 400 and answer.json()["error"]["code"] == "VALIDATION_ERROR":
            assert answer.json()["error"]["details"][0]["field"].startswith((key, "statusReason"))
