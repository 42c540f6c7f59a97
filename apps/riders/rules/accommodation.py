"""A rider's needs of vehicle and driver, in the shape that the API, profiles and rides share.

The shape (camelCase, every key always present, decimals as JSON numbers) is made by `complete`, stored in a profile by
`columns` and read by `snapshot`; a ride keeps the snapshot, changed for that ride by `overridden`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from apps.riders.rules.needs import AssistLevel, Mobility, Precautions, Severity
from lib.errors import Detail
from lib.messages import gettext_lazy as _

if TYPE_CHECKING:
    from apps.riders.models import AccommodationProfile

Shape = dict[str, Any]

# Policy of operators, not fact; the numbers are those of Veyo.
BARIATRIC_RIDER_OVER_LB: Final = 300
BARIATRIC_CHAIR_OVER_IN: Final = 32
BARIATRIC_COMBINED_FROM_LB: Final = 800

# Default minutes to board a rider, and to unload again.
SEATED_LOAD_MINUTES: Final = 3
WHEELCHAIR_LOAD_MINUTES: Final = 8
STRETCHER_LOAD_MINUTES: Final = 15

_M = Mobility
# Riders who stay in their own chair, secured.  A rider who transfers takes a seat, and the folded chair takes no space.
IN_WHEELCHAIR_SPACE: Final = frozenset({_M.WHEELCHAIR, _M.WHEELCHAIR_POWER, _M.WHEELCHAIR_BARIATRIC, _M.RECLINER_CHAIR})
ON_STRETCHER: Final = frozenset({_M.STRETCHER, _M.STRETCHER_BARIATRIC})
USES_WHEELCHAIR: Final = IN_WHEELCHAIR_SPACE | {_M.WHEELCHAIR_TRANSFER}
_BARIATRIC_BY_NAME: Final = frozenset({_M.WHEELCHAIR_BARIATRIC, _M.STRETCHER_BARIATRIC})

# Nested objects, each with the default of every key.
_OBJECTS: Final[dict[str, Shape]] = {
    "chair": {"widthIn": None, "weightLb": None, "provide": False},
    "oxygen": {"uses": False, "litersPerMinute": None, "source": None},
    "stairs": {"home": 0, "equipment": "none", "secondPerson": False},
}
_FLAT: Final[Shape] = {
    "mobility": _M.AMBULATORY.value,
    "returnMobility": None,
    "assistLevel": AssistLevel.DOOR_TO_DOOR.value,
    "handoffRequired": False,
    "mustNotBeLeftAlone": False,
    "riderWeightLb": None,
    "serviceAnimal": False,
    "childSeat": False,
    "hearing": Severity.NONE.value,
    "vision": Severity.NONE.value,
    "cognition": Severity.NONE.value,
    "speech": Severity.NONE.value,
    "precautions": Precautions.NONE.value,
    "loadMinutes": None,  # default: by mobility
    "unloadMinutes": None,  # default: by mobility
    "equipment": [],
    "driverNotes": "",
    "dispatcherNotes": "",
}
KEYS: Final = (
    "mobility",
    "returnMobility",
    "assistLevel",
    "handoffRequired",
    "mustNotBeLeftAlone",
    "chair",
    "riderWeightLb",
    "combinedWeightLb",
    "bariatric",
    "oxygen",
    "stairs",
    "serviceAnimal",
    "childSeat",
    "hearing",
    "vision",
    "cognition",
    "speech",
    "precautions",
    "loadMinutes",
    "unloadMinutes",
    "equipment",
    "driverNotes",
    "dispatcherNotes",
)
# Computed from the other keys; not accepted as input.
COMPUTED: Final = frozenset({"combinedWeightLb", "bariatric"})


@dataclass(frozen=True, slots=True)
class Spaces:
    """Places a ride takes in a vehicle."""

    ambulatory: int
    wheelchair: int
    stretcher: int


def default_load_minutes(mobility: str) -> int:
    """Return the default minutes for boarding; unloading takes as long."""
    if mobility in ON_STRETCHER:
        return STRETCHER_LOAD_MINUTES
    return WHEELCHAIR_LOAD_MINUTES if mobility in USES_WHEELCHAIR else SEATED_LOAD_MINUTES


def combined_weight_lb(*, rider_weight_lb: int | None, chair_weight_lb: int | None) -> int | None:
    """Add the weight of rider and chair, for the lift's capacity.

    None while the rider's weight is unknown.  A chair of unknown weight counts 0, so the result is a lower bound.
    """
    return None if rider_weight_lb is None else rider_weight_lb + (chair_weight_lb or 0)


def is_bariatric(*, mobility: str, rider_weight_lb: int | None, chair_width_in: Any, combined_lb: int | None) -> bool:
    """Return whether the ride needs a bariatric vehicle and crew; unknown measures count as small."""
    return (
        mobility in _BARIATRIC_BY_NAME
        or (rider_weight_lb or 0) > BARIATRIC_RIDER_OVER_LB
        or (chair_width_in or 0) > BARIATRIC_CHAIR_OVER_IN
        or (combined_lb or 0) >= BARIATRIC_COMBINED_FROM_LB
    )


def spaces(mobility: str, companions: Mapping[str, Any] | None = None) -> Spaces:
    """Return the places that a rider and companions take.

    `companions` holds escorts, attendantsProvided and children (counts) and serviceAnimal (bool), each optional; all of
    them take a seat, including the animal.
    """
    with_them = companions or {}
    seats = sum(int(with_them.get(key) or 0) for key in ("escorts", "attendantsProvided", "children", "serviceAnimal"))
    in_chair, lying = mobility in IN_WHEELCHAIR_SPACE, mobility in ON_STRETCHER
    return Spaces(
        ambulatory=seats + (0 if in_chair or lying else 1),
        wheelchair=int(in_chair),
        stretcher=int(lying),
    )


def complete(needs: Mapping[str, Any]) -> Shape:
    """Fill in defaults, and compute combined weight and bariatric.

    `needs` holds any of `KEYS`; null means the default, and computed keys are ignored.
    """
    shape = _filled(_FLAT, needs)
    for name, empty in _OBJECTS.items():
        shape[name] = _filled(empty, needs.get(name) or {})
    for key in ("loadMinutes", "unloadMinutes"):
        if shape[key] is None:
            shape[key] = default_load_minutes(shape["mobility"])
    if shape["returnMobility"] == shape["mobility"]:
        shape["returnMobility"] = None  # the only spelling of "the same mobility"
    shape["equipment"] = list(shape["equipment"])
    chair = shape["chair"]
    chair["widthIn"] = _number(chair["widthIn"])
    shape["oxygen"]["litersPerMinute"] = _number(shape["oxygen"]["litersPerMinute"])
    combined = combined_weight_lb(rider_weight_lb=shape["riderWeightLb"], chair_weight_lb=chair["weightLb"])
    shape["combinedWeightLb"] = combined
    shape["bariatric"] = is_bariatric(
        mobility=shape["mobility"],
        rider_weight_lb=shape["riderWeightLb"],
        chair_width_in=chair["widthIn"],
        combined_lb=combined,
    )
    return {key: shape[key] for key in KEYS}


def overridden(shape: Mapping[str, Any], changes: Mapping[str, Any]) -> Shape:
    """Change a snapshot for one ride: absent keys stay, nested objects merge by key, and computed keys are recomputed.

    A null resets a key, or a whole object, to its default.  Load minutes that were the default of the old mobility
    become the default of the new one, unless given.  If `oxygen.uses` becomes false, amount and source are dropped,
    unless given.
    """
    base = complete(shape)
    merged = {**base, **changes}
    for name in _OBJECTS:
        if changes.get(name):
            merged[name] = {**base[name], **changes[name]}
    if (oxygen := changes.get("oxygen")) and oxygen.get("uses") is False:
        merged["oxygen"] = oxygen
    for key in ("loadMinutes", "unloadMinutes"):
        if key not in changes and base[key] == default_load_minutes(base["mobility"]):
            merged[key] = None
    return complete(merged)


def problems(shape: Mapping[str, Any], *, path: str = "accommodation") -> list[Detail]:
    """List contradictions in a complete shape; the serializer checks types, ranges and choices."""
    oxygen = shape["oxygen"]
    if oxygen["uses"]:
        return []
    return [
        Detail(
            field=f"{path}.oxygen.{key}",
            code="invalid",
            message=_("%(field)s must be null unless oxygen.uses is true."),
        )
        for key in ("litersPerMinute", "source")
        if oxygen[key] is not None
    ]


def columns(shape: Mapping[str, Any]) -> Shape:
    """Return the columns of `AccommodationProfile` for a complete shape."""
    chair, oxygen, stairs = shape["chair"], shape["oxygen"], shape["stairs"]
    return {
        "mobility": shape["mobility"],
        "return_mobility": shape["returnMobility"] or "",
        "assist_level": shape["assistLevel"],
        "handoff_required": shape["handoffRequired"],
        "must_not_be_left_alone": shape["mustNotBeLeftAlone"],
        "chair_width_in": _decimal(chair["widthIn"]),
        "chair_weight_lb": chair["weightLb"],
        "provide_chair": chair["provide"],
        "rider_weight_lb": shape["riderWeightLb"],
        "oxygen_uses": oxygen["uses"],
        "oxygen_liters_per_minute": _decimal(oxygen["litersPerMinute"]),
        "oxygen_source": oxygen["source"] or "",
        "home_steps": stairs["home"],
        "stair_equipment": stairs["equipment"],
        "second_person": stairs["secondPerson"],
        "service_animal": shape["serviceAnimal"],
        "child_seat": shape["childSeat"],
        "hearing": shape["hearing"],
        "vision": shape["vision"],
        "cognition": shape["cognition"],
        "speech": shape["speech"],
        "precautions": shape["precautions"],
        "load_minutes": shape["loadMinutes"],
        "unload_minutes": shape["unloadMinutes"],
        "equipment": list(shape["equipment"]),
        "driver_notes": shape["driverNotes"],
        "dispatcher_notes": shape["dispatcherNotes"],
    }


def snapshot(profile: "AccommodationProfile") -> Shape:
    """Return a profile in the API's shape; a ride stores the same dict."""
    return complete(
        {
            "mobility": profile.mobility,
            "returnMobility": profile.return_mobility or None,
            "assistLevel": profile.assist_level,
            "handoffRequired": profile.handoff_required,
            "mustNotBeLeftAlone": profile.must_not_be_left_alone,
            "chair": {
                "widthIn": profile.chair_width_in,
                "weightLb": profile.chair_weight_lb,
                "provide": profile.provide_chair,
            },
            "riderWeightLb": profile.rider_weight_lb,
            "oxygen": {
                "uses": profile.oxygen_uses,
                "litersPerMinute": profile.oxygen_liters_per_minute,
                "source": profile.oxygen_source or None,
            },
            "stairs": {
                "home": profile.home_steps,
                "equipment": profile.stair_equipment,
                "secondPerson": profile.second_person,
            },
            "serviceAnimal": profile.service_animal,
            "childSeat": profile.child_seat,
            "hearing": profile.hearing,
            "vision": profile.vision,
            "cognition": profile.cognition,
            "speech": profile.speech,
            "precautions": profile.precautions,
            "loadMinutes": profile.load_minutes,
            "unloadMinutes": profile.unload_minutes,
            "equipment": profile.equipment,
            "driverNotes": profile.driver_notes,
            "dispatcherNotes": profile.dispatcher_notes,
        }
    )


def _filled(defaults: Mapping[str, Any], values: Mapping[str, Any]) -> Shape:
    return {key: default if values.get(key) is None else values[key] for key, default in defaults.items()}


def _number(value: Decimal | float | int | None) -> float | None:
    return None if value is None else float(value)


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))
