"""The day of several facilities at once, and its printed form."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.console.planner_day import views
from apps.organizations.models import Facility
from apps.rides.queries import facility_day
from apps.rides.rules.lifecycle import RideStatus
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.exceptions.test_desk import planner_of
from tests.console.planner_day.test_day import BASE, _discharge, _moving
from tests.console.visits import text_of, visitor
from tests.rides.looks import HOUR
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db

PRINT = f"{BASE}print/"


@pytest.fixture
def ward(db: None) -> Facility:
    return factories.FacilityFactory.create(name="Alder Hospital")


@pytest.fixture
def lodge(db: None) -> Facility:
    return factories.FacilityFactory.create(name="Birch Lodge", timezone="America/New_York")


@pytest.fixture
def planner(ward: Facility, lodge: Facility) -> Client:
    person = factories.UserFactory.create(role=UserRole.PLANNER, name="Pia Planner")
    person.facilities.set([ward, lodge])
    client = Client()
    sign_in(client, person)
    return client


def _groups(response: Any) -> dict[str, list[Any]]:
    return {
        group["facility"].name: [row["ride"].pk for section in group["sections"] for row in section["rows"]]
        for group in response.context["groups"]
    }


def test_planner_of_two_facilities_sees_each_in_its_zone(planner: Client, ward: Facility, lodge: Facility) -> None:
    here, there = _discharge(ward), _discharge(lodge)
    _discharge(factories.FacilityFactory.create(name="Cedar"))

    seen = planner.get(BASE)

    assert _groups(seen) == {"Alder Hospital": [here.pk], "Birch Lodge": [there.pk]}
    said = text_of(seen)
    assert "2 facilities, Fri, Nov 20, 2026" in said
    assert "Alder Hospital CT Waiting for “Ready” 1 14:00" in said
    assert "Birch Lodge ET Waiting for “Ready” 1 15:00" in said  # the same instant
    looks = AuditEntry.objects.filter(action="rides.day")
    assert {(look.facility_id, *look.rider_ids) for look in looks} == {
        (ward.pk, here.rider_id),
        (lodge.pk, there.rider_id),
    }


def test_address_says_which_facilities_are_shown(planner: Client, ward: Facility, lodge: Facility) -> None:
    here, there = _discharge(ward), _discharge(lodge)
    third = factories.FacilityFactory.create(name="Cedar")

    one = planner.get(f"{BASE}?facility={lodge.pk}")
    both = planner.get(f"{BASE}?facility={lodge.pk}&facility={ward.pk}&day=2026-11-20")

    assert _groups(one) == {"Birch Lodge": [there.pk]}
    assert "Birch Lodge, Fri, Nov 20, 2026" in text_of(one)
    assert '<option value="">All of mine</option>' in one.content.decode()
    assert _groups(both) == {"Alder Hospital": [here.pk], "Birch Lodge": [there.pk]}
    assert both.context["next_url"] == f"{BASE}?facility={lodge.pk}&facility={ward.pk}&day=2026-11-21"
    assert _groups(planner.get(f"{BASE}?facility=")) == _groups(planner.get(BASE))
    assert planner.get(f"{BASE}?facility={ward.pk}&facility={third.pk}").status_code == 404


def test_action_returns_to_the_selected_facilities(planner: Client, ward: Facility, lodge: Facility) -> None:
    ride = _discharge(lodge)
    query = f"?facility={ward.pk}&facility={lodge.pk}"

    done = planner.post(f"{BASE}{ride.pk}/ready/{query}", {"version": ride.version}, follow=True)
    stale = planner.post(f"{BASE}{ride.pk}/unready/{query}", {"version": ride.version})

    assert done.redirect_chain == [(f"{BASE}{query}", 302)]
    assert stale.status_code == 409
    assert list(_groups(stale)) == ["Alder Hospital", "Birch Lodge"]
    assert f'data-live-url="{BASE}list/?facility={ward.pk}&amp;facility={lodge.pk}"' in done.content.decode()


def test_today_is_each_facilitys_own(planner: Client, ward: Facility, lodge: Facility) -> None:
    Facility.objects.filter(pk=lodge.pk).update(timezone="Pacific/Kiritimati")  # 14 hours ahead: tomorrow, 05:00
    tomorrow = factories.RideFactory.create(facility=lodge, pickup_at=factories.NOW + HOUR)

    seen = planner.get(BASE)

    assert _groups(seen)["Birch Lodge"] == [tomorrow.pk]
    assert "Birch Lodge, Sat, Nov 21, 2026" in text_of(seen)


def test_whoever_reaches_everything_sees_one_facility_at_a_time(ward: Facility, lodge: Facility) -> None:
    desk = visitor(UserRole.DISPATCHER)
    both = desk.get(f"{BASE}?facility={ward.pk}&facility={lodge.pk}")

    assert list(_groups(desk.get(BASE))) == ["Alder Hospital"]
    assert "All of mine" not in text_of(desk.get(BASE))
    assert list(_groups(both)) == ["Alder Hospital", "Birch Lodge"]
    assert '<option value="" selected>2 facilities</option>' in both.content.decode()


def test_planner_of_facilities_sees_the_first_and_chooses(
    planner: Client, ward: Facility, lodge: Facility, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MAX_FACILITIES", 1)

    assert list(_groups(planner.get(BASE))) == ["Alder Hospital"]
    assert planner.get(f"{BASE}?facility={ward.pk}&facility={lodge.pk}").status_code == 404


@pytest.mark.parametrize("many", [1, 3])
def test_days_of_two_facilities_take_one_extra_audit_query(
    planner: Client,
    ward: Facility,
    lodge: Facility,
    many: int,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    for _number in range(many):
        _discharge(ward)
        _moving(lodge, RideStatus.EN_ROUTE, eta_pickup_at=factories.NOW)

    with django_assert_num_queries(11):  # one facility: 10
        planner.get(BASE)


def test_no_facility_has_no_day(db: None) -> None:
    by = factories.principal(UserRole.DISPATCHER)

    assert facility_day.facility_days([factories.FacilityFactory.build().pk], None, by=by, at=factories.NOW) == []


# In print


def test_printed_day_is_by_time_without_private_details(planner: Client, ward: Facility, lodge: Facility) -> None:
    late = _discharge(ward, driver_notes="Quiet word", facility_notes="Quiet too", dispatcher_notes="Quiet three")
    early = _discharge(ward, pickup_at=factories.PICKUP - HOUR, details={"room": None})
    driven = _moving(ward, RideStatus.EN_ROUTE)
    ride_in(RideStatus.CANCELLED, facility=ward)

    seen = planner.get(PRINT)

    [first, second] = seen.context["groups"]
    assert [row["ride"].pk for row in first["rows"]] == [early.pk, late.pk, driven.pk]
    assert second["rows"] == []
    said = text_of(seen)
    assert "13:00 estimated Abernathy, Orla 4 West" in said
    assert "14:00 estimated Abernathy, Orla 4 West, room 417" in said
    assert "En route" in said
    assert "Printed by Pia Planner, Fri, Nov 20, 09:00 CT" in said
    assert "No ride is booked for this day." in said
    assert "Quiet" not in said
    assert "555" not in said  # no telephone numbers
    assert "Ambulatory Unassigned" in said  # the mobility of the patient, and no other needs
    looks = AuditEntry.objects.filter(action="rides.day_print").values_list("facility_id", flat=True)
    assert set(looks) == {ward.pk, lodge.pk}


def test_printed_day_follows_the_day_and_facility(planner: Client, lodge: Facility) -> None:
    ride = _discharge(lodge, pickup_at=factories.PICKUP + dt.timedelta(days=1))

    seen = planner.get(f"{PRINT}?facility={lodge.pk}&day=2026-11-21")

    assert [row["ride"].pk for group in seen.context["groups"] for row in group["rows"]] == [ride.pk]
    assert f'href="{BASE}?facility={lodge.pk}&amp;day=2026-11-21"' in seen.content.decode()


def test_printed_day_is_for_those_who_have_a_day(ward: Facility) -> None:
    assert visitor(UserRole.AUDITOR).get(PRINT).status_code == 403
    assert planner_of(ward).get(f"{PRINT}?facility={factories.FacilityFactory.create().pk}").status_code == 404
    assert "You belong to no facility yet." in text_of(planner_of(None).get(PRINT))
    assert planner_of(ward).post(PRINT).status_code == 405
