"""Offers: made, accepted, declined, expired."""

import dataclasses
import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.rules.roles import TokenRole
from apps.audit.models import AuditEntry
from apps.events.models import Event
from apps.rides import tasks
from apps.rides.models import Assignment, Ride, RideException
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.services import assignment, offers
from apps.rides.services.eligibility_checks import AssignmentRejected
from apps.rides.services.status import InvalidTransition
from config.celery import TIMETABLE
from lib.access import Principal, system
from lib.errors import InvalidInput, NotFound, ScopeMissing
from tests import factories
from tests.callers import TokenClient, error_of
from tests.fleet.crew import fit_pair
from tests.rides.rides_in import ride_in
from tests.rides.traces import events_of

pytestmark = pytest.mark.django_db

NOW = factories.NOW
LATER = NOW + dt.timedelta(minutes=5)


def offered(ride: Ride, by: Principal, **given: Any) -> Assignment:
    driver, vehicle = fit_pair(employment="contractor")
    return assignment.assign(
        ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, offer=True, **given, by=by, at=NOW
    )


def everything() -> dict[str, Any]:
    return {
        "rides": list(Ride.objects.order_by("pk").values()),
        "assignments": list(Assignment.objects.order_by("pk").values()),
        "exceptions": list(RideException.objects.order_by("pk").values()),
        "events": Event.objects.count(),
    }


@pytest.fixture
def ride(db: None) -> Ride:
    made: Ride = factories.RideFactory.create()
    return made


def test_offer_leaves_the_ride_waiting(ride: Ride, dispatcher: Principal) -> None:
    offer = offered(ride, dispatcher)

    ride.refresh_from_db()
    event = Event.objects.get()
    assert (ride.status, ride.version, ride.driver_id) == ("scheduled", 2, None)
    assert (offer.status, offer.respond_by, offer.responded_at) == ("offered", NOW + dt.timedelta(minutes=15), None)
    assert (event.type, event.provider_id, event.facility_id) == (
        "ride.driver_offered",
        offer.provider_id,
        ride.facility_id,
    )
    assert event.data == {
        "rideId": str(ride.pk),
        "status": "scheduled",
        "previousStatus": "scheduled",
        "pickupTime": "2026-11-20T20:00:00Z",
        "assignmentId": str(offer.pk),
        "driverId": str(offer.driver_id),
        "vehicleId": str(offer.vehicle_id),
        "respondBy": "2026-11-20T15:15:00Z",
    }


def test_employee_accepts_at_once(ride: Ride, dispatcher: Principal) -> None:
    driver, vehicle = fit_pair(employment="employee")

    made = assignment.assign(
        ride_id=ride.pk, driver_id=driver.pk, vehicle_id=vehicle.pk, offer=True, by=dispatcher, at=NOW
    )

    ride.refresh_from_db()
    assert (made.status, ride.status) == ("accepted", "assigned")


def test_ride_with_a_driver_is_not_offered(dispatcher: Principal) -> None:
    ride = ride_in(RideStatus.ASSIGNED)
    before = everything()

    with pytest.raises(InvalidTransition):
        offered(ride, dispatcher)

    assert everything()["assignments"] == before["assignments"]


def test_offer_cannot_have_ended_before_it_is_made(ride: Ride, dispatcher: Principal) -> None:
    with pytest.raises(InvalidInput) as refusal:
        offered(ride, dispatcher, respond_by=NOW)

    assert refusal.value.details[0].field == "respondBy"
    assert Assignment.objects.count() == 0


def test_accepted_offer_assigns_and_withdraws_the_others(ride: Ride, dispatcher: Principal) -> None:
    first, second = offered(ride, dispatcher), offered(ride, dispatcher)

    taken = offers.accept(ride_id=ride.pk, assignment_id=second.pk, by=dispatcher, at=LATER)

    ride.refresh_from_db()
    first.refresh_from_db()
    assert (ride.status, ride.assignment_id, ride.driver_id) == ("assigned", second.pk, second.driver_id)
    assert (taken.status, taken.responded_at) == ("accepted", LATER)
    assert (first.status, first.end_reason) == ("expired", "given_to_another")
    assert events_of(ride) == ["ride.driver_offered", "ride.driver_offered", "ride.driver_assigned"]


def test_several_open_offers_have_to_be_told_apart(ride: Ride, dispatcher: Principal) -> None:
    offered(ride, dispatcher), offered(ride, dispatcher)
    before = everything()

    with pytest.raises(InvalidInput) as refusal:
        offers.accept(ride_id=ride.pk, by=dispatcher, at=LATER)

    assert refusal.value.details[0].field == "assignmentId"
    assert everything() == before


def test_offer_is_over_when_its_time_is(ride: Ride, dispatcher: Principal) -> None:
    offer = offered(ride, dispatcher)
    before = everything()

    with pytest.raises(offers.OfferOver):
        offers.accept(ride_id=ride.pk, by=dispatcher, at=NOW + dt.timedelta(minutes=15))

    assert everything() == before
    assert offers.accept(ride_id=ride.pk, by=dispatcher, at=NOW + dt.timedelta(minutes=14)).pk == offer.pk


def test_accepting_checks_again(ride: Ride, dispatcher: Principal) -> None:
    offer = offered(ride, dispatcher)
    clashing = factories.RideFactory.create()
    assignment.assign(
        ride_id=clashing.pk, driver_id=offer.driver_id, vehicle_id=offer.vehicle_id, by=dispatcher, at=NOW
    )
    before = everything()

    with pytest.raises(AssignmentRejected) as refusal:
        offers.accept(ride_id=ride.pk, by=dispatcher, at=LATER)

    assert [one.code for one in refusal.value.details] == ["SCHEDULE_CONFLICT"]
    assert everything() == before


def test_what_was_overridden_with_the_offer_stays_so(dispatcher: Principal) -> None:
    ride = factories.RideFactory.create(rider__driver_gender_preference="female")
    offered(ride, dispatcher, override=True, override_reason="Nobody else")

    offers.accept(ride_id=ride.pk, by=dispatcher, at=LATER)

    ride.refresh_from_db()
    assert ride.status == "assigned"


def test_declined_offer_is_told_to_the_dispatcher(ride: Ride, dispatcher: Principal) -> None:
    offer = offered(ride, dispatcher)

    offers.decline(ride_id=ride.pk, reason="Too far", by=dispatcher, at=LATER)

    ride.refresh_from_db()
    offer.refresh_from_db()
    assert (offer.status, offer.decline_reason, offer.ended_at) == ("declined", "Too far", LATER)
    assert (ride.status, ride.open_exception_count) == ("scheduled", 1)
    assert list(RideException.objects.values_list("type", "severity")) == [("assignment_declined", "warning")]
    assert events_of(ride) == ["ride.driver_offered", "ride.exception"]


def test_declined_offer_cannot_be_taken(ride: Ride, dispatcher: Principal) -> None:
    offer = offered(ride, dispatcher)
    offers.decline(ride_id=ride.pk, by=dispatcher, at=LATER)
    before = everything()

    with pytest.raises(NotFound):
        offers.accept(ride_id=ride.pk, assignment_id=offer.pk, by=dispatcher, at=LATER)

    assert everything() == before


def test_partner_answers_offers_made_to_it_alone(ride: Ride, dispatcher: Principal) -> None:
    mine, theirs = offered(ride, dispatcher), offered(ride, dispatcher)
    partner = dataclasses.replace(dispatcher, provider_ids=frozenset({mine.provider_id}))
    before = everything()

    with pytest.raises(NotFound):
        offers.accept(ride_id=ride.pk, assignment_id=theirs.pk, by=partner, at=LATER)
    assert everything() == before
    taken = offers.accept(ride_id=ride.pk, by=partner, at=LATER)

    assert taken.pk == mine.pk


def test_offered_ride_is_visible_to_its_provider_until_declined(
    ride: Ride, dispatcher: Principal, api_as: Callable[..., TokenClient]
) -> None:
    offer = offered(ride, dispatcher)
    other = factories.TransportProviderFactory.create()
    mine, theirs = (
        api_as(TokenRole.DISPATCH_PARTNER, provider_ids=[provider_id]) for provider_id in (offer.provider_id, other.pk)
    )

    def seen_by(caller: TokenClient) -> tuple[list[str], int]:
        listed = caller.get("/api/rides?status=scheduled").json()["data"]
        return [row["id"] for row in listed], caller.get(f"/api/rides/{ride.pk}").status_code

    assert seen_by(mine) == ([str(ride.pk)], 200)
    assert seen_by(theirs) == ([], 404)
    offers.decline(ride_id=ride.pk, by=dispatcher, at=LATER)
    assert seen_by(mine) == ([], 404)


def test_offered_ride_is_changed_by_nobody_it_is_offered_to(
    ride: Ride, dispatcher: Principal, api_as: Callable[..., TokenClient]
) -> None:
    offer = offered(ride, dispatcher)
    mine = api_as(TokenRole.FULL_ACCESS, provider_ids=[offer.provider_id])
    pair = {"driverId": str(offer.driver_id), "vehicleId": str(offer.vehicle_id)}
    before = everything()

    for refused in (
        mine.put(f"/api/rides/{ride.pk}/assignment", pair),
        mine.patch(f"/api/rides/{ride.pk}", {"notes": {"driver": "Ring twice."}}),
        mine.post(f"/api/rides/{ride.pk}/status", {"status": "unfulfilled", "reasonCode": "no_driver_available"}),
    ):
        assert (refused.status_code, error_of(refused)["code"]) == (403, "FORBIDDEN")

    assert everything() == before
    assert mine.post(f"/api/rides/{ride.pk}/assignment/accept").json()["rideStatus"] == "assigned"
    assert mine.patch(f"/api/rides/{ride.pk}", {"notes": {"driver": "Ring twice."}}).status_code == 200


def test_outsider_finds_no_offer(ride: Ride, dispatcher: Principal, outsider: Principal) -> None:
    offered(ride, dispatcher)
    before = everything()

    for answer in (offers.accept, offers.decline):
        with pytest.raises(NotFound):
            answer(ride_id=ride.pk, by=outsider, at=LATER)

    assert everything() == before


def test_reader_cannot_answer(ride: Ride, dispatcher: Principal) -> None:
    offered(ride, dispatcher)
    reader = dataclasses.replace(dispatcher, scopes=frozenset({"rides:read"}))
    before = everything()

    for answer in (offers.accept, offers.decline):
        with pytest.raises(ScopeMissing):
            answer(ride_id=ride.pk, by=reader, at=LATER)

    assert everything() == before


def test_due_offers_expire_once(ride: Ride, dispatcher: Principal) -> None:
    due = offered(ride, dispatcher)
    waiting = offered(ride, dispatcher, respond_by=NOW + dt.timedelta(hours=1))
    at = NOW + dt.timedelta(minutes=15)

    ended = [offers.expire_due(by=system(), at=at), offers.expire_due(by=system(), at=at)]

    due.refresh_from_db()
    waiting.refresh_from_db()
    assert ended == [1, 0]
    assert (due.status, due.ended_at, waiting.status) == ("expired", at, "offered")
    assert list(RideException.objects.values_list("type", flat=True)) == ["assignment_declined"]
    entry = AuditEntry.objects.get(action="rides.expire_offer")
    assert (entry.actor, entry.subject_id, entry.rider_ids, entry.facility_id, entry.details) == (
        "system",
        ride.pk,
        [ride.rider_id],
        ride.facility_id,
        {"assignmentId": str(due.pk)},
    )


def test_task_on_the_timetable_expires_offers(ride: Ride, dispatcher: Principal) -> None:
    offer = offered(ride, dispatcher, respond_by=NOW + dt.timedelta(seconds=1))
    Assignment.objects.update(respond_by=timezone.now() - dt.timedelta(seconds=1))

    tasks.expire_offers()

    offer.refresh_from_db()
    assert offer.status == "expired"
    assert tasks.expire_offers.name in TIMETABLE
