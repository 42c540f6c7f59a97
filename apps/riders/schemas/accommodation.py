"""Serializers of riders' needs: strict input, complete output; rides use the same shape."""

from typing import Any, ClassVar, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.organizations.schemas.stop_input import AsShown
from apps.organizations.schemas.stop_output import AsKept
from apps.riders.models import AccommodationProfile
from apps.riders.rules import accommodation
from apps.riders.rules.needs import AssistLevel, Mobility, OxygenSource, Precautions, Severity
from lib.api import fields
from lib.api.serializers import OutShape

MAX_POUNDS: Final = 1500
MAX_LOAD_MINUTES: Final = 240
STAIR_EQUIPMENT: Final = AccommodationProfile._meta.get_field("stair_equipment").choices or ()


def _pounds() -> fields.Integer:
    return fields.Integer(min_value=1, max_value=MAX_POUNDS, required=False, allow_null=True)


def _severity() -> fields.Choice:
    return fields.Choice(choices=Severity.choices, required=False)


def _load_minutes() -> fields.Integer:
    return fields.Integer(
        min_value=0,
        max_value=MAX_LOAD_MINUTES,
        required=False,
        allow_null=True,
        help_text="Null: the default of the mobility.",
    )


def _notes() -> fields.Text:
    return fields.Text(max_length=1000, required=False, allow_blank=True, multiline=True)


def _yes_or_no() -> fields.Boolean:
    return fields.Boolean(required=False)


class ChairIn(AsShown):
    """The rider's own chair; with `provide`, the operator brings one."""

    width_in = fields.Number(max_digits=4, decimal_places=1, min_value=1, max_value=99, required=False, allow_null=True)
    weight_lb = _pounds()
    provide = _yes_or_no()


class OxygenIn(AsShown):
    uses = _yes_or_no()
    liters_per_minute = fields.Number(
        max_digits=3, decimal_places=1, min_value=0, max_value=25, required=False, allow_null=True
    )
    source_ = fields.Choice(choices=OxygenSource.choices, required=False, allow_null=True)  # `source` on the wire


class StairsIn(AsShown):
    """Steps at home, the equipment to climb them, and whether a second person is needed."""

    home = fields.Integer(min_value=0, max_value=500, required=False)
    equipment = fields.Choice(choices=STAIR_EQUIPMENT, required=False)
    second_person = _yes_or_no()


class AccommodationIn(AsShown):
    """The rider's needs; omitted fields have their defaults."""

    example: ClassVar[dict[str, Any]] = {
        "mobility": "wheelchair",
        "assistLevel": "door_through_door",
        "chair": {"widthIn": 26, "weightLb": 45},
        "riderWeightLb": 160,
        "oxygen": {"uses": True, "litersPerMinute": 2, "source": "own_tank"},
        "driverNotes": "Slow on the ramp.",
    }

    mobility = fields.Choice(choices=Mobility.choices, required=False)
    return_mobility = fields.Choice(
        choices=Mobility.choices,
        required=False,
        allow_null=True,
        help_text="Mobility on the return trip; null: the same as outbound.",
    )
    assist_level = fields.Choice(choices=AssistLevel.choices, required=False)
    handoff_required = _yes_or_no()
    must_not_be_left_alone = _yes_or_no()
    chair = ChairIn(required=False, allow_null=True)
    rider_weight_lb = _pounds()
    oxygen = OxygenIn(required=False, allow_null=True)
    stairs = StairsIn(required=False, allow_null=True)
    service_animal = _yes_or_no()
    child_seat = _yes_or_no()
    hearing = _severity()
    vision = _severity()
    cognition = _severity()
    speech = _severity()
    precautions = fields.Choice(choices=Precautions.choices, required=False)
    load_minutes = _load_minutes()
    unload_minutes = _load_minutes()
    equipment = fields.List(child=fields.Text(max_length=50), required=False, max_length=20)
    driver_notes = _notes()
    dispatcher_notes = _notes()


class ChairOut(AsKept):
    width_in = fields.Number(allow_null=True)
    weight_lb = fields.Integer(allow_null=True)
    provide = fields.Boolean()


class OxygenOut(AsKept):
    uses = fields.Boolean()
    liters_per_minute = fields.Number(allow_null=True)
    source_ = fields.Choice(choices=OxygenSource.choices, allow_null=True)


class StairsOut(AsKept):
    home = fields.Integer()
    equipment = fields.Choice(choices=STAIR_EQUIPMENT)
    second_person = fields.Boolean()


class AccommodationOut(AsKept):
    """The rider's needs.  `combinedWeightLb` and `bariatric` are computed; all keys are always present."""

    mobility = fields.Choice(choices=Mobility.choices)
    return_mobility = fields.Choice(choices=Mobility.choices, allow_null=True)
    assist_level = fields.Choice(choices=AssistLevel.choices)
    handoff_required = fields.Boolean()
    must_not_be_left_alone = fields.Boolean()
    chair = ChairOut()
    rider_weight_lb = fields.Integer(allow_null=True)
    combined_weight_lb = fields.Integer(allow_null=True)
    bariatric = fields.Boolean()
    oxygen = OxygenOut()
    stairs = StairsOut()
    service_animal = fields.Boolean()
    child_seat = fields.Boolean()
    hearing = fields.Choice(choices=Severity.choices)
    vision = fields.Choice(choices=Severity.choices)
    cognition = fields.Choice(choices=Severity.choices)
    speech = fields.Choice(choices=Severity.choices)
    precautions = fields.Choice(choices=Precautions.choices)
    load_minutes = fields.Integer()
    unload_minutes = fields.Integer()
    equipment = fields.List(child=fields.Text())
    driver_notes = fields.Text()
    dispatcher_notes = fields.Text()


class AccommodationVersionOut(OutShape):
    """One version of the rider's needs, from an `AccommodationProfile`."""

    version = fields.Integer(source="number")
    current = fields.Boolean()
    recorded_at = fields.Instant()
    recorded_by = fields.Text()
    accommodation = serializers.SerializerMethodField("get_accommodation")

    @extend_schema_field(AccommodationOut)
    def get_accommodation(self, profile: AccommodationProfile) -> dict[str, Any]:
        return accommodation.snapshot(profile)
