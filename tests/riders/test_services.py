"""Changes to riders: validation, recorded changes, and unchanged data."""

import datetime as dt
import uuid
from dataclasses import replace
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.organizations.queries import StopUnusable
from apps.riders import queries, services
from apps.riders.models import AccommodationProfile, Rider
from apps.riders.rules.disclosure import PhiNotPermitted
from lib.access import Phi, Principal, system
from lib.errors import InvalidInput, NotFound, StaleVersion
from tests.factories import FacilityFactory, RiderFactory
from tests.riders.rows import DRAFT, HOME, MRN, everything


@pytest.fixture
def rider(planner: Principal, now: dt.datetime) -> Rider:
    """A rider whom the planner registered."""
    return services.register(draft=DRAFT, by=planner, at=now).rider


IMPOSSIBLE: list[tuple[dict[str, Any], str]] = [
    ({"date_of_birth": dt.date(2026, 11, 21)}, "dateOfBirth"),
    ({"sms_consent": "granted", "sms_consent_at": dt.datetime(2026, 11, 21, tzinfo=dt.UTC)}, "smsConsentAt"),
    ({"status": "do_not_book"}, "statusReason"),
    ({"status": "on_hold", "status_reason": ""}, "statusReason"),
    ({"status_from": dt.date(2026, 12, 2), "status_until": dt.date(2026, 12, 1)}, "statusUntil"),
    ({"phones": [{"number": "3125550111"}]}, "phones[0].number"),
    ({"caregivers": [{"name": "Ann", "phone": "1"}]}, "caregivers[0].phone"),
    ({"emergency_contact": {"name": "", "phone": "+13125550111"}}, "emergencyContact.name"),
    ({"emergency_contact": {"name": "Ann", "phone": ""}}, "emergencyContact.phone"),
    ({"facility_ids": [uuid.UUID(int=7)]}, "facilityIds"),
    ({"facility_ids": []}, "facilityIds"),
    ({"external_ids": [{**MRN, "type": "medicaid_id"}]}, "externalIds[0].type"),
    ({"external_ids": [MRN, MRN]}, "externalIds[1]"),
]


@pytest.mark.django_db
@pytest.mark.parametrize(("changes", "field"), IMPOSSIBLE)
def test_invalid_values_are_refused_by_name_and_leave_no_trace(
    planner: Principal, rider: Rider, now: dt.datetime, changes: dict[str, Any], field: str
) -> None:
    before = everything()

    with pytest.raises(InvalidInput) as made:
        services.register(draft={**DRAFT, **changes}, by=planner, at=now)
    with pytest.raises(InvalidInput) as amended:
        services.amend(rider_id=rider.pk, changes=changes, by=planner, at=now)

    assert [failure.value.details[0].field for failure in (made, amended)] == [field, field]
    assert made.value.message.startswith(field.partition(".type")[0]) or field == "externalIds[1]"
    assert everything() == before


@pytest.mark.django_db
def test_stops_that_lead_nowhere_are_refused_and_leave_no_trace(
    planner: Principal, rider: Rider, now: dt.datetime
) -> None:
    elsewhere = {"facilityId": FacilityFactory.create().pk}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"home_address": {"city": "Chicago"}}, "homeAddress.addressLine1"),
        ({"home_address": elsewhere}, "homeAddress.facilityId"),
        ({"saved_places": [HOME, elsewhere]}, "savedPlaces[1].facilityId"),
    ]
    before = everything()

    for changes, field in cases:
        with pytest.raises(StopUnusable) as refusal:
            services.amend(rider_id=rider.pk, changes=changes, by=planner, at=now)
        assert refusal.value.details[0].field == field

    assert everything() == before


@pytest.mark.django_db
def test_amend_changes_what_is_given_and_raises_the_version_once(
    planner: Principal, rider: Rider, now: dt.datetime
) -> None:
    changes = {"first_name": "Orlagh", "last_name": "Canary", "member_id": "M-7", "external_ids": [MRN]}

    services.amend(rider_id=rider.pk, changes=changes, by=planner, at=now, expected_version=1)

    rider.refresh_from_db()
    assert (rider.first_name, rider.last_name, rider.member_id, rider.version) == ("Orlagh", "Canary", "M-7", 2)
    assert AuditEntry.objects.get(action="riders.amend").details == {
        "fields": ["external_ids", "first_name", "member_id"]
    }


@pytest.mark.django_db
def test_amend_that_changes_nothing_writes_nothing(planner: Principal, hospital: Facility, now: dt.datetime) -> None:
    draft = {
        **DRAFT,
        "medicaid_id": "IL1",
        "external_ids": [MRN],
        "home_address": HOME,
        "facility_ids": [hospital.pk],
        "sms_consent": "granted",
    }
    rider = services.register(draft=draft, by=planner, at=now).rider
    before = everything()

    services.amend(rider_id=rider.pk, changes=draft, by=planner, at=now + dt.timedelta(days=1))

    assert everything() == before


@pytest.mark.django_db
def test_stale_writes_are_refused_and_leave_no_trace(planner: Principal, rider: Rider, now: dt.datetime) -> None:
    Rider.objects.update(version=4)
    before = everything()

    with pytest.raises(StaleVersion) as refusal:
        services.amend(rider_id=rider.pk, changes={"verified": True}, by=planner, at=now, expected_version=3)
    with pytest.raises(StaleVersion):
        services.set_accommodation(
            rider_id=rider.pk, needs={"mobility": "stretcher"}, by=planner, at=now, expected_version=3
        )

    assert refusal.value.current_version == 4
    assert everything() == before


@pytest.mark.django_db
def test_rider_out_of_reach_cannot_be_changed(rider: Rider, outsider: Principal, now: dt.datetime) -> None:
    before = everything()

    for rider_id in (rider.pk, uuid.UUID(int=7)):
        with pytest.raises(NotFound, match="no such rider"):
            services.amend(rider_id=rider_id, changes={"verified": True}, by=outsider, at=now)
        with pytest.raises(NotFound, match="no such rider"):
            services.change_status(rider_id=rider_id, status="deceased", by=outsider, at=now)
        with pytest.raises(NotFound, match="no such rider"):
            services.set_accommodation(rider_id=rider_id, needs={"mobility": "stretcher"}, by=outsider, at=now)

    assert everything() == before


@pytest.mark.django_db
def test_facilities_out_of_reach_stay_and_are_not_shown(
    planner: Principal, hospital: Facility, rider: Rider, now: dt.datetime
) -> None:
    other, second = FacilityFactory.create_batch(2)
    rider.facilities.add(other)
    wider = replace(planner, facility_ids=frozenset({hospital.pk, second.pk}))

    services.amend(rider_id=rider.pk, changes={"facility_ids": [second.pk]}, by=wider, at=now)

    assert set(rider.facilities.all()) == {other, second}
    assert queries.record(rider, by=wider).facility_ids == (second.pk,)
    assert set(queries.record(rider, by=system()).facility_ids) == {other.pk, second.pk}


@pytest.mark.django_db
def test_unbound_caller_may_take_every_facility_away(
    supervisor: Principal, rider: Rider, hospital: Facility, now: dt.datetime
) -> None:
    services.amend(rider_id=rider.pk, changes={"facility_ids": []}, by=supervisor, at=now)

    assert not rider.facilities.exists()


@pytest.mark.django_db
def test_new_status_replaces_old_reason_and_period(planner: Principal, rider: Rider, now: dt.datetime) -> None:
    def standing() -> tuple[Any, ...]:
        rider.refresh_from_db()
        return rider.status, rider.status_reason, rider.status_from, rider.status_until

    services.change_status(
        rider_id=rider.pk,
        status="do_not_book",
        reason="Threatened a driver",
        status_from=dt.date(2026, 11, 20),
        status_until=dt.date(2026, 12, 20),
        by=planner,
        at=now,
    )
    barred = standing()
    with pytest.raises(InvalidInput):
        services.amend(rider_id=rider.pk, changes={"status": "on_hold"}, by=planner, at=now)
    still = standing()
    services.amend(rider_id=rider.pk, changes={"status": "active"}, by=planner, at=now)

    assert barred == ("do_not_book", "Threatened a driver", dt.date(2026, 11, 20), dt.date(2026, 12, 20))
    assert still == barred
    assert standing() == ("active", "", None, None)
    assert AuditEntry.objects.get(action="riders.change_status").rider_ids == [rider.pk]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "moment"),
    [
        ({"sms_consent": "granted"}, "now"),
        ({"sms_consent": "denied"}, "now"),
        ({"sms_consent": "granted", "sms_consent_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}, "given"),
    ],
)
def test_consent_keeps_its_moment(
    planner: Principal, rider: Rider, now: dt.datetime, changes: dict[str, Any], moment: str
) -> None:
    services.amend(rider_id=rider.pk, changes=changes, by=planner, at=now)
    rider.refresh_from_db()
    kept = rider.sms_consent_at
    services.amend(rider_id=rider.pk, changes={"sms_consent": "unknown"}, by=planner, at=now)
    rider.refresh_from_db()

    assert kept == {"now": now, "given": changes.get("sms_consent_at")}[moment]
    assert rider.sms_consent_at is None


@pytest.mark.django_db
def test_consent_cannot_lose_its_moment(planner: Principal, rider: Rider, now: dt.datetime) -> None:
    services.amend(rider_id=rider.pk, changes={"sms_consent": "granted"}, by=planner, at=now)
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        services.amend(rider_id=rider.pk, changes={"sms_consent_at": None}, by=planner, at=now)

    assert refusal.value.details[0].field == "smsConsentAt"
    assert everything() == before


@pytest.mark.django_db
def test_needs_make_a_new_version_and_the_old_one_stays_readable(
    planner: Principal, rider: Rider, now: dt.datetime
) -> None:
    later = now + dt.timedelta(hours=1)

    profile = services.set_accommodation(
        rider_id=rider.pk, needs={"mobility": "wheelchair"}, by=planner, at=later, expected_version=1
    )

    assert (profile.number, profile.current, profile.recorded_at, profile.rider.version) == (2, True, later, 2)
    rows = AccommodationProfile.objects.order_by("number").values_list("number", "current", "mobility")
    assert list(rows) == [(1, False, "ambulatory"), (2, True, "wheelchair")]
    assert AuditEntry.objects.get(action="riders.set_accommodation").rider_ids == [rider.pk]


@pytest.mark.django_db
def test_equal_needs_make_no_version(planner: Principal, rider: Rider, now: dt.datetime) -> None:
    before = everything()

    profile = services.set_accommodation(rider_id=rider.pk, needs={"mobility": "ambulatory"}, by=planner, at=now)

    assert (profile.number, profile.rider.version) == (1, 1)
    assert everything() == before


@pytest.mark.django_db
def test_needs_of_a_rider_without_any_begin_with_version_one(supervisor: Principal, now: dt.datetime) -> None:
    rider = RiderFactory.create()

    profile = services.set_accommodation(rider_id=rider.pk, needs={}, by=supervisor, at=now)

    assert (profile.number, profile.current) == (1, True)


@pytest.mark.django_db
def test_contradictory_needs_are_refused_and_leave_no_trace(planner: Principal, rider: Rider, now: dt.datetime) -> None:
    needs = {"oxygen": {"uses": False, "source": "own_tank"}}
    before = everything()

    with pytest.raises(services.NeedsContradictory) as refusal:
        services.set_accommodation(rider_id=rider.pk, needs=needs, by=planner, at=now)
    with pytest.raises(services.NeedsContradictory):
        services.register(draft={**DRAFT, "accommodation": needs}, by=planner, at=now)

    assert refusal.value.details[0].field == "accommodation.oxygen.source"
    assert everything() == before


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("phi", "changes", "fields"),
    [
        (Phi.NONE, {"first_name": "X", "verified": True}, ["firstName", "verified"]),
        (Phi.LIMITED, {"first_name": "X", "phones": []}, ["phones"]),
        (Phi.LIMITED, {"medicaid_id": "IL1"}, ["medicaidId"]),
        (Phi.LIMITED, {"status": "on_hold", "status_reason": "In hospital"}, ["statusReason"]),
    ],
)
def test_nobody_writes_what_their_phi_level_cannot_read(
    planner: Principal, rider: Rider, now: dt.datetime, phi: Phi, changes: dict[str, Any], fields: list[str]
) -> None:
    weaker = replace(planner, phi=phi)
    before = everything()

    with pytest.raises(PhiNotPermitted) as amended:
        services.amend(rider_id=rider.pk, changes=changes, by=weaker, at=now)
    with pytest.raises(PhiNotPermitted):
        services.register(draft={"first_name": "O", "last_name": "C", **changes}, by=weaker, at=now)
    with pytest.raises(PhiNotPermitted):
        services.set_accommodation(rider_id=rider.pk, needs={}, by=weaker, at=now)

    assert [detail.field for detail in amended.value.details] == fields
    assert everything() == before
