"""Two concurrent changes of one shift: its driver and vehicle stay with one provider."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from apps.audit.models import AuditEntry
from apps.fleet.models import Driver, Shift, Vehicle
from apps.fleet.services import shifts
from lib.access import system
from lib.errors import Code
from tests import factories
from tests.fleet.crew import fit_pair
from tests.locks import wait_until_somebody_waits

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def shift() -> Shift:
    driver, vehicle = fit_pair()
    made: Shift = factories.ShiftFactory.create(driver=driver, vehicle=vehicle)
    return made


def given_away_while_moved(shift: Shift, driver: Driver, vehicle: Vehicle) -> None:
    """Move the shift by ten minutes; its row lock is waited for until it has another driver and vehicle."""
    ten_minutes_later = shift.ends_at + dt.timedelta(minutes=10)
    common: dict[str, Any] = {"shift_id": shift.pk, "expected_version": None, "by": system(), "at": factories.NOW}

    def move() -> None:
        try:
            shifts.amend(changes={"ends_at": ten_minutes_later}, **common)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            shifts.amend(changes={"driver_id": driver.pk, "vehicle_id": vehicle.pk}, **common)
            moved = other.submit(move)
            wait_until_somebody_waits()
        moved.result()


def test_shift_that_changed_hands_meanwhile_is_not_touched(shift: Shift) -> None:
    driver, vehicle = fit_pair()

    with pytest.raises(shifts.ShiftChangedHands) as refused:
        given_away_while_moved(shift, driver, vehicle)

    now = Shift.objects.get()
    assert refused.value.code is Code.RESOURCE_BUSY
    assert (now.driver_id, now.vehicle_id, now.provider_id) == (driver.pk, vehicle.pk, driver.provider_id)
    assert (now.ends_at, now.version) == (shift.ends_at, 2)
    assert AuditEntry.objects.get().details == {"changed": ["driver_id", "vehicle_id"]}


def test_without_recheck_it_has_another_providers_driver(shift: Shift, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of the test above."""
    monkeypatch.setattr(shifts, "_require_same_pair", lambda shift, before: None)
    driver, vehicle = fit_pair()

    given_away_while_moved(shift, driver, vehicle)

    now = Shift.objects.get()
    assert (now.driver_id, now.provider_id) == (driver.pk, shift.provider_id)
    assert driver.provider_id != shift.provider_id
