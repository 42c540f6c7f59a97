"""Content of each dataset, by caller, in every format."""

import datetime as dt
import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.utils import timezone

from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.exports.formats.columns import ColumnType
from apps.exports.models import Export, SuggestedCode
from apps.exports.queries.datasets import DATASETS
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import exceptions
from lib.access import system
from tests import factories
from tests.callers import TokenClient
from tests.exports.exported import FORMATS, exported
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db
KEPT = Path(__file__).with_name("columns.json")
RECORDS = ["completions", "drivers", "exceptions", "rides"]  # their rows are rows of tables, unlike figures


def test_columns_and_their_order_are_the_contract() -> None:
    """Machines read the files: a column that is removed, moved or retyped requires a new version of the dataset."""
    contract = {
        name: {
            "version": dataset.version,
            "columns": [f"{one.name}:{one.kind.name.lower()}:{one.phi.name.lower()}" for one in dataset.columns],
        }
        for name, dataset in DATASETS.items()
    }

    assert contract == json.loads(KEPT.read_text())


def test_rows_of_every_dataset_begin_with_what_tells_them_apart() -> None:
    for dataset in DATASETS.values():
        *keys, batch = dataset.columns[: dataset.identity]
        assert batch.name == "exportBatchId"
        if dataset.name in RECORDS:
            assert [(one.kind, one.name) for one in keys] == [
                (ColumnType.ID, keys[0].name),
                (ColumnType.COUNT, "rowVersion"),
            ]
        assert len({one.name for one in dataset.columns}) == len(dataset.columns)


def test_completion_holds_what_billing_and_audits_need(api: TokenClient, completed: Ride) -> None:
    (row,) = exported(api, "completions.ndjson", sealedColumns="true")

    export = Export.objects.get()
    assert list(row) == [one.name for one in DATASETS["completions"].columns]
    assert (row["rideId"], row["rowVersion"], row["exportBatchId"]) == (
        str(completed.pk),
        completed.version,
        str(export.pk),
    )
    assert {
        key: row[key] for key in ("riderFirstName", "riderLastName", "medicaidId", "memberId", "payerMemberId")
    } == {
        "riderFirstName": "Orla",
        "riderLastName": "Canarywell",
        "medicaidId": "IL44719925",
        "memberId": "M-2",
        "payerMemberId": "PM-77",
    }
    assert (row["driverName"], row["driverLicenseNumber"], row["vehiclePlate"]) == (
        "Marek Novak",
        "D400-7777",
        "CL00001",
    )
    assert (row["serviceDate"], row["timezone"]) == ("2026-11-20", "America/Chicago")
    assert (row["scheduledPickupAt"], row["scheduledPickupLocal"]) == ("2026-11-20T20:00:00Z", "2026-11-20T14:00:00")
    assert (row["originFacilityName"], row["originModifier"]) == ("=St. Brigid, North", "H")
    assert (row["destinationName"], row["destinationAddressLine1"], row["destinationModifier"]) == (
        "Home",
        "1418 N Canary Ave",
        "R",
    )
    assert (row["destinationPostalPrefix"], row["destinationPostalCode"]) == ("606", "60622")
    gps = {key: row[key] for key in row if key.endswith("Gps")}
    assert gps == {"arrivedPickupGps": False, "boardedGps": True, "arrivedDropoffGps": False, "droppedOffGps": False}
    assert (row["externalIds"], row["pickupSignedBy"], row["dropoffSignedBy"]) == (
        "epic|E-1",
        None,
        "rider O. Canarywell",
    )
    assert (row["attestedBy"], row["attestation"]) == ("Marek", "I drove.")
    assert (row["documentationComplete"], row["missingDocuments"]) == (False, ["odometer_end"])
    assert (row["mobility"], row["assistLevel"], row["escorts"], row["loadedMiles"]) == (
        "wheelchair",
        "door_to_door",
        1,
        7.0,
    )
    assert (row["payerName"], row["programCode"], row["authorizationNumber"]) == ("Prairie Health Plan", "MCD", "A1")
    codes = [row[f"suggested{what}Code"] for what in ("Trip", "Mileage", "Attendant", "Waiting")]
    assert codes == ["A0130", "S0209", "T2001", "T2007"]


def test_rows_say_what_was_recorded_later_and_who_was_late(api: TokenClient, completed: Ride) -> None:
    Ride.objects.filter(pk=completed.pk).update(after_the_fact=True)
    exception = exceptions.open_exception(
        completed, ExceptionType.LATE_PICKUP, by=system(), at=factories.NOW, detected_by="T1",
        cause_driver_id=completed.driver_id,
    )  # fmt: skip

    recorded = [exported(api, f"{name}.ndjson")[0]["afterTheFact"] for name in ("rides", "completions")]
    (row,) = exported(api, "exceptions.ndjson")

    assert recorded == [True, True]
    assert (row["exceptionId"], row["causeDriverId"]) == (str(exception.pk), str(completed.driver_id))


@pytest.mark.parametrize("name", RECORDS)
def test_formats_say_the_same(api: TokenClient, completed: Ride, name: str) -> None:
    RideException.objects.create(
        ride=completed,
        rider=completed.rider,
        facility=completed.facility,
        type="late_pickup",
        severity="warning",
        opened_at=factories.NOW,
        opened_by="system",
        detected_by="T1",
        summary="Late.",
        updated_at=factories.NOW,
    )
    texts = {}

    for kind in FORMATS:
        (row,) = exported(api, f"{name}.{kind}", sealedColumns="true")
        row.pop("exportBatchId")
        texts[kind] = {key: _text(value) for key, value in row.items()}

    assert len(texts["csv"]) == len(DATASETS[name].columns) - 1
    assert texts["ndjson"] == texts["parquet"]
    unguarded = {key: value.removeprefix("'") for key, value in texts["csv"].items()}
    assert unguarded == texts["ndjson"]
    assert texts["xlsx"] == texts["csv"]


def _text(value: Any) -> str:
    """Format a value as CSV does."""
    if value is None or value == []:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None).isoformat()
        return f"{text}Z" if value.tzinfo else text
    if isinstance(value, list):
        return ";".join(value)
    if isinstance(value, str):
        try:
            return f"{float(value):g}" if "." in value else value
        except ValueError:
            return value
    return f"{float(value):g}" if not isinstance(value, (int, dt.date, UUID)) else str(value)


def _was_corrected(ride: Ride) -> None:
    """Record a corrected outcome, as services do."""
    Event.objects.create(
        type="ride.corrected",
        subject_type="ride",
        subject_id=ride.pk,
        sequence=ride.version + 1,
        occurred_at=factories.NOW,
        actor="system",
        data={"endedAs": "completed"},
    )


def test_corrected_ending_is_exported_again_with_higher_version(api: TokenClient, completed: Ride) -> None:
    Ride.objects.filter(pk=completed.pk).update(
        status="in_progress", status_before_end="", version=completed.version + 1, updated_at=factories.NOW
    )
    other = ride_in(RideStatus.IN_PROGRESS)
    before = exported(api, "completions.ndjson")
    _was_corrected(completed)

    rows = exported(api, "completions.ndjson", status="completed", changedSince=factories.NOW.isoformat())

    assert before == []
    assert [(row["rideId"], row["rowVersion"], row["status"]) for row in rows] == [
        (str(completed.pk), completed.version + 1, "in_progress")
    ]
    assert str(other.pk) not in json.dumps(rows)


def test_changed_ending_is_exported_to_filters_on_the_old_one(api: TokenClient, completed: Ride) -> None:
    Ride.objects.filter(pk=completed.pk).update(
        status="no_show", status_before_end="arrived", version=completed.version + 2, updated_at=factories.NOW,
        reason_code="rider_unreachable", fault="rider", ended_by="system",
    )  # fmt: skip
    _was_corrected(completed)

    asked = {"changedSince": factories.NOW.isoformat()}
    of_completed, of_cancelled = (exported(api, "completions.ndjson", status=one, **asked) for one in
        ("completed", "cancelled"))  # fmt: skip

    assert [(row["rideId"], row["status"]) for row in of_completed] == [(str(completed.pk), "no_show")]
    assert of_cancelled == []


@pytest.mark.parametrize(
    ("query", "is_there"),
    [
        ({"serviceDateFrom": "2026-11-20", "serviceDateTo": "2026-11-20"}, True),
        ({"serviceDateFrom": "2026-11-21"}, False),
        ({"serviceDateTo": "2026-11-19"}, False),
        ({"status": "completed,no_show"}, True),
        ({"status": "no_show"}, False),
    ],
)
@pytest.mark.parametrize("name", ["rides", "completions"])
def test_filters_keep_what_they_say(
    api: TokenClient, completed: Ride, name: str, query: dict[str, str], is_there: bool
) -> None:
    rows = exported(api, f"{name}.ndjson", **query)

    assert [row["rideId"] for row in rows] == ([str(completed.pk)] if is_there else [])


def test_day_of_service_is_that_of_the_ride_and_not_of_utc(api: TokenClient) -> None:
    late = factories.NOW.replace(hour=5)  # 23:00 of the day before in Chicago
    ride = factories.RideFactory.create(pickup_at=late, service_date=dt.date(2026, 11, 19))

    on_the_day, after = (exported(api, "rides.ndjson", serviceDateFrom=day, serviceDateTo=day) for day in
        ("2026-11-19", "2026-11-20"))  # fmt: skip

    assert ([row["rideId"] for row in on_the_day], after) == ([str(ride.pk)], [])


@pytest.mark.parametrize("by", ["facility", "provider", "payer"])
def test_rows_are_those_of_a_facility_provider_or_payer(api: TokenClient, completed: Ride, by: str) -> None:
    ride_in(RideStatus.COMPLETED)
    key = getattr(completed, f"{by}_id")

    rows = exported(api, "completions.ndjson", **{f"{by}Id": key})

    assert [row["rideId"] for row in rows] == [str(completed.pk)]


def test_change_that_was_under_way_is_not_missed(api: TokenClient, completed: Ride) -> None:
    """The change has the instant of its arrival, and was not committed yet when the earlier export was made."""
    since = factories.NOW + dt.timedelta(seconds=119)
    Ride.objects.filter(pk=completed.pk).update(updated_at=factories.NOW)

    rows = exported(api, "rides.ndjson", changedSince=since.isoformat())
    later = exported(api, "rides.ndjson", changedSince=(since + dt.timedelta(seconds=2)).isoformat())

    assert ([row["rideId"] for row in rows], later) == ([str(completed.pk)], [])


def test_payers_own_codes_win_and_mileage_never_stands_alone(api: TokenClient, completed: Ride) -> None:
    SuggestedCode.objects.create(item="wheelchair", payer=completed.payer, code="")
    SuggestedCode.objects.create(item="waiting", payer=completed.payer, code="T2003")

    (row,) = exported(api, "completions.ndjson")

    codes = [row[f"suggested{what}Code"] for what in ("Trip", "Mileage", "Attendant", "Waiting")]
    assert codes == [None, None, "T2001", "T2003"]


@pytest.mark.parametrize(
    ("mobility", "vehicle_type", "codes"),
    [
        ("ambulatory", "sedan", ("A0100", "S0215")),
        ("wheelchair_power", "wheelchair_van", ("A0130", "S0209")),
        ("recliner_chair", "wheelchair_van", ("A0130", "S0209")),
        ("stretcher_bariatric", "stretcher_van", ("T2005", "S0215")),
        ("stretcher", "bls_ambulance", ("A0428", "A0425")),
    ],
)
def test_code_follows_how_the_rider_went(
    api: TokenClient, completed: Ride, mobility: str, vehicle_type: str, codes: tuple[str, str]
) -> None:
    completed.accommodation = {**completed.accommodation, "mobility": mobility}
    completed.save()
    assert completed.vehicle
    completed.vehicle.type = vehicle_type
    completed.vehicle.save()

    (row,) = exported(api, "completions.ndjson")

    assert (row["suggestedTripCode"], row["suggestedMileageCode"]) == codes


@pytest.mark.parametrize("ending", [RideStatus.NO_SHOW, RideStatus.CANCELLED])
def test_nothing_is_suggested_for_a_ride_that_did_not_take_place(api: TokenClient, ending: RideStatus) -> None:
    ride_in(ending, loaded_miles=7, wait_minutes=60)

    (row,) = exported(api, "completions.ndjson")

    assert {row[f"suggested{what}Code"] for what in ("Trip", "Mileage", "Attendant", "Waiting")} == {None}


def test_chosen_columns_come_in_the_order_of_the_dataset(api: TokenClient, completed: Ride) -> None:
    (row,) = exported(api, "completions.csv", columns="status,serviceDate,medicaidId")

    assert list(row) == ["rideId", "rowVersion", "exportBatchId", "medicaidId", "serviceDate", "status"]
    assert (row["medicaidId"], row["status"]) == ("IL44719925", "completed")


def test_trail_says_who_took_what_and_names_no_value(api: TokenClient, completed: Ride) -> None:
    exported(api, "completions.csv", facilityId=completed.facility_id, status="completed")

    asked, sent = AuditEntry.objects.filter(action__startswith="exports.").order_by("id")
    export = Export.objects.get()
    assert [(one.action, one.actor, one.subject_id, one.phi) for one in (asked, sent)] == [
        (action, f"token:{api.token.pk}", export.pk, "full") for action in ("exports.create", "exports.send")
    ]
    assert asked.details == {
        "dataset": "completions",
        "format": "csv",
        "filters": ["facilityId", "status"],
        "columns": len(export.columns),
    }
    assert (sent.rider_ids, sent.details["rows"]) == ([completed.rider_id], 1)
    assert (export.state, export.rows, export.ended_at) == ("streamed", 1, timezone.now())
