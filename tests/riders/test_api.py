"""Riders over the API: registered, searched, read and changed."""

import datetime as dt
from typing import Any

import pytest

from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.rules.lifecycle import RideStatus
from tests.callers import TokenClient
from tests.factories import PICKUP, AccommodationProfileFactory, FacilityFactory, RideFactory, RiderFactory
from tests.riders.requests import ANN, BODY, EMPTY_STOP, FULL_BODY, HOME, MRN, NO_CONTACT, URL, refusal, state
from tests.rides.rides_in import ride_in


@pytest.mark.django_db
def test_registered_rider_is_shown_whole(hospital_api: TokenClient, hospital: Facility) -> None:
    response = hospital_api.post(URL, FULL_BODY)

    shown = response.json()
    assert (response.status_code, response["ETag"]) == (201, '"1"')
    assert response["Location"] == f"{URL}/{shown['id']}"
    assert shown.pop("possibleDuplicates") == []
    accommodation = shown.pop("accommodation")
    assert (accommodation["chair"]["widthIn"], accommodation["loadMinutes"]) == (26.5, 8)
    assert {key: shown[key] for key in shown.keys() - {"id", "createdAt", "updatedAt"}} == {
        **{key: FULL_BODY[key] for key in FULL_BODY.keys() - {"accommodation"}},
        "preferredName": "",
        "smsConsentAt": "2026-01-05T15:30:00Z",
        "phones": [{"number": "+13125550111", "ext": "", "kind": "mobile"}],
        "homeAddress": {
            **EMPTY_STOP,
            **FULL_BODY["homeAddress"],
            "lat": 41.9071,
            "contact": {**NO_CONTACT, "name": "Porter"},
        },
        "savedPlaces": [{**EMPTY_STOP, **HOME, "name": "Sister"}],
        "facilityIds": [str(hospital.pk)],
        "excludedDriverIds": [],
        "verified": False,
        "mobility": "wheelchair",
        "accommodationVersion": 1,
        "version": 1,
    }
    again = hospital_api.get(response["Location"])
    assert again.json() == {**shown, "accommodation": accommodation}
    assert again["Cache-Control"] == "no-store"


@pytest.mark.django_db
def test_minimal_body_creates_rider_with_nulls_for_unknown(hospital_api: TokenClient) -> None:
    shown = hospital_api.post(URL, {"firstName": "Orla", "lastName": "Canary"}).json()

    nulls = {key for key, value in shown.items() if value is None}
    assert nulls == {
        "dateOfBirth",
        "medicaidId",
        "memberId",
        "smsConsentAt",
        "homeAddress",
        "emergencyContact",
        "driverGenderPreference",
        "statusFrom",
        "statusUntil",
    }
    assert shown["accommodation"]["mobility"] == "ambulatory"


@pytest.mark.django_db
@pytest.mark.parametrize("count", [1, 3])
def test_lists_cost_the_same_however_many_riders(
    hospital_api: TokenClient, hospital: Facility, django_assert_num_queries: Any, count: int
) -> None:
    for rider in RiderFactory.create_batch(count, facility=hospital, last_name="Canary"):
        AccommodationProfileFactory.create(rider=rider)

    with django_assert_num_queries(6):  # token, riders, audit, accommodation, facilities, external ids
        listed = hospital_api.get(URL)
    search = {"name": "canary"}
    with django_assert_num_queries(8):  # the same, between the savepoints of a POST
        found = hospital_api.post(f"{URL}/search", search)

    assert len(listed.json()["data"]) == len(found.json()["data"]) == count


@pytest.mark.django_db
def test_list_is_paged_newest_first_and_filtered(hospital_api: TokenClient, hospital: Facility) -> None:
    riders = [RiderFactory.create(facility=hospital, status=status) for status in ("active", "deceased", "active")]
    other = FacilityFactory.create()
    riders[0].facilities.add(other)

    def ids(query: str) -> list[str]:
        return [row["id"] for row in hospital_api.get(f"{URL}{query}").json()["data"]]

    newest_first = [str(rider.pk) for rider in reversed(riders)]
    first = hospital_api.get(f"{URL}?limit=2").json()
    rest = hospital_api.get(f"{URL}?limit=2&cursor={first['page']['nextCursor']}").json()
    assert [row["id"] for row in first["data"] + rest["data"]] == newest_first
    assert ids("?status=deceased,on_hold") == [newest_first[1]]
    assert ids(f"?facilityId={hospital.pk}") == newest_first
    assert ids(f"?facilityId={other.pk}") == []  # riders of other facilities are out of scope
    for personal in ("name=canary", "phone=%2B13125550111", "externalId=epic|MRN-771", "lastName=Canary"):
        assert refusal(hospital_api.get(f"{URL}?{personal}")) == (400, "VALIDATION_ERROR")


@pytest.mark.django_db
def test_duplicate_external_id_conflicts_equal_name_is_a_hint(hospital_api: TokenClient) -> None:
    known = hospital_api.post(URL, {**BODY, "externalIds": [MRN]}).json()

    taken = hospital_api.post(URL, {**BODY, "externalIds": [{"system": "epic", "value": "0"}, MRN]})
    hinted = hospital_api.post(URL, BODY)

    assert refusal(taken) == (409, "DUPLICATE_RESOURCE")
    assert taken.json()["error"]["details"][0]["field"] == "externalIds[1]"
    assert taken.json()["error"]["details"][0]["existingId"] == known["id"]
    assert (hinted.status_code, hinted.json()["possibleDuplicates"]) == (201, [known["id"]])
    assert Rider.objects.count() == 2


@pytest.mark.django_db
def test_patch_applies_null_merges_objects_and_replaces_lists(hospital_api: TokenClient) -> None:
    made = hospital_api.post(URL, FULL_BODY).json()
    made.pop("possibleDuplicates")
    change = {
        "preferredName": "Bobby",
        "medicaidId": None,
        "memberId": "",
        "dateOfBirth": None,
        "driverGenderPreference": None,
        "homeAddress": {"unit": "2B", "contact": {"phone": "+13125550114"}},
        "emergencyContact": {"phone": "+13125550119"},
        "savedPlaces": [],
        "phones": [{"number": "+13125550115"}],
        "statusUntil": None,
    }

    response = hospital_api.patch(f"{URL}/{made['id']}", change, headers={"If-Match": '"1"'})

    assert (response.status_code, response["ETag"]) == (200, '"2"')
    assert response.json() == {
        **made,
        "preferredName": "Bobby",
        "medicaidId": None,
        "memberId": None,
        "dateOfBirth": None,
        "driverGenderPreference": None,
        "homeAddress": {
            **made["homeAddress"],
            "unit": "2B",
            "contact": {**NO_CONTACT, "name": "Porter", "phone": "+13125550114"},
        },
        "emergencyContact": {**ANN, "phone": "+13125550119"},
        "savedPlaces": [],
        "phones": [{"number": "+13125550115", "ext": "", "kind": "other"}],
        "statusUntil": None,
        "ridesToDecide": [],
        "version": 2,
        "updatedAt": response.json()["updatedAt"],
    }
    empty = hospital_api.patch(f"{URL}/{made['id']}", {})
    gone = hospital_api.patch(f"{URL}/{made['id']}", {"homeAddress": None, "emergencyContact": None})
    assert (empty["ETag"], gone["ETag"]) == ('"2"', '"3"')
    assert (gone.json()["homeAddress"], gone.json()["emergencyContact"]) == (None, None)


@pytest.mark.django_db
def test_moved_home_loses_the_coordinates_of_the_old_one(hospital_api: TokenClient) -> None:
    made = hospital_api.post(URL, FULL_BODY).json()

    home = hospital_api.patch(f"{URL}/{made['id']}", {"homeAddress": {"addressLine1": "9 Elm St"}}).json()[
        "homeAddress"
    ]

    assert (home["addressLine1"], home["city"], home["lat"], home["lng"]) == ("9 Elm St", "Chicago", None, None)


@pytest.mark.django_db
def test_stale_writes_are_refused_with_the_current_tag(hospital_api: TokenClient) -> None:
    rider_id = hospital_api.post(URL, BODY).json()["id"]
    Rider.objects.update(version=4)
    before = state()

    refused = [
        hospital_api.patch(f"{URL}/{rider_id}", {"verified": True}, headers={"If-Match": '"3"'}),
        hospital_api.put(f"{URL}/{rider_id}/accommodation", {"mobility": "stretcher"}, headers={"If-Match": '"3"'}),
    ]

    assert [(refusal(response), response["ETag"]) for response in refused] == [
        ((412, "PRECONDITION_FAILED"), '"4"')
    ] * 2
    assert state() == before
    assert hospital_api.get(f"{URL}/{rider_id}", headers={"If-None-Match": '"4"'}).status_code == 304


@pytest.mark.django_db
def test_needs_are_replaced_whole_and_every_version_can_be_read(hospital_api: TokenClient) -> None:
    made = hospital_api.post(URL, FULL_BODY).json()
    path = f"{URL}/{made['id']}/accommodation"

    changed = hospital_api.put(path, {"mobility": "stretcher", "riderWeightLb": 301}, headers={"If-Match": '"1"'})
    same = hospital_api.put(path, {"mobility": "stretcher", "riderWeightLb": 301, "loadMinutes": 15})

    shown = changed.json()
    assert (changed.status_code, changed["ETag"], same["ETag"]) == (200, '"2"', '"2"')
    assert (shown["version"], shown["current"], shown["recordedBy"]) == (2, True, f"token:{hospital_api.token.pk}")
    assert {key: shown["accommodation"][key] for key in ("mobility", "bariatric", "loadMinutes", "driverNotes")} == {
        "mobility": "stretcher",
        "bariatric": True,
        "loadMinutes": 15,
        "driverNotes": "",
    }
    versions = hospital_api.get(f"{path}/versions").json()["data"]
    assert [(one["version"], one["current"]) for one in versions] == [(2, True), (1, False)]
    assert {**versions[0], "changedRideIds": [], "mismatchedRideIds": []} == shown
    assert versions[1]["accommodation"] == made["accommodation"]
    assert hospital_api.get(f"{URL}/{made['id']}").json()["accommodationVersion"] == 2


@pytest.mark.django_db
def test_search_goes_on_with_the_cursor_of_the_same_body(hospital_api: TokenClient, hospital: Facility) -> None:
    for name in ("Canb", "Cana", "Canc"):
        RiderFactory.create(facility=hospital, last_name=name)

    first = hospital_api.post(f"{URL}/search", {"name": "can", "limit": 2}).json()
    cursor = first["page"]["nextCursor"]
    rest = hospital_api.post(f"{URL}/search", {"name": "can", "limit": 2, "cursor": cursor}).json()
    other = hospital_api.post(f"{URL}/search", {"name": "ca", "limit": 2, "cursor": cursor})

    assert [row["lastName"] for row in first["data"] + rest["data"]] == ["Cana", "Canb", "Canc"]
    assert rest["page"]["hasMore"] is False
    assert "Can" not in cursor
    assert refusal(other) == (400, "INVALID_CURSOR")


@pytest.mark.django_db
def test_policy_standing_is_shown_to_those_who_ask_for_it(hospital_api: TokenClient) -> None:
    rider_id = hospital_api.post(URL, BODY).json()["id"]

    asked = hospital_api.get(f"{URL}/{rider_id}?fields=id,policyStanding")
    listed = hospital_api.get(f"{URL}?fields=policyStanding")

    standing = {"riderFault90d": 0, "rides90d": 0}
    assert (asked.json(), "ETag" in asked) == ({"id": rider_id, "policyStanding": standing}, False)
    assert listed.json()["data"] == [{"policyStanding": standing}]
    assert "policyStanding" not in hospital_api.get(f"{URL}/{rider_id}").json()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "listed"),
    [
        ({"status": "deceased"}, ["today", "tomorrow"]),
        ({"status": "do_not_book", "statusReason": "Threatened a driver."}, ["today", "tomorrow"]),
        ({"status": "on_hold", "statusReason": "In hospital.", "statusFrom": "2026-11-21"}, ["tomorrow"]),
        ({"status": "active"}, []),
        ({"verified": True}, None),
    ],
    ids=["deceased", "not to be booked", "on hold", "active", "something else"],
)
def test_change_of_standing_lists_the_rides_to_decide_about(
    hospital_api: TokenClient, hospital: Facility, change: dict[str, Any], listed: list[str] | None
) -> None:
    rider = RiderFactory.create(facility=hospital)
    of_rider: dict[str, Any] = {"rider": rider, "facility": hospital}
    tomorrow = RideFactory.create(
        **of_rider, service_date=dt.date(2026, 11, 21), pickup_at=PICKUP + dt.timedelta(days=1)
    )
    names = {str(RideFactory.create(**of_rider).pk): "today", str(tomorrow.pk): "tomorrow"}
    ride_in(RideStatus.IN_PROGRESS, **of_rider)
    RideFactory.create(rider=rider)  # of another facility

    shown = hospital_api.patch(f"{URL}/{rider.pk}", change).json()

    ids = shown.get("ridesToDecide")
    assert (None if ids is None else [names[ride_id] for ride_id in ids]) == listed


@pytest.mark.django_db
def test_unbound_caller_gets_all_affected_rides_to_decide(api: TokenClient) -> None:
    rider = RiderFactory.create()
    rides = [RideFactory.create(rider=rider, pickup_at=PICKUP + dt.timedelta(hours=hours)) for hours in (0, 3)]

    shown = api.patch(f"{URL}/{rider.pk}", {"status": "deceased"}).json()

    assert shown["ridesToDecide"] == [str(ride.pk) for ride in rides]
