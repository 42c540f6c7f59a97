"""Planning and amending shifts, as services."""

import dataclasses
import datetime as dt
import uuid
from typing import Any

import pytest

from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.fleet.models import Shift
from apps.fleet.services import shifts
from lib.access import Principal
from lib.errors import InvalidInput, NotFound, StaleVersion
from tests import factories
from tests.fleet.crew import fit_pair

pytestmark = pytest.mark.django_db

NOW = factories.NOW


def everything() -> list[Any]:
    return [list(Shift.objects.order_by("pk").values()), AuditEntry.objects.count()]


@pytest.fixture
def fleet_admin(db: None) -> Principal:
    return factories.principal(UserRole.FLEET_ADMIN)


@pytest.fixture
def shift(db: None) -> Shift:
    made: Shift = factories.ShiftFactory.create()
    return made


def test_shift_moved_into_another_is_refused(shift: Shift, fleet_admin: Principal) -> None:
    later = factories.ShiftFactory.create(
        driver=shift.driver, starts_at=shift.ends_at, ends_at=shift.ends_at + dt.timedelta(hours=2)
    )
    before = everything()

    with pytest.raises(shifts.ShiftTaken) as refusal:
        shifts.amend(
            shift_id=later.pk,
            changes={"starts_at": shift.ends_at - dt.timedelta(minutes=1)},
            expected_version=None,
            by=fleet_admin,
            at=NOW,
        )

    assert refusal.value.details[0].field == "driverId"
    assert everything() == before


def amend(shift: Shift, by: Principal, **changes: Any) -> Shift:
    return shifts.amend(shift_id=shift.pk, changes=changes, expected_version=None, by=by, at=NOW)


def test_break_is_planned_and_leaves_with_the_part_of_the_shift(shift: Shift, fleet_admin: Principal) -> None:
    hour = dt.timedelta(hours=1)
    starts_at, ends_at = shift.starts_at + 2 * hour, shift.starts_at + 2.5 * hour

    planned = amend(shift, fleet_admin, break_starts_at=starts_at, break_ends_at=ends_at)
    later = amend(shift, fleet_admin, ends_at=shift.ends_at + hour)
    cut = amend(shift, fleet_admin, ends_at=shift.starts_at + hour)

    assert (planned.break_starts_at, planned.break_ends_at) == (starts_at, ends_at)
    assert (later.break_starts_at, later.break_ends_at) == (starts_at, ends_at)
    assert (cut.break_starts_at, cut.break_ends_at, cut.version) == (None, None, 4)


@pytest.mark.parametrize(
    ("starts", "ends", "field"),
    [
        (2, None, "breakEndsAt"),
        (None, 2, "breakStartsAt"),
        (3, 2, "breakEndsAt"),
        (-1, 1, "breakStartsAt"),
        (2, 99, "breakStartsAt"),
    ],
    ids=["no end", "no start", "backwards", "before the shift", "after the shift"],
)
def test_break_that_makes_no_sense_changes_nothing(
    shift: Shift, fleet_admin: Principal, starts: int | None, ends: int | None, field: str
) -> None:
    before = everything()
    moments = [None if hours is None else shift.starts_at + dt.timedelta(hours=hours) for hours in (starts, ends)]

    with pytest.raises(InvalidInput) as refusal:
        amend(shift, fleet_admin, break_starts_at=moments[0], break_ends_at=moments[1])

    assert refusal.value.details[0].field == field
    assert everything() == before


def test_shift_goes_over_to_another_pair(shift: Shift, fleet_admin: Principal) -> None:
    driver, vehicle = fit_pair()

    changed = shifts.amend(
        shift_id=shift.pk,
        changes={"driver_id": driver.pk, "vehicle_id": vehicle.pk},
        expected_version=1,
        by=fleet_admin,
        at=NOW,
    )

    changed.refresh_from_db()
    assert (changed.driver_id, changed.vehicle_id, changed.provider_id) == (driver.pk, vehicle.pk, driver.provider_id)
    assert AuditEntry.objects.get().details == {"changed": ["driver_id", "vehicle_id"]}


def test_same_values_again_change_nothing(shift: Shift, fleet_admin: Principal) -> None:
    before = everything()

    shifts.amend(shift_id=shift.pk, changes={"ends_at": shift.ends_at}, expected_version=None, by=fleet_admin, at=NOW)

    assert everything() == before


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"driver_id": uuid.UUID(int=1)}, "driverId"),
        ({"vehicle_id": uuid.UUID(int=1)}, "vehicleId"),
        ({"ends_at": NOW - dt.timedelta(hours=2)}, "endsAt"),
    ],
)
def test_wrong_change_is_refused(shift: Shift, fleet_admin: Principal, changes: dict[str, Any], field: str) -> None:
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        shifts.amend(shift_id=shift.pk, changes=changes, expected_version=None, by=fleet_admin, at=NOW)

    assert refusal.value.details[0].field == field
    assert everything() == before


def test_vehicle_of_another_provider_is_refused(shift: Shift, fleet_admin: Principal) -> None:
    _, theirs = fit_pair()
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        shifts.plan(
            driver_id=shift.driver_id,
            vehicle_id=theirs.pk,
            starts_at=shift.ends_at,
            ends_at=shift.ends_at + dt.timedelta(hours=1),
            by=fleet_admin,
            at=NOW,
        )

    assert refusal.value.details[0].field == "vehicleId"
    assert everything() == before


def test_stale_copy_and_outsider_change_nothing(shift: Shift, fleet_admin: Principal) -> None:
    outsider = dataclasses.replace(fleet_admin, provider_ids=frozenset({uuid.uuid4()}))
    before = everything()

    with pytest.raises(StaleVersion):
        shifts.amend(shift_id=shift.pk, changes={"status": "cancelled"}, expected_version=7, by=fleet_admin, at=NOW)
    with pytest.raises(NotFound):
        shifts.amend(shift_id=shift.pk, changes={"status": "cancelled"}, expected_version=None, by=outsider, at=NOW)

    assert everything() == before
