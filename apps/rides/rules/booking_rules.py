"""What a booking has to satisfy: hard rules refuse it and name the field, soft ones leave it to a person.

Pure: drafts and facts in, findings out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from apps.organizations.rules import stops
from apps.rides.rules.draft import RideDraft
from lib.errors import Detail
from lib.messages import FieldName, Message, Template
from lib.messages import gettext_lazy as _

NOW_LASTS: Final = timedelta(minutes=15)  # a pickup time that has just passed means now
AFTER_THE_FACT_FOR: Final = timedelta(hours=72)  # a ride that took place may be recorded for so long
IN_PAST: Final = "in_past"
LEGS_WITHIN: Final = timedelta(days=1)  # between the days of the first and the last leg of a trip
FARTHEST_PICKUP: Final = timedelta(days=731)  # beyond lie typing errors
DISCHARGE_REQUIRED: Final = ("unit", "unitPhone", "planner")  # of every discharge
# Vehicle types that take a wheelchair tied down, and those that take a stretcher.
CARRIES_WHEELCHAIR: Final = frozenset({"wheelchair_van", "stretcher_van", "bls_ambulance"})
CARRIES_STRETCHER: Final = frozenset({"stretcher_van", "bls_ambulance"})


class Question(StrEnum):
    """Soft rules by code: each waits for a dispatcher's yes."""

    FACILITY_REVIEW = "facility_review"
    LEAD_TIME = "lead_time"
    SERVICE_AREA = "service_area"
    UNKNOWN_COORDINATES = "unknown_coordinates"
    NO_FITTING_VEHICLE = "no_fitting_vehicle"
    AUTHORIZATION_MISSING = "authorization_missing"
    AUTHORIZATION_EXPIRED = "authorization_expired"


QUESTION_TEXTS: Final[Mapping[Question, Template]] = {
    Question.FACILITY_REVIEW: _("The facility reviews every booking."),
    Question.LEAD_TIME: _("The pickup is sooner than the facility's lead time allows."),
    Question.SERVICE_AREA: _("A stop is outside the service area."),
    Question.UNKNOWN_COORDINATES: _("Service area not checked: a stop has no coordinates."),
    Question.NO_FITTING_VEHICLE: _("No vehicle in service has the required capacity."),
    Question.AUTHORIZATION_MISSING: _("The payer requires an authorization."),
    Question.AUTHORIZATION_EXPIRED: _("The payer's authorization ends before the day of the ride."),
}


@dataclass(frozen=True, slots=True)
class Facts:
    """What the soft rules look at."""

    at: datetime
    pickup_at: datetime
    service_date: date
    lead_time_minutes: int
    facility_reviews: bool
    within_area: bool | None  # None: no area is set, or a stop has no coordinates
    area_is_set: bool
    vehicle_fits: bool
    authorization_required: bool
    authorization_number: str
    authorization_expires_on: date | None


def review_reasons(facts: Facts) -> list[Question]:
    """List the soft rules a booking breaks, in a fixed order."""
    expires_on = facts.authorization_expires_on
    broken = {
        Question.FACILITY_REVIEW: facts.facility_reviews,
        # A pickup now is no planning error: the rider waits already.
        Question.LEAD_TIME: timedelta(0) < facts.pickup_at - facts.at < timedelta(minutes=facts.lead_time_minutes),
        Question.SERVICE_AREA: facts.within_area is False,
        Question.UNKNOWN_COORDINATES: facts.area_is_set and facts.within_area is None,
        Question.NO_FITTING_VEHICLE: not facts.vehicle_fits,
        Question.AUTHORIZATION_MISSING: facts.authorization_required and not facts.authorization_number,
        Question.AUTHORIZATION_EXPIRED: facts.authorization_required
        and expires_on is not None
        and expires_on < facts.service_date,
    }
    return [question for question, is_broken in broken.items() if is_broken]


OUT_OF_ORDER: Final = _("The return trip must be after the outbound trip.")


def follows(pickup_at: datetime, first_pickup_at: datetime, first_appointment_at: datetime | None) -> bool:
    """Say whether a leg can come after another one of its trip: it begins after what the other one was for."""
    return pickup_at > (first_appointment_at or first_pickup_at)


def refusals(draft: RideDraft, *, at: datetime, mobility: str, leg_type: str) -> list[Detail]:
    """List every hard rule a leg breaks, each naming its field in the API's spelling.

    `pickup` and `dropoff` of the draft are normal stops, filled from their facilities; `mobility` is that of this leg.
    """
    return [
        *times(draft, draft.pickup_at, draft.appointment_at, at=at, leg_type=leg_type),
        *stops.problems(draft.pickup, path="pickup"),
        *stops.problems(draft.dropoff, path="dropoff"),
        *_discharge(draft),
        *_vehicle(draft, mobility),
    ]


def times(
    draft: RideDraft,
    pickup_at: datetime,
    appointment_at: datetime | None,
    *,
    at: datetime,
    leg_type: str,
) -> list[Detail]:
    """List the hard rules that a leg of the draft breaks at these times; those in the draft do not count."""
    violations = _after_the_fact(draft, pickup_at, at=at) if draft.after_the_fact else []
    if not draft.after_the_fact and is_past(pickup_at, at=at):
        violations.append(_past(_("%(field)s has passed. Enter a time that is still to come.")))
    if pickup_at > at + FARTHEST_PICKUP:
        violations.append(_invalid("pickupTime", _("%(field)s is more than two years ahead.")))
    if appointment_at is not None and appointment_at <= pickup_at:
        violations.append(
            _invalid(
                "appointmentTime",
                Message(_("%(field)s must be after %(other)s."), {"other": FieldName("pickupTime")}),
            )
        )
    if appointment_at is None:
        if draft.service_type == "dialysis" and leg_type != "return":
            violations.append(_required("appointmentTime", _("A dialysis ride needs the chair time as %(field)s.")))
        elif draft.scheduling_anchor == "appointment":
            violations.append(_required("appointmentTime", _("schedulingAnchor appointment needs an %(field)s.")))
    return violations


def is_past(pickup_at: datetime, *, at: datetime, past: timedelta = NOW_LASTS) -> bool:
    """Return whether the pickup time is over at `at`; one of the last minutes means now."""
    return pickup_at < at - past


def _after_the_fact(draft: RideDraft, pickup_at: datetime, *, at: datetime) -> list[Detail]:
    violations = []
    if is_past(pickup_at, at=at, past=AFTER_THE_FACT_FOR):
        violations.append(_past(_("%(field)s is more than 72 hours ago. Such a ride can no longer be recorded.")))
    if pickup_at > at:
        violations.append(
            _invalid(
                "pickupTime", _("%(field)s has not passed yet. Book the ride without recording it after the fact.")
            )
        )
    if draft.will_call:
        violations.append(_invalid("willCall", _("A ride that is recorded after the fact cannot be a will-call ride.")))
    return violations


def _discharge(draft: RideDraft) -> list[Detail]:
    if draft.service_type != "hospital_discharge":
        return []
    if draft.discharge is None:
        return [_required("discharge", _("A hospital discharge needs its discharge details."))]
    details: Mapping[str, Any] = draft.discharge
    return [
        _required(f"discharge.{key}", _("A hospital discharge needs %(field)s."))
        for key in DISCHARGE_REQUIRED
        if not details.get(key)
    ]


def _vehicle(draft: RideDraft, mobility: str) -> list[Detail]:
    vehicle_type = draft.vehicle_type_requested
    lying = mobility.startswith("stretcher")
    in_chair = mobility in ("wheelchair", "wheelchair_power", "wheelchair_bariatric", "recliner_chair")
    if vehicle_type and (
        (lying and vehicle_type not in CARRIES_STRETCHER) or (in_chair and vehicle_type not in CARRIES_WHEELCHAIR)
    ):
        return [_invalid("vehicleTypeRequested", _("A vehicle of this type cannot carry the rider's mobility."))]
    return []


def _past(message: Template) -> Detail:
    return Detail(field="pickupTime", code=IN_PAST, message=message)


def _invalid(field: str, message: Template) -> Detail:
    return Detail(field=field, code="invalid", message=message)


def _required(field: str, message: Template) -> Detail:
    return Detail(field=field, code="required", message=message)
