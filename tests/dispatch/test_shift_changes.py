"""Shift changes after a review of the rides, while other sessions assign more rides."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from apps.audit.models import AuditEntry
from apps.dispatch.services import planning, shift_changes
from apps.dispatch.services.planning import Chosen
from apps.dispatch.services.shift_changes import RidesLeft
from apps.fleet import queries as fleet
from apps.fleet.models import Shift
from apps.rides.models import Ride
from lib.access import system
from lib.errors import NotFound, StaleVersion
from lib.ids import uuid7
from tests import factories
from tests.console.board.test_acting import able
from tests.factories import NOW
from tests.locks import wait_until_somebody_waits

HOUR = dt.timedelta(hours=1)


def _shift() -> Shift:
    driver = able()
    made: Shift = factories.ShiftFactory.create(
        provider=driver.provider, driver=driver, vehicle=driver.default_vehicle,
        starts_at=NOW + HOUR, ends_at=NOW + 9 * HOUR,
    )  # fmt: skip
    return made


def _amend(shift: Shift, changes: dict[str, Any], **more: Any) -> Shift:
    told: dict[str, Any] = {"seen": (), "expected_version": shift.version, "by": system(), "at": NOW, **more}
    return shift_changes.amend(shift_id=shift.pk, changes=changes, **told)


def _given(shift: Shift, hours: float) -> Ride:
    ride: Ride = factories.RideFactory.create(pickup_at=NOW + hours * HOUR)
    factories.put_driver_on(ride, driver=shift.driver, vehicle=shift.vehicle)
    return ride


def _changes(what: str, shift: Shift) -> dict[str, Any]:
    if what == "cancelled":
        return {"status": "cancelled"}
    if what == "shortened":
        return {"ends_at": shift.starts_at + HOUR}
    other = able(provider=shift.provider)
    return {"driver_id": other.pk, "vehicle_id": other.default_vehicle_id}


@pytest.mark.django_db
@pytest.mark.parametrize("what", ["cancelled", "shortened", "given away"])
def test_change_leaves_no_rides_but_those_that_were_seen(what: str) -> None:
    shift = _shift()
    seen, new = _given(shift, 4), _given(shift, 6)
    changes, before = _changes(what, shift), Shift.objects.values().get()

    for known in ((), [seen.pk], [new.pk, uuid7()]):
        with pytest.raises(RidesLeft) as refused:
            _amend(shift, changes, seen=known)
        assert refused.value.keeps == ((shift.starts_at, shift.starts_at + HOUR) if what == "shortened" else None)

    assert Shift.objects.values().get() == before
    assert AuditEntry.objects.filter(subject_type="shift").count() == 0
    assert _amend(shift, changes, seen=[seen.pk, new.pk, uuid7()]).version == 2


@pytest.mark.django_db
def test_rides_outside_the_changed_shift_time_do_not_matter() -> None:
    shift = _shift()
    for hours in (0.5, 3, 12):
        _given(shift, hours)

    assert _amend(shift, {"ends_at": NOW + 5 * HOUR}).ends_at == NOW + 5 * HOUR


@pytest.mark.django_db
def test_stale_version_and_missing_shift_are_refused_first() -> None:
    shift = _shift()
    _given(shift, 4)

    with pytest.raises(StaleVersion):
        _amend(shift, {"status": "cancelled"}, expected_version=7)
    with pytest.raises(NotFound):
        _amend(Shift(pk=uuid7()), {"status": "cancelled"})


@pytest.mark.django_db
def test_cancelled_shift_has_no_rides_to_leave() -> None:
    shift = _shift()
    _given(shift, 4)
    Shift.objects.update(status="cancelled")

    assert _amend(shift, {"status": "cancelled"}).version == 1


def changed_while_a_ride_is_assigned(shift: Shift, changes: dict[str, Any], *, waits: bool) -> Ride:
    """Change the shift while its driver is being assigned to a ride; it `waits` for that, or finishes before."""
    ride: Ride = factories.RideFactory.create(pickup_at=NOW + 4 * HOUR)

    def change() -> None:
        try:
            _amend(shift, changes)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            planning.assign(
                chosen=Chosen(ride.pk, ride.version), driver_id=shift.driver_id, vehicle_id=shift.vehicle_id,
                by=system(), at=NOW,
            )  # fmt: skip
            changed = other.submit(change)
            if waits:
                wait_until_somebody_waits()
            else:
                changed.result(timeout=30)
        changed.result()
    return ride


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", ["cancelled", "shortened", "given away"])
def test_ride_that_is_being_assigned_is_waited_for(what: str) -> None:
    shift = _shift()

    with pytest.raises(RidesLeft):
        changed_while_a_ride_is_assigned(shift, _changes(what, shift), waits=True)

    assert Shift.objects.values_list("version", "driver_id", "status").get() == (1, shift.driver_id, "planned")


@pytest.mark.django_db(transaction=True)
def test_without_the_lock_a_reassigned_shift_leaves_the_ride(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control of the test above: `shifts.amend` locks the driver who gets the shift, but not the driver who had it."""
    shift = _shift()
    changes = _changes("given away", shift)
    monkeypatch.setattr(fleet, "locked", _only(changes["driver_id"], fleet.locked))

    ride = changed_while_a_ride_is_assigned(shift, changes, waits=False)

    ride.refresh_from_db()
    assert (ride.driver_id, Shift.objects.get().driver_id) == (shift.driver_id, changes["driver_id"])


def _only(driver_id: Any, locked: Any) -> Any:
    return lambda driver_ids, vehicle_id, by: locked(
        [one for one in driver_ids if one == driver_id] or driver_ids, vehicle_id, by
    )
