"""What a late vehicle means for the rider, and from when on it is critical.  Pure.

A treatment is lost when its chair goes to another patient, an admission when the receiving facility closes its intake:
both are critical as soon as it is known that the rider will miss them.  An ordinary appointment can be moved, and on
the way home nothing is missed: these are warnings, until the rider has waited for an hour.
"""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final


class Stake(StrEnum):
    """What a rider has to lose."""

    TREATMENT = "treatment"  # dialysis and other treatment that keeps the rider alive
    ADMISSION = "admission"  # a discharge to a facility that expects the patient
    APPOINTMENT = "appointment"
    NOTHING_BOOKED = "nothing_booked"  # on the way home


# How late at the destination is too late; None: never, the time can be moved.
MISSED_AFTER: Final[Mapping[Stake, timedelta | None]] = {
    Stake.TREATMENT: timedelta(minutes=15),
    Stake.ADMISSION: timedelta(0),
    Stake.APPOINTMENT: None,
    Stake.NOTHING_BOOKED: None,
}
# A pickup is critical so long after its promise, whatever waits at the destination.
CRITICAL_WAIT: Final = timedelta(minutes=60)


def stake_of(*, service_type: str, priority: str, is_awaited: bool) -> Stake:
    """Return what the rider has to lose; `is_awaited`: somebody expects the rider at a time."""
    if not is_awaited:
        return Stake.NOTHING_BOOKED
    if service_type == "hospital_discharge":
        return Stake.ADMISSION
    if service_type == "dialysis" or priority == "life_sustaining":
        return Stake.TREATMENT
    return Stake.APPOINTMENT
