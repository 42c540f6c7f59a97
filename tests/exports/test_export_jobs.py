"""Export jobs: requested, polled, downloaded once, and deleted."""

import csv
import datetime as dt
import io
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from cryptography.exceptions import InvalidTag

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.exports import tasks
from apps.exports.formats import files
from apps.exports.models import Export, ExportLink
from apps.exports.services import export_files, export_runs, exports
from apps.exports.services.export_validation import ExportRequest
from apps.rides.models import Ride, RideLock
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.status_report import StatusReport
from apps.rides.services import status_report
from lib.access import Principal, system
from tests import factories
from tests.callers import TokenClient, api_with, error_of
from tests.exports.exported import FORMATS, ask, body_of, link_to, make, rows_of
from tests.rides.rides_in import ride_in

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> Path:
    settings.EXPORTS_DIR = str(tmp_path / "exports")
    return tmp_path / "exports"


@pytest.mark.parametrize("format", FORMATS)
def test_export_is_made_told_of_and_fetched(api: TokenClient, nobody: TokenClient, folder: Path, format: str) -> None:
    ride = ride_in(RideStatus.COMPLETED)
    asked = ask(api, format=format, status=["completed"], serviceDateFrom="2026-11-01")

    tasks.make_exports()

    assert asked.status_code == 202
    assert asked.headers["Location"] == f"/api/exports/{asked.json()['id']}"
    assert (asked.json()["state"], asked.json()["filters"]) == (
        "queued",
        {"serviceDateFrom": "2026-11-01", "status": ["completed"]},
    )
    seen = api.get(asked.headers["Location"]).json()
    assert (seen["state"], seen["rows"], seen["total"], seen["attempts"]) == ("ready", 1, 1, 1)
    assert seen["expiresAt"] == "2026-11-21T15:00:00Z"
    assert seen["dataAsOf"] is not None
    answer = nobody.get(link_to(api, Export.objects.get()))
    content = body_of(answer)
    assert (len(content), answer.headers["Content-Length"]) == (seen["bytes"], str(seen["bytes"]))
    (row,) = rows_of(content, format)
    assert (str(row["rideId"]), str(row["exportBatchId"])) == (str(ride.pk), seen["id"])
    event = Event.objects.get(type="export.ready")
    assert (event.subject_id, event.sequence) == (Export.objects.get().pk, 1)
    assert event.data == {
        "exportId": seen["id"],
        "clientId": str(api.token.client_id),
        "dataset": "completions",
        "format": format,
        "rows": 1,
        "expiresAt": "2026-11-21T15:00:00Z",
    }
    assert [path.name for path in folder.iterdir()] == [f"{seen['id']}.{format}"]
    assert (folder.stat().st_mode & 0o777, next(folder.iterdir()).stat().st_mode & 0o077) == (0o700, 0)


def test_trail_has_who_asked_what_was_made_and_who_fetched_it(api: TokenClient, nobody: TokenClient) -> None:
    ride = ride_in(RideStatus.COMPLETED)

    export = make(api)
    body_of(nobody.get(link_to(api, export)))

    entries = AuditEntry.objects.filter(subject_id=export.pk).order_by("id")
    assert [(one.action, one.actor, one.phi, one.rider_ids) for one in entries] == [
        ("exports.create", f"token:{api.token.pk}", "full", []),
        ("exports.make", f"token:{api.token.pk}", "full", [ride.rider_id]),
        ("exports.fetch", f"token:{api.token.pk}", "full", []),
    ]
    assert entries[2].details == {"dataset": "completions", "format": "csv", "rows": 1}


def test_cancelled_export_is_not_made(api: TokenClient) -> None:
    export = Export.objects.get(pk=ask(api).json()["id"])

    answer = api.post(f"/api/exports/{export.pk}/cancel", {}, format="json")
    tasks.make_exports()

    assert answer.json()["state"] == "cancelled"
    export.refresh_from_db()
    assert (export.state, export.attempts) == ("cancelled", 0)
    assert error_of(api.post(f"/api/exports/{export.pk}/cancel", {}, format="json"))["code"] == "INVALID_TRANSITION"


def test_cancelled_while_it_is_made_leaves_nothing_behind(
    api: TokenClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factories.RideFactory.create()
    export = Export.objects.get(pk=ask(api, dataset="rides").json()["id"])
    written = files.write

    def cancel_first(*given: Any, **named: Any) -> None:
        written(*given, **named)
        exports.cancel(export_id=export.pk, by=system(), at=factories.NOW)

    monkeypatch.setattr(files, "write", cancel_first)
    tasks.make_exports()

    export.refresh_from_db()
    assert export.state == "cancelled"
    assert list(folder.iterdir()) == []
    assert not Event.objects.filter(type__startswith="export.").exists()


def test_overtaken_worker_leaves_the_file_of_the_other_alone(
    api: TokenClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is stopped after its last row while another makes the export; then it continues."""
    ride_in(RideStatus.COMPLETED)
    ask(api)
    written, later = files.write, factories.NOW + export_runs.LEASE

    def be_overtaken(*given: Any, **named: Any) -> None:
        written(*given, **named)
        monkeypatch.setattr(files, "write", written)
        ride_in(RideStatus.COMPLETED)
        export_runs.work(clock=lambda: later)

    monkeypatch.setattr(files, "write", be_overtaken)
    tasks.make_exports()

    export = Export.objects.get()
    assert (export.state, export.rows, export.attempts) == ("ready", 2, 2)
    (whole,) = folder.iterdir()
    assert files.digest(whole) == export.sha256
    assert Event.objects.filter(type="export.ready").count() == 1


@pytest.mark.parametrize("end", ["cancel", "unlock"])
def test_rides_stay_unlocked_when_export_is_released_midway(
    api: TokenClient, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    for _ in range(3):
        ride_in(RideStatus.COMPLETED)
    export = Export.objects.get(pk=ask(api, lock=True).json()["id"])
    monkeypatch.setattr(export_runs, "_LOCK_BATCH", 1)
    lock_some, found = export_runs._lock_batch, []

    def lock_and_let_go(held: Any, versions: Any) -> None:
        lock_some(held, versions)
        found.append(RideLock.objects.count())
        if len(found) == 1:
            if end == "cancel":
                exports.cancel(export_id=export.pk, by=system(), at=factories.NOW)
            else:
                exports.unlock(export_id=export.pk, by=system())

    monkeypatch.setattr(export_runs, "_lock_batch", lock_and_let_go)
    tasks.make_exports()

    assert (found[0], RideLock.objects.count()) == (1, 0)
    assert Export.objects.get().state == {"cancel": "cancelled", "unlock": "ready"}[end]


def test_lost_lease_is_noticed_at_the_next_piece(api: TokenClient, folder: Path) -> None:
    factories.RideFactory.create()
    export = Export.objects.get(pk=ask(api, dataset="rides").json()["id"])
    claimed = export_runs.claim(at=factories.NOW)
    assert claimed
    assert claimed.rows == [export]
    held = export_runs._ClaimedExport(claimed, lambda: factories.NOW)
    Export.objects.filter(pk=export.pk).update(claim_id=uuid4())

    held.beat()
    export_runs._make(held)

    export.refresh_from_db()
    assert (export.state, export.rows) == ("running", 0)
    assert list(folder.iterdir()) == []


def test_lease_is_renewed_and_tells_how_far_the_export_is(api: TokenClient, folder: Path) -> None:
    ask(api, dataset="rides")
    claimed = export_runs.claim(at=factories.NOW)
    assert claimed
    later = factories.NOW + dt.timedelta(seconds=20)
    held = export_runs._ClaimedExport(claimed, lambda: later, rows=5)

    held.beat()

    export = Export.objects.get()
    assert (export.lease_until, export.rows) == (later + export_runs.LEASE, 5)
    assert not held.claim_lost.is_set()


def test_export_whose_worker_went_away_is_made_by_another(api: TokenClient, folder: Path, tmp_path: Path) -> None:
    ride_in(RideStatus.COMPLETED)
    ask(api)
    lost = export_runs.claim(at=factories.NOW)
    assert lost
    export_files.create_working_folder(lost.rows[0])
    assert export_runs.claim(at=factories.NOW + dt.timedelta(seconds=59)) is None
    later = factories.NOW + export_runs.LEASE

    made = export_runs.work(clock=lambda: later)
    export_files.delete_leftovers()

    export = Export.objects.get()
    assert (made, export.state, export.attempts, export.rows) == (1, "ready", 2, 1)
    assert [path.name for path in folder.iterdir()] == [f"{export.pk}.csv"]
    assert Event.objects.filter(type="export.ready").count() == 1
    late = export_runs._ClaimedExport(lost, lambda: later, rows=7)
    with pytest.raises(export_runs.ClaimLost):
        export_runs._settle_ready(late, tmp_path / "late", [], by=system())
    assert Export.objects.get().rows == 1


def test_export_that_kills_its_workers_is_given_up(api: TokenClient) -> None:
    ask(api)
    at = factories.NOW
    for _ in range(export_runs.MAX_ATTEMPTS):
        assert export_runs.claim(at=at)
        at += export_runs.LEASE

    assert export_runs.claim(at=at) is None

    export = Export.objects.get()
    assert (export.state, export.error_code) == ("failed", "worker_lost")
    assert Event.objects.get().type == "export.failed"
    assert Event.objects.get().data["errorCode"] == "worker_lost"


def test_two_are_made_at_a_time(api: TokenClient) -> None:
    for _ in range(3):
        ask(api)

    claimed = [export_runs.claim(at=factories.NOW) for _ in range(3)]

    assert [one is not None for one in claimed] == [True, True, False]


@pytest.mark.parametrize(
    ("trouble", "code", "state"),
    [
        (OSError("disk full"), "storage_unavailable", "queued"),
        (psycopg.OperationalError("gone"), "database_unavailable", "queued"),
        (InvalidTag(), "sealed_value_unreadable", "failed"),
        (RuntimeError("a mistake of ours"), "internal_error", "failed"),
    ],
)
def test_failure_has_code_and_is_retried_where_that_helps(
    api: TokenClient, folder: Path, monkeypatch: pytest.MonkeyPatch, trouble: Exception, code: str, state: str
) -> None:
    def fail(*given: Any, **named: Any) -> None:
        raise trouble

    monkeypatch.setattr(files, "write", fail)
    export = make(api)

    assert (export.state, export.error_code, export.claim_id) == (state, code, None)
    assert list(folder.iterdir()) == []
    later = dt.timedelta(minutes=1) if state == "queued" else dt.timedelta()
    assert export.due_at == factories.NOW + later


def test_whoever_may_not_any_more_gets_nothing(api: TokenClient) -> None:
    ask(api)
    type(api.token).objects.filter(pk=api.token.pk).update(revoked_at=factories.NOW, revoked_reason="lost")

    tasks.make_exports()

    assert (Export.objects.get().state, Export.objects.get().error_code) == ("failed", "no_longer_permitted")


def test_file_goes_when_its_time_has_passed(api: TokenClient, folder: Path) -> None:
    export = make(api)
    link_to(api, export)
    end = factories.NOW + dt.timedelta(hours=24)

    export_runs.clean_up(at=end - dt.timedelta(seconds=1))
    kept = list(folder.iterdir())
    export_runs.clean_up(at=end + dt.timedelta(hours=1))

    export.refresh_from_db()
    assert (len(kept), list(folder.iterdir()), export.state) == (1, [], "expired")
    assert not ExportLink.objects.exists()


def test_foreign_files_in_the_folder_are_left_alone(folder: Path) -> None:
    folder.mkdir()
    (folder / "lost+found").mkdir()
    (folder / "README").write_text("ours")
    sending = folder / f"{export_files.STREAMING_PREFIX}1"
    sending.mkdir()

    swept = export_files.delete_leftovers()

    assert swept == 1
    assert sorted(path.name for path in folder.iterdir()) == [sending.name, "README"]


@pytest.mark.parametrize("format", FORMATS)
def test_ride_of_locked_export_is_not_corrected_until_unlock(
    api: TokenClient, supervisor: Principal, format: str
) -> None:
    ride = ride_in(RideStatus.COMPLETED)
    free = ride_in(RideStatus.COMPLETED)
    export = make(api, lock=True, format=format, facilityId=str(ride.facility_id))
    wish = StatusReport(status=RideStatus.IN_PROGRESS, source="dispatcher_manual", note="Wrong rider.")

    with pytest.raises(Exception, match="locked export") as refusal:
        status_report.change_status(ride_id=ride.pk, report=wish, by=supervisor, at=factories.NOW)
    status_report.change_status(ride_id=free.pk, report=wish, by=supervisor, at=factories.NOW)
    unlocked = api.post(f"/api/exports/{export.pk}/unlock", {}, format="json")
    status_report.change_status(ride_id=ride.pk, report=wish, by=supervisor, at=factories.NOW)

    assert refusal.value.details[0].also == {"exportId": str(export.pk)}  # type: ignore[attr-defined]  # of a refusal
    assert unlocked.json()["locked"] is False
    ride.refresh_from_db()
    assert (ride.status, RideLock.objects.count()) == ("in_progress", 0)


def test_ride_that_changed_since_it_was_read_is_not_locked(api: TokenClient, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, changed = ride_in(RideStatus.COMPLETED), ride_in(RideStatus.COMPLETED)
    written = files.write

    def change_afterwards(*given: Any, **named: Any) -> None:
        written(*given, **named)
        Ride.objects.filter(pk=changed.pk).update(version=changed.version + 1)

    monkeypatch.setattr(files, "write", change_afterwards)
    make(api, lock=True)

    assert list(RideLock.objects.values_list("ride_id", flat=True)) == [kept.pk]


def test_lock_takes_the_right_to_correct() -> None:
    billing = api_with(TokenRole.BILLING_READONLY)

    asked = ask(billing, lock=True)
    export = Export.objects.create(
        dataset="rides", dataset_version=1, format="csv", columns=[], client=billing.token.client,
        created_by="system", created_at=factories.NOW,
    )  # fmt: skip
    unlocked = billing.post(f"/api/exports/{export.pk}/unlock", {}, format="json")

    assert [error_of(one)["code"] for one in (asked, unlocked)] == ["INSUFFICIENT_SCOPE", "INSUFFICIENT_SCOPE"]


def test_cancelled_locked_export_lets_its_rides_go(api: TokenClient) -> None:
    ride_in(RideStatus.COMPLETED)
    export = make(api, lock=True)
    assert RideLock.objects.count() == 1

    api.post(f"/api/exports/{export.pk}/cancel", {}, format="json")

    assert RideLock.objects.count() == 0


def test_file_holds_what_was_asked_for_and_no_more(api: TokenClient, nobody: TokenClient) -> None:
    ride_in(RideStatus.COMPLETED)

    export = make(api, columns=["status", "serviceDate"])

    content = body_of(nobody.get(link_to(api, export))).decode()
    head = next(csv.reader(io.StringIO(content, newline="")))
    assert head == ["rideId", "rowVersion", "exportBatchId", "serviceDate", "status"]


def test_export_of_the_service_itself_reaches_everything() -> None:
    ride_in(RideStatus.COMPLETED)
    exports.create(request=ExportRequest("rides", "csv"), by=system(), at=factories.NOW)

    tasks.make_exports()

    assert (Export.objects.get().state, Export.objects.get().rows) == ("ready", 1)
