"""The list of rides: the columns in the API's shape, and the rows that a caller gets.

A page has up to 200 rides of 80 fields.  Rows are read as tuples (`values_list`) without model instances and without a
serializer, because serializing model instances costs five times as much as everything else in the request.  Instants
and JSON columns come as text, in the form in which the API writes them: Django would build a datetime of each instant
in Python, 2,000 on a page.  `schemas.ride_output.RideRow` is the contract, and a test compares both for every status
and every PHI level.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

import orjson
from django.db.models import FloatField, Func, Q, TextField
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast

from apps.organizations.models import SubjectType
from apps.organizations.queries import subjects_called
from apps.rides.labels import note_text
from apps.rides.models import Ride
from apps.rides.models.ride import RideQuerySet
from apps.rides.queries.ride_forecasts import NO_ETA, Eta
from apps.rides.rules.disclosure import FIELDS, Disclosure, disclosed
from apps.rides.rules.timeliness import late_minutes, release_state
from lib.access import Phi, Principal
from lib.api.fields import instant_text

SORTS: Final[dict[str, str]] = {
    "pickupTime": "pickup_at",
    "-pickupTime": "-pickup_at",
    "-createdAt": "-created_at",
    "updatedAt": "updated_at",
}
EXPANDABLE: Final = ("rider", "driver", "facility")


class InstantText(Func):
    """An instant as text, as the API writes it: UTC, with microseconds if there are any."""

    template = (
        "replace(to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), '.000000', '')"
    )
    output_field = TextField()


def _text(column: str) -> Combinable:
    return Cast(column, TextField())


def _float(column: str) -> Combinable:
    return Cast(column, FloatField())


_COLUMNS: Final[dict[str, str | Combinable]] = {
    "id": "pk",
    "tripId": "trip_id",
    "legType": "leg_type",
    "legSequence": "leg_sequence",
    "clientReference": "client_reference",
    "riderId": "rider_id",
    "facilityId": "facility_id",
    "serviceType": "service_type",
    "priority": "priority",
    "pickupTime": InstantText("pickup_at"),
    "pickupTimeKind": "pickup_time_kind",
    "appointmentTime": InstantText("appointment_at"),
    "schedulingAnchor": "scheduling_anchor",
    "timezone": "timezone",
    "serviceDate": "service_date",
    "willCall": "will_call",
    "readyAt": InstantText("ready_at"),
    "readySource": "ready_source",
    "promisedPickupBy": InstantText("promised_pickup_by"),
    "willCallExpiresAt": InstantText("will_call_expires_at"),
    "facilityDelayMinutes": "facility_delay_minutes",
    "accommodationVersion": "accommodation_version",
    "vehicleTypeRequested": "vehicle_type_requested",
    "standingOrderId": "standing_order_id",
    "occurrenceKey": "occurrence_key",
    "occurrenceState": "occurrence_state",
    "requestedAt": InstantText("requested_at"),
    "afterTheFact": "after_the_fact",
    "confirmBy": InstantText("confirm_by"),
    "scheduledAt": InstantText("scheduled_at"),
    "reviewReasons": "review_reasons",
    "status": "status",
    "statusChangedAt": InstantText("status_changed_at"),
    "departedAt": InstantText("departed_at"),
    "arrivedPickupAt": InstantText("arrived_pickup_at"),
    "boardedAt": InstantText("boarded_at"),
    "arrivedDropoffAt": InstantText("arrived_dropoff_at"),
    "droppedOffAt": InstantText("dropped_off_at"),
    "providerId": "provider_id",
    "driverId": "driver_id",
    "vehicleId": "vehicle_id",
    "attendantIds": "attendant_ids",
    "endNote": "end_note",
    "estimatedMiles": _float("estimated_miles"),
    "estimatedMinutes": "estimated_minutes",
    "loadedMiles": _float("loaded_miles"),
    "loadedMilesSource": "loaded_miles_source",
    "odometerStart": _float("odometer_start"),
    "odometerEnd": _float("odometer_end"),
    "waitMinutes": "wait_minutes",
    "onboardMinutes": "onboard_minutes",
    "handoffName": "handoff_name",
    "missingDocuments": "missing_documents",
    "openExceptionCount": "open_exception_count",
    "maxExceptionSeverity": "max_exception_severity",
    "createdAt": InstantText("created_at"),
    "updatedAt": InstantText("updated_at"),
    "version": "version",
    "pickup": _text("pickup"),
    "dropoff": _text("dropoff"),
    "accommodation": _text("accommodation"),
    "companions": _text("companions"),
    "discharge": _text("discharge"),
    "dialysis": _text("dialysis"),
    "requestedBy": _text("requested_by"),
    "signatures": _text("signatures"),
    "attestation": _text("attestation"),
}
_JSON: Final = frozenset(
    {
        "pickup",
        "dropoff",
        "accommodation",
        "companions",
        "discharge",
        "dialysis",
        "requestedBy",
        "signatures",
        "attestation",
    }
)
# Empty text in the table, null in the API.
_NULL_IF_EMPTY: Final = frozenset(
    {
        "clientReference",
        "readySource",
        "vehicleTypeRequested",
        "occurrenceKey",
        "occurrenceState",
        "loadedMilesSource",
        "maxExceptionSeverity",
    }
)
# Objects of several columns.
_GROUPS: Final[dict[str, dict[str, str | Combinable]]] = {
    "pickupWindow": {"start": InstantText("window_starts_at"), "end": InstantText("window_ends_at")},
    "spaces": {
        "ambulatory": "spaces_ambulatory",
        "wheelchair": "spaces_wheelchair",
        "stretcher": "spaces_stretcher",
    },
    "payer": {
        "payerId": "payer_id",
        "programCode": "program_code",
        "authorizationNumber": "authorization_number",
        "authorizationExpires": "authorization_expires_on",
    },
    "notes": {"driver": "driver_notes", "dispatcher": "dispatcher_notes", "facility": "facility_notes"},
    "outcome": {
        "reasonCode": "reason_code",
        "fault": "fault",
        "timing": "cancellation_timing",
        "endedBy": "ended_by",
    },
}
# Fields derived from the columns of `Facts`; external ids are separate rows.
_DERIVED: Final = (
    "isLate",
    "lateMinutes",
    "etaPickup",
    "etaSource",
    "releaseState",
    "originalServiceDate",
    "documentationComplete",
)
ROW: Final = (*_COLUMNS, *_GROUPS, *_DERIVED, "externalIds")


class Facts(NamedTuple):
    """Columns that are read for every row, independent of the requested fields."""

    sort_key: str
    id: Any
    rider_id: Any
    facility_id: Any
    driver_id: Any
    status: str
    will_call: bool
    ready_at: str | None
    promised_pickup_by: str | None
    will_call_expires_at: str | None
    window_ends_at: str
    after_the_fact: bool
    arrived_pickup_at: str | None
    pickup_at: str
    eta_pickup_at: str | None
    occurrence_key: str
    missing_documents: list[str]


@dataclass(slots=True)
class _Times:
    """The columns of `rules.timeliness` and of `ride_forecasts`."""

    pk: UUID
    driver_id: UUID | None
    status: str
    will_call: bool
    ready_at: datetime | None
    promised_pickup_by: datetime | None
    will_call_expires_at: datetime | None
    window_ends_at: datetime
    after_the_fact: bool
    arrived_pickup_at: datetime | None
    pickup_at: datetime
    eta_pickup_at: datetime | None


def times_of(facts: Facts) -> _Times:
    return _Times(
        facts.id,
        facts.driver_id,
        facts.status,
        facts.will_call,
        _instant(facts.ready_at),
        _instant(facts.promised_pickup_by),
        _instant(facts.will_call_expires_at),
        datetime.fromisoformat(facts.window_ends_at),
        facts.after_the_fact,
        _instant(facts.arrived_pickup_at),
        datetime.fromisoformat(facts.pickup_at),
        _instant(facts.eta_pickup_at),
    )


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields for one kind of caller.  `rows` selects the columns of `Facts`, then those of the fields."""

    rows: RideQuerySet
    names: tuple[str, ...]
    groups: Mapping[str, tuple[str, ...]]
    derived: frozenset[str]
    has_external_ids: bool
    to: Disclosure

    def row(
        self, values: Sequence[Any], facts: Facts, external_ids: Iterable[Any], *, at: datetime, eta: Eta = NO_ETA
    ) -> dict[str, Any]:
        """Build a row of the response from the columns after `Facts`."""
        row = dict(zip(self.names, values, strict=False))
        place = len(self.names)
        for group, keys in self.groups.items():
            row[group] = dict(zip(keys, values[place:], strict=False))
            place += len(keys)
        for name in _NULL_IF_EMPTY & row.keys():
            row[name] = row[name] or None
        if row.get("endNote"):
            row["endNote"] = str(note_text(row["endNote"]))
        if "outcome" in row:
            row["outcome"] = {key: text or None for key, text in row["outcome"].items()}
        self._derive(row, facts, at, eta)
        if self.has_external_ids:
            row["externalIds"] = [
                {"system": external_id.system, "value": external_id.value, "type": external_id.type}
                for external_id in external_ids
            ]
        if self.to.phi >= Phi.FULL and self.to.dispatcher_notes:
            for name in _JSON & row.keys():
                row[name] = row[name] and orjson.Fragment(row[name])
            return row
        for name in _JSON & row.keys():
            row[name] = row[name] and orjson.loads(row[name])
        return disclosed(row, self.to)

    def _derive(self, row: dict[str, Any], facts: Facts, at: datetime, eta: Eta) -> None:
        if not self.derived:
            return
        times = times_of(facts)
        late = late_minutes(times, at)
        values = {
            "isLate": late is not None,
            "lateMinutes": late or 0,
            "etaPickup": None if eta.at is None else instant_text(eta.at),
            "etaSource": None if eta.source is None else eta.source.value,
            "releaseState": release_state(times, at).value,
            "originalServiceDate": facts.occurrence_key.split(":")[1] if facts.occurrence_key else None,
            "documentationComplete": facts.status == "completed" and not facts.missing_documents,
        }
        row.update((name, values[name]) for name in self.derived)


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


@lru_cache(maxsize=256)
def shape_for(to: Disclosure, only: tuple[str, ...] | None, sort: str) -> Shape:
    """Build the fields for one kind of caller; `only` are the requested fields, None: all."""
    fields = [name for name in ROW if FIELDS.get(name, Phi.NONE) <= to.phi and (only is None or name in only)]
    names = tuple(name for name in fields if name in _COLUMNS)
    groups = {name: tuple(_GROUPS[name]) for name in fields if name in _GROUPS}
    facts = (
        InstantText(SORTS[sort].removeprefix("-")),
        "pk",
        "rider_id",
        "facility_id",
        "driver_id",
        "status",
        "will_call",
        InstantText("ready_at"),
        InstantText("promised_pickup_by"),
        InstantText("will_call_expires_at"),
        InstantText("window_ends_at"),
        "after_the_fact",
        InstantText("arrived_pickup_at"),
        InstantText("pickup_at"),
        InstantText("eta_pickup_at"),
        "occurrence_key",
        "missing_documents",
    )
    members = [column for group in groups for column in _GROUPS[group].values()]
    selected = [*facts, *(_COLUMNS[name] for name in names), *members]
    return Shape(
        rows=cast(
            RideQuerySet,
            Ride.objects.values_list(*selected).order_by(SORTS[sort], "-pk" if SORTS[sort].startswith("-") else "pk"),
        ),
        names=names,
        groups=groups,
        derived=frozenset(fields).intersection(_DERIVED),
        has_external_ids="externalIds" in fields,
        to=to,
    )


_LOOKUPS: Final[dict[str, str]] = {
    "service_type": "service_type__in",
    "facility_id": "facility_id",
    "rider_id": "rider_id",
    "driver_id": "driver_id",
    "pickup_time_from": "pickup_at__gte",
    "pickup_time_to": "pickup_at__lt",
    "updated_since": "updated_at__gte",
}


def matching(rows: RideQuerySet, filters: Mapping[str, Any], by: Principal) -> RideQuerySet:
    """Return the rides inside the caller's data scope that match the filters of the API."""
    rows = rows.visible_to(by).filter(**{_LOOKUPS[name]: filters[name] for name in _LOOKUPS if name in filters})
    if "status" in filters:
        statuses = filters["status"]
        # One status by equality: the index on (status, pickup_at, id) then gives the order, too.
        rows = rows.filter(status=statuses[0]) if len(statuses) == 1 else rows.filter(status__in=statuses)
    if "client_reference" in filters:
        # The second condition lets PostgreSQL use the index of rides that have a reference.
        rows = rows.filter(~Q(client_reference=""), client_reference=filters["client_reference"])
        if by.client_id is not None:
            rows = rows.filter(client_id=by.client_id)
    if "external_ref" in filters:
        rows = rows.filter(pk__in=subjects_called(SubjectType.RIDE, filters["external_ref"]))
    return rows
