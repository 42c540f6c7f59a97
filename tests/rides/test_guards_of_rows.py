"""Every guard on every transition that has it: if it fails, the transition is refused without changes."""

import dataclasses
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest

from apps.fleet.models import Credential, Vehicle
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import TRANSITIONS, Action, Guard, RideStatus, Transition
from apps.rides.services import assignment
from apps.rides.services import status_report as service
from apps.rides.services.guards import GuardFailed
from lib.access import Principal
from tests import factories
from tests.fleet.crew import fit_pair
from tests.rides.rides_in import ARRIVED, ride_in
from tests.rides.status_calls import AT, complete_report, traces

pytestmark = pytest.mark.django_db

GUARDED = [(row, guard) for row in TRANSITIONS for guard in row.guards]


def payer_who_wants_a_signature() -> dict[str, Any]:
    return {"payer": factories.PayerFactory.create(signature_rule="pickup")}


# Columns of a ride for which only this guard fails.
COLUMNS: dict[Guard, Callable[[], dict[str, Any]]] = {
    Guard.WILL_CALL_RELEASED: lambda: {
        "will_call": True,
        "pickup_time_kind": "estimated",
        "will_call_expires_at": AT,
    },
    Guard.DISCHARGE_CHECKLIST: lambda: {
        "service_type": "hospital_discharge",
        "discharge": {"checklist": {"orderSigned": None}},
    },
    Guard.SECUREMENT_CONFIRMED: lambda: {"accommodation": {"mobility": "wheelchair"}},
    Guard.PICKUP_PROOF: payer_who_wants_a_signature,
    Guard.ARRIVED_IN_WINDOW: lambda: {
        "window_starts_at": ARRIVED - dt.timedelta(hours=2),
        "window_ends_at": ARRIVED - dt.timedelta(minutes=1),
    },
    Guard.HANDOFF_NAMED: lambda: {"accommodation": {"mobility": "ambulatory", "handoffRequired": True}},
}
# Report data to omit so that only this guard fails.
LACKING: dict[Guard, dict[str, Any]] = {
    Guard.SECUREMENT_CONFIRMED: {"securement_confirmed": False},
    Guard.WAITED_LONG_ENOUGH: {"occurred_at": factories.PICKUP + dt.timedelta(minutes=9)},
    Guard.CONTACT_ATTEMPTED: {"milestones": ()},
    Guard.RIDER_LOCATION_KNOWN: {"rider_location": ""},
}


def break_fleet(guard: Guard) -> None:
    if guard is Guard.CREDENTIALS_VALID:
        Credential.objects.filter(type="driver_license").update(expires_on=dt.date(2026, 11, 19))
    elif guard is Guard.VEHICLE_IN_SERVICE:
        Vehicle.objects.update(status="maintenance")


def step(ride: Ride, row: Transition, lacking: dict[str, Any], by: Principal) -> None:
    """Make the transition with all required data, except what is omitted."""
    if row.action is Action.TRANSFER:
        driver, vehicle = fit_pair()
        said = {"reason_code": "vehicle_breakdown", "rider_location": "At the side of Ashland Ave"} | lacking
        assignment.assign(
            ride_id=ride.pk,
            driver_id=driver.pk,
            vehicle_id=vehicle.pk,
            handover=assignment.Handover(**said),
            by=by,
            at=AT,
        )
        return
    report = dataclasses.replace(complete_report(RideStatus(ride.status), row.target), **lacking)
    service.change_status(ride_id=ride.pk, report=report, by=by, at=AT)


def test_every_guard_stands_on_some_transition() -> None:
    assert {guard for _, guard in GUARDED} == set(Guard) - {Guard.CORRECTION_WINDOW_OPEN}  # of T29, which is not a row
    assert len(GUARDED) == 16


@pytest.mark.parametrize(("row", "guard"), GUARDED, ids=[f"{row.number} {guard}" for row, guard in GUARDED])
def test_guard_that_is_not_met_refuses_and_leaves_nothing(row: Transition, guard: Guard, dispatcher: Principal) -> None:
    assert row.source is not None
    ride = ride_in(row.source, **COLUMNS.get(guard, dict)())
    break_fleet(guard)
    before = traces(ride)

    with pytest.raises(GuardFailed) as refused:
        step(ride, row, LACKING.get(guard, {}), dispatcher)

    assert [detail.code for detail in refused.value.details] == [guard]
    assert traces(ride) == before


@pytest.mark.parametrize("row", dict.fromkeys(row for row, _ in GUARDED), ids=lambda row: row.number)
def test_step_whose_guards_are_met_is_taken(row: Transition, dispatcher: Principal) -> None:
    assert row.source is not None
    ride = ride_in(row.source)

    step(ride, row, {}, dispatcher)

    assert Ride.objects.get(pk=ride.pk).status == row.target
