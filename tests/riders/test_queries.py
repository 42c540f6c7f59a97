"""Rider search within the caller's data scope."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection

from apps.organizations.models import ExternalId, Facility, SubjectType
from apps.riders import queries, services
from lib.access import Principal
from tests.factories import AccommodationProfileFactory, FacilityFactory, RideFactory, RiderFactory
from tests.riders.rows import DRAFT, MRN


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("criteria", "found"),
    [
        ({"name": "can"}, ["Orla", "Per"]),
        ({"name": "ORL"}, ["Orla"]),
        ({"name": "bobb"}, ["Per"]),
        ({"name": "orla can"}, ["Orla"]),
        ({"name": "can or"}, ["Orla"]),
        ({"name": "canary, or"}, ["Orla"]),
        ({"name": "canary,"}, ["Orla"]),
        ({"name": "canary, pe"}, []),
        ({"name": "de la"}, ["Zoë"]),
        ({"name": "zoë de la cr"}, ["Zoë"]),
        ({"name": "ZOË"}, ["Zoë"]),
        ({"name": "%an"}, []),
        ({"name": "c_n"}, []),
        ({"name": ","}, []),
        ({"phone": "+13125550199"}, ["Per"]),
        ({"phone": "+1312555019"}, []),
        ({"external_id": {"system": "epic", "value": "MRN-771"}}, ["Orla"]),
        ({"external_id": {"system": "cerner", "value": "MRN-771"}}, []),
        ({"medicaid_id": "il 1-2"}, ["Zoë"]),
        ({"member_id": "IL1-2"}, []),
        ({"date_of_birth": dt.date(1951, 4, 2)}, ["Orla"]),
        ({"name": "can", "phone": "+13125550199"}, ["Per"]),
        ({"name": "orla", "phone": "+13125550199"}, []),
    ],
)
def test_search_finds_those_who_meet_every_criterion(
    planner: Principal, outsider: Principal, now: dt.datetime, criteria: dict[str, Any], found: list[str]
) -> None:
    people: list[dict[str, Any]] = [
        {**DRAFT, "external_ids": [MRN]},
        {
            "first_name": "Per",
            "last_name": "Cantor",
            "preferred_name": "Bobby",
            "phones": [{"number": "+13125550198"}, {"number": "+13125550199"}],
        },
        {"first_name": "Zoë", "last_name": "de la Cruz", "medicaid_id": "IL1-2"},
    ]
    for person in people:
        services.register(draft=person, by=planner, at=now)
        services.register(draft={**person, "external_ids": []}, by=outsider, at=now)

    names = queries.search(criteria, by=planner).order_by("pk").values_list("first_name", flat=True)

    assert list(names) == found


@pytest.mark.django_db
@pytest.mark.parametrize("count", [1, 3])
def test_records_cost_three_queries_however_many_riders(
    supervisor: Principal, django_assert_num_queries: Any, count: int
) -> None:
    riders = RiderFactory.create_batch(count, facility=FacilityFactory.create())
    for rider in riders:
        AccommodationProfileFactory.create(rider=rider, mobility="stretcher", load_minutes=15, unload_minutes=15)
        ExternalId.objects.create(subject_type=SubjectType.RIDER, subject_id=rider.pk, system="s", value=str(rider.pk))

    with django_assert_num_queries(3):
        records = queries.records(riders, by=supervisor)

    assert [record.rider for record in records] == riders
    assert {(len(record.facility_ids), len(record.external_ids)) for record in records} == {(1, 1)}
    assert {record.needs["mobility"] for record in records} == {"stretcher"}


@pytest.mark.django_db
def test_name_and_phone_search_can_use_their_indexes(supervisor: Principal) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # otherwise the planner scans a table this small

    by_name = queries.search({"name": "smi"}, by=supervisor).explain()
    by_phone = queries.search({"phone": "+13125550199"}, by=supervisor).explain()

    for index in ("rider_last_name_prefix", "rider_first_name_prefix", "rider_preferred_name_prefix"):
        assert index in by_name
    assert "rider_by_phone" in by_phone


def test_policy_standing_counts_what_the_rider_did_in_reach(
    hospital: Facility, supervisor: Principal, now: dt.datetime, django_assert_num_queries: Any
) -> None:
    rider = RiderFactory.create(facility=hospital)
    ended: dict[str, Any] = {"status_before_end": "arrived", "ended_by": "system", "facility": hospital, "rider": rider}
    no_show = {**ended, "status": "no_show", "reason_code": "rider_unreachable", "fault": "rider"}
    cancelled = {**ended, "status": "cancelled", "reason_code": "rider_request", "fault": "rider"}
    moments = {"pickup_at": now - dt.timedelta(days=10)}
    for columns in (
        no_show,
        {**cancelled, "cancellation_timing": "at_door"},
        {**cancelled, "cancellation_timing": "advance"},
        {**no_show, "fault": "facility"},
        {**no_show, "priority": "life_sustaining"},
        {**cancelled, "cancellation_timing": "at_door", "reason_code": "duplicate", "fault": "none"},
        {**no_show, "pickup_at": now - dt.timedelta(days=91)},
        {**no_show, "facility": FacilityFactory.create()},
        {"facility": hospital, "rider": rider},
    ):
        RideFactory.create(**(moments | columns))
    other = RiderFactory.create(facility=hospital)
    here = replace(supervisor, facility_ids=frozenset({hospital.pk}))

    with django_assert_num_queries(1):
        standings = queries.policy_standings([rider.pk, other.pk], by=here, at=now)

    assert standings[rider.pk] == queries.PolicyStanding(rides=4, rider_fault=2)
    assert standings[other.pk] == queries.PolicyStanding()
    assert queries.policy_standings([rider.pk], by=supervisor, at=now)[rider.pk].rider_fault == 3
