"""Moved days of a facility: their rides, and visibility."""

import datetime as dt
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.organizations.models import CalendarShift, ExternalId, Facility
from lib.access import Principal, system
from tests import factories
from tests.callers import TokenClient
from tests.console.admin_pages import address_of, form_of, signed_in_as
from tests.factories import NOW
from tests.refused import constraint_against

pytestmark = pytest.mark.django_db

CHRISTMAS = dt.date(2026, 12, 25)


def shift(facility: Facility, **columns: Any) -> CalendarShift:
    return CalendarShift.objects.create(facility=facility, from_date=CHRISTMAS, **columns)


def test_shift_is_in_force_from_apply_until_undo(hospital: Facility) -> None:
    entered = shift(hospital)
    applied = shift(hospital, created_by="system", created_at=NOW, applied_at=NOW)
    shift(hospital, applied_at=NOW, undone_at=NOW)

    assert list(CalendarShift.objects.in_force()) == [applied]
    assert (entered.created_by, entered.created_at) == ("", None)


def test_shift_that_was_never_applied_cannot_be_undone(hospital: Facility) -> None:
    shift(hospital)

    assert constraint_against(CalendarShift.objects.all(), {"undone_at": NOW}) == "calendar_shift_undone_was_applied"


def test_shifts_of_other_facilities_are_out_of_reach(planner: Principal, hospital: Facility) -> None:
    ours, theirs = shift(hospital), shift(factories.FacilityFactory.create())

    assert list(CalendarShift.objects.visible_to(planner)) == [ours]
    assert set(CalendarShift.objects.visible_to(system())) == {ours, theirs}


def test_facility_tells_whether_rides_follow_a_shift(api: TokenClient, hospital: Facility) -> None:
    shift(hospital, applied_at=NOW, undone_at=NOW + dt.timedelta(hours=1))

    (shown,) = api.get(f"/api/facilities/{hospital.pk}").json()["calendarShifts"]

    assert (shown["appliedAt"], shown["undoneAt"]) == ("2026-11-20T15:00:00Z", "2026-11-20T16:00:00Z")


def test_external_ids_allow_standing_orders_not_unknown_types(hospital: Facility) -> None:
    row = ExternalId.objects.create(subject_type="standing_order", subject_id=hospital.pk, system="epic", value="1")

    assert constraint_against(ExternalId.objects.filter(pk=row.pk), {"subject_type": "shift"}) == (
        "external_id_subject_type_known"
    )


def test_tables_show_days_that_move_and_change_none() -> None:
    facility = factories.FacilityFactory.create()
    applied = shift(facility, applied_at=NOW, applies_to="mwf")
    client = signed_in_as(UserRole.ADMIN)
    url = address_of(Facility, "change", facility.pk)
    row = {"id": str(applied.pk), "facility": str(facility.pk), "from_date": "2026-12-24", "DELETE": "on"}
    beneath = {f"calendar_shifts-0-{name}": value for name, value in row.items()}

    page = client.get(url)
    counts = {"calendar_shifts-TOTAL_FORMS": "2", "calendar_shifts-INITIAL_FORMS": "1"}
    answer = client.post(url, form_of(client, url, **counts, **beneath))

    assert "Monday, Wednesday, Friday" in page.content.decode()
    assert answer.status_code == 302
    kept = CalendarShift.objects.get()
    assert (kept.pk, kept.from_date, kept.applied_at) == (applied.pk, CHRISTMAS, NOW)
