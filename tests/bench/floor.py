"""Lower bound: GET /rides implemented with WSGI, psycopg and orjson only.

No framework, token or audit trail, and one role that sees everything.  It shows the minimum cost of Python, the driver
and the network for these bytes; gunicorn loads it as a separate module, without its package.
"""

import base64
import os
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

import orjson
import psycopg
from orjson import Fragment
from psycopg.rows import TupleRow
from psycopg_pool import ConnectionPool

_LATE_FROM = "(CASE WHEN r.will_call THEN r.promised_pickup_by ELSE r.window_ends_at END)"
_CAME = """coalesce(r.arrived_pickup_at,
    CASE WHEN r.status IN ('assigned', 'en_route', 'requested', 'scheduled') THEN now() END)"""

_SQL = f"""
SELECT r.id::text, r.trip_id::text, r.leg_type, r.leg_sequence, nullif(r.client_reference, ''), r.rider_id::text,
    r.facility_id::text, r.service_type, r.priority, r.pickup_at, r.pickup_time_kind, r.appointment_at,
    r.scheduling_anchor, r.timezone, r.service_date::text, r.will_call, r.ready_at, nullif(r.ready_source, ''),
    r.promised_pickup_by, r.will_call_expires_at, r.facility_delay_minutes, r.accommodation_version,
    nullif(r.vehicle_type_requested, ''), r.standing_order_id::text, nullif(r.occurrence_key, ''),
    nullif(r.occurrence_state, ''), nullif(split_part(r.occurrence_key, ':', 2), ''), r.requested_at, r.confirm_by,
    r.scheduled_at, r.review_reasons, r.status,
    r.status_changed_at, r.departed_at, r.arrived_pickup_at, r.boarded_at, r.arrived_dropoff_at, r.dropped_off_at,
    coalesce({_CAME} > {_LATE_FROM}, false),
    coalesce(greatest(0, floor(extract(epoch FROM {_CAME} - {_LATE_FROM}) / 60))::int, 0), r.eta_pickup_at,
    CASE WHEN r.eta_pickup_at IS NOT NULL THEN 'reported' END,
    CASE WHEN NOT r.will_call THEN 'not_applicable' WHEN r.ready_at IS NOT NULL THEN 'released'
        WHEN r.will_call_expires_at <= now() THEN 'expired' ELSE 'waiting' END,
    r.provider_id::text, r.driver_id::text, r.vehicle_id::text, r.attendant_ids::text[], r.end_note,
    r.estimated_miles::float8, r.estimated_minutes, r.loaded_miles::float8, nullif(r.loaded_miles_source, ''),
    r.odometer_start::float8, r.odometer_end::float8, r.wait_minutes, r.onboard_minutes, r.handoff_name,
    r.status = 'completed' AND r.missing_documents = '{{}}', r.missing_documents, r.open_exception_count,
    nullif(r.max_exception_severity, ''), r.created_at, r.updated_at, r.version,
    coalesce((SELECT json_agg(json_build_object('system', x.system, 'value', x.value, 'type', x.type)
        ORDER BY x.system, x.value)::text FROM organizations_externalid x
        WHERE x.subject_type = 'ride' AND x.subject_id = r.id), '[]'),
    r.pickup::text, r.dropoff::text, r.accommodation::text, r.companions::text, r.discharge::text, r.dialysis::text,
    r.requested_by::text, r.signatures::text, r.attestation::text, r.window_starts_at, r.window_ends_at,
    r.spaces_ambulatory, r.spaces_wheelchair, r.spaces_stretcher, r.payer_id::text, r.program_code,
    r.authorization_number, r.authorization_expires_on::text, r.driver_notes, r.dispatcher_notes, r.facility_notes,
    nullif(r.reason_code, ''), nullif(r.fault, ''), nullif(r.cancellation_timing, ''), nullif(r.ended_by, '')
FROM rides_ride r ORDER BY r.pickup_at, r.id LIMIT %s
"""  # noqa: S608  # constants above

_PLAIN = (
    "id", "tripId", "legType", "legSequence", "clientReference", "riderId", "facilityId", "serviceType", "priority",
    "pickupTime", "pickupTimeKind", "appointmentTime", "schedulingAnchor", "timezone", "serviceDate", "willCall",
    "readyAt", "readySource", "promisedPickupBy", "willCallExpiresAt", "facilityDelayMinutes", "accommodationVersion",
    "vehicleTypeRequested", "standingOrderId", "occurrenceKey", "occurrenceState", "originalServiceDate",
    "requestedAt", "confirmBy", "scheduledAt", "reviewReasons", "status", "statusChangedAt", "departedAt",
    "arrivedPickupAt", "boardedAt",
    "arrivedDropoffAt", "droppedOffAt", "isLate", "lateMinutes", "etaPickup", "etaSource", "releaseState", "providerId",
    "driverId", "vehicleId", "attendantIds", "endNote", "estimatedMiles", "estimatedMinutes", "loadedMiles",
    "loadedMilesSource", "odometerStart", "odometerEnd", "waitMinutes", "onboardMinutes", "handoffName",
    "documentationComplete", "missingDocuments", "openExceptionCount", "maxExceptionSeverity", "createdAt",
    "updatedAt", "version",
)  # fmt: skip
_JSON = (
    "externalIds", "pickup", "dropoff", "accommodation", "companions", "discharge", "dialysis", "requestedBy",
    "signatures", "attestation",
)  # fmt: skip
_AFTER_JSON = len(_PLAIN) + len(_JSON)

_pool = ConnectionPool(os.environ["BENCH_CONNINFO"], min_size=1, max_size=8, open=True, kwargs={"autocommit": True})


def _ride(values: TupleRow) -> dict[str, Any]:
    ride = dict(zip(_PLAIN, values, strict=False))
    for name, text in zip(_JSON, values[len(_PLAIN) : _AFTER_JSON], strict=True):
        ride[name] = None if text is None else Fragment(text)
    (
        starts, ends, ambulatory, wheelchair, stretcher, payer, program, authorization, expires, to_driver,
        to_dispatcher, to_facility, reason, fault, timing, ended_by,
    ) = values[_AFTER_JSON:]  # fmt: skip
    ride["pickupWindow"] = {"start": starts, "end": ends}
    ride["spaces"] = {"ambulatory": ambulatory, "wheelchair": wheelchair, "stretcher": stretcher}
    ride["payer"] = {
        "payerId": payer,
        "programCode": program,
        "authorizationNumber": authorization,
        "authorizationExpires": expires,
    }
    ride["notes"] = {"driver": to_driver, "dispatcher": to_dispatcher, "facility": to_facility}
    ride["outcome"] = {"reasonCode": reason, "fault": fault, "timing": timing, "endedBy": ended_by}
    return ride


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    limit = int(parse_qs(environ["QUERY_STRING"])["limit"][0])
    with _pool.connection() as connection, psycopg.Cursor(connection) as cursor:
        found = cursor.execute(_SQL, [limit + 1]).fetchall()
    shown = found[:limit]
    next_cursor = None
    if len(found) > limit:
        last = orjson.dumps([shown[-1][9], shown[-1][0]])
        next_cursor = base64.urlsafe_b64encode(os.urandom(28) + last).decode()
    page = {"limit": limit, "hasMore": next_cursor is not None, "nextCursor": next_cursor}
    body = orjson.dumps({"data": [_ride(values) for values in shown], "page": page}, option=orjson.OPT_UTC_Z)
    start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]
