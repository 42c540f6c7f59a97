"""Who may drive a ride, and with what: every check, one function each, all answered at once.

Pure: the facts come in, violations go out; nothing here asks the database or the clock.  `CHECKS` is the whole list.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final
from uuid import UUID

from apps.fleet.rules.credentials import CredentialGap, CredentialStatus, CredentialType, Subject, missing_or_expired
from apps.rides.rules.facts import (
    DriverFacts,
    RideNeeds,
    RideSlot,
    Span,
    VehicleFacts,
)
from lib.languages import language_name_lazy
from lib.messages import Message, Template, all_of
from lib.messages import gettext_lazy as _
from lib.travel.times import drive_between

# Steps a rider who does not walk unaided can be helped over by one person.
STEPS_FOR_ONE_PERSON: Final = 3
# Width of a lift or ramp that is not measured: the minimum clear width of federal rules (36 CFR 1192.23(b)(6)).
COMMON_CHAIR_WIDTH_IN: Final = 30.0
# Passenger-carrying drivers: 15 hours on duty after 8 off (49 CFR 395.5(a)(2)); applied to small vehicles, too.
MAX_DUTY: Final = timedelta(hours=15)
REST: Final = timedelta(hours=8)
# A shared rider's time on board: an hour, or twice the direct ride if longer.
MAX_ONBOARD_MINUTES: Final = 60.0
MAX_ONBOARD_FACTOR: Final = 2.0

_ACTIVATIONS: Final = {"pending": _("pending"), "suspended": _("suspended"), "inactive": _("inactive")}
_VEHICLE_STATUSES: Final = {
    "out_of_service": _("out of service"),
    "maintenance": _("maintenance"),
    "retired": _("retired"),
}
_TRAININGS: Final = {
    "wheelchair_securement": _("wheelchair securement"),
    "stretcher": _("stretcher"),
    "bariatric": _("bariatric"),
    "oxygen": _("oxygen"),
}
_GENDERS: Final = {
    "female": _("The rider asks for a female driver."),
    "male": _("The rider asks for a male driver."),
}


class ViolationKind(StrEnum):
    """Hard violations refuse; soft ones give way to an override with a reason."""

    HARD = "hard"
    SOFT = "soft"


class ViolationCode(StrEnum):
    DRIVER_INACTIVE = "DRIVER_INACTIVE"
    VEHICLE_OUT_OF_SERVICE = "VEHICLE_OUT_OF_SERVICE"
    PROVIDER_MISMATCH = "PROVIDER_MISMATCH"
    CREDENTIAL_INVALID = "CREDENTIAL_INVALID"
    VEHICLE_NOT_SUITABLE = "VEHICLE_NOT_SUITABLE"
    DRIVER_NOT_QUALIFIED = "DRIVER_NOT_QUALIFIED"
    PAIRING_EXCLUDED = "PAIRING_EXCLUDED"
    ATTENDANT_REQUIRED = "ATTENDANT_REQUIRED"
    SCHEDULE_CONFLICT = "SCHEDULE_CONFLICT"
    OUTSIDE_SHIFT = "OUTSIDE_SHIFT"
    PREFERENCE_UNMET = "PREFERENCE_UNMET"
    RIDE_TIME_EXCEEDED = "RIDE_TIME_EXCEEDED"


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule that an assignment breaks.

    `subject_id` is the driver, attendant, vehicle or conflicting ride.  The message names no person.
    """

    code: ViolationCode
    kind: ViolationKind
    message: Template
    subject_id: UUID


@dataclass(frozen=True, slots=True)
class Pairing:
    """A ride with a candidate driver and vehicle.  `vehicle` None: no vehicle is known for the driver."""

    needs: RideNeeds
    driver: DriverFacts
    vehicle: VehicleFacts | None
    attendants: tuple[DriverFacts, ...] = ()

    @property
    def crew(self) -> tuple[DriverFacts, ...]:
        return (self.driver, *self.attendants)


# What a check finds: words, and the id of what they are about.
Findings = Iterator[tuple[Template, UUID]]


def _inactive(pair: Pairing) -> Findings:
    for person in pair.crew:
        if person.activation != "active":
            activation = _ACTIVATIONS[person.activation]
            text = Message(
                _("%(person)s is %(activation)s, not active."),
                {"person": _role(pair, person), "activation": activation},
            )
            yield text, person.id


def _out_of_service(pair: Pairing) -> Findings:
    vehicle = pair.vehicle
    if vehicle is not None and vehicle.status != "in_service":
        yield Message(_("The vehicle is %(status)s."), {"status": _VEHICLE_STATUSES[vehicle.status]}), vehicle.id


def _other_provider(pair: Pairing) -> Findings:
    for person in pair.attendants:
        if person.provider_id != pair.driver.provider_id:
            yield _("The attendant works for another provider than the driver."), person.id
    if pair.vehicle is not None and pair.vehicle.provider_id != pair.driver.provider_id:
        yield _("The vehicle belongs to another provider than the driver's."), pair.vehicle.id


def _credentials(pair: Pairing) -> Findings:
    day = pair.needs.service_date
    for gap in missing_or_expired(Subject.DRIVER, pair.driver.credentials, day):
        yield Message(_("Driver: %(gap)s."), {"gap": _gap_text(gap)}), pair.driver.id
    for person in pair.attendants:
        # An attendant does not drive and needs no credentials for driving.
        for gap in missing_or_expired(Subject.DRIVER, person.credentials, day):
            if gap.type not in {"driver_license", "mvr"}:
                yield Message(_("Attendant: %(gap)s."), {"gap": _gap_text(gap)}), person.id
    if pair.vehicle is not None:
        for gap in missing_or_expired(Subject.VEHICLE, pair.vehicle.credentials, day):
            yield Message(_("Vehicle: %(gap)s."), {"gap": _gap_text(gap)}), pair.vehicle.id


def _unsuitable(pair: Pairing) -> Findings:
    needs, vehicle = pair.needs, pair.vehicle
    if vehicle is None:
        yield _("The driver has no vehicle at that time: no shift, and no default vehicle."), pair.driver.id
        return
    if not any(config.holds(needs.spaces) for config in vehicle.configs):
        yield (
            Message(_("The vehicle has no configuration for %(spaces)s."), {"spaces": _spaces_in_words(needs)}),
            vehicle.id,
        )
    if needs.ambulance and vehicle.type != "bls_ambulance":
        yield _("The ride was booked as an ambulance."), vehicle.id
    if needs.in_chair and vehicle.lift_type == "none":
        yield _("The vehicle has no lift or ramp."), vehicle.id
    rating, weight = vehicle.lift_rating_lb, needs.combined_weight_lb
    rolls_in = needs.in_chair or needs.on_stretcher
    if rolls_in and vehicle.lift_type != "none" and rating is not None and weight is not None and weight > rating:
        text = Message(
            _("The lift limit is %(rating)s lb; rider and wheelchair weigh %(weight)s lb."),
            {"rating": rating, "weight": weight},
        )
        yield text, vehicle.id
    width = vehicle.max_chair_width_in if vehicle.max_chair_width_in is not None else COMMON_CHAIR_WIDTH_IN
    if needs.in_chair and needs.chair_width_in is not None and needs.chair_width_in > width:
        text = Message(
            _("The door or ramp fits wheelchairs up to %(most)s in wide; this one is %(width)s in."),
            {"most": f"{width:g}", "width": f"{needs.chair_width_in:g}"},
        )
        yield text, vehicle.id
    if needs.bariatric and rolls_in and not vehicle.bariatric:
        yield _("The vehicle is not equipped for bariatric chairs or stretchers."), vehicle.id
    if needs.oxygen_mount and not vehicle.oxygen_mount:
        yield _("The vehicle has no oxygen mount."), vehicle.id


def _unqualified(pair: Pairing) -> Findings:
    needs = pair.needs
    needed_trainings = {
        "wheelchair_securement": needs.in_chair,
        "stretcher": needs.on_stretcher,
        "bariatric": needs.bariatric,
        "oxygen": needs.oxygen,
    }
    for qualification, needed in needed_trainings.items():
        if needed and qualification not in pair.driver.qualifications:
            training = _TRAININGS[qualification]
            yield (
                Message(_("The driver does not have this training: %(training)s."), {"training": training}),
                pair.driver.id,
            )


def _excluded(pair: Pairing) -> Findings:
    for person in pair.crew:
        if person.id in pair.needs.excluded_driver_ids:
            text = Message(
                _("The rider is not to be paired with this %(person)s."), {"person": _role_word(pair, person)}
            )
            yield text, person.id
        elif pair.needs.rider_id in person.excluded_rider_ids:
            text = Message(
                _("This %(person)s is not to be paired with the rider."), {"person": _role_word(pair, person)}
            )
            yield text, person.id


def _alone(pair: Pairing) -> Findings:
    needs = pair.needs
    reasons: list[tuple[Template, bool]] = [
        (_("a stretcher"), needs.on_stretcher),
        (_("a bariatric rider"), needs.bariatric),
        (Message(_("%(steps)s steps"), {"steps": needs.steps}), needs.steps > STEPS_FOR_ONE_PERSON),
        (_("the rider's profile"), needs.second_person),
    ]
    asking = [reason for reason, asks in reasons if asks]
    if asking and not pair.attendants:
        yield Message(_("A second person is needed: %(reasons)s."), {"reasons": asking}), pair.driver.id


def _conflicts(pair: Pairing) -> Findings:
    this_ride = pair.needs.slot
    other_rides = {slot.ride_id: slot for person in pair.crew for slot in person.slots}
    if pair.vehicle is not None:
        other_rides |= {slot.ride_id: slot for slot in pair.vehicle.slots}
    for other_ride in sorted(other_rides.values(), key=lambda slot: slot.span.starts_at):
        if pair.needs.overdue and other_ride.on_board:
            continue  # an overdue rider waits until the driver's next drop-off: that is a delay and no conflict
        clash = _clash(this_ride, other_ride, _busy_person(pair, other_ride))
        if clash:
            yield clash, other_ride.ride_id
    if pair.vehicle is not None:
        for shift in pair.vehicle.shifts:
            if shift.driver_id != pair.driver.id and shift.span.overlaps(this_ride.span):
                yield _("The vehicle is in another driver's shift at that time."), pair.vehicle.id


def _off_duty(pair: Pairing) -> Findings:
    mine = pair.needs.slot.span
    for person in pair.crew:
        role = _role(pair, person)
        if any(leave.overlaps(mine) for leave in person.leave):
            yield Message(_("%(person)s is on leave at that time."), {"person": role}), person.id
        elif person.shifts and not any(shift.span.covers(mine) for shift in person.shifts):
            text = Message(_("Outside the %(person)s's shift"), {"person": _role_word(pair, person)})
            yield text, person.id
        elif any(shift.pause is not None and shift.pause.overlaps(mine) for shift in person.shifts):
            yield Message(_("%(person)s has a planned break at that time."), {"person": role}), person.id
        duty = _duty_with(mine, [slot.span for slot in person.slots])
        if duty > MAX_DUTY:
            hours = duty.total_seconds() / 3600
            text = Message(
                _("%(person)s would be on duty for %(hours)s h without %(rest)s h of rest."),
                {"person": role, "hours": f"{hours:.1f}", "rest": REST.seconds // 3600},
            )
            yield text, person.id


def _preferences(pair: Pairing) -> Findings:
    needs, driver = pair.needs, pair.driver
    if needs.preferred_driver_ids and driver.id not in needs.preferred_driver_ids:
        yield _("Not one of the rider's preferred drivers."), driver.id
    if needs.driver_gender and driver.gender != needs.driver_gender:
        yield _GENDERS[needs.driver_gender], driver.id
    if needs.language and needs.language not in driver.languages:
        text = Message(_("Language mismatch (rider: %(language)s)"), {"language": language_name_lazy(needs.language)})
        yield text, driver.id


def _on_board_too_long(pair: Pairing) -> Findings:
    if pair.vehicle is None:
        return
    this_ride = pair.needs.slot
    for other_ride in pair.vehicle.slots:
        shared = other_ride.driver_id == pair.driver.id and other_ride.span.overlaps(this_ride.span)
        if shared and not _can_share(this_ride, other_ride):
            yield _("Ride time over the limit for a shared trip."), other_ride.ride_id


Check = Callable[[Pairing], Findings]

# The whole list, in the order in which a dispatcher reads it.
CHECKS: Final[Mapping[ViolationCode, tuple[ViolationKind, Check]]] = {
    ViolationCode.DRIVER_INACTIVE: (ViolationKind.HARD, _inactive),
    ViolationCode.VEHICLE_OUT_OF_SERVICE: (ViolationKind.HARD, _out_of_service),
    ViolationCode.PROVIDER_MISMATCH: (ViolationKind.HARD, _other_provider),
    ViolationCode.CREDENTIAL_INVALID: (ViolationKind.HARD, _credentials),
    ViolationCode.VEHICLE_NOT_SUITABLE: (ViolationKind.HARD, _unsuitable),
    ViolationCode.DRIVER_NOT_QUALIFIED: (ViolationKind.HARD, _unqualified),
    ViolationCode.PAIRING_EXCLUDED: (ViolationKind.HARD, _excluded),
    ViolationCode.ATTENDANT_REQUIRED: (ViolationKind.HARD, _alone),
    ViolationCode.SCHEDULE_CONFLICT: (ViolationKind.SOFT, _conflicts),
    ViolationCode.OUTSIDE_SHIFT: (ViolationKind.SOFT, _off_duty),
    ViolationCode.PREFERENCE_UNMET: (ViolationKind.SOFT, _preferences),
    ViolationCode.RIDE_TIME_EXCEEDED: (ViolationKind.SOFT, _on_board_too_long),
}


def violations(
    needs: RideNeeds,
    driver: DriverFacts,
    vehicle: VehicleFacts | None,
    attendants: Sequence[DriverFacts] = (),
) -> list[Violation]:
    """List the rules that an assignment breaks, hard ones first.

    `vehicle` None means that no vehicle is known for the driver, which is a violation.
    """
    pair = Pairing(needs, driver, vehicle, tuple(attendants))
    return [
        Violation(code, kind, message, subject_id)
        for code, (kind, check) in CHECKS.items()
        for message, subject_id in check(pair)
    ]


def _clash(this_ride: RideSlot, other_ride: RideSlot, person: Template) -> Template | None:
    """Return why one person or vehicle cannot serve both rides; None if it can.

    The window of the later ride is no time to drive in; without coordinates, only overlap counts.  `ride` of the
    message stands for the other ride, which pages name.
    """
    if this_ride.span.overlaps(other_ride.span):
        return Message(_("%(person)s has %(ride)s at that time."), {"person": person, "ride": _("another ride")})
    first, second = (
        (this_ride, other_ride) if this_ride.span.starts_at < other_ride.span.starts_at else (other_ride, this_ride)
    )
    drive = drive_between(first.dropoff, second.pickup, depart_at=first.span.ends_at)
    spare = second.span.starts_at - first.span.ends_at
    if drive is None or drive.duration <= spare:
        return None
    template = (
        _("%(person)s needs %(needed)s min to drive from %(ride)s and has %(spare)s.")
        if first is other_ride
        else _("%(person)s needs %(needed)s min to drive to %(ride)s and has %(spare)s.")
    )
    return Message(
        template,
        {
            "person": person,
            "needed": drive.minutes,
            "ride": _("the ride before") if first is other_ride else _("the ride after"),
            "spare": int(spare.total_seconds() // 60),
        },
    )


def _can_share(this_ride: RideSlot, other_ride: RideSlot) -> bool:
    """Check whether some order of the drop-offs keeps both riders within their limits; true without coordinates."""
    first, second = (
        (this_ride, other_ride) if this_ride.span.starts_at <= other_ride.span.starts_at else (other_ride, this_ride)
    )
    legs = (
        (first.pickup, second.pickup),
        (first.pickup, first.dropoff),
        (second.pickup, second.dropoff),
        (second.pickup, first.dropoff),
        (first.dropoff, second.dropoff),
    )
    drives = [drive_between(start, end, depart_at=first.span.starts_at) for start, end in legs]
    minutes = [drive.seconds / 60 for drive in drives if drive is not None]
    if len(minutes) < len(legs):
        return True
    between, direct_1, direct_2, onward_1, apart = minutes
    to_second = between + second.load_minutes
    orders = (
        (to_second + onward_1, onward_1 + first.unload_minutes + apart),
        (to_second + direct_2 + second.unload_minutes + apart, direct_2),
    )
    return any(on_1 <= _onboard_limit(direct_1) and on_2 <= _onboard_limit(direct_2) for on_1, on_2 in orders)


def _onboard_limit(direct_minutes: float) -> float:
    return max(MAX_ONBOARD_MINUTES, MAX_ONBOARD_FACTOR * direct_minutes)


def _duty_with(mine: Span, spans: list[Span]) -> timedelta:
    """Return the length of duty around `mine`: rides less than a rest apart belong together."""
    starts_at: datetime = mine.starts_at
    ends_at: datetime = mine.ends_at
    for span in sorted(spans, key=lambda span: span.starts_at, reverse=True):
        if span.starts_at <= starts_at and span.ends_at > starts_at - REST:
            starts_at = span.starts_at
    for span in sorted(spans, key=lambda span: span.starts_at):
        if span.ends_at >= ends_at and span.starts_at < ends_at + REST:
            ends_at = span.ends_at
    return ends_at - starts_at


def _role_word(pair: Pairing, person: DriverFacts) -> Template:
    return _("driver") if person is pair.driver else _("attendant")


def _role(pair: Pairing, person: DriverFacts) -> Template:
    return _("The driver") if person is pair.driver else _("The attendant")


def _busy_person(pair: Pairing, other_ride: RideSlot) -> Template:
    """Return the role of the person, or the vehicle, that the other ride occupies."""
    on_it = {other_ride.driver_id, *other_ride.attendant_ids}
    for person in pair.crew:
        if person.id in on_it:
            return _role(pair, person)
    return _("The vehicle")


def _gap_text(gap: CredentialGap) -> Template:
    credential = CredentialType(gap.type).label
    if gap.status is CredentialStatus.EXPIRED and gap.expires_on is not None:
        return Message(
            _("%(credential)s expires on %(day)s, before the day of the ride"),
            {"credential": credential, "day": gap.expires_on},
        )
    template = (
        _("%(credential)s is rejected") if gap.status is CredentialStatus.REJECTED else _("%(credential)s is missing")
    )
    return Message(template, {"credential": credential})


def _spaces_in_words(needs: RideNeeds) -> Template:
    spaces = needs.spaces
    counted = (
        (_("%(count)s ambulatory"), spaces.ambulatory),
        (_("%(count)s wheelchair"), spaces.wheelchair),
        (_("%(count)s stretcher"), spaces.stretcher),
    )
    texts = [Message(template, {"count": count}) for template, count in counted if count]
    return all_of(texts) if texts else _("this ride")
