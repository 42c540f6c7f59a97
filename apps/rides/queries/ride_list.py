"""The list of rides as SQL: which columns each caller gets, in which shape, and which rows.

The rows are what `api.serializers.RideRow` would show (a test holds the two together), without a model instance or a
serializer for any of them.  What depends on the caller, on `fields` and on the API's version is built once and kept.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import orjson

from apps.riders.rules.disclosure import ACCOMMODATION_BELOW_FULL
from apps.rides.rules.disclosure import DISPATCHER_NOTES, FIELDS, PAYER_KEYS, POSTAL_PREFIX, STOP_KEYS, Disclosure
from apps.rides.rules.standing import AWAITING_VEHICLE
from lib.access import Phi, Principal

SORTS: Final[dict[str, tuple[str, bool]]] = {  # wire: (column, descending)
    "pickupTime": ("pickup_at", False),
    "-pickupTime": ("pickup_at", True),
    "-createdAt": ("created_at", True),
    "updatedAt": ("updated_at", False),
}
EXPANDABLE: Final = ("rider", "driver", "facility")

_AWAITING = ", ".join(f"'{status.value}'" for status in sorted(AWAITING_VEHICLE))
_DUE = "(CASE WHEN r.will_call THEN r.promised_pickup_by ELSE r.window_ends_at END)"
_SEEN = f"coalesce(r.arrived_pickup_at, CASE WHEN r.status IN ({_AWAITING}) THEN %(at)s::timestamptz END)"
_EXTERNAL_IDS = """coalesce((SELECT json_agg(json_build_object('system', x.system, 'value', x.value, 'type', x.type)
    ORDER BY x.system, x.value)::text FROM organizations_externalid x
    WHERE x.subject_type = 'ride' AND x.subject_id = r.id), '[]')"""

# Plain columns: one value each, which orjson writes as the serializer would.
_PLAIN: Final[dict[str, str]] = {
    "id": "r.id::text",
    "tripId": "r.trip_id::text",
    "legType": "r.leg_type",
    "legSequence": "r.leg_sequence",
    "clientReference": "nullif(r.client_reference, '')",
    "riderId": "r.rider_id::text",
    "facilityId": "r.facility_id::text",
    "serviceType": "r.service_type",
    "priority": "r.priority",
    "pickupTime": "r.pickup_at",
    "pickupTimeKind": "r.pickup_time_kind",
    "appointmentTime": "r.appointment_at",
    "schedulingAnchor": "r.scheduling_anchor",
    "timezone": "r.timezone",
    "serviceDate": "r.service_date::text",
    "willCall": "r.will_call",
    "readyAt": "r.ready_at",
    "readySource": "nullif(r.ready_source, '')",
    "promisedPickupBy": "r.promised_pickup_by",
    "willCallExpiresAt": "r.will_call_expires_at",
    "facilityDelayMinutes": "r.facility_delay_minutes",
    "accommodationVersion": "r.accommodation_version",
    "vehicleTypeRequested": "nullif(r.vehicle_type_requested, '')",
    "standingOrderId": "r.standing_order_id::text",
    "occurrenceKey": "nullif(r.occurrence_key, '')",
    "occurrenceState": "nullif(r.occurrence_state, '')",
    "originalServiceDate": "nullif(split_part(r.occurrence_key, ':', 2), '')",
    "requestedAt": "r.requested_at",
    "confirmBy": "r.confirm_by",
    "scheduledAt": "r.scheduled_at",
    "reviewReasons": "r.review_reasons",
    "status": "r.status",
    "statusChangedAt": "r.status_changed_at",
    "departedAt": "r.departed_at",
    "arrivedPickupAt": "r.arrived_pickup_at",
    "boardedAt": "r.boarded_at",
    "arrivedDropoffAt": "r.arrived_dropoff_at",
    "droppedOffAt": "r.dropped_off_at",
    "isLate": f"coalesce({_SEEN} > {_DUE}, false)",
    "lateMinutes": f"coalesce(greatest(0, floor(extract(epoch FROM {_SEEN} - {_DUE}) / 60))::int, 0)",
    "etaPickup": "r.eta_pickup_at",
    "releaseState": """CASE WHEN NOT r.will_call THEN 'not_applicable' WHEN r.ready_at IS NOT NULL THEN 'released'
        WHEN r.will_call_expires_at <= %(at)s THEN 'expired' ELSE 'waiting' END""",
    "providerId": "r.provider_id::text",
    "driverId": "r.driver_id::text",
    "vehicleId": "r.vehicle_id::text",
    "attendantIds": "r.attendant_ids::text[]",
    "endNote": "r.end_note",
    "estimatedMiles": "r.estimated_miles::float8",
    "estimatedMinutes": "r.estimated_minutes",
    "loadedMiles": "r.loaded_miles::float8",
    "loadedMilesSource": "nullif(r.loaded_miles_source, '')",
    "odometerStart": "r.odometer_start::float8",
    "odometerEnd": "r.odometer_end::float8",
    "waitMinutes": "r.wait_minutes",
    "onboardMinutes": "r.onboard_minutes",
    "handoffName": "r.handoff_name",
    "documentationComplete": "r.status = 'completed' AND r.missing_documents = '{}'",
    "missingDocuments": "r.missing_documents",
    "openExceptionCount": "r.open_exception_count",
    "maxExceptionSeverity": "nullif(r.max_exception_severity, '')",
    "createdAt": "r.created_at",
    "updatedAt": "r.updated_at",
    "version": "r.version",
}
# Columns that hold JSON in the API's shape: their text goes into the answer as it is.
_JSON: Final[dict[str, str]] = {
    "externalIds": _EXTERNAL_IDS,
    "pickup": "r.pickup::text",
    "dropoff": "r.dropoff::text",
    "accommodation": "r.accommodation::text",
    "companions": "r.companions::text",
    "discharge": "r.discharge::text",
    "dialysis": "r.dialysis::text",
    "requestedBy": "r.requested_by::text",
    "signatures": "r.signatures::text",
    "attestation": "r.attestation::text",
}
# Small objects out of several columns.
_GROUPS: Final[dict[str, dict[str, str]]] = {
    "pickupWindow": {"start": "r.window_starts_at", "end": "r.window_ends_at"},
    "spaces": {
        "ambulatory": "r.spaces_ambulatory",
        "wheelchair": "r.spaces_wheelchair",
        "stretcher": "r.spaces_stretcher",
    },
    "payer": {
        "payerId": "r.payer_id::text",
        "programCode": "r.program_code",
        "authorizationNumber": "r.authorization_number",
        "authorizationExpires": "r.authorization_expires_on::text",
    },
    "notes": {"driver": "r.driver_notes", "dispatcher": "r.dispatcher_notes", "facility": "r.facility_notes"},
    "outcome": {
        "reasonCode": "nullif(r.reason_code, '')",
        "fault": "nullif(r.fault, '')",
        "timing": "nullif(r.cancellation_timing, '')",
        "endedBy": "nullif(r.ended_by, '')",
    },
}
ROW: Final = (*_PLAIN, *_JSON, *_GROUPS)


@dataclass(frozen=True, slots=True)
class Shape:
    """What to select for a kind of caller, and how to make a row of the answer from it.

    `select` is a list of SQL expressions over `rides_ride r` with the parameter `at`; `row` takes a tuple that begins
    with their values.
    """

    select: str
    row: Callable[[Sequence[Any]], dict[str, Any]]


@lru_cache(maxsize=256)
def shape_for(to: Disclosure, only: tuple[str, ...] | None) -> Shape:
    """Build what a caller of this kind gets; `only` are the fields asked for, None all of them."""
    select: list[str] = []
    row: list[str] = []
    for name in ROW:
        if FIELDS.get(name, Phi.NONE) > to.phi or (only is not None and name not in only):
            continue
        if name in _PLAIN:
            row.append(f"{name!r}: {_value(select, _PLAIN[name])}")
        elif name in _JSON:
            value = _value(select, _json_sql(name, to))
            row.append(f"{name!r}: {value} and Fragment({value})")  # null is None, and no JSON is empty text
        else:
            members = [f"{key!r}: {_value(select, sql)}" for key, sql in _group_of(name, to).items()]
            row.append(f"{name!r}: {{{', '.join(members)}}}")
    return Shape(", ".join(select), _compiled(len(select), row))


def _value(select: list[str], sql: str) -> str:
    """Select one more expression, and name the variable that will hold it."""
    select.append(sql)
    return f"v{len(select) - 1}"


def _compiled(width: int, row: list[str]) -> Callable[[Sequence[Any]], dict[str, Any]]:
    """Compile the function that makes a row: a literal with constant keys is built twice as fast as zip and loops."""
    variables = "".join(f"v{place}, " for place in range(width))
    source = f"def row(values):\n    {variables}*_, = values\n    return {{{', '.join(row)}}}"
    names: dict[str, Any] = {"Fragment": orjson.Fragment}
    exec(source, names)  # noqa: S102  # of names of this module alone, never of anything that was sent
    made: Callable[[Sequence[Any]], dict[str, Any]] = names["row"]
    return made


def _json_sql(name: str, to: Disclosure) -> str:
    if name in ("pickup", "dropoff") and to.phi < Phi.FULL:
        return _object(f"r.{name}", STOP_KEYS[to.phi], shorten_postal_code=to.phi is Phi.NONE)
    if name == "accommodation" and to.phi < Phi.FULL:
        return _object("r.accommodation", ACCOMMODATION_BELOW_FULL)
    if name == "accommodation" and not to.dispatcher_notes:
        return f"(r.accommodation - '{DISPATCHER_NOTES}')::text"
    return _JSON[name]


def _object(column: str, keys: Iterable[str], *, shorten_postal_code: bool = False) -> str:
    members = [
        f"'{key}', left(coalesce({column}->>'{key}', ''), {POSTAL_PREFIX})"
        if key == "postalCode" and shorten_postal_code
        else f"'{key}', {column}->'{key}'"
        for key in keys
    ]
    return f"jsonb_build_object({', '.join(members)})::text"


def _group_of(name: str, to: Disclosure) -> dict[str, str]:
    members = _GROUPS[name]
    if name == "payer":
        return {key: members[key] for key in PAYER_KEYS[to.phi]}
    if name == "notes" and not to.dispatcher_notes:
        return {key: column for key, column in members.items() if key != "dispatcher"}
    return members


_CONDITIONS: Final[dict[str, str]] = {
    "service_type": "r.service_type = ANY(%(service_type)s)",
    "facility_id": "r.facility_id = %(facility_id)s",
    "rider_id": "r.rider_id = %(rider_id)s",
    "driver_id": "r.driver_id = %(driver_id)s",
    "pickup_time_from": "r.pickup_at >= %(pickup_time_from)s",
    "pickup_time_to": "r.pickup_at < %(pickup_time_to)s",
    "updated_since": "r.updated_at >= %(updated_since)s",
}
# Without a system the value counts in any of them.
_BY_EXTERNAL_ID: Final = """r.id IN (SELECT x.subject_id FROM organizations_externalid x WHERE x.subject_type = 'ride'
    AND x.value = %(external_value)s AND %(external_system)s IN ('', x.system))"""


# Theirs, or offered to them.
_OF_PROVIDERS: Final = """(r.provider_id = ANY(%(provider_ids)s) OR r.id = ANY(ARRAY(SELECT a.ride_id
    FROM rides_assignment a WHERE a.status = 'offered' AND a.provider_id = ANY(%(provider_ids)s))))"""


def conditions(filters: Mapping[str, Any], by: Principal) -> tuple[str, dict[str, Any]]:
    """Write the WHERE clause of the caller's data scope and filters, with its parameters.

    The scope is `Ride.objects.visible_to` said in SQL; a test holds the two together.
    """
    found = [_CONDITIONS[name] for name in filters if name in _CONDITIONS]
    parameters = {name: filters[name] for name in filters if name in _CONDITIONS}
    if "status" in filters:
        statuses = filters["status"]
        # One status by equality: the index on (status, pickup_at, id) then gives the order too.
        found.append("r.status = %(status)s" if len(statuses) == 1 else "r.status = ANY(%(status)s)")
        parameters["status"] = statuses[0] if len(statuses) == 1 else list(statuses)
    if "client_reference" in filters:
        # The second half lets the planner use the index of those that have one, whatever the value.
        found.append("r.client_reference = %(client_reference)s AND r.client_reference <> ''")
        parameters["client_reference"] = filters["client_reference"]
        if by.client_id is not None:
            found.append("r.client_id = %(client_id)s")
            parameters["client_id"] = by.client_id
    if "external_ref" in filters:
        system, _, value = filters["external_ref"].rpartition("|")
        found.append(_BY_EXTERNAL_ID)
        parameters |= {"external_system": system, "external_value": value}
    if by.facility_ids is not None:
        found.append("r.facility_id = ANY(%(facility_ids)s)")
        parameters["facility_ids"] = list(by.facility_ids)
    if by.provider_ids is not None:
        found.append(_OF_PROVIDERS)
        parameters["provider_ids"] = list(by.provider_ids)
    return " AND ".join(found) or "true", parameters
