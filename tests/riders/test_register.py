"""Registration of riders: matched only by external id, and visible to the facilities that may book them."""

import datetime as dt
import uuid
from dataclasses import replace
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.organizations.models import Facility
from apps.organizations.services import ExternalIdTaken
from apps.riders import queries, services
from apps.riders.models import Rider
from apps.riders.rules import accommodation
from lib.access import Principal
from tests.factories import FacilityFactory
from tests.riders.rows import DRAFT, HOME, MRN, everything


@pytest.mark.django_db
def test_register_writes_rider_needs_facility_and_audit_row(
    planner: Principal, hospital: Facility, now: dt.datetime
) -> None:
    draft = {
        **DRAFT,
        "medicaid_id": "IL 4471 9925",
        "external_ids": [MRN],
        "phones": [{"number": "+13125550111"}],
        "home_address": HOME,
        "saved_places": [{"facilityId": hospital.pk}],
        "caregivers": [{"name": "Ann", "phone": "+13125550112"}],
        "emergency_contact": {"name": "Ben", "phone": "+13125550113", "relation": "son"},
        "accommodation": {"mobility": "wheelchair"},
    }

    made = services.register(draft=draft, by=planner, at=now)

    rider = Rider.objects.get()
    assert made == services.RegisteredRider(rider=rider, possible_duplicates=())
    assert (rider.first_name, rider.medicaid_id, rider.version) == ("Orla", "IL 4471 9925", 1)
    assert rider.phones == [{"number": "+13125550111", "ext": "", "kind": "other"}]
    assert (rider.home_address or {})["addressLine1"] == "1418 N Canary Ave"
    assert rider.saved_places[0]["name"] == hospital.name
    assert rider.caregivers == [{"name": "Ann", "phone": "+13125550112", "relation": "", "notify": []}]
    assert rider.emergency_contact == {"name": "Ben", "phone": "+13125550113", "relation": "son"}
    assert list(rider.facilities.all()) == [hospital]
    record = queries.record(rider, by=planner)
    assert record.needs == accommodation.complete({"mobility": "wheelchair"})
    assert record.profile is not None
    assert (record.profile.number, record.profile.recorded_at, record.profile.recorded_by) == (1, now, planner.actor)
    assert [(row.system, row.value, row.type) for row in record.external_ids] == [("epic", "MRN-771", "mrn")]
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.actor, entry.rider_ids, entry.facility_id) == (
        "riders.register",
        planner.actor,
        [rider.pk],
        hospital.pk,
    )
    assert entry.details == {"fields": sorted(draft)}


@pytest.mark.django_db
def test_payer_codes_are_sealed_in_the_row(planner: Principal, now: dt.datetime) -> None:
    made = services.register(draft={**DRAFT, "medicaid_id": "IL44719925", "member_id": "M-1"}, by=planner, at=now)

    row = Rider.objects.values().get(pk=made.rider.pk)

    assert b"IL44719925" not in bytes(row["medicaid_id_encrypted"] or b"")
    assert "IL44719925" not in str(row)
    assert [rider.pk for rider in queries.search({"medicaid_id": "il 4471 9925"}, by=planner)] == [made.rider.pk]


@pytest.mark.django_db
def test_registering_again_suggests_duplicates_within_reach(
    planner: Principal, outsider: Principal, now: dt.datetime
) -> None:
    def register(by: Principal, **columns: Any) -> services.RegisteredRider:
        return services.register(draft={**DRAFT, **columns}, by=by, at=now)

    first = register(planner)
    same_name = register(planner, first_name="orla", last_name="CANARY")
    elsewhere = register(outsider)
    other_birth = register(planner, date_of_birth=dt.date(1951, 4, 3), medicaid_id="IL1")
    same_code = register(planner, first_name="O.", date_of_birth=None, medicaid_id="il 1")
    nothing_known = register(planner, date_of_birth=None)

    suggested = [
        made.possible_duplicates for made in (first, same_name, elsewhere, other_birth, same_code, nothing_known)
    ]
    assert suggested == [(), (first.rider.pk,), (), (), (other_birth.rider.pk,), ()]


@pytest.mark.django_db
def test_names_alone_never_match(planner: Principal, hospital: Facility, now: dt.datetime) -> None:
    known = services.register(draft=DRAFT, by=planner, at=now).rider

    found = services.match_or_register(draft=DRAFT, facility_id=hospital.pk, by=planner, at=now)

    assert found.pk != known.pk
    assert list(found.facilities.all()) == [hospital]


@pytest.mark.django_db
def test_external_id_match_adds_rider_to_booking_facility(supervisor: Principal, now: dt.datetime) -> None:
    first, second = FacilityFactory.create_batch(2)
    draft = {**DRAFT, "external_ids": [MRN], "facility_ids": [first.pk]}
    known = services.register(draft=draft, by=supervisor, at=now).rider
    inline = {"first_name": "Typo", "last_name": "Other", "external_ids": [MRN]}

    found = services.match_or_register(draft=inline, facility_id=second.pk, by=supervisor, at=now)
    again = services.match_or_register(draft=inline, facility_id=second.pk, by=supervisor, at=now)
    nowhere = services.match_or_register(draft=inline, facility_id=None, by=supervisor, at=now)

    assert {found.pk, again.pk, nowhere.pk} == {known.pk}
    known.refresh_from_db()
    assert (known.first_name, known.version, set(known.facilities.all())) == ("Orla", 2, {first, second})
    assert AuditEntry.objects.filter(action="riders.amend").count() == 1


@pytest.mark.django_db
def test_external_id_out_of_reach_conflicts_without_holder(
    planner: Principal, outsider: Principal, now: dt.datetime
) -> None:
    services.register(draft={**DRAFT, "external_ids": [MRN]}, by=outsider, at=now)
    before = everything()

    with pytest.raises(ExternalIdTaken) as refusal:
        services.match_or_register(draft={**DRAFT, "external_ids": [MRN]}, facility_id=None, by=planner, at=now)

    assert refusal.value.details[0].also == {}
    assert everything() == before


@pytest.mark.django_db
def test_external_ids_of_two_riders_match_neither(supervisor: Principal, now: dt.datetime) -> None:
    other = {"system": "epic", "value": "MRN-772"}
    riders = [
        services.register(draft={**DRAFT, "external_ids": [name]}, by=supervisor, at=now).rider for name in (MRN, other)
    ]
    before = everything()

    with pytest.raises(services.SeveralRiders) as refusal:
        services.match_or_register(
            draft={**DRAFT, "external_ids": [MRN, other]}, facility_id=None, by=supervisor, at=now
        )

    assert [detail.also["existingId"] for detail in refusal.value.details] == [str(rider.pk) for rider in riders]
    assert everything() == before


@pytest.mark.django_db
def test_caller_bound_to_providers_cannot_register(supervisor: Principal, now: dt.datetime) -> None:
    partner = replace(supervisor, provider_ids=frozenset({uuid.UUID(int=7)}))

    with pytest.raises(services.OutOfReach):
        services.register(draft=DRAFT, by=partner, at=now)

    assert not Rider.objects.exists()
