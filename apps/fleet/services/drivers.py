"""Hiring and amending drivers.  Their activation is in `activation.py`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet import queries
from apps.fleet.models import Driver, Leave, Vehicle
from apps.fleet.services.changes import record_event
from apps.fleet.services.external_ids import EXTERNAL_IDS, replace_external_ids
from apps.fleet.services.providers import check_home_base, provider_in_reach
from lib.access import Principal
from lib.errors import InvalidInput, NotFound, StaleVersion
from lib.reference_checks import require_riders

# Columns that callers may set; all others follow from events or have their own service.
PLAIN: Final = frozenset(
    {
        "first_name",
        "last_name",
        "phone",
        "email",
        "photo_url",
        "employment",
        "on_break",
        "home_base_id",
        "languages",
        "gender",
        "license_state",
        "license_class",
        "qualifications",
        "excluded_rider_ids",
        "default_vehicle_id",
    }
)
_EXCLUDED: Final = "excludedRiderIds"
LICENSE: Final = "license_number"  # encrypted
LEAVE: Final = "leave"  # replaced as a whole, except reported absences: [{"starts_at", "ends_at", "reason"}]


@transaction.atomic
def hire(*, provider_id: UUID, fields: Mapping[str, Any], by: Principal, at: datetime) -> Driver:
    """Add a driver, who is `pending` until activated.

    `fields` holds any of `PLAIN`, `LICENSE`, `LEAVE` and `EXTERNAL_IDS`, with at least the names and the phone.

    Raises:
        InvalidInput: the provider, home base or vehicle does not exist, or is not the provider's.
        FieldRefused: an excluded rider does not exist.
        ExternalIdTaken: another driver has one of the external ids.
    """
    provider = provider_in_reach(provider_id, by)
    driver = Driver(provider=provider, **{key: value for key, value in fields.items() if key in PLAIN})
    _check_belongings(driver)
    require_riders(driver.excluded_rider_ids, field=_EXCLUDED, by=by)
    if LICENSE in fields:
        driver.license_number = fields[LICENSE]
    driver.save(force_insert=True)
    _replace_leave(driver, fields.get(LEAVE, []))
    replace_external_ids(driver, fields, by)
    audit.record(by=by, action="drivers.hire", subject_type="driver", subject_id=driver.pk)
    record_event(driver, by=by, at=at)
    return driver


@transaction.atomic
def amend(
    *, driver_id: UUID, changes: Mapping[str, Any], expected_version: int | None, by: Principal, at: datetime
) -> Driver:
    """Change a driver's record; absent keys stay unchanged, and so does the version if nothing differs.

    `changes` replaces the excluded riders whom the caller may see; other excluded riders stay.

    Raises:
        NotFound: the driver is not in the caller's data scope.
        StaleVersion: `expected_version` is not the current version.
        InvalidInput: the home base or vehicle does not exist, or is not the provider's.
        FieldRefused: a rider to be excluded does not exist.
    """
    driver = locked_driver(driver_id, by)
    if expected_version is not None and driver.version != expected_version:
        raise StaleVersion(driver.version)
    if "excluded_rider_ids" in changes:
        excluded = changes["excluded_rider_ids"]
        require_riders(excluded, field=_EXCLUDED, stored=driver.excluded_rider_ids, by=by)
        changes = {**changes, "excluded_rider_ids": _with_unknown(excluded, driver, by)}
    columns = [key for key in changes if key in PLAIN and getattr(driver, key) != changes[key]]
    for key in columns:
        setattr(driver, key, changes[key])
    _check_belongings(driver)
    changed = list(columns)
    if LICENSE in changes and driver.license_number != changes[LICENSE]:
        driver.license_number = changes[LICENSE]
        columns.append("license_number_encrypted")
        changed.append(LICENSE)
    if LEAVE in changes:
        _replace_leave(driver, changes[LEAVE])
        changed.append(LEAVE)
    if replace_external_ids(driver, changes, by):
        changed.append(EXTERNAL_IDS)
    if changed:
        driver.version += 1
        driver.save(update_fields=[*columns, "version", "updated_at"])
        audit.record(
            by=by,
            action="drivers.amend",
            subject_type="driver",
            subject_id=driver.pk,
            details={"changed": sorted(changed)},
        )
        record_event(driver, by=by, at=at)
    return driver


def locked_driver(driver_id: UUID, by: Principal) -> Driver:
    """Lock a driver's row within the caller's data scope.

    Raises:
        NotFound: there is none.
    """
    rows = Driver.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    driver = rows.filter(pk=driver_id).first()
    if driver is None:
        raise NotFound(_("driver"))
    return driver


def locate(*, driver_id: UUID, lat: Decimal, lng: Decimal, at: datetime) -> None:
    """Store the position of a driver's device unless a later one is known; no new version and no audit entry.

    Heading and speed are cleared, because such reports do not contain them.  Runs in the caller's transaction, and has
    to take its last lock: rides are locked before drivers.  One query.
    """
    located_before = Driver.objects.filter(pk=driver_id).exclude(last_located_at__gte=at)
    located_before.update(last_lat=lat, last_lng=lng, last_located_at=at, last_heading=None, last_speed_mph=None)


def _with_unknown(excluded: Sequence[UUID], driver: Driver, by: Principal) -> Sequence[UUID]:
    """Add the excluded riders whom the caller cannot see, and therefore did not mean to remove."""
    visible_ids = {*queries.excluded_riders([driver], by)[driver.pk], *excluded}
    merged = [*excluded, *(rider_id for rider_id in driver.excluded_rider_ids if rider_id not in visible_ids)]
    # Keep the stored order, so that sending back the list as it was read changes nothing.
    return driver.excluded_rider_ids if set(merged) == set(driver.excluded_rider_ids) else merged


def _check_belongings(driver: Driver) -> None:
    check_home_base(driver.home_base_id, driver.provider_id)
    if driver.default_vehicle_id is None:
        return
    if not Vehicle.objects.filter(pk=driver.default_vehicle_id, provider_id=driver.provider_id).exists():
        raise InvalidInput("defaultVehicleId", _("The provider has no such vehicle."))


def _replace_leave(driver: Driver, periods: list[dict[str, Any]]) -> None:
    for number, period in enumerate(periods):
        if period["ends_at"] <= period["starts_at"]:
            raise InvalidInput(f"leave[{number}].endsAt", _("Leave ends after it starts."))
    Leave.objects.filter(driver=driver, absence="").delete()
    Leave.objects.bulk_create(Leave(driver=driver, **period) for period in periods)
