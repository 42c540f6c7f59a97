"""Visibility of standing orders and their fields over HTTP."""

import datetime as dt
import re

import pytest

from apps.accounts.rules.roles import TokenRole
from apps.organizations.models import Facility
from apps.recurring.models import StandingOrder, Terms
from apps.recurring.services import edit_order
from apps.rides.rules.draft import Notes, Payment
from lib.access import system
from tests import factories
from tests.callers import api_with, error_of
from tests.factories import NOW
from tests.recurring import cast
from tests.recurring.calls import body, state
from tests.recurring.cast import DATES
from tests.rides.drafts import HOME

pytestmark = pytest.mark.django_db


@pytest.fixture
def centre(db: None) -> Facility:
    return cast.dialysis_centre()


@pytest.fixture
def order(centre: Facility) -> StandingOrder:
    return cast.order(centre)


def test_callers_bound_to_providers_see_no_orders(order: StandingOrder) -> None:
    bound = api_with(TokenRole.FULL_ACCESS, provider_ids=[factories.TransportProviderFactory.create().pk])
    before = state()

    assert bound.get("/api/standing-orders").json()["data"] == []
    path, day = f"/api/standing-orders/{order.pk}", {"from": "2026-11-25"}
    answers = [
        bound.get(path),
        bound.get(f"{path}/occurrences"),
        bound.patch(path, {"chairTime": "06:00"}),
        bound.post(f"{path}/hold", {**day, "reason": "travel"}),
        bound.post(f"{path}/resume", day),
        bound.post(f"{path}/end"),
        bound.post(f"{path}/activate"),
        bound.post(f"{path}/occurrences/{DATES[0]}/skip"),
    ]
    assert {answer.status_code for answer in answers} == {404}
    assert bound.post(f"/api/riders/{order.rider_id}/standing-orders", body(order.facility)).status_code == 404
    assert state() == before


def test_order_of_a_facility_out_of_reach_is_not_there(order: StandingOrder) -> None:
    bound = api_with(TokenRole.EHR_INTEGRATOR, facility_ids=[factories.FacilityFactory.create().pk])

    assert bound.get("/api/standing-orders").json()["data"] == []
    assert bound.get(f"/api/standing-orders/{order.pk}").status_code == 404
    assert bound.patch(f"/api/standing-orders/{order.pk}", {"chairTime": "06:00"}).status_code == 404


def test_reading_takes_rides_read_and_arranging_schedules_write(centre: Facility, order: StandingOrder) -> None:
    reader = api_with(TokenRole.AUDITOR)

    refused = reader.post(f"/api/riders/{order.rider_id}/standing-orders", body(centre))

    assert reader.get(f"/api/standing-orders/{order.pk}").status_code == 200
    assert error_of(refused)["details"][0]["requiredScope"] == "schedules:write"


@pytest.mark.parametrize("phi", ["none", "limited"])
def test_levels_below_full_see_order_fields_like_ride_fields(centre: Facility, phi: str) -> None:
    payer = factories.PayerFactory.create()
    rider = factories.RiderFactory.create(facility=centre)
    order = cast.order(
        centre,
        rider,
        of={
            "pickup": {**HOME, "accessCode": "4711"},
            "return_dropoff": {**HOME, "addressLine1": "9 W Elm St", "accessCode": "2007"},
            "accommodation": {"driverNotes": "Slow."},
        },
        notes=Notes(driver="Ring twice."),
        payment=Payment(payer_id=payer.pk, program_code="MCD", authorization_number="AUTH-1"),
    )
    terms = {"chair_time": dt.time(6)}
    edit_order.change(order_id=order.pk, terms=terms, from_date=DATES[3], by=system(), at=NOW)
    reader = api_with(TokenRole.FULL_ACCESS, phi_level=phi)

    shown = reader.get(f"/api/standing-orders/{order.pk}").json()
    ride = reader.get(f"/api/rides/{cast.rides(order, leg_type='outbound')[0].pk}").json()
    back = reader.get(f"/api/rides/{cast.rides(order, leg_type='return')[0].pk}").json()

    for one in (shown, *shown["laterTerms"]):
        assert (one["outbound"]["pickup"], one["outbound"]["dropoff"]) == (ride["pickup"], ride["dropoff"])
        assert one["return"]["dropoff"] == back["dropoff"]
        assert one["accommodation"] == {}
        assert one.keys() & {"companions", "treatmentMinutes", "postTreatmentMinutes"} == set()
    assert shown.keys() & {"notes", "preferredDriverIds"} == set()
    assert ("externalIds" in shown) == (phi == "limited")
    payment = shown["payer"] | ({"authorizationNumber": shown["authorizationNumber"]} if phi == "limited" else {})
    assert payment.items() <= ride["payer"].items()
    assert ("authorizationNumber" in shown, "authorizationEndsOn" in shown) == ((phi == "limited",) * 2)


def test_mobility_is_known_at_every_level(centre: Facility) -> None:
    order = cast.order(centre, of={"accommodation": {"mobility": "wheelchair", "driverNotes": "Slow."}})
    reader = api_with(TokenRole.FULL_ACCESS, phi_level="none")

    assert reader.get(f"/api/standing-orders/{order.pk}").json()["accommodation"] == {"mobility": "wheelchair"}


def test_dispatcher_notes_and_access_codes_need_dispatch_role(centre: Facility) -> None:
    order = cast.order(
        centre,
        of={"pickup": {**HOME, "accessCode": "4711"}, "return_dropoff": {**HOME, "accessCode": "2007"}},
        notes=Notes(driver="Ring twice.", dispatcher="Talks a lot."),
    )

    planner = api_with(TokenRole.EHR_INTEGRATOR).get(f"/api/standing-orders/{order.pk}")
    dispatch = api_with(TokenRole.DISPATCH_CONSOLE).get(f"/api/standing-orders/{order.pk}")

    assert planner.json()["notes"] == {"driver": "Ring twice.", "facility": ""}
    assert not {"4711", "2007"} & set(re.findall(r"[0-9]+", planner.content.decode()))
    assert dispatch.json()["notes"]["dispatcher"] == "Talks a lot."
    assert dispatch.json()["outbound"]["pickup"]["accessCode"] == "4711"
    assert dispatch.json()["return"]["dropoff"]["accessCode"] == "2007"
    assert Terms.objects.get().pickup_access == "4711"
