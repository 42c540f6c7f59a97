"""Documentation that a payer requires: signatures by stop and signer, and odometer readings."""

from typing import Any

import pytest

from apps.rides.rules.documentation import LegDocumentation, missing_at, missing_documents
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import status_report as service
from apps.rides.services.guards import GuardFailed
from lib.access import Principal
from tests import factories
from tests.rides.rides_in import BOARDED, DROPPED_OFF, ride_in
from tests.rides.status_calls import AT, report_to

WHOLE: dict[str, Any] = {
    "signature_rule": "none",
    "signers": "any",
    "signatures": [],
    "odometer_required": True,
    "has_odometer_start": True,
    "has_odometer_end": True,
}
STOPS = {"none": [], "pickup": ["pickup"], "dropoff": ["dropoff"], "both": ["pickup", "dropoff"]}
# Missing documentation at one stop, by the required and the present signers.
MISSING = {
    "any": {"": ["signature"]},
    "rider": {"": ["signature_rider"], "driver": ["signature_rider"]},
    "driver": {"": ["signature_driver"], "rider": ["signature_driver"], "facility": ["signature_driver"],
               "rider facility": ["signature_driver"]},
    "both": {"": ["signature_rider", "signature_driver"], "rider": ["signature_driver"],
             "driver": ["signature_rider"], "facility": ["signature_driver"],
             "rider facility": ["signature_driver"]},
}  # fmt: skip
WHO_SIGNED = ("", "rider", "driver", "facility", "rider driver", "rider facility", "driver facility")


def signed(stop: str, who: str) -> list[dict[str, Any]]:
    return [{"signer": signer, "stop": stop, "name": "Orla", "at": None} for signer in who.split()]


@pytest.mark.parametrize("rule", STOPS)
@pytest.mark.parametrize("signers", MISSING)
@pytest.mark.parametrize("at_pickup", WHO_SIGNED)
@pytest.mark.parametrize("at_dropoff", WHO_SIGNED)
def test_signature_counts_where_and_by_whom_the_payer_wants_it(
    rule: str, signers: str, at_pickup: str, at_dropoff: str
) -> None:
    there = [*signed("pickup", at_pickup), *signed("dropoff", at_dropoff)]
    by_stop = {
        stop: [f"{stop}_{name}" for name in MISSING[signers].get(who, [])] if stop in STOPS[rule] else []
        for stop, who in (("pickup", at_pickup), ("dropoff", at_dropoff))
    }

    documentation = LegDocumentation(**(WHOLE | {"signature_rule": rule, "signers": signers, "signatures": there}))

    assert {stop: missing_at(stop, documentation) for stop in by_stop} == by_stop
    assert missing_documents(documentation, arrived_pickup_recorded=True) == [*by_stop["pickup"], *by_stop["dropoff"]]


@pytest.mark.parametrize(
    ("documentation", "arrived", "missing"),
    [
        ({}, True, []),
        ({"has_odometer_start": False}, True, ["odometer_start"]),
        ({"has_odometer_end": False}, False, ["odometer_end", "arrived_pickup"]),
        ({"has_odometer_start": False, "has_odometer_end": False, "odometer_required": False}, True, []),
        (
            {"has_odometer_start": False, "signature_rule": "both"},
            True,
            ["pickup_signature", "dropoff_signature", "odometer_start"],
        ),
    ],
)
def test_missing_documents_are_named(documentation: dict[str, Any], arrived: bool, missing: list[str]) -> None:
    assert missing_documents(LegDocumentation(**(WHOLE | documentation)), arrived_pickup_recorded=arrived) == missing


@pytest.mark.django_db
def test_rule_at_the_pickup_is_the_rule_of_the_record(dispatcher: Principal) -> None:
    payer = factories.PayerFactory.create(signature_rule="both", signers="both", odometer_required=True)
    ride = ride_in(RideStatus.ARRIVED, payer=payer)

    said = report_to(RideStatus.IN_PROGRESS, occurred_at=BOARDED, signatures=tuple(signed("pickup", "facility")))
    with pytest.raises(GuardFailed) as refused:
        service.change_status(ride_id=ride.pk, report=said, by=dispatcher, at=AT)
    assert [str(detail.text) for detail in refused.value.details] == [
        "The payer requires at pickup: odometer, driver's signature. Add it first."
    ]

    said = report_to(
        RideStatus.IN_PROGRESS,
        occurred_at=BOARDED,
        signatures=tuple(signed("pickup", "facility driver")),
        odometer="10.0",
    )
    service.change_status(ride_id=ride.pk, report=said, by=dispatcher, at=AT)
    said = report_to(RideStatus.COMPLETED, occurred_at=DROPPED_OFF, signatures=tuple(signed("dropoff", "driver")))
    done = service.change_status(ride_id=ride.pk, report=said, by=dispatcher, at=AT)

    assert done.missing_documents == ["dropoff_signature_rider", "odometer_end"]
