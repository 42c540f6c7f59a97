"""Both clocks of a discharge, and its checklist."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pytest

from apps.organizations.service_levels import DEFAULTS
from apps.rides.rules.discharge import Clock, checklist, facility_clock, transport_clock
from tests.factories import NOW

MINUTE = dt.timedelta(minutes=1)
ORDERED = {"dischargeOrderAt": "2026-11-20T13:40:00Z"}  # 80 minutes before NOW


@dataclass
class Patient:
    status: str = "scheduled"
    will_call: bool = True
    ready_at: dt.datetime | None = None
    boarded_at: dt.datetime | None = None
    discharge: Any = None


@pytest.mark.parametrize(
    ("patient", "counted"),
    [
        (Patient(), None),
        (Patient(discharge={}), None),
        (Patient(discharge=ORDERED), Clock(80, running=True)),
        (Patient(discharge=ORDERED, will_call=False), None),
        (Patient(discharge={"dischargeOrderAt": "2026-11-20T15:01:00Z"}), None),
        (Patient(discharge=ORDERED, ready_at=NOW - 30 * MINUTE), Clock(50, running=False)),
        (Patient(discharge=ORDERED, ready_at=NOW - 90 * MINUTE), Clock(0, running=False)),
        (Patient(discharge=ORDERED, status="cancelled"), None),
        (Patient(discharge=ORDERED, status="completed", ready_at=NOW - 60 * MINUTE), Clock(20, running=False)),
    ],
)
def test_facility_clock_counts_from_the_order_to_ready(patient: Patient, counted: Clock | None) -> None:
    assert facility_clock(patient, NOW) == counted


@pytest.mark.parametrize(
    ("patient", "counted"),
    [
        (Patient(), None),
        (Patient(ready_at=NOW - 59 * MINUTE), (59, True)),
        (Patient(ready_at=NOW - 59 * MINUTE, boarded_at=NOW - 9 * MINUTE, status="in_progress"), (50, False)),
        (Patient(ready_at=NOW - 59 * MINUTE, boarded_at=NOW - 9 * MINUTE, status="completed"), (50, False)),
        (Patient(ready_at=NOW - 59 * MINUTE, status="no_show"), None),
    ],
)
def test_transport_clock_counts_from_ready_to_on_board(patient: Patient, counted: tuple[int, bool] | None) -> None:
    clock = transport_clock(patient, DEFAULTS, NOW)

    assert clock == (None if counted is None else Clock(*counted, target=60, limit=180))


@pytest.mark.parametrize(
    ("minutes", "target", "limit", "tone"),
    [
        (60, 60, 180, "ok"),
        (61, 60, 180, "warn"),
        (180, 60, 180, "warn"),
        (181, 60, 180, "bad"),
        (500, None, None, ""),
        (500, 60, None, ""),
    ],
)
def test_clock_is_judged_by_what_the_facility_agreed_on(
    minutes: int, target: int | None, limit: int | None, tone: str
) -> None:
    assert Clock(minutes, running=True, target=target, limit=limit).tone == tone


def test_checklist_names_what_concerns_the_patient() -> None:
    said = {"orderSigned": True, "paperwork": False, "pcsOnFile": True}

    plain = checklist({"checklist": said}, oxygen_uses=False)
    special = checklist({"receiving": {"name": "Desk"}, "pcs": {"required": True}}, oxygen_uses=True)

    assert [(one.key, one.done, one.blocks_discharge) for one in plain] == [
        ("orderSigned", True, False),
        ("medsInHand", None, False),
        ("belongings", None, False),
        ("pcsOnFile", True, False),
        ("paperwork", False, False),
    ]
    assert [one.key for one in special if one.blocks_discharge] == ["orderSigned", "oxygenDelivered"]
    assert [one.key for one in special][3:6] == ["oxygenDelivered", "receivingConfirmed", "pcsOnFile"]
