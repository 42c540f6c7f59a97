"""The datasets of rides: all of them, and those that ended, with what billing and audits need."""

from typing import Any, Final

from apps.exports.formats.columns import Column, Kind, Sealed
from apps.exports.models import SuggestedCode
from apps.exports.queries.dataset_columns import clocks, external_ids, identity, stop, stop_record
from apps.exports.rules.dataset import Dataset, Filters
from apps.rides.rules.lifecycle import TERMINAL, RideStatus
from lib.access import Phi, Principal
from lib.api.json import dumps

WAITED_FROM: Final = 30  # minutes; T2007 is counted in half hours
_ENDED: Final = ", ".join(f"'{status.value}'" for status in sorted(TERMINAL))
# What a claim would call the trip; the operator's table says which code that is.
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
    # Which of the moments that count a device said, and from where; a dispatcher who names a place was not there.
    "gps": """LEFT JOIN LATERAL (SELECT bool_or(m.type = 'arrived_pickup') AS arrived_pickup,
        bool_or(m.type = 'boarded') AS boarded, bool_or(m.type = 'arrived_dropoff') AS arrived_dropoff,
        bool_or(m.type = 'dropped_off') AS dropped_off FROM rides_milestone m
        WHERE m.ride_id = r.id AND NOT m.voided AND m.lat IS NOT NULL
            AND m.source IN ('driver_app', 'integration')) gps ON true""",
    # Such JSON lies outside the row: it is fetched and read once for each, not for every value that is taken out of it.
    "leaves": f"CROSS JOIN LATERAL {stop_record('r.pickup', 'leaves')}",
    "arrives": f"CROSS JOIN LATERAL {stop_record('r.dropoff', 'arrives')}",
    "need": """CROSS JOIN LATERAL jsonb_to_record(r.accommodation) AS need(mobility text, "assistLevel" text)""",
    # OFFSET keeps it a row of its own, worked out once.
    "billed": f"CROSS JOIN LATERAL (SELECT {_ITEM} AS item OFFSET 0) billed",
}
_CONDITIONS: Final = {
    # The second half is implied, with a day to spare for clocks: it lets the index on the pickup serve.
    "service_date_from": "r.service_date >= %(service_date_from)s AND r.pickup_at >= %(service_date_from)s::date - 1",
    "service_date_to": "r.service_date <= %(service_date_to)s AND r.pickup_at < %(service_date_to)s::date + 2",
    "facility_id": "r.facility_id = %(facility_id)s",
    "provider_id": "r.provider_id = %(provider_id)s",
    "payer_id": "r.payer_id = %(payer_id)s",
    "status": "r.status = ANY(%(status)s)",
    "changed_since": "r.updated_at >= %(changed_since)s",
}
# An ending that was taken back is told once more, as what the ride is now: whoever has the row learns of it.
_CORRECTED: Final = (
    "SELECT FROM events_event e WHERE e.subject_type = 'ride' AND e.subject_id = r.id AND e.type = 'ride.corrected'"
)
_TAKEN_BACK: Final = f"(r.status NOT IN ({_ENDED}) AND EXISTS ({_CORRECTED}))"
# Whatever status is asked for: a row that was given as completed and is so no longer would be missed.
_OF_STATUS: Final = f"""(r.status = ANY(%(status)s) OR r.status NOT IN ({_ENDED})
    OR EXISTS ({_CORRECTED} AND e.data->>'endedAs' = ANY(%(status)s)))"""


_OF_PROVIDERS: Final = """(r.provider_id = ANY(%(provider_ids)s) OR r.id = ANY(ARRAY(SELECT a.ride_id
    FROM rides_assignment a WHERE a.status = 'offered' AND a.provider_id = ANY(%(provider_ids)s))))"""


def _signed(stop: str) -> str:
    return f"""(SELECT string_agg(concat_ws(' ', s->>'signer', nullif(s->>'name', '')), '; ')
        FROM jsonb_array_elements(r.signatures) s WHERE s->>'stop' = '{stop}')"""  # noqa: S608  # constant names, values are parameters


def _code(item: str, when: str) -> str:
    """Suggest a code where a condition holds: the payer's own, or else that of all payers."""
    found = f"%(codes)s::jsonb #>> ARRAY[r.payer_id::text, {item}]"
    return f"CASE WHEN {when} THEN coalesce({found}, %(codes)s::jsonb #>> ARRAY['', {item}]) END"


_TRIP: Final = _code("billed.item", "r.status = 'completed'")


_COMPLETIONS: Final = (
    *identity("r", "rideId"),
    Column("tripId", Kind.ID, "r.trip_id"),
    Column("legType", Kind.WORD, "r.leg_type"),
    Column("legSequence", Kind.COUNT, "r.leg_sequence"),
    Column("clientReference", Kind.TEXT, "r.client_reference", Phi.LIMITED),
    Column("externalIds", Kind.TEXT, external_ids("ride", "r.id"), Phi.LIMITED),
    Column("riderId", Kind.ID, "r.rider_id"),
    Column("riderExternalIds", Kind.TEXT, external_ids("rider", "r.rider_id"), Phi.LIMITED),
    Column("riderFirstName", Kind.TEXT, "person.first_name", Phi.LIMITED),
    Column("riderLastName", Kind.TEXT, "person.last_name", Phi.LIMITED),
    Column(
        "medicaidId",
        Kind.SEALED,
        "person.medicaid_id_encrypted",
        Phi.LIMITED,
        Sealed("riders_rider.medicaid_id", "r.rider_id"),
    ),
    Column(
        "memberId",
        Kind.SEALED,
        "person.member_id_encrypted",
        Phi.LIMITED,
        Sealed("riders_rider.member_id", "r.rider_id"),
    ),
    Column(
        "payerMemberId",
        Kind.SEALED,
        "r.payer_member_id_encrypted",
        Phi.LIMITED,
        Sealed("rides_ride.payer_member_id", "r.id"),
    ),
    Column("facilityId", Kind.ID, "r.facility_id"),
    Column("facilityName", Kind.TEXT, "place.name"),
    Column("serviceDate", Kind.DATE, "r.service_date"),
    Column("timezone", Kind.WORD, "r.timezone"),
    Column("serviceType", Kind.WORD, "r.service_type"),
    *stop("origin", "leaves", "origin"),
    *stop("destination", "arrives", "destination"),
    *clocks("scheduledPickup", "r.pickup_at"),
    *clocks("appointment", "r.appointment_at"),
    *clocks("ready", "r.ready_at"),
    *clocks("arrivedPickup", "r.arrived_pickup_at"),
    *clocks("boarded", "r.boarded_at"),
    *clocks("arrivedDropoff", "r.arrived_dropoff_at"),
    *clocks("droppedOff", "r.dropped_off_at"),
    Column("arrivedPickupGps", Kind.FLAG, "coalesce(gps.arrived_pickup, false)"),
    Column("boardedGps", Kind.FLAG, "coalesce(gps.boarded, false)"),
    Column("arrivedDropoffGps", Kind.FLAG, "coalesce(gps.arrived_dropoff, false)"),
    Column("droppedOffGps", Kind.FLAG, "coalesce(gps.dropped_off, false)"),
    Column("providerId", Kind.ID, "r.provider_id"),
    Column("providerName", Kind.TEXT, "company.name"),
    Column("driverId", Kind.ID, "r.driver_id"),
    Column("driverName", Kind.TEXT, "crew.driver_name", Phi.LIMITED),
    Column(
        "driverLicenseNumber",
        Kind.SEALED,
        "crew.license_number_encrypted",
        Phi.LIMITED,
        Sealed("rides_assignment.license_number", "crew.id"),
    ),
    Column("vehicleId", Kind.ID, "r.vehicle_id"),
    Column("vehiclePlate", Kind.TEXT, "crew.vehicle_plate", Phi.LIMITED),
    Column("vehicleType", Kind.WORD, "car.type"),
    Column("mobility", Kind.WORD, "need.mobility"),
    Column("assistLevel", Kind.WORD, 'need."assistLevel"', Phi.LIMITED),
    Column("escorts", Kind.COUNT, "coalesce((r.companions->>'escorts')::int, 0)", Phi.LIMITED),
    Column("attendantsProvided", Kind.COUNT, "coalesce((r.companions->>'attendantsProvided')::int, 0)", Phi.LIMITED),
    Column("loadedMiles", Kind.AMOUNT, "r.loaded_miles"),
    Column("loadedMilesSource", Kind.WORD, "r.loaded_miles_source"),
    Column("waitMinutes", Kind.COUNT, "r.wait_minutes"),
    Column("onboardMinutes", Kind.COUNT, "r.onboard_minutes"),
    Column("status", Kind.WORD, "r.status"),
    Column("reasonCode", Kind.WORD, "r.reason_code"),
    Column("fault", Kind.WORD, "r.fault"),
    Column("cancellationTiming", Kind.WORD, "r.cancellation_timing"),
    Column("payerId", Kind.ID, "r.payer_id"),
    Column("payerName", Kind.TEXT, "insurer.name"),
    Column("programCode", Kind.TEXT, "r.program_code"),
    Column("authorizationNumber", Kind.TEXT, "r.authorization_number", Phi.LIMITED),
    Column("authorizationExpires", Kind.DATE, "r.authorization_expires_on", Phi.LIMITED),
    Column("pickupSignedBy", Kind.TEXT, _signed("pickup"), Phi.LIMITED),
    Column("dropoffSignedBy", Kind.TEXT, _signed("dropoff"), Phi.LIMITED),
    Column("attestedBy", Kind.TEXT, "r.attestation->>'driverName'", Phi.LIMITED),
    Column("attestedAt", Kind.TEXT, "r.attestation->>'at'", Phi.LIMITED),
    Column("attestation", Kind.TEXT, "r.attestation->>'text'", Phi.LIMITED),
    Column("documentationComplete", Kind.FLAG, "r.status = 'completed' AND r.missing_documents = '{}'"),
    Column("missingDocuments", Kind.WORDS, "r.missing_documents"),
    # Suggestions, by their names too: whoever bills decides.  Mileage never stands alone.
    Column("suggestedTripCode", Kind.WORD, _TRIP),
    Column(
        "suggestedMileageCode",
        Kind.WORD,
        f"CASE WHEN nullif({_TRIP}, '') IS NOT NULL THEN "
        + _code("'mileage_' || billed.item", "r.loaded_miles > 0")
        + " END",
    ),
    Column(
        "suggestedAttendantCode",
        Kind.WORD,
        _code("'attendant'", "r.status = 'completed' AND (r.companions->>'attendantsProvided')::int > 0"),
        Phi.LIMITED,
    ),
    Column(
        "suggestedWaitingCode",
        Kind.WORD,
        _code("'waiting'", f"r.status = 'completed' AND r.wait_minutes >= {WAITED_FROM}"),
    ),
    Column("updatedAt", Kind.INSTANT, "r.updated_at"),
)

_RIDES: Final = (
    *identity("r", "rideId"),
    Column("tripId", Kind.ID, "r.trip_id"),
    Column("legType", Kind.WORD, "r.leg_type"),
    Column("legSequence", Kind.COUNT, "r.leg_sequence"),
    Column("clientReference", Kind.TEXT, "r.client_reference", Phi.LIMITED),
    Column("externalIds", Kind.TEXT, external_ids("ride", "r.id"), Phi.LIMITED),
    Column("riderId", Kind.ID, "r.rider_id"),
    Column("riderFirstName", Kind.TEXT, "person.first_name", Phi.LIMITED),
    Column("riderLastName", Kind.TEXT, "person.last_name", Phi.LIMITED),
    Column("facilityId", Kind.ID, "r.facility_id"),
    Column("facilityName", Kind.TEXT, "place.name"),
    Column("serviceDate", Kind.DATE, "r.service_date"),
    Column("timezone", Kind.WORD, "r.timezone"),
    Column("serviceType", Kind.WORD, "r.service_type"),
    Column("priority", Kind.WORD, "r.priority"),
    Column("standingOrderId", Kind.ID, "r.standing_order_id"),
    *stop("origin", "leaves", "origin"),
    *stop("destination", "arrives", "destination"),
    *clocks("pickup", "r.pickup_at"),
    Column("pickupTimeKind", Kind.WORD, "r.pickup_time_kind"),
    *clocks("appointment", "r.appointment_at"),
    Column("willCall", Kind.FLAG, "r.will_call"),
    Column("readyAt", Kind.INSTANT, "r.ready_at"),
    Column("promisedPickupBy", Kind.INSTANT, "r.promised_pickup_by"),
    Column("status", Kind.WORD, "r.status"),
    Column("statusChangedAt", Kind.INSTANT, "r.status_changed_at"),
    Column("departedAt", Kind.INSTANT, "r.departed_at"),
    Column("arrivedPickupAt", Kind.INSTANT, "r.arrived_pickup_at"),
    Column("boardedAt", Kind.INSTANT, "r.boarded_at"),
    Column("arrivedDropoffAt", Kind.INSTANT, "r.arrived_dropoff_at"),
    Column("droppedOffAt", Kind.INSTANT, "r.dropped_off_at"),
    Column("reasonCode", Kind.WORD, "r.reason_code"),
    Column("fault", Kind.WORD, "r.fault"),
    Column("cancellationTiming", Kind.WORD, "r.cancellation_timing"),
    Column("providerId", Kind.ID, "r.provider_id"),
    Column("providerName", Kind.TEXT, "company.name"),
    Column("driverId", Kind.ID, "r.driver_id"),
    Column("vehicleId", Kind.ID, "r.vehicle_id"),
    Column("mobility", Kind.WORD, "need.mobility"),
    Column("payerId", Kind.ID, "r.payer_id"),
    Column("payerName", Kind.TEXT, "insurer.name"),
    Column("programCode", Kind.TEXT, "r.program_code"),
    Column("estimatedMiles", Kind.AMOUNT, "r.estimated_miles"),
    Column("estimatedMinutes", Kind.COUNT, "r.estimated_minutes"),
    Column("loadedMiles", Kind.AMOUNT, "r.loaded_miles"),
    Column("waitMinutes", Kind.COUNT, "r.wait_minutes"),
    Column("onboardMinutes", Kind.COUNT, "r.onboard_minutes"),
    Column("openExceptions", Kind.COUNT, "r.open_exception_count"),
    Column("requestedAt", Kind.INSTANT, "r.requested_at"),
    Column("createdAt", Kind.INSTANT, "r.created_at"),
    Column("updatedAt", Kind.INSTANT, "r.updated_at"),
)


def _codes(filters: Filters, by: Principal) -> dict[str, Any]:
    """Read the table of codes, some ten rows, into one value that the statement carries."""
    codes: dict[str, dict[str, str]] = {"": {}}
    for payer_id, item, code in SuggestedCode.objects.values_list("payer_id", "item", "code"):
        codes.setdefault(str(payer_id or ""), {})[item] = code
    return {"codes": dumps(codes).decode()}


def _reach(by: Principal) -> tuple[str, dict[str, Any]]:
    """Write the caller's data scope, which is `Ride.objects.visible_to`, as SQL with its parameters."""
    found, parameters = [], dict[str, Any]()
    if by.facility_ids is not None:
        found.append("r.facility_id = ANY(%(facility_ids)s)")
        parameters["facility_ids"] = list(by.facility_ids)
    if by.provider_ids is not None:
        found.append(_OF_PROVIDERS)
        parameters["provider_ids"] = list(by.provider_ids)
    return " AND ".join(found) or "true", parameters


RIDES: Final = Dataset(
    name="rides",
    version=1,
    description="Rides of any status, by their pickup.",
    columns=_RIDES,
    rows="rides_ride r",
    order="r.pickup_at, r.id",
    reach=_reach,
    rider="r.rider_id",
    joins=_JOINS,
    conditions=_CONDITIONS,
    statuses=tuple(status.value for status in RideStatus),
)
COMPLETIONS: Final = Dataset(
    name="completions",
    version=1,
    description="Rides that ended, with times, places, documents and suggested codes; and rides that were reopened.",
    columns=_COMPLETIONS,
    rows="rides_ride r",
    order="r.pickup_at, r.id",
    reach=_reach,
    rider="r.rider_id",
    joins=_JOINS,
    conditions={**_CONDITIONS, "status": _OF_STATUS},
    always=f"(r.status IN ({_ENDED}) OR {_TAKEN_BACK})",
    statuses=tuple(sorted(status.value for status in TERMINAL)),
    more=_codes,
    lockable=True,
)
