"""What callers send about standing orders: strict shape here, rules in the services."""

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
from apps.rides.services.editing import merge
from lib.api import fields
from lib.api.serializers import In
from lib.errors import InvalidInput
from lib.messages import FieldName

MOST_EARLY: Final = 240  # minutes before the chair time
MOST_DRIVERS: Final = 20
MOST_NAMES: Final = 20
MOST_ORDERS: Final = 500  # that one shift selects
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
    """On which days: a preset, or days of the week; every so many weeks, counted from the week of `anchorDate`."""

    preset = fields.Choice(choices=list(PRESETS), required=False, help_text="Instead of daysOfWeek.")
    days_of_week = fields.Listed(child=fields.Choice(choices=DAYS), required=False, max_length=len(DAYS))
    interval_weeks = fields.Integer(min_value=1, max_value=MOST_WEEKS, required=False)
    anchor_date = fields.LocalDate(
        required=False, allow_null=True, help_text="Null: weeks are counted from that in which the terms begin."
    )


class OutboundIn(In):
    """The way there."""

    pickup = StopWithAccessIn(required=False, allow_null=True, help_text="Null: the rider's home address.")
    dropoff = StopWithAccessIn(required=False, allow_null=True, help_text="Null: the facility.")
    pickup_time = fields.ClockTime(
        required=False,
        allow_null=True,
        help_text="Wall time; later than chairTime: of the evening before.  Null: worked out from the drive.",
    )


class ReturnIn(In):
    """The way back."""

    mode = fields.Choice(choices=ReturnMode.choices, required=False)
    pickup_time = fields.ClockTime(
        required=False,
        allow_null=True,
        help_text="Of a scheduled return.  Null: when the treatment is over.",
    )
    mobility = fields.Choice(
        choices=Mobility.choices, required=False, allow_null=True, help_text="Null: as on the way there."
    )
    dropoff = StopWithAccessIn(required=False, allow_null=True, help_text="Null: where the way there begins.")


class OrderPayerIn(In):
    """Who pays."""

    payer_id = fields.Uuid(required=False, allow_null=True)
    program_code = fields.Text(max_length=30, allow_blank=True, required=False)


def _minutes(most: int) -> fields.Integer:
    return fields.Integer(min_value=0, max_value=most, required=False, allow_null=True, help_text="Null: as usual.")


class AskedIn(In):
    """What is asked for of a standing order, made or changed."""

    pattern = PatternIn(required=False)
    chair_time = fields.ClockTime(required=False, help_text="Wall time at the facility.")
    treatment_minutes = _minutes(LONGEST_STAY)
    post_treatment_minutes = _minutes(LONGEST_STAY)
    arrive_early_minutes = _minutes(MOST_EARLY)
    outbound = OutboundIn(required=False)
    return_ = ReturnIn(required=False)
    accommodation = AccommodationIn(
        required=False, allow_null=True, help_text="What differs from the rider's profile; null: nothing."
    )
    companions = CompanionsIn(required=False, allow_null=True)
    end_date = fields.LocalDate(
        required=False, allow_null=True, help_text="The last day of the pattern.  Null: there is none."
    )
    payer = OrderPayerIn(required=False)
    authorization_number = fields.Text(max_length=50, allow_blank=True, required=False)
    authorization_ends_on = fields.LocalDate(
        required=False, allow_null=True, help_text="No ride is made for a later day."
    )
    preferred_driver_ids = fields.Listed(child=fields.Uuid(), required=False, max_length=MOST_DRIVERS)
    vehicle_type = fields.Choice(choices=VehicleType.choices, required=False, allow_null=True)
    notes = NotesIn(required=False)
    external_ids = fields.Listed(child=ExternalIdIn(), required=False, max_length=MOST_NAMES)
    generation_horizon_days = fields.Integer(
        min_value=1, max_value=MOST_HORIZON, required=False, help_text="For how many days ahead there are rides."
    )


class StandingOrderIn(AskedIn):
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


class StandingOrderChangesIn(AskedIn):
    """What may change of a standing order.

    Objects merge key by key (RFC 7396): null empties what may be null, an empty string empties text.
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
        help_text="From which day on.  Without it: all_future.",
    )
    from_date = fields.LocalDate(
        required=False, help_text="A day of the facility's calendar; of the scope this_and_following, which needs it."
    )
    overwrite_customized = fields.Boolean(
        required=False, help_text="Brings rides and days that people changed back in line, too."
    )


class HoldIn(In):
    """Days on which the rider stays away, both included."""

    example: ClassVar[dict[str, Any]] = {"from": "2026-11-25", "until": "2026-12-02", "reason": "hospital_stay"}

    from_ = fields.LocalDate()
    until = fields.LocalDate(required=False, allow_null=True, help_text="Null: until the order is resumed.")
    reason = fields.Choice(choices=HoldReason.choices)


class ResumptionIn(In):
    """The first day on which the rider rides again."""

    example: ClassVar[dict[str, Any]] = {"from": "2026-11-30"}

    from_ = fields.LocalDate()


class EndIn(In):
    """The last day of the pattern to ride on."""

    example: ClassVar[dict[str, Any]] = {"on": "2026-12-18"}

    on = fields.LocalDate(required=False, allow_null=True, help_text="Null: yesterday, so that nobody rides any more.")


class OccurrenceChangesIn(In):
    """How one occurrence differs from the series; null takes that back."""

    example: ClassVar[dict[str, Any]] = {"toDate": "2026-11-24", "chairTime": "07:00"}

    to_date = fields.LocalDate(
        required=False, allow_null=True, help_text="The day it takes place on, a week off its own at most."
    )
    chair_time = fields.ClockTime(
        required=False, allow_null=True, help_text="Both ways move along, unless their times are given."
    )
    pickup_time = fields.ClockTime(required=False, allow_null=True)
    return_time = fields.ClockTime(required=False, allow_null=True)


class CalendarShiftIn(In):
    """A day of the facility's calendar that moves to another, or without service."""

    example: ClassVar[dict[str, Any]] = {
        "fromDate": "2026-12-25",
        "toDate": "2026-12-27",
        "newChairTime": "06:00",
        "appliesTo": "mwf",
    }

    from_date = fields.LocalDate()
    to_date = fields.LocalDate(allow_null=True, help_text="A week off at most.  Null: no service that day.")
    new_chair_time = fields.ClockTime(required=False, allow_null=True)
    offset_minutes = fields.Integer(
        min_value=-_DAY, max_value=_DAY, required=False, allow_null=True, help_text="Instead of newChairTime."
    )
    applies_to = fields.Choice(
        choices=CalendarShift.AppliesTo.choices,
        default="all",
        help_text="mwf and tts mean orders of exactly these days.",
    )
    standing_order_ids = fields.Listed(
        child=fields.Uuid(), required=False, max_length=MOST_ORDERS, help_text="Of appliesTo selected."
    )


def draft_of(body: Mapping[str, Any]) -> OrderDraft:
    """Turn a parsed order into a draft.

    Raises:
        InvalidInput: the pattern names its days twice.
    """
    columns = _columns_of(body)
    objects = {"pickup": {}, **_objects_of(body)}
    given = {name: merge({}, value or {}) for name, value in objects.items()}
    terms = TermsDraft(**{"days_of_week": (), **_terms_of(body), **given})
    named = {name: body[name] for name in ("facility_id", "start_date", "service_type")}
    payer = body.get("payer") or {}
    return OrderDraft(
        **named,
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
    """Turn a parsed PATCH into what `changing.change` takes.

    Raises:
        InvalidInput: scope and fromDate do not go together, or the pattern names its days twice.
    """
    follows = body.get("scope") == "this_and_following"
    if follows and "from_date" not in body:
        raise InvalidInput(
            "fromDate", _("%(field)s is required with the scope this_and_following."), detail_code="required"
        )
    if not follows and "from_date" in body:
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
    """Give the fields of TermsDraft that a body names, but for objects."""
    asked = {name: body[name] for name in _OF_TERMS if name in body} | _pattern_of(body.get("pattern", {}))
    if "pickup_time" in (there := body.get("outbound", {})):
        asked["pickup_time"] = there["pickup_time"]
    back = body.get("return_", {})
    asked |= {f"return_{name}": back[key] for name, key in (("mode", "mode"), ("time", "pickup_time")) if key in back}
    if "mobility" in back:
        asked["return_mobility"] = back["mobility"] or ""
    return asked


def _pattern_of(pattern: Mapping[str, Any]) -> dict[str, Any]:
    asked = {name: pattern[name] for name in ("interval_weeks", "anchor_date") if name in pattern}
    if "preset" in pattern and "days_of_week" in pattern:
        raise InvalidInput(
            "pattern.preset", _("%(field)s and %(other)s cannot be combined."), other=FieldName("pattern.daysOfWeek")
        )
    if "preset" in pattern:
        asked["days_of_week"] = tuple(sorted(PRESETS[pattern["preset"]]))
    elif "days_of_week" in pattern:
        asked["days_of_week"] = tuple(DAYS.index(day) for day in pattern["days_of_week"])
    return asked


def _objects_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Give the objects of TermsDraft that a body names, as they were sent; None empties one."""
    there, back = body.get("outbound", {}), body.get("return_", {})
    stops = {name: there[name] for name in ("pickup", "dropoff") if name in there}
    if "dropoff" in back:
        stops["return_dropoff"] = back["dropoff"]
    objects = stops | {name: body[name] for name in _OBJECTS if name in body}
    return {name: _plain(value) for name, value in objects.items()}


def _plain(value: Any) -> Any:
    """Bring numbers and ids into what JSON columns hold."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, Decimal):
        return float(value)
    return str(value) if isinstance(value, UUID) else value


def shift_of(body: Mapping[str, Any]) -> ShiftDraft:
    """Turn a parsed shift into a draft."""
    return ShiftDraft(**{**body, "standing_order_ids": tuple(body.get("standing_order_ids", ()))})
