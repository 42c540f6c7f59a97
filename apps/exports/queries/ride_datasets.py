"""The datasets of rides: all rides, and completions for billing and audits."""

from typing import Any, Final

from apps.exports.formats.columns import Column, ColumnType, Encryption
from apps.exports.models import SuggestedCode
from apps.exports.queries.dataset_columns import external_ids, identity, stop, stop_record, utc_and_local
from apps.exports.rules.dataset import Dataset, Filters
from apps.rides.rules.lifecycle import TERMINAL, RideStatus
from lib.access import Phi, Principal
from lib.api.json import dumps

MIN_BILLED_WAIT: Final = 30  # minutes; T2007 is billed in half hours
_ENDED: Final = ", ".join(f"'{status.value}'" for status in sorted(TERMINAL))
# The billable item of the trip; the table of suggested codes has its code.
_ITEM: Final = """CASE WHEN car.type = 'bls_ambulance' THEN 'bls'
    WHEN need.mobility LIKE 'stretcher%%' THEN 'stretcher'
    WHEN need.mobility LIKE 'wheelchair%%' OR need.mobility = 'recliner_chair' THEN 'wheelchair'
    ELSE 'ambulatory' END"""

_JOINS: Final = {
    "person": "JOIN riders_rider person ON person.id = r.rider_id",
    "place": "LEFT JOIN organizations_facility place ON place.id = r.facility_id",
    "origin": "LEFT JOIN organizations_facility origin ON origin.id = r.pickup_facility_id",
    "destination": "LEFT JOIN organizations_facility destination ON destination.id = r.dropoff_facility_id",
    "insurer": "LEFT JOIN organizations_payer insurer ON insurer.id = r.payer_id",
    "company": "LEFT JOIN organizations_transportprovider company ON company.id = r.provider_id",
    "crew": "LEFT JOIN rides_assignment crew ON crew.id = r.assignment_id",
    "car": "LEFT JOIN fleet_vehicle car ON car.id = r.vehicle_id",
    # Which milestones a device reported with its position; positions entered by dispatchers do not count.
    "gps": """LEFT JOIN LATERAL (SELECT bool_or(m.type = 'arrived_pickup') AS arrived_pickup,
        bool_or(m.type = 'boarded') AS boarded, bool_or(m.type = 'arrived_dropoff') AS arrived_dropoff,
        bool_or(m.type = 'dropped_off') AS dropped_off FROM rides_milestone m
        WHERE m.ride_id = r.id AND NOT m.voided AND m.lat IS NOT NULL
            AND m.source IN ('driver_app', 'integration')) gps ON true""",
    # This JSON is stored out of line (TOAST): it is fetched and parsed once per row, not for every value.
    "leaves": f"CROSS JOIN LATERAL {stop_record('r.pickup', 'leaves')}",
    "arrives": f"CROSS JOIN LATERAL {stop_record('r.dropoff', 'arrives')}",
    "need": """CROSS JOIN LATERAL jsonb_to_record(r.accommodation) AS need(mobility text, "assistLevel" text)""",
    # OFFSET keeps the subquery from being flattened, so it is computed once.
    "billed": f"CROSS JOIN LATERAL (SELECT {_ITEM} AS item OFFSET 0) billed",
}
_CONDITIONS: Final = {
    # The second half is implied, with a margin of a day for time zones: it lets the index on the pickup be used.
    "service_date_from": "r.service_date >= %(service_date_from)s AND r.pickup_at >= %(service_date_from)s::date - 1",
    "service_date_to": "r.service_date <= %(service_date_to)s AND r.pickup_at < %(service_date_to)s::date + 2",
    "facility_id": "r.facility_id = %(facility_id)s",
    "provider_id": "r.provider_id = %(provider_id)s",
    "payer_id": "r.payer_id = %(payer_id)s",
    "status": "r.status = ANY(%(status)s)",
    "changed_since": "r.updated_at >= %(changed_since)s",
}
# A ride that was reopened is exported once more with its current status, so that recipients of the old row notice.
_CORRECTED: Final = (
    "SELECT FROM events_event e WHERE e.subject_type = 'ride' AND e.subject_id = r.id AND e.type = 'ride.corrected'"
)
_REOPENED: Final = f"(r.status NOT IN ({_ENDED}) AND EXISTS ({_CORRECTED}))"
# Includes rides that were exported with this status and have another one now.
_HAS_OR_HAD_STATUS: Final = f"""(r.status = ANY(%(status)s) OR r.status NOT IN ({_ENDED})
    OR EXISTS ({_CORRECTED} AND e.data->>'endedAs' = ANY(%(status)s)))"""


_PROVIDER_SCOPE: Final = """(r.provider_id = ANY(%(provider_ids)s) OR r.id = ANY(ARRAY(SELECT a.ride_id
    FROM rides_assignment a WHERE a.status = 'offered' AND a.provider_id = ANY(%(provider_ids)s))))"""


def _signed(stop: str) -> str:
    return f"""(SELECT string_agg(concat_ws(' ', s->>'signer', nullif(s->>'name', '')), '; ')
        FROM jsonb_array_elements(r.signatures) s WHERE s->>'stop' = '{stop}')"""  # noqa: S608  # constant names, values are parameters


def _code(item: str, when: str) -> str:
    """Return the suggested code if a condition is true: that of the payer, or else that of all payers."""
    lookup = f"%(codes)s::jsonb #>> ARRAY[r.payer_id::text, {item}]"
    return f"CASE WHEN {when} THEN coalesce({lookup}, %(codes)s::jsonb #>> ARRAY['', {item}]) END"


_TRIP: Final = _code("billed.item", "r.status = 'completed'")


_COMPLETIONS: Final = (
    *identity("r", "rideId"),
    Column("tripId", ColumnType.ID, "r.trip_id"),
    Column("legType", ColumnType.WORD, "r.leg_type"),
    Column("legSequence", ColumnType.COUNT, "r.leg_sequence"),
    Column("clientReference", ColumnType.TEXT, "r.client_reference", Phi.LIMITED),
    Column("externalIds", ColumnType.TEXT, external_ids("ride", "r.id"), Phi.LIMITED),
    Column("riderId", ColumnType.ID, "r.rider_id"),
    Column("riderExternalIds", ColumnType.TEXT, external_ids("rider", "r.rider_id"), Phi.LIMITED),
    Column("riderFirstName", ColumnType.TEXT, "person.first_name", Phi.LIMITED),
    Column("riderLastName", ColumnType.TEXT, "person.last_name", Phi.LIMITED),
    Column(
        "medicaidId",
        ColumnType.SEALED,
        "person.medicaid_id_encrypted",
        Phi.LIMITED,
        Encryption("riders_rider.medicaid_id", "r.rider_id"),
    ),
    Column(
        "memberId",
        ColumnType.SEALED,
        "person.member_id_encrypted",
        Phi.LIMITED,
        Encryption("riders_rider.member_id", "r.rider_id"),
    ),
    Column(
        "payerMemberId",
        ColumnType.SEALED,
        "r.payer_member_id_encrypted",
        Phi.LIMITED,
        Encryption("rides_ride.payer_member_id", "r.id"),
    ),
    Column("facilityId", ColumnType.ID, "r.facility_id"),
    Column("facilityName", ColumnType.TEXT, "place.name"),
    Column("serviceDate", ColumnType.DATE, "r.service_date"),
    Column("timezone", ColumnType.WORD, "r.timezone"),
    Column("serviceType", ColumnType.WORD, "r.service_type"),
    *stop("origin", "leaves", "origin"),
    *stop("destination", "arrives", "destination"),
    *utc_and_local("scheduledPickup", "r.pickup_at"),
    *utc_and_local("appointment", "r.appointment_at"),
    *utc_and_local("ready", "r.ready_at"),
    *utc_and_local("arrivedPickup", "r.arrived_pickup_at"),
    *utc_and_local("boarded", "r.boarded_at"),
    *utc_and_local("arrivedDropoff", "r.arrived_dropoff_at"),
    *utc_and_local("droppedOff", "r.dropped_off_at"),
    Column("arrivedPickupGps", ColumnType.FLAG, "coalesce(gps.arrived_pickup, false)"),
    Column("boardedGps", ColumnType.FLAG, "coalesce(gps.boarded, false)"),
    Column("arrivedDropoffGps", ColumnType.FLAG, "coalesce(gps.arrived_dropoff, false)"),
    Column("droppedOffGps", ColumnType.FLAG, "coalesce(gps.dropped_off, false)"),
    Column("providerId", ColumnType.ID, "r.provider_id"),
    Column("providerName", ColumnType.TEXT, "company.name"),
    Column("driverId", ColumnType.ID, "r.driver_id"),
    Column("driverName", ColumnType.TEXT, "crew.driver_name", Phi.LIMITED),
    Column(
        "driverLicenseNumber",
        ColumnType.SEALED,
        "crew.license_number_encrypted",
        Phi.LIMITED,
        Encryption("rides_assignment.license_number", "crew.id"),
    ),
    Column("vehicleId", ColumnType.ID, "r.vehicle_id"),
    Column("vehiclePlate", ColumnType.TEXT, "crew.vehicle_plate", Phi.LIMITED),
    Column("vehicleType", ColumnType.WORD, "car.type"),
    Column("mobility", ColumnType.WORD, "need.mobility"),
    Column("assistLevel", ColumnType.WORD, 'need."assistLevel"', Phi.LIMITED),
    Column("escorts", ColumnType.COUNT, "coalesce((r.companions->>'escorts')::int, 0)", Phi.LIMITED),
    Column(
        "attendantsProvided", ColumnType.COUNT, "coalesce((r.companions->>'attendantsProvided')::int, 0)", Phi.LIMITED
    ),
    Column("loadedMiles", ColumnType.AMOUNT, "r.loaded_miles"),
    Column("loadedMilesSource", ColumnType.WORD, "r.loaded_miles_source"),
    Column("waitMinutes", ColumnType.COUNT, "r.wait_minutes"),
    Column("onboardMinutes", ColumnType.COUNT, "r.onboard_minutes"),
    Column("status", ColumnType.WORD, "r.status"),
    Column("reasonCode", ColumnType.WORD, "r.reason_code"),
    Column("fault", ColumnType.WORD, "r.fault"),
    Column("cancellationTiming", ColumnType.WORD, "r.cancellation_timing"),
    Column("payerId", ColumnType.ID, "r.payer_id"),
    Column("payerName", ColumnType.TEXT, "insurer.name"),
    Column("programCode", ColumnType.TEXT, "r.program_code"),
    Column("authorizationNumber", ColumnType.TEXT, "r.authorization_number", Phi.LIMITED),
    Column("authorizationExpires", ColumnType.DATE, "r.authorization_expires_on", Phi.LIMITED),
    Column("pickupSignedBy", ColumnType.TEXT, _signed("pickup"), Phi.LIMITED),
    Column("dropoffSignedBy", ColumnType.TEXT, _signed("dropoff"), Phi.LIMITED),
    Column("attestedBy", ColumnType.TEXT, "r.attestation->>'driverName'", Phi.LIMITED),
    Column("attestedAt", ColumnType.TEXT, "r.attestation->>'at'", Phi.LIMITED),
    Column("attestation", ColumnType.TEXT, "r.attestation->>'text'", Phi.LIMITED),
    Column("documentationComplete", ColumnType.FLAG, "r.status = 'completed' AND r.missing_documents = '{}'"),
    Column("missingDocuments", ColumnType.WORDS, "r.missing_documents"),
    # Suggestions only: the biller decides.  Mileage is never suggested without a trip.
    Column("suggestedTripCode", ColumnType.WORD, _TRIP),
    Column(
        "suggestedMileageCode",
        ColumnType.WORD,
        f"CASE WHEN nullif({_TRIP}, '') IS NOT NULL THEN "
        + _code("'mileage_' || billed.item", "r.loaded_miles > 0")
        + " END",
    ),
    Column(
        "suggestedAttendantCode",
        ColumnType.WORD,
        _code("'attendant'", "r.status = 'completed' AND (r.companions->>'attendantsProvided')::int > 0"),
        Phi.LIMITED,
    ),
    Column(
        "suggestedWaitingCode",
        ColumnType.WORD,
        _code("'waiting'", f"r.status = 'completed' AND r.wait_minutes >= {MIN_BILLED_WAIT}"),
    ),
    Column("updatedAt", ColumnType.INSTANT, "r.updated_at"),
    Column("afterTheFact", ColumnType.FLAG, "r.after_the_fact"),
)

_RIDES: Final = (
    *identity("r", "rideId"),
    Column("tripId", ColumnType.ID, "r.trip_id"),
    Column("legType", ColumnType.WORD, "r.leg_type"),
    Column("legSequence", ColumnType.COUNT, "r.leg_sequence"),
    Column("clientReference", ColumnType.TEXT, "r.client_reference", Phi.LIMITED),
    Column("externalIds", ColumnType.TEXT, external_ids("ride", "r.id"), Phi.LIMITED),
    Column("riderId", ColumnType.ID, "r.rider_id"),
    Column("riderFirstName", ColumnType.TEXT, "person.first_name", Phi.LIMITED),
    Column("riderLastName", ColumnType.TEXT, "person.last_name", Phi.LIMITED),
    Column("facilityId", ColumnType.ID, "r.facility_id"),
    Column("facilityName", ColumnType.TEXT, "place.name"),
    Column("serviceDate", ColumnType.DATE, "r.service_date"),
    Column("timezone", ColumnType.WORD, "r.timezone"),
    Column("serviceType", ColumnType.WORD, "r.service_type"),
    Column("priority", ColumnType.WORD, "r.priority"),
    Column("standingOrderId", ColumnType.ID, "r.standing_order_id"),
    *stop("origin", "leaves", "origin"),
    *stop("destination", "arrives", "destination"),
    *utc_and_local("pickup", "r.pickup_at"),
    Column("pickupTimeKind", ColumnType.WORD, "r.pickup_time_kind"),
    *utc_and_local("appointment", "r.appointment_at"),
    Column("willCall", ColumnType.FLAG, "r.will_call"),
    Column("readyAt", ColumnType.INSTANT, "r.ready_at"),
    Column("promisedPickupBy", ColumnType.INSTANT, "r.promised_pickup_by"),
    Column("status", ColumnType.WORD, "r.status"),
    Column("statusChangedAt", ColumnType.INSTANT, "r.status_changed_at"),
    Column("departedAt", ColumnType.INSTANT, "r.departed_at"),
    Column("arrivedPickupAt", ColumnType.INSTANT, "r.arrived_pickup_at"),
    Column("boardedAt", ColumnType.INSTANT, "r.boarded_at"),
    Column("arrivedDropoffAt", ColumnType.INSTANT, "r.arrived_dropoff_at"),
    Column("droppedOffAt", ColumnType.INSTANT, "r.dropped_off_at"),
    Column("reasonCode", ColumnType.WORD, "r.reason_code"),
    Column("fault", ColumnType.WORD, "r.fault"),
    Column("cancellationTiming", ColumnType.WORD, "r.cancellation_timing"),
    Column("providerId", ColumnType.ID, "r.provider_id"),
    Column("providerName", ColumnType.TEXT, "company.name"),
    Column("driverId", ColumnType.ID, "r.driver_id"),
    Column("vehicleId", ColumnType.ID, "r.vehicle_id"),
    Column("mobility", ColumnType.WORD, "need.mobility"),
    Column("payerId", ColumnType.ID, "r.payer_id"),
    Column("payerName", ColumnType.TEXT, "insurer.name"),
    Column("programCode", ColumnType.TEXT, "r.program_code"),
    Column("estimatedMiles", ColumnType.AMOUNT, "r.estimated_miles"),
    Column("estimatedMinutes", ColumnType.COUNT, "r.estimated_minutes"),
    Column("loadedMiles", ColumnType.AMOUNT, "r.loaded_miles"),
    Column("waitMinutes", ColumnType.COUNT, "r.wait_minutes"),
    Column("onboardMinutes", ColumnType.COUNT, "r.onboard_minutes"),
    Column("openExceptions", ColumnType.COUNT, "r.open_exception_count"),
    Column("requestedAt", ColumnType.INSTANT, "r.requested_at"),
    Column("createdAt", ColumnType.INSTANT, "r.created_at"),
    Column("updatedAt", ColumnType.INSTANT, "r.updated_at"),
    Column("afterTheFact", ColumnType.FLAG, "r.after_the_fact"),
)


def _codes(filters: Filters, by: Principal) -> dict[str, Any]:
    """Read the table of codes, about ten rows, into one parameter."""
    codes: dict[str, dict[str, str]] = {"": {}}
    for payer_id, item, code in SuggestedCode.objects.values_list("payer_id", "item", "code"):
        codes.setdefault(str(payer_id or ""), {})[item] = code
    return {"codes": dumps(codes).decode()}


def _data_scope(by: Principal) -> tuple[str, dict[str, Any]]:
    """Return `Ride.objects.visible_to` as SQL with its parameters."""
    conditions, parameters = [], dict[str, Any]()
    if by.facility_ids is not None:
        conditions.append("r.facility_id = ANY(%(facility_ids)s)")
        parameters["facility_ids"] = list(by.facility_ids)
    if by.provider_ids is not None:
        conditions.append(_PROVIDER_SCOPE)
        parameters["provider_ids"] = list(by.provider_ids)
    return " AND ".join(conditions) or "true", parameters


RIDES: Final = Dataset(
    name="rides",
    version=1,
    description="Rides of any status, by pickup time.",
    columns=_RIDES,
    rows="rides_ride r",
    order="r.pickup_at, r.id",
    data_scope=_data_scope,
    rider="r.rider_id",
    joins=_JOINS,
    conditions=_CONDITIONS,
    statuses=tuple(status.value for status in RideStatus),
)
COMPLETIONS: Final = Dataset(
    name="completions",
    version=1,
    description="Ended rides with times, places, documents and suggested codes, and rides that were reopened.",
    columns=_COMPLETIONS,
    rows="rides_ride r",
    order="r.pickup_at, r.id",
    data_scope=_data_scope,
    rider="r.rider_id",
    joins=_JOINS,
    conditions={**_CONDITIONS, "status": _HAS_OR_HAD_STATUS},
    always=f"(r.status IN ({_ENDED}) OR {_REOPENED})",
    statuses=tuple(sorted(status.value for status in TERMINAL)),
    parameters=_codes,
    lockable=True,
)
