"""Effect of an outcome on later legs, and correction of an outcome."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils.translation import override

from apps.accounts.rules.roles import SCOPES_OF_TOKEN, TokenRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.fleet.models import Driver
from apps.rides.labels import note_text
from apps.rides.models import Assignment, Milestone, Ride, RideException
from apps.rides.rules.lifecycle import TERMINAL, RideStatus
from apps.rides.rules.reasons import LEG_KEPT_NOTE
from apps.rides.services import corrections
from apps.rides.services import status_report as service
from apps.rides.services.eligibility_checks import AssignmentRejected
from apps.rides.services.guards import GuardFailed
from apps.rides.services.status import InvalidTransition, Note, move_back
from lib.access import Principal, system
from lib.errors import InvalidInput
from tests import factories
from tests.callers import TokenClient
from tests.locks import wait_until_somebody_waits
from tests.rides.rides_in import ride_in
from tests.rides.status_calls import AT, report_to, traces


@pytest.mark.parametrize(("policy", "expected"), [("hold", 1), ("keep", 0)])
def test_later_leg_is_held_for_decision_or_kept(policy: str, expected: int, dispatcher: Principal) -> None:
    outbound, later = trip_of_two(policy)

    service.change_status(
        ride_id=outbound.pk,
        report=report_to(RideStatus.CANCELLED, reason_code="rider_ill"),
        by=dispatcher,
        at=factories.NOW,
    )

    later.refresh_from_db()
    held = RideException.objects.filter(ride=later, type="return_leg_at_risk", status="open")
    assert (later.status, held.count(), later.open_exception_count) == ("scheduled", expected, expected)


def test_later_leg_is_cancelled_where_the_facility_wants_it(dispatcher: Principal) -> None:
    outbound, later = trip_of_two("cancel")

    service.change_status(
        ride_id=outbound.pk,
        report=report_to(RideStatus.CANCELLED, reason_code="rider_ill"),
        by=dispatcher,
        at=factories.NOW,
    )

    later.refresh_from_db()
    assert (later.status, later.reason_code, later.fault) == ("cancelled", "other", "none")
    assert {entry.subject_id: (entry.actor, entry.action, entry.details) for entry in AuditEntry.objects.all()} == {
        ride.pk: (
            dispatcher.actor,
            "rides.status",
            {"from": "scheduled", "to": "cancelled", "overridden": [], "reasonCode": code},
        )
        for ride, code in ((outbound, "rider_ill"), (later, "other"))
    }


@pytest.mark.parametrize("policy", ["hold", "cancel"])
def test_driver_can_end_ride_with_later_leg_out_of_reach(policy: str, db: None) -> None:
    outbound, later = trip_of_two(policy)
    provider_id = factories.put_driver_on(outbound).provider_id
    scopes = SCOPES_OF_TOKEN[TokenRole.DISPATCH_PARTNER]
    partner = factories.principal(scopes=scopes, provider_ids=frozenset({provider_id}))

    ended = service.change_status(
        ride_id=outbound.pk,
        report=report_to(RideStatus.UNFULFILLED, reason_code="vehicle_breakdown"),
        by=partner,
        at=factories.NOW,
    )

    later.refresh_from_db()
    held = RideException.objects.filter(ride=later, type="return_leg_at_risk", status="open").count()
    assert ended.status == "unfulfilled"
    assert (later.status, held) == {"hold": ("scheduled", 1), "cancel": ("cancelled", 0)}[policy]


def test_end_note_of_linked_leg_is_formatted_when_read(api: TokenClient, dispatcher: Principal) -> None:
    outbound, later = trip_of_two("cancel")
    report = report_to(RideStatus.CANCELLED, reason_code="rider_ill")
    service.change_status(ride_id=outbound.pk, report=report, by=dispatcher, at=factories.NOW)

    stored = Ride.objects.get(pk=later.pk).end_note
    listed = {row["id"]: row["endNote"] for row in api.get("/api/rides").json()["data"]}

    assert stored == "system:earlier_leg_ended:cancelled:rider_ill"
    expected = "The earlier leg ended: canceled, rider sick."
    assert api.get(f"/api/rides/{later.pk}").json()["endNote"] == listed[str(later.pk)] == expected


@pytest.mark.parametrize(
    ("note", "text"),
    [
        (LEG_KEPT_NOTE, "Nadie decidió a tiempo: el tramo se mantiene."),
        ("system:earlier_leg_ended:no_show:door_locked", "El tramo anterior terminó: no se presentó, door_locked."),
        ("The leg before it ended: no_show, other.", "The leg before it ended: no_show, other."),
        ("Came by taxi", "Came by taxi"),
        ("", ""),
    ],
)
def test_note_text_is_in_the_readers_language(note: str, text: str) -> None:
    with override("es"):
        assert str(note_text(note)) == text


def trip_of_two(policy: str) -> tuple[Ride, Ride]:
    outbound = factories.RideFactory.create(facility__return_leg_policy=policy, leg_type="outbound")
    later = factories.RideFactory.create(
        facility=outbound.facility,
        rider=outbound.rider,
        leg_type="return",
        leg_sequence=2,
        pickup_at=factories.PICKUP + dt.timedelta(hours=4),
    )
    trip = factories.TripFactory.create(rider=outbound.rider)
    Ride.objects.filter(pk__in=[outbound.pk, later.pk]).update(trip=trip)
    outbound.refresh_from_db()
    return outbound, later


@pytest.mark.parametrize("ended", sorted(TERMINAL), ids=str)
def test_supervisor_reopens_what_ended_by_mistake(ended: RideStatus, supervisor: Principal) -> None:
    ride = ride_in(ended)
    before = RideStatus(ride.status_before_end)

    changed = service.change_status(
        ride_id=ride.pk,
        report=report_to(before, note="Tapped on the wrong ride."),
        by=supervisor,
        at=AT,
    )

    event = Event.objects.get(subject_id=ride.pk)
    assert (changed.status, changed.reason_code, changed.status_before_end) == (before, "", "")
    assert (event.type, event.data["endedAs"]) == ("ride.corrected", ended)
    assert Assignment.objects.get(ride=ride).status == "accepted"
    assert not Milestone.objects.filter(ride=ride, type="dropped_off", voided=False).exists()


@pytest.mark.parametrize(
    ("late", "note"), [(dt.timedelta(hours=73), "Tapped wrongly."), (dt.timedelta(0), "")], ids=["late", "silent"]
)
def test_correction_is_refused_late_or_without_a_word(late: dt.timedelta, note: str, supervisor: Principal) -> None:
    ride = ride_in(RideStatus.NO_SHOW)
    before = traces(ride)

    with pytest.raises((GuardFailed, InvalidInput)):
        service.change_status(
            ride_id=ride.pk, report=report_to(RideStatus.ARRIVED, note=note), by=supervisor, at=AT + late
        )

    assert traces(ride) == before


@pytest.mark.parametrize("ended", [RideStatus.CANCELLED, RideStatus.COMPLETED], ids=str)
def test_correction_asks_about_the_ride_the_driver_has_by_now(ended: RideStatus, supervisor: Principal) -> None:
    ride = ride_in(ended)
    far_away = factories.stop(lat=42.6, lng=-87.6)
    other = factories.RideFactory.create(pickup_at=ride.pickup_at + dt.timedelta(minutes=5), pickup=far_away)
    assert ride.driver is not None
    factories.put_driver_on(other, driver=ride.driver)
    before, target = traces(ride), RideStatus(ride.status_before_end)
    said = {"note": "Tapped on the wrong ride."}

    with pytest.raises(AssignmentRejected) as refused:
        service.change_status(ride_id=ride.pk, report=report_to(target, **said), by=supervisor, at=AT)

    (detail,) = refused.value.details
    assert (detail.code, detail.also) == ("SCHEDULE_CONFLICT", {"kind": "soft", "subjectId": str(other.pk)})
    assert traces(ride) == before

    reason = {"override": True, "override_reason": "They share the vehicle."}
    service.change_status(ride_id=ride.pk, report=report_to(target, **said, **reason), by=supervisor, at=AT)

    row = Assignment.objects.get(ride=ride)
    assert (row.status, row.overridden, row.override_reason) == (
        "accepted",
        ["SCHEDULE_CONFLICT"],
        "They share the vehicle.",
    )
    assert Event.objects.get(subject_id=ride.pk).data["overridden"] == ["SCHEDULE_CONFLICT"]
    entry = AuditEntry.objects.get(action="rides.status")
    assert (entry.reason, entry.details["overridden"]) == (
        "Tapped on the wrong ride.; They share the vehicle.",
        ["SCHEDULE_CONFLICT"],
    )


def test_driver_suspended_meanwhile_returns_with_exception(supervisor: Principal) -> None:
    ride = ride_in(RideStatus.CANCELLED)
    Driver.objects.filter(rides=ride).update(activation="suspended", activation_reason="Licence revoked.")

    service.change_status(
        ride_id=ride.pk, report=report_to(RideStatus.ASSIGNED, note="Not cancelled."), by=supervisor, at=AT
    )

    exception = RideException.objects.get(ride=ride)
    assert (exception.type, exception.details) == ("credential_lapse", {"violations": ["DRIVER_INACTIVE"]})


def test_correction_releases_the_leg_that_was_held(supervisor: Principal) -> None:
    outbound, later = trip_of_two("hold")
    cancelled = report_to(RideStatus.CANCELLED, reason_code="rider_ill")
    service.change_status(ride_id=outbound.pk, report=cancelled, by=supervisor, at=factories.NOW)

    service.change_status(
        ride_id=outbound.pk,
        report=report_to(RideStatus.SCHEDULED, note="Well again."),
        by=supervisor,
        at=factories.NOW + dt.timedelta(hours=1),
    )

    outbound.refresh_from_db()
    later.refresh_from_db()
    held = RideException.objects.get(ride=later, type="return_leg_at_risk")
    assert (outbound.status, outbound.reason_code, outbound.driver_id) == ("scheduled", "", None)
    assert (held.status, held.resolution_code, later.open_exception_count) == ("resolved", "false_alarm", 0)


def test_correction_opens_exception_on_leg_cancelled_with_it(supervisor: Principal) -> None:
    outbound, later = trip_of_two("cancel")
    later_at = factories.NOW + dt.timedelta(hours=1)
    cancelled = report_to(RideStatus.CANCELLED, reason_code="rider_ill")
    service.change_status(ride_id=outbound.pk, report=cancelled, by=supervisor, at=factories.NOW)
    assert Event.objects.get(subject_id=later.pk).data["endedRideId"] == str(outbound.pk)

    service.change_status(
        ride_id=outbound.pk, report=report_to(RideStatus.SCHEDULED, note="Well again."), by=supervisor, at=later_at
    )

    later.refresh_from_db()
    asked = RideException.objects.get(ride=later)
    assert (asked.type, asked.status, asked.detected_by, asked.due_at, asked.details) == (
        "return_leg_at_risk",
        "open",
        "T29",
        later_at + dt.timedelta(minutes=30),
        {"correctedRideId": str(outbound.pk)},
    )
    assert (later.status, later.open_exception_count, later.max_exception_severity) == ("cancelled", 1, "warning")
    reopened = report_to(RideStatus.SCHEDULED, note="The way home is wanted.")
    assert service.change_status(ride_id=later.pk, report=reopened, by=supervisor, at=later_at).status == "scheduled"


def test_correction_ignores_legs_that_ended_independently(supervisor: Principal) -> None:
    outbound, later = trip_of_two("cancel")
    cancelled = report_to(RideStatus.CANCELLED, reason_code="rider_ill")
    reopened = report_to(RideStatus.SCHEDULED, note="Well again.")
    for ride, report in ((outbound, cancelled), (later, reopened), (later, cancelled)):
        service.change_status(ride_id=ride.pk, report=report, by=supervisor, at=factories.NOW)
    before = traces(later)["row"]

    service.change_status(ride_id=outbound.pk, report=reopened, by=supervisor, at=factories.NOW)

    assert traces(later)["row"] == before
    assert not RideException.objects.exists()


def test_ride_whose_assignment_is_gone_is_not_reopened(supervisor: Principal) -> None:
    ride = ride_in(RideStatus.CANCELLED)
    Ride.objects.filter(pk=ride.pk).update(assignment_id=None)
    before = traces(ride)

    with pytest.raises(corrections.AssignmentGone):
        service.change_status(
            ride_id=ride.pk, report=report_to(RideStatus.ASSIGNED, note="Tapped wrongly."), by=supervisor, at=AT
        )

    assert traces(ride) == before


def test_ride_that_has_not_ended_is_not_moved_back(supervisor: Principal) -> None:
    ride = ride_in(RideStatus.ARRIVED)
    before = traces(ride)

    with pytest.raises(InvalidTransition):
        move_back(ride, by=supervisor, at=AT, also=[], note=Note())

    assert traces(ride) == before


@pytest.mark.django_db(transaction=True)
def test_later_leg_that_ended_meanwhile_is_left_alone() -> None:
    outbound, later = trip_of_two("hold")
    cancelled: dict[str, Any] = {
        "report": report_to(RideStatus.CANCELLED, reason_code="rider_ill"),
        "by": system(),
        "at": factories.NOW,
    }

    def end_outbound() -> None:
        try:
            service.change_status(ride_id=outbound.pk, **cancelled)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as other:
        with transaction.atomic():
            service.change_status(ride_id=later.pk, **cancelled)
            ending = other.submit(end_outbound)
            wait_until_somebody_waits()
        ending.result(timeout=20)

    assert set(Ride.objects.values_list("status", flat=True)) == {"cancelled"}
    assert not RideException.objects.exists()
