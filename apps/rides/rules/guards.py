"""The guards of transitions: one pure function each, which returns the message if the guard is not met.

`services.guards.facts_of` reads the facts from the database.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from apps.riders.rules.needs import Mobility
from apps.rides.rules.lifecycle import SOFT_GUARDS, Guard
from lib.messages import Message, Template, all_of, ngettext_lazy
from lib.messages import gettext_lazy as _

CORRECTION_WINDOW = timedelta(hours=72)  # `correctionWindowHours`
# Minutes to wait before a no-show where the facility has not set its own.
WAIT_AT_HOME_MINUTES = 5
WAIT_AT_FACILITY_MINUTES = 10
WAIT_ON_RELEASE_MINUTES = 15  # discharges and will-call: the rider was given no exact time

# Someone is tied down in these; a sliding chair or stretcher kills.
SECURED: Final = frozenset(
    {
        Mobility.WHEELCHAIR,
        Mobility.WHEELCHAIR_POWER,
        Mobility.WHEELCHAIR_BARIATRIC,
        Mobility.RECLINER_CHAIR,
        Mobility.STRETCHER,
        Mobility.STRETCHER_BARIATRIC,
    }
)
_ITEM_TEXTS: Final = {
    "orderSigned": _("the discharge order is not signed"),
    "oxygenDelivered": _("oxygen has not been delivered"),
}
_PROOF_TEXTS: Final = {
    "odometer_start": _("odometer"),
    "pickup_signature": _("signature"),
    "pickup_signature_driver": _("driver's signature"),
    "pickup_signature_rider": _("rider's signature"),
}
_ATTEMPTS: Final = ngettext_lazy(
    "Try to reach the rider, and log %(required)s contact attempt at the pickup; %(count)s so far.",
    "Try to reach the rider, and log %(required)s contact attempts at the pickup; %(count)s so far.",
    "required",
)


@dataclass(frozen=True, slots=True)
class ContactAttempt:
    """An attempt to reach the rider or the facility at the pickup; `contacted` is "rider" or "facility"."""

    at: datetime
    contacted: str


@dataclass(frozen=True, slots=True)
class Facts:
    """What the guards look at: the ride under its lock, its report, and the credentials of driver and vehicle.

    `at` is when the step happened, by the reporter's clock.
    """

    at: datetime
    pickup_at: datetime
    window_ends_at: datetime
    will_call: bool
    ready_at: datetime | None
    promised_pickup_by: datetime | None
    service_type: str
    pickup_at_facility: bool
    mobility: str
    oxygen_uses: bool
    handoff_required: bool
    discharge_checklist: Mapping[str, Any]
    facility_wait_minutes: int | None
    arrived_at: datetime | None
    contact_attempts: tuple[ContactAttempt, ...] = ()
    invalid_credentials: tuple[Template, ...] = ()
    vehicle_in_service: bool = True
    securement_confirmed: bool = False
    proof_missing: tuple[str, ...] = ()  # as `documentation.missing_at` names it
    handoff_name: str = ""
    rider_location_given: bool = False
    ended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """A guard that is not met.  `soft` ones give way to an override with a reason."""

    guard: Guard
    message: Template

    @property
    def soft(self) -> bool:
        return self.guard in SOFT_GUARDS


def no_show_wait_minutes(facts: Facts) -> int:
    """Return how long the driver has to wait, in minutes: see `wait_minutes`."""
    return wait_minutes(
        facility_minutes=facts.facility_wait_minutes,
        will_call=facts.will_call,
        service_type=facts.service_type,
        at_facility=facts.pickup_at_facility,
    )


def wait_minutes(*, facility_minutes: int | None, will_call: bool, service_type: str, at_facility: bool) -> int:
    """Return how long a driver waits for a rider: the setting of the facility, else by the kind of pickup."""
    if facility_minutes is not None:
        return facility_minutes
    if will_call or service_type == "hospital_discharge":
        return WAIT_ON_RELEASE_MINUTES
    return WAIT_AT_FACILITY_MINUTES if at_facility else WAIT_AT_HOME_MINUTES


def _will_call_released(facts: Facts) -> Template | None:
    if facts.will_call and facts.ready_at is None:
        return _("The rider is not ready yet: the facility or rider must mark the ride ready first.")
    return None


def _credentials_valid(facts: Facts) -> Template | None:
    if facts.invalid_credentials:
        return Message(
            _("Not valid today: %(credentials)s. Assign another driver or vehicle."),
            {"credentials": facts.invalid_credentials},
        )
    return None


def _vehicle_in_service(facts: Facts) -> Template | None:
    return None if facts.vehicle_in_service else _("The vehicle is not in service. Assign another vehicle.")


def open_required_items(checklist: Mapping[str, Any], *, oxygen_uses: bool) -> list[str]:
    """List the open checklist items without which the patient may not leave."""
    required = ["orderSigned", *(["oxygenDelivered"] if oxygen_uses else [])]
    return [item for item in required if checklist.get(item) is not True]


def _discharge_checklist(facts: Facts) -> Template | None:
    """Checked when a will-call ride is released, otherwise when the vehicle departs."""
    if facts.service_type != "hospital_discharge" or facts.ready_at is not None:
        return None
    blocking = open_required_items(facts.discharge_checklist, oxygen_uses=facts.oxygen_uses)
    open_items = [_ITEM_TEXTS[item] for item in blocking]
    template = _("Checklist: %(items)s. Complete it first.")
    return Message(template, {"items": all_of(open_items)}) if open_items else None


def _securement_confirmed(facts: Facts) -> Template | None:
    if facts.mobility in SECURED and not facts.securement_confirmed:
        return _("Ask the driver, and confirm that the wheelchair or stretcher is secured.")
    return None


def _pickup_proof(facts: Facts) -> Template | None:
    missing = [text for name, text in _PROOF_TEXTS.items() if name in facts.proof_missing]
    template = _("The payer requires at pickup: %(proof)s. Add it first.")
    return Message(template, {"proof": missing}) if missing else None


def _arrived_in_window(facts: Facts) -> Template | None:
    """A vehicle that came late cannot make a no-show: the ride ends unfulfilled, late_rider_left (PL, DR1)."""
    latest = facts.promised_pickup_by if facts.will_call and facts.promised_pickup_by else facts.window_ends_at
    if facts.arrived_at is None or facts.arrived_at > latest:
        return _("The vehicle arrived after the promised window: record unfulfilled (late_rider_left), not a no-show.")
    return None


def _waited_long_enough(facts: Facts) -> Template | None:
    """Firm rides wait from the later of arrival and pickup time; released will-call from arrival."""
    if facts.arrived_at is None:
        return _("Log the arrival at the pickup first.")
    since = facts.arrived_at if facts.will_call else max(facts.arrived_at, facts.pickup_at)
    minutes = no_show_wait_minutes(facts)
    if facts.at - since < timedelta(minutes=minutes):
        return Message(_("The driver must wait %(minutes)s minutes before a no-show."), {"minutes": minutes})
    return None


def _contact_attempted(facts: Facts) -> Template | None:
    """One attempt at the pickup, earlier calls do not count; two for discharge and dialysis, one to the facility."""
    strict = facts.service_type in ("hospital_discharge", "dialysis")
    required_count = 2 if strict else 1
    since = facts.arrived_at
    attempts = [attempt for attempt in facts.contact_attempts if since is not None and since <= attempt.at <= facts.at]
    if len(attempts) < required_count:
        return Message(_ATTEMPTS, {"required": required_count, "count": len(attempts)})
    if strict and not any(attempt.contacted == "facility" for attempt in attempts):
        return _("Call the facility too: one contact attempt at the pickup must be to the facility.")
    return None


def _handoff_named(facts: Facts) -> Template | None:
    if facts.handoff_required and not facts.handoff_name:
        return _("Name the person who received the rider.")
    return None


def _rider_location_known(facts: Facts) -> Template | None:
    return None if facts.rider_location_given else _("Enter where the rider is now.")


def _correction_window_open(facts: Facts) -> Template | None:
    if facts.ended_at is not None and facts.at - facts.ended_at > CORRECTION_WINDOW:
        return _("Outcomes can be corrected for 72 hours after the end; this ride stays as it ended.")
    return None


CHECKS: Final[Mapping[Guard, Callable[[Facts], Template | None]]] = {
    Guard.WILL_CALL_RELEASED: _will_call_released,
    Guard.CREDENTIALS_VALID: _credentials_valid,
    Guard.VEHICLE_IN_SERVICE: _vehicle_in_service,
    Guard.DISCHARGE_CHECKLIST: _discharge_checklist,
    Guard.SECUREMENT_CONFIRMED: _securement_confirmed,
    Guard.PICKUP_PROOF: _pickup_proof,
    Guard.ARRIVED_IN_WINDOW: _arrived_in_window,
    Guard.WAITED_LONG_ENOUGH: _waited_long_enough,
    Guard.CONTACT_ATTEMPTED: _contact_attempted,
    Guard.HANDOFF_NAMED: _handoff_named,
    Guard.RIDER_LOCATION_KNOWN: _rider_location_known,
    Guard.CORRECTION_WINDOW_OPEN: _correction_window_open,
}


def failed(guards: Iterable[Guard], facts: Facts) -> list[Failed]:
    """List all guards that are not met, in the order of `guards`."""
    return [Failed(guard, message) for guard in guards if (message := CHECKS[guard](facts)) is not None]
