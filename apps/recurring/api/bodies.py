"""Request bodies of standing orders: strict shape here, rules in the services."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, ClassVar, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.fleet.models import VehicleType
from apps.organizations.models import CalendarShift
from apps.organizations.rules.opening_hours import DAYS
from apps.organizations.schemas.external_ids import ExternalIdIn
from apps.organizations.schemas.stop_input import StopWithAccessIn
from apps.recurring.models import HoldReason, ReturnMode
from apps.recurring.rules.draft import OrderDraft, TermsDraft
from apps.recurring.rules.order_validation import LONGEST_STAY, MOST_HORIZON, MOST_WEEKS, SERVICES
from apps.recurring.rules.recurrence import PRESETS
from apps.recurring.services.calendar_shifts import ShiftDraft
from apps.riders.rules.needs import Mobility
from apps.riders.schemas.accommodation import AccommodationIn
from apps.rides.rules.draft import Notes, Payment
from apps.rides.schemas.ride_input import CompanionsIn, NotesIn
from apps.rides.services.ride_changes import merge
from lib.api import fields
from lib.api.serializers import In
from lib.errors import InvalidInput
from lib.messages import FieldName

MOST_EARLY: Final = 240  # minutes before the chair time
MOST_DRIVERS: Final = 20
MOST_NAMES: Final = 20
MOST_ORDERS: Final = 500  # selected by one shift
_DAY: Final = 24 * 60  # minutes
_OF_TERMS: Final = ("chair_time", "treatment_minutes", "post_treatment_minutes", "arrive_early_minutes")
_OBJECTS: Final = ("accommodation", "companions")
_OF_ORDER: Final = (
    "end_date",
    "authorization_number",
    "authorization_ends_on",
    "preferred_driver_ids",
    "generation_horizon_days",
)


class PatternIn(In):
    """Days: a preset or days of the week, every `intervalWeeks` weeks counted from the week of `anchorDate`."""

    preset = fields.Choice(choices=list(PRESETS), required=False, help_text="Instead of daysOfWeek.")
    days_of_week = fields.List(child=fields.Choice(choices=DAYS), required=False, max_length=len(DAYS))
    interval_weeks = fields.Integer(min_value=1, max_value=MOST_WEEKS, required=False)
    anchor_date = fields.LocalDate(
        required=False, allow_null=True, help_text="Null: weeks are counted from the week in which the terms begin."
    )


class OutboundIn(In):
    """The outbound leg."""

    pickup = StopWithAccessIn(required=False, allow_null=True, help_text="Null: the rider's home address.")
    dropoff = StopWithAccessIn(required=False, allow_null=True, help_text="Null: the facility.")
    pickup_time = fields.ClockTime(
        required=False,
        allow_null=True,
        help_text="Wall time; a time later than chairTime means the evening before.  Null: computed from the drive.",
    )


class ReturnIn(In):
    """The return."""

    mode = fields.Choice(choices=ReturnMode.choices, required=False)
    pickup_time = fields.ClockTime(
        required=False,
        allow_null=True,
        help_text="Only for a scheduled return.  Null: the end of the treatment.",
    )
    mobility = fields.Choice(
        choices=Mobility.choices, required=False, allow_null=True, help_text="Null: as on the outbound leg."
    )
    dropoff = StopWithAccessIn(required=False, allow_null=True, help_text="Null: the outbound pickup.")


class OrderPayerIn(In):
    """The payer."""

    payer_id = fields.Uuid(required=False, allow_null=True)
    program_code = fields.Text(max_length=30, allow_blank=True, required=False)


def _minutes(most: int) -> fields.Integer:
    return fields.Integer(min_value=0, max_value=most, required=False, allow_null=True, help_text="Null: the default.")


class _OrderFieldsIn(In):
    """Fields that can be set and changed."""

    pattern = PatternIn(required=False)
    chair_time = fields.ClockTime(required=False, help_text="Wall time at the facility.")
    treatment_minutes = _minutes(LONGEST_STAY)
    post_treatment_minutes = _minutes(LONGEST_STAY)
    arrive_early_minutes = _minutes(MOST_EARLY)
    outbound = OutboundIn(required=False)
    return_ = ReturnIn(required=False)
    accommodation = AccommodationIn(
        required=False, allow_null=True, help_text="Differences from the rider's profile; null: none."
    )
    companions = CompanionsIn(required=False, allow_null=True)
    end_date = fields.LocalDate(
        required=False, allow_null=True, help_text="The last day of the pattern.  Null: no end."
    )
    payer = OrderPayerIn(required=False)
    authorization_number = fields.Text(max_length=50, allow_blank=True, required=False)
    authorization_ends_on = fields.LocalDate(
        required=False, allow_null=True, help_text="No rides are booked after this day."
    )
    preferred_driver_ids = fields.List(child=fields.Uuid(), required=False, max_length=MOST_DRIVERS)
    vehicle_type = fields.Choice(choices=VehicleType.choices, required=False, allow_null=True)
    notes = NotesIn(required=False)
    external_ids = fields.List(child=ExternalIdIn(), required=False, max_length=MOST_NAMES)
    generation_horizon_days = fields.Integer(
        min_value=1, max_value=MOST_HORIZON, required=False, help_text="How many days ahead rides are booked."
    )


class StandingOrderIn(_OrderFieldsIn):
    """A standing order."""

    example: ClassVar[dict[str, Any]] = {
        "facilityId": "01937b2e-5f6a-7c3d-9e8f-0a1b2c3d4e60",
        "serviceType": "dialysis",
        "startDate": "2026-11-23",
        "pattern": {"preset": "mwf"},
        "chairTime": "10:30",
        "treatmentMinutes": 240,
        "outbound": {
            "pickup": {
                "addressLine1": "200 W Monroe St",
                "city": "Chicago",
                "state": "IL",
                "postalCode": "60606",
                "lat": 41.8809,
                "lng": -87.6338,
            }
        },
        "return": {"mode": "will_call"},
    }

    facility_id = fields.Uuid()
    service_type = fields.Choice(choices=SERVICES, default="dialysis")
    start_date = fields.LocalDate()
    status = fields.Choice(
        choices=["draft", "active"], default="active", help_text="A draft has no rides until it is activated."
    )
    pattern = PatternIn()
    chair_time = fields.ClockTime(help_text="Wall time at the facility.")


class StandingOrderChangesIn(_OrderFieldsIn):
    """Changes of a standing order.

    Objects merge by key (RFC 7396): null clears a nullable field, an empty string clears text.
    """

    example: ClassVar[dict[str, Any]] = {
        "scope": "this_and_following",
        "fromDate": "2026-12-07",
        "chairTime": "06:00",
        "notes": {"driver": "Ring twice."},
    }

    scope = fields.Choice(
        choices=["this_and_following", "all_future"],
        required=False,
        help_text="The dates that change.  Default: all_future.",
    )
    from_date = fields.LocalDate(
        required=False, help_text="A day of the facility's calendar; required with the scope this_and_following."
    )
    overwrite_customized = fields.Boolean(
        required=False, help_text="Also changes rides and days that people customized."
    )


class HoldIn(In):
    """Days without rides, both included."""

    example: ClassVar[dict[str, Any]] = {"from": "2026-11-25", "until": "2026-12-02", "reason": "hospital_stay"}

    from_ = fields.LocalDate()
    until = fields.LocalDate(required=False, allow_null=True, help_text="Null: until the order is resumed.")
    reason = fields.Choice(choices=HoldReason.choices)


class ResumptionIn(In):
    """The first day with rides again."""

    example: ClassVar[dict[str, Any]] = {"from": "2026-11-30"}

    from_ = fields.LocalDate()


class EndIn(In):
    """The last day of the pattern."""

    example: ClassVar[dict[str, Any]] = {"on": "2026-12-18"}

    on = fields.LocalDate(
        required=False, allow_null=True, help_text="Null: yesterday, which cancels all remaining rides."
    )


class OccurrenceChangesIn(In):
    """How one occurrence differs from the series; null removes the difference."""

    example: ClassVar[dict[str, Any]] = {"toDate": "2026-11-24", "chairTime": "07:00"}

    to_date = fields.LocalDate(
        required=False, allow_null=True, help_text="The new day, at most a week from the original one."
    )
    chair_time = fields.ClockTime(
        required=False, allow_null=True, help_text="Pickup and return move along unless their times are given."
    )
    pickup_time = fields.ClockTime(required=False, allow_null=True)
    return_time = fields.ClockTime(required=False, allow_null=True)


class CalendarShiftIn(In):
    """A day of the facility's calendar that moves to another day or closes."""

    example: ClassVar[dict[str, Any]] = {
        "fromDate": "2026-12-25",
        "toDate": "2026-12-27",
        "newChairTime": "06:00",
        "appliesTo": "mwf",
    }

    from_date = fields.LocalDate()
    to_date = fields.LocalDate(allow_null=True, help_text="At most a week away.  Null: no service that day.")
    new_chair_time = fields.ClockTime(required=False, allow_null=True)
    offset_minutes = fields.Integer(
        min_value=-_DAY, max_value=_DAY, required=False, allow_null=True, help_text="Instead of newChairTime."
    )
    applies_to = fields.Choice(
        choices=CalendarShift.AppliesTo.choices,
        default="all",
        help_text="mwf and tts are orders with exactly these days.",
    )
    standing_order_ids = fields.List(
        child=fields.Uuid(), required=False, max_length=MOST_ORDERS, help_text="Only with appliesTo selected."
    )


def draft_of(body: Mapping[str, Any]) -> OrderDraft:
    """Convert a parsed order into a draft.

    Raises:
        InvalidInput: the pattern has a preset and days.
    """
    columns = _columns_of(body)
    objects = {"pickup": {}, **_objects_of(body)}
    merged = {name: merge({}, value or {}) for name, value in objects.items()}
    terms = TermsDraft(**{"days_of_week": (), **_terms_of(body), **merged})
    required = {name: body[name] for name in ("facility_id", "start_date", "service_type")}
    payer = body.get("payer") or {}
    return OrderDraft(
        **required,
        terms=terms,
        end_date=columns.get("end_date"),
        payment=Payment(
            payer_id=payer.get("payer_id"),
            program_code=payer.get("program_code", ""),
            authorization_number=columns.get("authorization_number", ""),
            authorization_expires_on=columns.get("authorization_ends_on"),
        ),
        preferred_driver_ids=tuple(columns.get("preferred_driver_ids", ())),
        vehicle_type_requested=columns.get("vehicle_type_requested", ""),
        notes=Notes(**body.get("notes", {})),
        generation_horizon_days=columns.get("generation_horizon_days"),
        external_ids=tuple(body.get("external_ids", ())),
        is_draft=body["status"] == "draft",
    )


def changes_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a parsed PATCH into arguments of `edit_order.change`.

    Raises:
        InvalidInput: scope and fromDate do not match, or the pattern has a preset and days.
    """
    is_following = body.get("scope") == "this_and_following"
    if is_following and "from_date" not in body:
        raise InvalidInput(
            "fromDate", _("%(field)s is required with the scope this_and_following."), detail_code="required"
        )
    if not is_following and "from_date" in body:
        raise InvalidInput("fromDate", _("%(field)s can be given only with the scope this_and_following."))
    return {
        "columns": _columns_of(body),
        "terms": _terms_of(body),
        "patches": _objects_of(body),
        "external_ids": body.get("external_ids"),
        "from_date": body.get("from_date"),
        "overwrite_customized": body.get("overwrite_customized", False),
    }


def _columns_of(body: Mapping[str, Any]) -> dict[str, Any]:
    columns = {name: body[name] for name in _OF_ORDER if name in body}
    if "vehicle_type" in body:
        columns["vehicle_type_requested"] = body["vehicle_type"] or ""
    notes = {f"{reader}_notes": text for reader, text in body.get("notes", {}).items()}
    return columns | dict(body.get("payer", {})) | notes


def _terms_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of TermsDraft in a body, without objects."""
    values = {name: body[name] for name in _OF_TERMS if name in body} | _pattern_of(body.get("pattern", {}))
    if "pickup_time" in (outbound := body.get("outbound", {})):
        values["pickup_time"] = outbound["pickup_time"]
    back = body.get("return_", {})
    values |= {f"return_{name}": back[key] for name, key in (("mode", "mode"), ("time", "pickup_time")) if key in back}
    if "mobility" in back:
        values["return_mobility"] = back["mobility"] or ""
    return values


def _pattern_of(pattern: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: pattern[name] for name in ("interval_weeks", "anchor_date") if name in pattern}
    if "preset" in pattern and "days_of_week" in pattern:
        raise InvalidInput(
            "pattern.preset", _("%(field)s and %(other)s cannot be combined."), other=FieldName("pattern.daysOfWeek")
        )
    if "preset" in pattern:
        values["days_of_week"] = tuple(sorted(PRESETS[pattern["preset"]]))
    elif "days_of_week" in pattern:
        values["days_of_week"] = tuple(DAYS.index(day) for day in pattern["days_of_week"])
    return values


def _objects_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the objects of TermsDraft in a body as they were sent; None clears one."""
    outbound, back = body.get("outbound", {}), body.get("return_", {})
    stops = {name: outbound[name] for name in ("pickup", "dropoff") if name in outbound}
    if "dropoff" in back:
        stops["return_dropoff"] = back["dropoff"]
    objects = stops | {name: body[name] for name in _OBJECTS if name in body}
    return {name: _plain(value) for name, value in objects.items()}


def _plain(value: Any) -> Any:
    """Convert numbers and ids into JSON values."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if isinstance(value, UUID) else value


def shift_of(body: Mapping[str, Any]) -> ShiftDraft:
    """Convert a parsed shift into a draft."""
    return ShiftDraft(**{**body, "standing_order_ids": tuple(body.get("standing_order_ids", ()))})
