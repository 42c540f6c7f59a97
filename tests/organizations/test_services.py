"""Writes to facilities: validation, recorded changes, and unchanged data."""

import uuid
from decimal import Decimal
from typing import Any

import pytest

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.organizations import queries, services
from apps.organizations.models import Contact, Entrance, EscalationPolicy, ExternalId, Facility, SubjectType
from lib.access import Principal, system
from lib.errors import InvalidInput, NotFound, StaleVersion
from tests.factories import NOW, FacilityFactory

DRAFT: dict[str, Any] = {
    "name": "Lakeview Dialysis",
    "kind": "dialysis",
    "timezone": "America/Chicago",
    "address_line1": "3200 N Clark St",
    "city": "Chicago",
    "state": "IL",
    "postal_code": "60657",
}
NORTH = {"name": "North door", "instructions": "Ring twice", "wheelchair_ok": True}
SOUTH = {"name": "South door", "lat": Decimal("41.940100"), "lng": Decimal("-87.650000")}
NURSE = {"role": "charge_nurse", "name": "Nurse station", "phone": "+13125550150", "ext": "4"}
EPIC = {"system": "epic", "value": "DEP-19", "type": "department"}


def everything() -> list[Any]:
    """Return all rows that facility services write."""
    return [
        list(model.objects.order_by("pk").values())
        for model in (Facility, Entrance, Contact, ExternalId, AuditEntry, Event)
    ]


@pytest.mark.django_db
def test_create_writes_the_facility_its_parts_and_one_audit_row(supervisor: Principal) -> None:
    draft = {**DRAFT, "entrances": [NORTH, SOUTH], "contacts": [NURSE], "external_ids": [EPIC]}

    made = services.create_facility(draft=draft, by=supervisor, at=NOW)

    facility = Facility.objects.get()
    assert (facility.pk, facility.name, facility.modifier_code, facility.version) == (made.pk, DRAFT["name"], "J", 1)
    assert list(facility.entrances.order_by("name").values_list("name", "instructions", "lat")) == [
        ("North door", "Ring twice", None),
        ("South door", "", Decimal("41.940100")),
    ]
    assert list(facility.contacts.values_list("role", "name", "phone", "ext")) == [tuple(NURSE.values())]
    known = queries.external_ids_of(SubjectType.FACILITY, [facility.pk])[facility.pk]
    assert [(row.system, row.value, row.type) for row in known] == [("epic", "DEP-19", "department")]
    entry = AuditEntry.objects.get()
    assert (entry.actor, entry.action, entry.subject_id, entry.details) == (
        supervisor.actor,
        "facilities.create",
        facility.pk,
        {"fields": sorted(draft)},
    )
    event = Event.objects.get()
    assert (event.type, event.subject_type, event.subject_id, event.sequence, event.facility_id) == (
        "facility.created",
        "facility",
        facility.pk,
        1,
        facility.pk,
    )
    assert (event.occurred_at, event.actor, event.data) == (NOW, supervisor.actor, {"facilityId": str(facility.pk)})


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "letter"),
    [
        ("hospital", "H"),
        ("dialysis", "J"),
        ("snf", "N"),
        ("rehab", "D"),
        ("clinic", "P"),
        ("adult_day", "D"),
        ("residence", "R"),
        ("other", "D"),
    ],
)
def test_claim_letter_follows_the_kind(kind: str, letter: str) -> None:
    made = services.create_facility(draft={**DRAFT, "kind": kind}, by=system(), at=NOW)

    assert Facility.objects.get(pk=made.pk).modifier_code == letter


@pytest.mark.django_db
def test_manual_modifier_code_remains_until_the_kind_changes() -> None:
    made = services.create_facility(draft={**DRAFT, "modifier_code": "G"}, by=system(), at=NOW)

    services.amend_facility(facility_id=made.pk, changes={"name": "Lakeview", "kind": "dialysis"}, by=system(), at=NOW)
    kept = Facility.objects.get(pk=made.pk).modifier_code
    services.amend_facility(facility_id=made.pk, changes={"kind": "clinic"}, by=system(), at=NOW)

    assert (kept, Facility.objects.get(pk=made.pk).modifier_code) == ("G", "P")


@pytest.mark.django_db
def test_create_is_refused_to_a_caller_bound_to_facilities(planner: Principal) -> None:
    before = everything()

    with pytest.raises(services.BoundToFacilities):
        services.create_facility(draft=DRAFT, by=planner, at=NOW)

    assert everything() == before


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"timezone": "Chicago"}, "timezone"),
        ({"timezone": "Etc/GMT+5"}, "timezone"),
        ({"discharge_target_minutes": 181}, "sla.dischargeTargetMinutes"),
        ({"lat": Decimal(41), "lng": None}, "address.lat"),
        ({"hours": [{"days": ["mon", "mon"], "opens": "05:00", "closes": "06:00"}]}, "hours[0]"),
        ({"escalation_policy_id": uuid.UUID(int=7)}, "escalationPolicyId"),
        ({"entrances": [NORTH, NORTH]}, "entrances[1].name"),
        ({"entrances": [{"name": "Door", "lat": Decimal(41)}]}, "entrances[0].lat"),
        ({"entrances": [{**NORTH, "id": uuid.UUID(int=7)}]}, "entrances[0].id"),
        ({"contacts": [{**NURSE, "phone": "3125550150"}]}, "contacts[0].phone"),
        ({"contacts": [NURSE, {**NURSE, "id": uuid.UUID(int=7)}]}, "contacts[1].id"),
        ({"external_ids": [EPIC, {**EPIC, "type": "site"}]}, "externalIds[1]"),
    ],
)
def test_invalid_values_are_refused_by_name_and_leave_no_trace(
    supervisor: Principal, changes: dict[str, Any], field: str
) -> None:
    facility = services.create_facility(draft={**DRAFT, "entrances": [NORTH]}, by=supervisor, at=NOW)
    before = everything()

    with pytest.raises(InvalidInput) as made:
        services.create_facility(draft={**DRAFT, **changes}, by=supervisor, at=NOW)
    with pytest.raises(InvalidInput) as amended:
        services.amend_facility(facility_id=facility.pk, changes=changes, by=supervisor, at=NOW)

    assert [failure.value.details[0].field for failure in (made, amended)] == [field, field]
    assert made.value.message.startswith(field)
    assert everything() == before


@pytest.mark.django_db
def test_amend_changes_what_is_given_and_raises_the_version_once(supervisor: Principal) -> None:
    policy = EscalationPolicy.objects.create(name="Fast")
    facility = services.create_facility(
        draft={**DRAFT, "entrances": [NORTH], "contacts": [NURSE]}, by=supervisor, at=NOW
    )
    changes = {"name": "Lakeview West", "city": "Chicago", "escalation_policy_id": policy.pk, "contacts": []}

    services.amend_facility(facility_id=facility.pk, changes=changes, by=supervisor, at=NOW, expected_version=1)

    now = Facility.objects.get()
    assert (now.name, now.city, now.escalation_policy, now.version) == ("Lakeview West", "Chicago", policy, 2)
    assert (now.entrances.count(), now.contacts.count()) == (1, 0)
    entry = AuditEntry.objects.get(action="facilities.amend")
    assert entry.details == {"fields": ["contacts", "escalation_policy_id", "name"]}
    assert list(Event.objects.order_by("id").values_list("type", "sequence")) == [
        ("facility.created", 1),
        ("facility.updated", 2),
    ]


@pytest.mark.django_db
def test_amend_that_changes_nothing_writes_nothing(supervisor: Principal) -> None:
    draft = {**DRAFT, "entrances": [NORTH, SOUTH], "external_ids": [EPIC]}
    facility = services.create_facility(draft=draft, by=supervisor, at=NOW)
    before = everything()

    services.amend_facility(facility_id=facility.pk, changes=draft, by=supervisor, at=NOW)

    assert everything() == before


@pytest.mark.django_db
def test_stale_amend_is_refused_and_leaves_no_trace(supervisor: Principal) -> None:
    facility = FacilityFactory.create(version=4)
    before = everything()

    with pytest.raises(StaleVersion) as refusal:
        services.amend_facility(
            facility_id=facility.pk, changes={"name": "New"}, by=supervisor, at=NOW, expected_version=3
        )

    assert refusal.value.current_version == 4
    assert everything() == before


@pytest.mark.django_db
def test_facility_out_of_reach_cannot_be_amended(planner: Principal) -> None:
    other = FacilityFactory.create()
    before = everything()

    for facility_id in (other.pk, uuid.UUID(int=7)):
        with pytest.raises(NotFound, match="no such facility"):
            services.amend_facility(facility_id=facility_id, changes={"name": "Mine"}, by=planner, at=NOW)

    assert everything() == before


@pytest.mark.django_db
def test_entrances_match_by_id_or_name_and_may_swap_names(supervisor: Principal) -> None:
    facility = services.create_facility(draft={**DRAFT, "entrances": [NORTH, SOUTH]}, by=supervisor, at=NOW)
    north, south = (Entrance.objects.get(name=name).pk for name in ("North door", "South door"))

    swapped = [{"id": north, "name": "South door"}, {"id": south, "name": "North door"}, {"name": "Dock"}]
    services.amend_facility(facility_id=facility.pk, changes={"entrances": swapped}, by=supervisor, at=NOW)
    after_swap = dict(Entrance.objects.values_list("name", "pk"))
    services.amend_facility(
        facility_id=facility.pk, changes={"entrances": [{"name": "South door"}]}, by=supervisor, at=NOW
    )

    assert (after_swap["South door"], after_swap["North door"], len(after_swap)) == (north, south, 3)
    assert dict(Entrance.objects.values_list("name", "pk")) == {"South door": north}


@pytest.mark.django_db
def test_external_id_conflict_names_the_holding_facility(supervisor: Principal) -> None:
    holder = services.create_facility(draft={**DRAFT, "external_ids": [EPIC]}, by=supervisor, at=NOW)
    other = FacilityFactory.create()
    before = everything()

    with pytest.raises(services.ExternalIdTaken) as refusal:
        services.amend_facility(
            facility_id=other.pk,
            changes={"external_ids": [{"system": "epic", "value": "DEP-20"}, EPIC]},
            by=supervisor,
            at=NOW,
        )

    detail = refusal.value.details[0]
    assert (detail.field, detail.also) == ("externalIds[1]", {"existingId": str(holder.pk)})
    assert everything() == before


@pytest.mark.django_db
def test_external_id_conflict_hides_holder_out_of_reach(planner: Principal, hospital: Facility) -> None:
    services.create_facility(draft={**DRAFT, "external_ids": [EPIC]}, by=system(), at=NOW)

    with pytest.raises(services.ExternalIdTaken) as refusal:
        services.amend_facility(facility_id=hospital.pk, changes={"external_ids": [EPIC]}, by=planner, at=NOW)

    assert refusal.value.details[0].also == {}


@pytest.mark.django_db
def test_same_external_id_may_name_records_of_two_kinds() -> None:
    subject = uuid.UUID(int=7)
    services.create_facility(draft={**DRAFT, "external_ids": [EPIC]}, by=system(), at=NOW)

    changed = services.replace_external_ids(
        subject_type=SubjectType.VEHICLE, subject_id=subject, external_ids=[EPIC], in_reach=lambda pk: True
    )

    assert changed
    assert queries.subject_of(SubjectType.VEHICLE, system="epic", value="DEP-19") == subject


@pytest.mark.django_db
def test_external_ids_are_replaced_as_a_set_and_type_matters() -> None:
    def replace(*wanted: dict[str, str]) -> bool:
        return services.replace_external_ids(
            subject_type=SubjectType.DRIVER, subject_id=uuid.UUID(int=7), external_ids=wanted, in_reach=lambda pk: True
        )

    other = {"system": "b", "value": "1"}
    answers = [replace(EPIC), replace(EPIC), replace(EPIC, other), replace({**EPIC, "type": "site"}), replace(other)]

    assert answers == [True, False, True, True, True]
    assert list(ExternalId.objects.values_list("system", "value", "type")) == [("b", "1", "")]
    assert replace()
    assert not ExternalId.objects.exists()
