"""The catalog of event types: their meaning, and the keys of their `data` at each payload level.

The API publishes the catalog, subscriptions are validated against it, and bodies are rendered by it: at `id-only` and
`summary`, a body contains only the keys that are listed here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from django_stubs_ext import StrPromise

from apps.fleet.rules.credentials import CredentialType
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionStatus, ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from lib.messages import gettext_lazy as _

Schema = Mapping[str, Any]

_ID: Final[Schema] = {"type": "string", "format": "uuid"}
_INSTANT: Final[Schema] = {"type": "string", "format": "date-time"}
_TEXT: Final[Schema] = {"type": "string"}
_DAY: Final[Schema] = {"type": "string", "format": "date"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_NAMES: Final[Schema] = {"type": "array", "items": {"type": "string"}}


def _maybe(schema: Schema) -> Schema:
    return {**schema, "type": [schema["type"], "null"]}


_STATUS: Final[Schema] = {"type": "string", "enum": [status.value for status in RideStatus]}
_MAYBE_STATUS: Final[Schema] = {"type": ["string", "null"], "enum": [*(status.value for status in RideStatus), None]}

_RIDE: Final[Mapping[str, Schema]] = {
    "status": _STATUS,
    "previousStatus": _MAYBE_STATUS,
    "pickupTime": _INSTANT,
    "facilityId": _maybe(_ID),
    "providerId": _maybe(_ID),
    "clientReference": {**_TEXT, "description": "Your own reference, of rides that you booked."},
}
_ORDER: Final[Mapping[str, Schema]] = {"status": _TEXT, "facilityId": _maybe(_ID)}
_HOLD: Final[Mapping[str, Schema]] = {
    "fromDate": _DAY,
    "until": {**_maybe(_DAY), "description": "The last day of the hold; null if it is open-ended."},
    "reason": _maybe(_TEXT),
}
_LAST_DATE: Final[Schema] = {**_DAY, "description": "The last day with rides."}
_DRIVER: Final[Mapping[str, Schema]] = {
    "assignmentId": _maybe(_ID),
    "driverId": _maybe(_ID),
    "vehicleId": _maybe(_ID),
    "reasonCode": _maybe(_TEXT),
}
_EXCEPTION: Final[Schema] = {
    "type": "object",
    "required": ["id", "type", "severity", "status", "dueAt"],
    "properties": {
        "id": _ID,
        "type": {"type": "string", "enum": [item.value for item in ExceptionType]},
        "severity": {"type": "string", "enum": [item.value for item in ExceptionSeverity]},
        "status": {"type": "string", "enum": [item.value for item in ExceptionStatus]},
        "dueAt": _maybe(_INSTANT),
        "causeDriverId": _ID,  # only if a driver who runs late is the cause
    },
}


@dataclass(frozen=True, slots=True)
class EventType:
    """An event type.

    `id_key` is the key of `data` that identifies the subject, `path` its collection in the API.  `owners` are ids at
    every level: of the record that the subject belongs to, if the subject has no path of its own.
    """

    name: str
    description: StrPromise
    subject: str
    id_key: str
    path: str | None
    summary: Mapping[str, Schema] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    operational: bool = False  # about the service itself; for endpoints of its client and of the operator


def _ride(name: str, description: StrPromise, **more: Schema) -> EventType:
    return EventType(f"ride.{name}", description, "ride", "rideId", "/rides", {**_RIDE, **more})


def _order(verb: str, description: StrPromise, **more: Schema) -> EventType:
    data = {**_ORDER, **more}
    return EventType(
        f"standing_order.{verb}", description, "standing_order", "standingOrderId", "/standing-orders", data
    )


def _order_exception(name: str, description: StrPromise) -> EventType:
    data = {"standingOrderId": _ID, "facilityId": _maybe(_ID), "exception": _EXCEPTION}
    return EventType(f"standing_order.{name}", description, "exception", "exceptionId", "/ride-exceptions", data)


def _endpoint(name: str, description: StrPromise, **more: Schema) -> EventType:
    data = {"state": _TEXT, **more}
    return EventType(name, description, "endpoint", "endpointId", "/webhooks/endpoints", data, operational=True)


def _export(verb: str, description: StrPromise, **more: Schema) -> EventType:
    data = {"dataset": _TEXT, "format": _TEXT, **more}
    return EventType(f"export.{verb}", description, "export", "exportId", "/exports", data, operational=True)


def _credential(owner: str, description: StrPromise) -> EventType:
    data = {
        "providerId": _ID,
        "credentialType": {"type": "string", "enum": [item.value for item in CredentialType]},
        "expiresOn": {**_DAY, "description": "The last valid day."},
        "daysLeft": _COUNT,
        "blocking": {"type": "boolean", "description": "Whether it is required to drive."},
    }
    name = f"{owner}.credential_expiring"
    return EventType(name, description, "credential", "credentialId", None, data, owners=(f"{owner}Id",))


_FAILING: Final[Mapping[str, Schema]] = {"failingSince": _INSTANT, "failures": _COUNT, "lastError": _TEXT}

_ALL: Final = (
    _ride("requested", _("A ride was requested and waits for confirmation.")),
    _ride("scheduled", _("A ride was scheduled and can be assigned.")),
    _ride("rescheduled", _("The pickup time changed."), changed=_NAMES),
    _ride("updated", _("Other data of the ride changed; `changed` lists the fields."), changed=_NAMES),
    _ride("ready", _("A will-call rider is ready, and a pickup was promised.")),
    _ride(
        "driver_offered",
        _("The ride was offered to a driver, who responds by `respondBy`."),
        **{key: _DRIVER[key] for key in ("assignmentId", "driverId", "vehicleId")},
        respondBy=_INSTANT,
    ),
    _ride("driver_assigned", _("A driver and a vehicle were assigned to the ride."), **_DRIVER),
    _ride("driver_unassigned", _("The driver was unassigned or turned the ride back."), **_DRIVER),
    _ride("driver_en_route", _("The driver is en route to the pickup.")),
    _ride("driver_arrived", _("The driver arrived at the pickup.")),
    _ride("eta_changed", _("The estimated pickup time changed by five minutes or more."), etaPickup=_INSTANT),
    _ride("started", _("The rider is on board.")),
    _ride("completed", _("The rider was dropped off.")),
    _ride("cancelled", _("The ride was canceled."), reasonCode=_maybe(_TEXT)),
    _ride("no_show", _("The rider did not show up."), reasonCode=_maybe(_TEXT)),
    _ride("unfulfilled", _("The ride was not provided."), reasonCode=_maybe(_TEXT)),
    _ride("corrected", _("Records of an ended ride were corrected."), endedAs=_STATUS),
    _ride("exception", _("An exception of the ride was opened or escalated."), exception=_EXCEPTION),
    _ride("exception_noted", _("An exception of the ride was noted; no action is needed yet."), exception=_EXCEPTION),
    _ride("exception_acknowledged", _("An exception of the ride was acknowledged."), exception=_EXCEPTION),
    _ride("exception_resolved", _("An exception of the ride was resolved."), exception=_EXCEPTION),
    _order("created", _("A standing order was created."), startDate=_DAY),
    _order(
        "changed",
        _("A standing order changed from `fromDate` on, or on that day only if `changed` contains `occurrence`."),
        changed=_NAMES,
        fromDate=_DAY,
    ),
    _order("held", _("A standing order was put on hold."), **_HOLD),
    _order("resumed", _("A standing order was resumed."), fromDate=_DAY),
    _order(
        "ending",
        _("A standing order or its authorization ends in 30, 14 or 7 days."),
        lastDate=_LAST_DATE,
        daysLeft=_COUNT,
    ),
    _order("ended", _("A standing order ended."), lastDate=_LAST_DATE),
    _order_exception("exception", _("An exception of a standing order was opened or changed.")),
    _order_exception("exception_acknowledged", _("An exception of a standing order was acknowledged.")),
    _order_exception("exception_resolved", _("An exception of a standing order was resolved.")),
    EventType("facility.created", _("A facility was added."), "facility", "facilityId", "/facilities"),
    EventType("facility.updated", _("A facility changed."), "facility", "facilityId", "/facilities"),
    EventType("driver.created", _("A driver was added."), "driver", "driverId", "/drivers"),
    EventType("driver.updated", _("A driver's record changed."), "driver", "driverId", "/drivers"),
    EventType(
        "driver.activation_changed",
        _("A driver was activated, suspended or terminated."),
        "driver",
        "driverId",
        "/drivers",
        {"from": _TEXT, "to": _TEXT},
    ),
    _credential("driver", _("A driver's credential expires within 60, 30, 14 or 7 days.")),
    EventType("vehicle.created", _("A vehicle was added."), "vehicle", "vehicleId", "/vehicles"),
    EventType("vehicle.updated", _("A vehicle's record changed."), "vehicle", "vehicleId", "/vehicles"),
    _credential("vehicle", _("A vehicle's credential expires within 60, 30, 14 or 7 days.")),
    EventType(
        "token.expiring",
        _("An API token expires in 14, 7 or 1 days."),
        "token",
        "tokenId",
        None,
        {"clientId": _ID, "keyId": _TEXT, "expiresAt": _INSTANT, "daysLeft": _COUNT},
        operational=True,
    ),
    _export("ready", _("The file of an export can be downloaded."), rows=_COUNT, expiresAt=_INSTANT),
    _export("failed", _("An export failed."), errorCode=_TEXT),
    _endpoint("webhook.test", _("A test of this endpoint was requested.")),
    _endpoint(
        "webhook.endpoint.failing", _("Deliveries to another endpoint have been failing for a while."), **_FAILING
    ),
    _endpoint("webhook.endpoint.recovered", _("Another endpoint answers again or was resumed."), **_FAILING),
    _endpoint("webhook.endpoint.paused", _("Another endpoint answered 410 Gone and was paused.")),
    _endpoint(
        "webhook.endpoint.disabled", _("Another endpoint was disabled because it did not answer for days."), **_FAILING
    ),
    _endpoint(
        "webhook.delivery.exhausted",
        _("Deliveries to another endpoint were exhausted."),
        count={**_COUNT, "description": "Deliveries since the last such event."},
    ),
    _endpoint(
        "webhook.delivery.expiring",
        _("Held deliveries of another endpoint will be deleted."),
        count={**_COUNT, "description": "Held deliveries."},
        expiresAt={**_INSTANT, "description": "When the oldest of them will be deleted."},
    ),
)

CATALOGUE: Final[Mapping[str, EventType]] = MappingProxyType({event_type.name: event_type for event_type in _ALL})
TEST: Final = "webhook.test"
# Names that a subscription may contain besides event types.
EVERYTHING: Final = "*"
FAMILIES: Final = tuple(sorted({f"{event_type.name.partition('.')[0]}.*" for event_type in _ALL}))
# People are alerted at once if it is not delivered: a rider may be waiting.
URGENT: Final = frozenset({"ride.exception"})


def unknown_among(types: list[str]) -> list[str]:
    """List the names that are no event type, family or wildcard."""
    return [name for name in types if name not in CATALOGUE and name not in FAMILIES and name != EVERYTHING]


def data_schema(event_type: EventType, level: str) -> dict[str, Any]:
    """Return the JSON Schema of `data` at `id-only` or `summary`."""
    properties: dict[str, Any] = {event_type.id_key: _ID}
    if event_type.path is not None:
        properties["href"] = {"type": "string", "description": "Path of the record in the API."}
    properties |= dict.fromkeys(event_type.owners, _ID)
    required = list(properties)
    if level != "id-only":
        properties |= event_type.summary
    return {"type": "object", "required": required, "properties": properties}


def body_schema(event_type: EventType, level: str) -> dict[str, Any]:
    """Return the JSON Schema of the body.  Receivers ignore unknown keys: keys may be added."""
    data = data_schema(event_type, level)
    if level == "full-resource" and event_type.subject == "ride":
        data["required"].append("ride")
        data["properties"]["ride"] = {
            "type": ["object", "null"],
            "description": "The ride as in GET /rides/{id}; null if it does not exist anymore.",
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{event_type.name}, {level}",
        "description": str(event_type.description),
        "type": "object",
        "required": ["id", "type", "apiVersion", "timestamp", "subject", "data"],
        "properties": {
            "id": {**_ID, "description": "The same for every attempt, resend and replay; use it to deduplicate."},
            "type": {"const": event_type.name},
            "apiVersion": {"type": "string"},
            "timestamp": {**_INSTANT, "description": "When the event happened."},
            "subject": {
                "type": "object",
                "required": ["type", "id", "sequence"],
                "properties": {
                    "type": {"const": event_type.subject},
                    "id": _ID,
                    "sequence": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "The subject's version after the change; ignore a lower one that arrives later.",
                    },
                },
            },
            "data": data,
        },
    }
