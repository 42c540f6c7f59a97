"""The datasets beside rides: what went wrong with them, and who drives."""

from typing import Any, Final

from apps.exports.formats.columns import Column, Kind, Sealed
from apps.exports.queries.dataset_columns import external_ids, identity
from apps.exports.rules.dataset import Dataset
from apps.rides.rules.exception_types import ExceptionStatus
from lib.access import Phi, Principal
from lib.scopes import Scope


def _of_exceptions(by: Principal) -> tuple[str, dict[str, Any]]:
    """Say `RideException.objects.visible_to` in SQL; a test holds the two together."""
    found, parameters = ["true"], {}
    if by.facility_ids is not None:
        found.append("e.facility_id = ANY(%(facility_ids)s)")
        parameters["facility_ids"] = list(by.facility_ids)
    if by.provider_ids is not None:
        found.append("r.provider_id = ANY(%(provider_ids)s)")
        parameters["provider_ids"] = list(by.provider_ids)
    return " AND ".join(found), parameters


def _of_drivers(by: Principal) -> tuple[str, dict[str, Any]]:
    if by.provider_ids is None:
        return "true", {}
    return "d.provider_id = ANY(%(provider_ids)s)", {"provider_ids": list(by.provider_ids)}


EXCEPTIONS: Final = Dataset(
    name="exceptions",
    version=1,
    description="What needed attention, of rides and of standing orders, by when it came up.",
    columns=(
        *identity("e", "exceptionId"),
        Column("rideId", Kind.ID, "e.ride_id"),
        Column("standingOrderId", Kind.ID, "e.standing_order_id"),
        Column("riderId", Kind.ID, "e.rider_id"),
        Column("facilityId", Kind.ID, "e.facility_id"),
        Column("facilityName", Kind.TEXT, "place.name"),
        Column("providerId", Kind.ID, "r.provider_id"),
        Column("serviceDate", Kind.DATE, "r.service_date"),
        Column("type", Kind.WORD, "e.type"),
        Column("severity", Kind.WORD, "e.severity"),
        Column("status", Kind.WORD, "e.status"),
        Column("openedAt", Kind.INSTANT, "e.opened_at"),
        Column("dueAt", Kind.INSTANT, "e.due_at"),
        Column("acknowledgedAt", Kind.INSTANT, "e.acknowledged_at"),
        Column("resolvedAt", Kind.INSTANT, "e.resolved_at"),
        Column("resolutionCode", Kind.WORD, "e.resolution_code"),
        Column("escalationLevel", Kind.COUNT, "e.escalation_level"),
        Column("updatedAt", Kind.INSTANT, "e.updated_at"),
    ),
    rows="rides_rideexception e",
    order="e.opened_at, e.id",
    reach=_of_exceptions,
    rider="e.rider_id",
    joins={
        "place": "LEFT JOIN organizations_facility place ON place.id = e.facility_id",
        "r": "LEFT JOIN rides_ride r ON r.id = e.ride_id",
    },
    conditions={
        # Of a standing order there is no ride: the day on which it came up, in UTC.
        "service_date_from": "coalesce(r.service_date, e.opened_at::date) >= %(service_date_from)s",
        "service_date_to": "coalesce(r.service_date, e.opened_at::date) <= %(service_date_to)s",
        "facility_id": "e.facility_id = %(facility_id)s",
        "provider_id": "r.provider_id = %(provider_id)s",
        "payer_id": "r.payer_id = %(payer_id)s",
        "status": "e.status = ANY(%(status)s)",
        "changed_since": "e.updated_at >= %(changed_since)s",
    },
    statuses=tuple(status.value for status in ExceptionStatus),
)

DRIVERS: Final = Dataset(
    name="drivers",
    version=1,
    description="Drivers and their status.",
    columns=(
        *identity("d", "driverId"),
        Column("externalIds", Kind.TEXT, external_ids("driver", "d.id"), Phi.LIMITED),
        Column("providerId", Kind.ID, "d.provider_id"),
        Column("providerName", Kind.TEXT, "company.name"),
        Column("firstName", Kind.TEXT, "d.first_name", Phi.LIMITED),
        Column("lastName", Kind.TEXT, "d.last_name", Phi.LIMITED),
        Column("phone", Kind.TEXT, "d.phone", Phi.FULL),
        Column(
            "licenseNumber",
            Kind.SEALED,
            "d.license_number_encrypted",
            Phi.LIMITED,
            Sealed("fleet_driver.license_number", "d.id"),
        ),
        Column("licenseState", Kind.TEXT, "d.license_state", Phi.LIMITED),
        Column("employment", Kind.WORD, "d.employment"),
        Column("activation", Kind.WORD, "d.activation"),
        Column("activationChangedAt", Kind.INSTANT, "d.activation_changed_at"),
        Column("qualifications", Kind.WORDS, "d.qualifications"),
        Column("createdAt", Kind.INSTANT, "d.created_at"),
        Column("updatedAt", Kind.INSTANT, "d.updated_at"),
    ),
    rows="fleet_driver d",
    order="d.created_at, d.id",
    reach=_of_drivers,
    joins={"company": "JOIN organizations_transportprovider company ON company.id = d.provider_id"},
    conditions={
        "provider_id": "d.provider_id = %(provider_id)s",
        "status": "d.activation = ANY(%(status)s)",
        "changed_since": "d.updated_at >= %(changed_since)s",
    },
    statuses=("pending", "active", "suspended", "inactive"),
    scope=Scope.DRIVERS_READ,
)
