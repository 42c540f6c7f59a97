"""Every kind of event that webhooks tell of: what it means, and what its `data` holds at each payload level.

The catalogue is what the API publishes, what a subscription is checked against, and what bodies are cut by: a key that
is not listed here does not leave at `id-only` and `summary`, whatever the event carries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from apps.fleet.rules.credentials import CredentialType
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionStatus, ExceptionType
from apps.rides.rules.lifecycle import RideStatus

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

_OF_RIDE: Final[Mapping[str, Schema]] = {
    "status": _STATUS,
    "previousStatus": _MAYBE_STATUS,
    "pickupTime": _INSTANT,
    "facilityId": _maybe(_ID),
    "providerId": _maybe(_ID),
    "clientReference": {**_TEXT, "description": "Your own reference, of rides that you booked."},
}
_OF_ORDER: Final[Mapping[str, Schema]] = {"status": _TEXT, "facilityId": _maybe(_ID)}
_HOLD: Final[Mapping[str, Schema]] = {
    "fromDate": _DAY,
    "until": {**_maybe(_DAY), "description": "The last day of it; null until somebody resumes."},
    "reason": _maybe(_TEXT),
}
_LAST_DATE: Final[Schema] = {**_DAY, "description": "The last day that it may ride."}
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
        "type": {"type": "string", "enum": [one.value for one in ExceptionType]},
        "severity": {"type": "string", "enum": [one.value for one in ExceptionSeverity]},
        "status": {"type": "string", "enum": [one.value for one in ExceptionStatus]},
        "dueAt": _maybe(_INSTANT),
    },
}


@dataclass(frozen=True, slots=True)
class EventType:
    """One kind.  `id_key` names the key of `data` that identifies the subject, `path` where the API has it.

    `owners` are ids that stand at every level: of whom the API shows the subject with, where it has no path of its own.
    """

    name: str
    about: str
    subject: str
    id_key: str
    path: str | None
    summary: Mapping[str, Schema] = field(default_factory=dict)
    owners: tuple[str, ...] = ()
    operational: bool = False  # of the service itself: for endpoints of the client it is about, and the operator's


def _ride(name: str, about: str, **more: Schema) -> EventType:
    return EventType(f"ride.{name}", about, "ride", "rideId", "/rides", {**_OF_RIDE, **more})


def _order(verb: str, about: str, **more: Schema) -> EventType:
    of_order = {**_OF_ORDER, **more}
    return EventType(f"standing_order.{verb}", about, "standing_order", "standingOrderId", "/standing-orders", of_order)


def _order_exception(name: str, about: str) -> EventType:
    told = {"standingOrderId": _ID, "facilityId": _maybe(_ID), "exception": _EXCEPTION}
    return EventType(f"standing_order.{name}", about, "exception", "exceptionId", "/ride-exceptions", told)


def _endpoint(name: str, about: str, **more: Schema) -> EventType:
    of_endpoint = {"state": _TEXT, **more}
    return EventType(name, about, "endpoint", "endpointId", "/webhooks/endpoints", of_endpoint, operational=True)


def _export(verb: str, about: str, **more: Schema) -> EventType:
    made = {"dataset": _TEXT, "format": _TEXT, **more}
    return EventType(f"export.{verb}", about, "export", "exportId", "/exports", made, operational=True)


def _credential(owner: str, about: str) -> EventType:
    lapse = {
        "providerId": _ID,
        "credentialType": {"type": "string", "enum": [one.value for one in CredentialType]},
        "expiresOn": {**_DAY, "description": "The last day of it."},
        "daysLeft": _COUNT,
        "blocking": {"type": "boolean", "description": "Whether no ride is given without it."},
    }
    name = f"{owner}.credential_expiring"
    return EventType(name, about, "credential", "credentialId", None, lapse, owners=(f"{owner}Id",))


_FAILING: Final[Mapping[str, Schema]] = {"failingSince": _INSTANT, "failures": _COUNT, "lastError": _TEXT}

_ALL: Final = (
    _ride("requested", "A ride was asked for and waits to be confirmed."),
    _ride("scheduled", "A ride is scheduled: nothing stands against it, and a driver can be found."),
    _ride("rescheduled", "The pickup time changed.", changed=_NAMES),
    _ride("updated", "Something else of the ride changed; `changed` says what.", changed=_NAMES),
    _ride("ready", "A will-call rider is ready; the vehicle was promised."),
    _ride(
        "driver_offered",
        "A driver was asked to take the ride; the answer is due at `respondBy`.",
        **{key: _DRIVER[key] for key in ("assignmentId", "driverId", "vehicleId")},
        respondBy=_INSTANT,
    ),
    _ride("driver_assigned", "A driver and a vehicle were put on the ride.", **_DRIVER),
    _ride("driver_unassigned", "The driver was taken off, or gave the ride back.", **_DRIVER),
    _ride("driver_en_route", "The driver is on the way to the pickup."),
    _ride("driver_arrived", "The driver is at the pickup."),
    _ride("eta_changed", "The estimated arrival moved by five minutes or more.", etaPickup=_INSTANT),
    _ride("started", "The rider is on board."),
    _ride("completed", "The rider was dropped off."),
    _ride("cancelled", "The ride will not take place.", reasonCode=_maybe(_TEXT)),
    _ride("no_show", "The driver came and the rider did not.", reasonCode=_maybe(_TEXT)),
    _ride("unfulfilled", "The ride was not provided.", reasonCode=_maybe(_TEXT)),
    _ride("corrected", "What was recorded of an ended ride was put right.", endedAs=_STATUS),
    _ride("exception", "Something about the ride needs attention, or more of it.", exception=_EXCEPTION),
    _ride("exception_noted", "Something about the ride is worth knowing; nobody has to act yet.", exception=_EXCEPTION),
    _ride("exception_acknowledged", "Somebody looks after it.", exception=_EXCEPTION),
    _ride("exception_resolved", "It needs no more attention.", exception=_EXCEPTION),
    _order("created", "Rides that recur were arranged.", startDate=_DAY),
    _order(
        "changed",
        "What a standing order asks for changed from a day on, or on it alone where `changed` says `occurrence`.",
        changed=_NAMES,
        fromDate=_DAY,
    ),
    _order("held", "A standing order makes no rides for a while.", **_HOLD),
    _order("resumed", "A standing order that was held makes rides again.", fromDate=_DAY),
    _order(
        "ending",
        "A standing order, or its authorization, ends in 30, 14 or 7 days.",
        lastDate=_LAST_DATE,
        daysLeft=_COUNT,
    ),
    _order("ended", "A standing order makes no more rides.", lastDate=_LAST_DATE),
    _order_exception("exception", "Something about a standing order needs attention, or something else than before."),
    _order_exception("exception_acknowledged", "Somebody looks after what a standing order needs."),
    _order_exception("exception_resolved", "What a standing order needed needs no more attention."),
    EventType("facility.created", "A facility was added.", "facility", "facilityId", "/facilities"),
    EventType("facility.updated", "A facility changed.", "facility", "facilityId", "/facilities"),
    EventType("driver.created", "A driver was added.", "driver", "driverId", "/drivers"),
    EventType("driver.updated", "A driver's record changed.", "driver", "driverId", "/drivers"),
    EventType(
        "driver.activation_changed",
        "A driver was activated, suspended or let go.",
        "driver",
        "driverId",
        "/drivers",
        {"from": _TEXT, "to": _TEXT},
    ),
    _credential("driver", "A credential of a driver lapses within 60, 30, 14 or 7 days."),
    EventType("vehicle.created", "A vehicle was added.", "vehicle", "vehicleId", "/vehicles"),
    EventType("vehicle.updated", "A vehicle's record changed.", "vehicle", "vehicleId", "/vehicles"),
    _credential("vehicle", "A credential of a vehicle lapses within 60, 30, 14 or 7 days."),
    EventType(
        "token.expiring",
        "An API token ends in 14, 7 or 1 days.",
        "token",
        "tokenId",
        None,
        {"clientId": _ID, "keyId": _TEXT, "expiresAt": _INSTANT, "daysLeft": _COUNT},
        operational=True,
    ),
    _export("ready", "The file of an export can be fetched.", rows=_COUNT, expiresAt=_INSTANT),
    _export("failed", "An export was given up.", errorCode=_TEXT),
    _endpoint("webhook.test", "Somebody asked whether this endpoint answers."),
    _endpoint("webhook.endpoint.failing", "Another endpoint has had no success for a while.", **_FAILING),
    _endpoint("webhook.endpoint.recovered", "Another endpoint answers again, or was resumed.", **_FAILING),
    _endpoint("webhook.endpoint.paused", "Another endpoint answered 410 Gone, and nothing is sent there any more."),
    _endpoint("webhook.endpoint.disabled", "Another endpoint was switched off: nobody answered for days.", **_FAILING),
    _endpoint(
        "webhook.delivery.exhausted",
        "Deliveries to another endpoint were given up.",
        count={**_COUNT, "description": "How many since the last such event."},
    ),
    _endpoint(
        "webhook.delivery.expiring",
        "What is held for another endpoint, which is not sent to, will be forgotten.",
        count={**_COUNT, "description": "How many are held."},
        expiresAt={**_INSTANT, "description": "When the oldest of them is forgotten."},
    ),
)

CATALOGUE: Final[Mapping[str, EventType]] = MappingProxyType({one.name: one for one in _ALL})
TEST: Final = "webhook.test"
# What a subscription may name besides single types.
EVERYTHING: Final = "*"
FAMILIES: Final = tuple(sorted({f"{one.name.partition('.')[0]}.*" for one in _ALL}))
# Told at once when it does not get through: somebody may be standing at a door.
URGENT: Final = frozenset({"ride.exception"})


def unknown_among(types: list[str]) -> list[str]:
    """List what no event type, family or wildcard is called."""
    return [one for one in types if one not in CATALOGUE and one not in FAMILIES and one != EVERYTHING]


def data_schema(kind: EventType, level: str) -> dict[str, Any]:
    """Write the JSON Schema of `data` at `id-only` or `summary`."""
    properties: dict[str, Any] = {kind.id_key: _ID}
    if kind.path is not None:
        properties["href"] = {"type": "string", "description": "Where the API shows it, below the base address."}
    properties |= dict.fromkeys(kind.owners, _ID)
    required = list(properties)
    if level != "id-only":
        properties |= kind.summary
    return {"type": "object", "required": required, "properties": properties}


def body_schema(kind: EventType, level: str) -> dict[str, Any]:
    """Write the JSON Schema of the whole body.  Receivers ignore what they do not know: keys may be added."""
    data = data_schema(kind, level)
    if level == "full-resource" and kind.subject == "ride":
        data["required"].append("ride")
        data["properties"]["ride"] = {
            "type": ["object", "null"],
            "description": "The ride as GET /rides/{id} shows it; null when it is gone.",
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"{kind.name}, {level}",
        "description": kind.about,
        "type": "object",
        "required": ["id", "type", "apiVersion", "timestamp", "subject", "data"],
        "properties": {
            "id": {**_ID, "description": "The same for every attempt, resend and replay; deduplicate by it."},
            "type": {"const": kind.name},
            "apiVersion": {"type": "string"},
            "timestamp": {**_INSTANT, "description": "When it happened."},
            "subject": {
                "type": "object",
                "required": ["type", "id", "sequence"],
                "properties": {
                    "type": {"const": kind.subject},
                    "id": _ID,
                    "sequence": {
                        "type": "integer",
                        "minimum": 1,
                        "description": "The subject's version after the change; drop a lower one that comes later.",
                    },
                },
            },
            "data": data,
        },
    }
