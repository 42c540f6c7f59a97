"""The datasets of exceptions and drivers."""

from typing import Any, Final

from apps.exports.formats.columns import Column, ColumnType, Encryption
from apps.exports.queries.dataset_columns import external_ids, identity
from apps.exports.rules.dataset import Dataset
from apps.rides.rules.exception_types import ExceptionStatus
from lib.access import Phi, Principal
from lib.scopes import Scope


def _scope_of_exceptions(by: Principal) -> tuple[str, dict[str, Any]]:
    """Return `RideException.objects.visible_to` as SQL; a test compares the two."""
    conditions, parameters = ["true"], {}
    if by.facility_ids is not None:
        conditions.append("e.facility_id = ANY(%(facility_ids)s)")
        parameters["facility_ids"] = list(by.facility_ids)
    if by.provider_ids is not None:
        conditions.append("r.provider_id = ANY(%(provider_ids)s)")
        parameters["provider_ids"] = list(by.provider_ids)
    return " AND ".join(conditions), parameters


def _scope_of_drivers(by: Principal) -> tuple[str, dict[str, Any]]:
    if by.provider_ids is None:
        return "true", {}
    return "d.provider_id = ANY(%(provider_ids)s)", {"provider_ids": list(by.provider_ids)}


EXCEPTIONS: Final = Dataset(
    name="exceptions",
    version=1,
    description="Exceptions of rides and standing orders, by the time they were opened.",
    columns=(
        *identity("e", "exceptionId"),
        Column("rideId", ColumnType.ID, "e.ride_id"),
        Column("standingOrderId", ColumnType.ID, "e.standing_order_id"),
        Column("riderId", ColumnType.ID, "e.rider_id"),
        Column("facilityId", ColumnType.ID, "e.facility_id"),
        Column("facilityName", ColumnType.TEXT, "place.name"),
        Column("providerId", ColumnType.ID, "r.provider_id"),
        Column("serviceDate", ColumnType.DATE, "r.service_date"),
        Column("type", ColumnType.WORD, "e.type"),
        Column("severity", ColumnType.WORD, "e.severity"),
        Column("status", ColumnType.WORD, "e.status"),
        Column("openedAt", ColumnType.INSTANT, "e.opened_at"),
        Column("dueAt", ColumnType.INSTANT, "e.due_at"),
        Column("acknowledgedAt", ColumnType.INSTANT, "e.acknowledged_at"),
        Column("resolvedAt", ColumnType.INSTANT, "e.resolved_at"),
        Column("resolutionCode", ColumnType.WORD, "e.resolution_code"),
        Column("escalationLevel", ColumnType.COUNT, "e.escalation_level"),
        Column("updatedAt", ColumnType.INSTANT, "e.updated_at"),
        Column("causeDriverId", ColumnType.ID, "e.cause_driver_id"),
    ),
    rows="rides_rideexception e",
    order="e.opened_at, e.id",
    data_scope=_scope_of_exceptions,
    rider="e.rider_id",
    joins={
        "place": "LEFT JOIN organizations_facility place ON place.id = e.facility_id",
        "r": "LEFT JOIN rides_ride r ON r.id = e.ride_id",
    },
    conditions={
        # Exceptions of standing orders have no ride: the UTC day on which they were opened.
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
        Column("externalIds", ColumnType.TEXT, external_ids("driver", "d.id"), Phi.LIMITED),
        Column("providerId", ColumnType.ID, "d.provider_id"),
        Column("providerName", ColumnType.TEXT, "company.name"),
        Column("firstName", ColumnType.TEXT, "d.first_name", Phi.LIMITED),
        Column("lastName", ColumnType.TEXT, "d.last_name", Phi.LIMITED),
        Column("phone", ColumnType.TEXT, "d.phone", Phi.FULL),
        Column(
            "licenseNumber",
            ColumnType.SEALED,
            "d.license_number_encrypted",
            Phi.LIMITED,
            Encryption("fleet_driver.license_number", "d.id"),
        ),
        Column("licenseState", ColumnType.TEXT, "d.license_state", Phi.LIMITED),
        Column("employment", ColumnType.WORD, "d.employment"),
        Column("activation", ColumnType.WORD, "d.activation"),
        Column("activationChangedAt", ColumnType.INSTANT, "d.activation_changed_at"),
        Column("qualifications", ColumnType.WORDS, "d.qualifications"),
        Column("createdAt", ColumnType.INSTANT, "d.created_at"),
        Column("updatedAt", ColumnType.INSTANT, "d.updated_at"),
    ),
    rows="fleet_driver d",
    order="d.created_at, d.id",
    data_scope=_scope_of_drivers,
    joins={"company": "JOIN organizations_transportprovider company ON company.id = d.provider_id"},
    conditions={
        "provider_id": "d.provider_id = %(provider_id)s",
        "status": "d.activation = ANY(%(status)s)",
        "changed_since": "d.updated_at >= %(changed_since)s",
    },
    statuses=("pending", "active", "suspended", "inactive"),
    scope=Scope.DRIVERS_READ,
)
