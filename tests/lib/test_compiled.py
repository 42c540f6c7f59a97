"""Queries compiled once answer what the queryset answers."""

from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.postgres.fields import ArrayField
from django.db.models import Q, QuerySet, UUIDField, Value
from django.db.models.functions import Upper

from apps.fleet.models import Vehicle
from apps.organizations.models import Facility
from apps.rides.models import Ride
from lib import compiled
from lib.access import Principal
from lib.compiled import Compiled, together
from tests import factories

pytestmark = pytest.mark.django_db


def bound_to(*facilities: Facility) -> Principal:
    return Principal(
        kind="token", id=uuid4(), role="planner", scopes=frozenset(), facility_ids=frozenset(f.pk for f in facilities)
    )


def test_finds_the_rows_of_the_queryset_for_each_value() -> None:
    facilities = [factories.FacilityFactory.create() for _ in range(3)]
    by_key: Compiled[Facility] = Compiled(lambda pk: Facility.objects.filter(pk=pk), pk=UUID)

    for facility in facilities:
        found = by_key.one(pk=facility.pk)
        assert found == facility
        assert {name: value for name, value in vars(found).items() if name != "_state"} == {
            name: value for name, value in vars(Facility.objects.get(pk=facility.pk)).items() if name != "_state"
        }
        assert found is not None
        assert found._state.db == "default"
        assert not found._state.adding


def test_finds_nothing_where_there_is_nothing() -> None:
    by_key: Compiled[Facility] = Compiled(lambda pk: Facility.objects.filter(pk=pk), pk=UUID)

    assert by_key.one(pk=uuid4()) is None
    assert by_key.all(pk=uuid4()) == []


def test_joined_rows_come_with_the_query(django_assert_num_queries: Any) -> None:
    ride = factories.RideFactory.create()
    with_facility: Compiled[Ride] = Compiled(
        lambda pk: Ride.objects.select_related("facility").annotate(shout=Upper("status")).filter(pk=pk), pk=UUID
    )

    with django_assert_num_queries(1):
        found = with_facility.one(pk=ride.pk)
        assert found is not None
        assert found.facility == ride.facility
        assert vars(found)["shout"] == ride.status.upper()


def test_tuples_of_columns_in_the_order_asked_for() -> None:
    facility = factories.FacilityFactory.create()
    columns: Compiled[tuple[str, UUID]] = Compiled(
        lambda pk: Facility.objects.filter(pk=pk).values_list("name", "pk"), pk=UUID
    )

    assert columns.all(pk=facility.pk) == [(facility.name, facility.pk)]


def test_one_value_may_stand_in_several_places() -> None:
    facility = factories.FacilityFactory.create(name="Here", city="Here")
    factories.FacilityFactory.create(name="Here", city="There")
    twice: Compiled[Facility] = Compiled(lambda word: Facility.objects.filter(name=word, city=word), word=str)

    assert twice.all(word="Here") == [facility]


def test_each_reach_has_its_own_query() -> None:
    ours, theirs = factories.FacilityFactory.create(), factories.FacilityFactory.create()
    visible: Compiled[Facility] = Compiled(lambda by, pk: Facility.objects.visible_to(by).filter(pk=pk), pk=UUID)

    assert visible.one(bound_to(ours), pk=theirs.pk) is None
    assert visible.one(bound_to(theirs), pk=theirs.pk) == theirs
    assert visible.one(bound_to(ours), pk=ours.pk) == ours


def test_a_reach_that_holds_nothing_asks_nothing(django_assert_num_queries: Any) -> None:
    facility = factories.FacilityFactory.create()
    visible: Compiled[Facility] = Compiled(lambda by, pk: Facility.objects.visible_to(by).filter(pk=pk), pk=UUID)

    with django_assert_num_queries(0):
        assert visible.all(bound_to(), pk=facility.pk) == []
        assert visible.all(bound_to(), pk=facility.pk) == []


def test_the_sql_is_written_once_until_there_are_too_many_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_MOST_REACHES", 2)
    written: list[Principal] = []

    def rows(by: Principal, pk: UUID) -> "QuerySet[Facility]":
        written.append(by)
        return Facility.objects.visible_to(by).filter(pk=pk)

    visible: Compiled[Facility] = Compiled(rows, pk=UUID)
    first, second, third = (bound_to(factories.FacilityFactory.create()) for _ in range(3))

    for by in (first, first, second, first, third, first):
        visible.all(by, pk=uuid4())

    assert written == [first, second, third, first]


def test_a_value_that_changes_on_its_way_is_refused() -> None:
    within: Compiled[Facility] = Compiled(lambda word: Facility.objects.filter(name__contains=word), word=str)

    with pytest.raises(ValueError, match="do not reach the database as they are: word"):
        within.all(word="Here")


def test_a_type_without_a_marker_is_refused() -> None:
    with pytest.raises(TypeError, match="no marker for float"):
        Compiled(lambda lat: Facility.objects.filter(lat=lat), lat=float)


def test_a_value_may_be_a_number() -> None:
    facility = factories.FacilityFactory.create(lead_time_minutes=45)
    prompt: Compiled[Facility] = Compiled(
        lambda minutes: Facility.objects.filter(lead_time_minutes__lte=minutes), minutes=int
    )

    assert prompt.all(minutes=44) == []
    assert prompt.all(minutes=45) == [facility]


def test_several_queries_take_one_round_trip(django_assert_num_queries: Any) -> None:
    ours, theirs = factories.FacilityFactory.create(name="100% ours"), factories.FacilityFactory.create()
    visible: Compiled[Facility] = Compiled(lambda by, pk: Facility.objects.visible_to(by).filter(pk=pk), pk=UUID)
    names: Compiled[tuple[str]] = Compiled(
        lambda name: Facility.objects.filter(name=name).values_list("name"), name=str
    )

    with django_assert_num_queries(1):
        found = together(
            visible.asked(bound_to(ours), pk=ours.pk),
            visible.asked(bound_to(), pk=ours.pk),
            visible.asked(bound_to(ours), pk=theirs.pk),
            names.asked(name="100% ours"),
        )

    assert found == [[ours], [], [], [("100% ours",)]]


def test_queries_that_can_find_nothing_ask_nothing(django_assert_num_queries: Any) -> None:
    visible: Compiled[Facility] = Compiled(lambda by, pk: Facility.objects.visible_to(by).filter(pk=pk), pk=UUID)

    with django_assert_num_queries(0):
        assert together(visible.asked(bound_to(), pk=uuid4()), visible.asked(bound_to(), pk=uuid4())) == [[], []]


def test_a_value_may_be_a_list_of_any_length() -> None:
    first, second, third = (factories.VehicleFactory.create() for _ in range(3))
    some: Compiled[Vehicle] = Compiled(
        lambda ids, provider_ids: Vehicle.objects.filter(pk__any_of=ids, provider_id__any_of=provider_ids),
        ids=list,
        provider_ids=list,
    )
    providers = [vehicle.provider_id for vehicle in (first, second, third)]

    assert set(some.all(ids=[first.pk, third.pk, uuid4()], provider_ids=providers)) == {first, third}
    assert some.all(ids=[second.pk], provider_ids=providers[:1]) == []
    assert some.all(ids=[], provider_ids=providers) == []


def test_a_list_may_be_compared_with_arrays() -> None:
    ours, theirs = uuid4(), uuid4()
    ride = factories.RideFactory.create(attendant_ids=[ours])
    uuids = ArrayField(UUIDField())
    attended: Compiled[Ride] = Compiled(
        lambda ids: Ride.objects.filter(attendant_ids__overlap=Value(ids, uuids)), ids=list
    )

    assert attended.all(ids=[theirs, ours]) == [ride]
    assert attended.all(ids=[theirs]) == []
    assert attended.all(ids=[]) == []


def test_a_list_that_is_taken_apart_in_one_of_its_places_is_refused() -> None:
    attended: Compiled[Ride] = Compiled(
        lambda ids: Ride.objects.filter(Q(driver_id__any_of=ids) | Q(attendant_ids__overlap=ids)), ids=list
    )

    with pytest.raises(ValueError, match="do not reach the database as they are: ids"):
        attended.all(ids=[uuid4()])
