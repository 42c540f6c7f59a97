"""Registering and amending vehicles, and taking them in and out of service."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet.models import CapacityConfig, LiftType, Vehicle
from apps.fleet.services.changes import record_event
from apps.fleet.services.external_ids import EXTERNAL_IDS, replace_external_ids
from apps.fleet.services.providers import check_home_base, provider_in_reach
from lib.access import Principal
from lib.constraints import constraint_of
from lib.errors import Code, Detail, DomainError, InvalidInput, NotFound, StaleVersion

PLAIN: Final = frozenset(
    {
        "unit_number",
        "make",
        "model",
        "year",
        "color",
        "vin",
        "license_plate",
        "plate_state",
        "type",
        "lift_type",
        "lift_rating_lb",
        "max_chair_width_in",
        "oxygen_mount",
        "bariatric",
        "stair_chair",
        "odometer_miles",
        "home_base_id",
    }
)
CONFIGS: Final = "capacity_configs"  # replaced as a whole: [{"name", "ambulatory", "wheelchair", "stretcher"}]


class UnitNumberTaken(DomainError):
    """The provider has another vehicle with this unit number."""

    code = Code.DUPLICATE_RESOURCE

    def __init__(self, existing_id: UUID | None) -> None:
        existing = {} if existing_id is None else {"existingId": str(existing_id)}
        message = _("The provider has a vehicle of this unit number.")
        super().__init__(
            message, details=[Detail(field="unitNumber", code="duplicate", message=message, also=existing)]
        )


@transaction.atomic
def register(*, provider_id: UUID, fields: Mapping[str, Any], by: Principal, at: datetime) -> Vehicle:
    """Add a vehicle, in service.

    `fields` holds any of `PLAIN`, `CONFIGS` and `EXTERNAL_IDS`: at least number, plate, type and one configuration.

    Raises:
        InvalidInput: the provider or home base does not exist, a lift has no rating, or a configuration has no
            capacity.
        UnitNumberTaken: the provider has another vehicle with this unit number.
    """
    provider = provider_in_reach(provider_id, by)
    vehicle = Vehicle(provider=provider, **{key: value for key, value in fields.items() if key in PLAIN})
    _check(vehicle)
    with _unit_number_once(vehicle):
        vehicle.save(force_insert=True)
    _replace_configs(vehicle, fields[CONFIGS])
    replace_external_ids(vehicle, fields, by)
    audit.record(by=by, action="vehicles.register", subject_type="vehicle", subject_id=vehicle.pk)
    record_event(vehicle, by=by, at=at)
    return vehicle


@transaction.atomic
def amend(
    *, vehicle_id: UUID, changes: Mapping[str, Any], expected_version: int | None, by: Principal, at: datetime
) -> Vehicle:
    """Change a vehicle's record; absent keys stay unchanged, and so does the version if nothing differs.

    Raises:
        NotFound: the vehicle is not in the caller's data scope.
        StaleVersion: `expected_version` is not the current version.
        InvalidInput, UnitNumberTaken: see `register`.
    """
    vehicle = locked_vehicle(vehicle_id, by)
    if expected_version is not None and vehicle.version != expected_version:
        raise StaleVersion(vehicle.version)
    changed = [key for key in changes if key in PLAIN and getattr(vehicle, key) != changes[key]]
    for key in changed:
        setattr(vehicle, key, changes[key])
    _check(vehicle)
    changed_lists = []
    if CONFIGS in changes:
        _replace_configs(vehicle, changes[CONFIGS])
        changed_lists.append(CONFIGS)
    if replace_external_ids(vehicle, changes, by):
        changed_lists.append(EXTERNAL_IDS)
    if changed or changed_lists:
        vehicle.version += 1
        with _unit_number_once(vehicle):
            vehicle.save(update_fields=[*changed, "version", "updated_at"])
        audit.record(
            by=by,
            action="vehicles.amend",
            subject_type="vehicle",
            subject_id=vehicle.pk,
            details={"changed": sorted([*changed, *changed_lists])},
        )
        record_event(vehicle, by=by, at=at)
    return vehicle


@transaction.atomic
def change_status(
    *, vehicle_id: UUID, to: str, reason: str, expected_version: int | None = None, by: Principal, at: datetime
) -> Vehicle:
    """Set the status of a vehicle.  No-op if it is unchanged.

    Raises:
        NotFound: the vehicle is not in the caller's data scope.
        StaleVersion: `expected_version` is not the current version.
    """
    vehicle = locked_vehicle(vehicle_id, by)
    if expected_version is not None and vehicle.version != expected_version:
        raise StaleVersion(vehicle.version)
    if vehicle.status == to:
        return vehicle
    vehicle.status = to
    vehicle.version += 1
    vehicle.save(update_fields=["status", "version", "updated_at"])
    audit.record(
        by=by,
        action="vehicles.change_status",
        subject_type="vehicle",
        subject_id=vehicle.pk,
        reason=reason,
        details={"to": to},
    )
    record_event(vehicle, by=by, at=at)
    return vehicle


def locked_vehicle(vehicle_id: UUID, by: Principal) -> Vehicle:
    """Lock a vehicle's row within the caller's data scope.

    Raises:
        NotFound: there is none.
    """
    rows = Vehicle.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    vehicle = rows.filter(pk=vehicle_id).first()
    if vehicle is None:
        raise NotFound(_("vehicle"))
    return vehicle


@contextmanager
def _unit_number_once(vehicle: Vehicle) -> Iterator[None]:
    """Translate a violation of the unit number constraint to `UnitNumberTaken`; other integrity errors propagate."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError as refusal:
        if constraint_of(refusal) != "vehicle_unit_number_once":
            raise
        duplicates = Vehicle.objects.filter(provider_id=vehicle.provider_id, unit_number=vehicle.unit_number)
        raise UnitNumberTaken(duplicates.values_list("pk", flat=True).first()) from refusal


def _check(vehicle: Vehicle) -> None:
    if vehicle.lift_type != LiftType.NONE and vehicle.lift_rating_lb is None:
        raise InvalidInput("liftRatingLb", _("A lift or ramp has a rating."), detail_code="required")
    check_home_base(vehicle.home_base_id, vehicle.provider_id)


def _replace_configs(vehicle: Vehicle, configs: list[dict[str, Any]]) -> None:
    if not configs:
        raise InvalidInput("capacityConfigs", _("Enter at least one seating configuration."))
    names = [config["name"] for config in configs]
    for number, config in enumerate(configs):
        if config["name"] in names[:number]:
            raise InvalidInput(f"capacityConfigs[{number}].name", _("Each way has a name of its own."))
        if not any(config.get(kind) for kind in ("ambulatory", "wheelchair", "stretcher")):
            raise InvalidInput(f"capacityConfigs[{number}]", _("No seating configuration."))
    CapacityConfig.objects.filter(vehicle=vehicle).delete()
    CapacityConfig.objects.bulk_create(CapacityConfig(vehicle=vehicle, **config) for config in configs)
