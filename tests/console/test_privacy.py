"""Privacy mode: initials instead of rider names on screens that visitors see."""

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.dispatch.services import run_sheet
from apps.rides.models import Ride, RideException
from apps.rides.rules.exception_types import ExceptionType
from apps.rides.services import exceptions
from apps.rides.services.status import locked
from lib.access import system
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import told, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

SWITCH = "/console/privacy/"
BOARD = "/console/board/"
# No other text on any page contains these names.
LAST, FIRST = "Quxwilliams", "Zebedee"
INITIALS = "Q., Z."
KIN = "Quxilla Zorrow"


@dataclass
class Scene:
    client: Client
    waiting: Ride
    driven: Ride
    exception: RideException

    def read(self, path: str, **headers: str) -> str:
        answer = self.client.get(path, headers=headers)
        assert answer.status_code == 200, path
        return str(answer.content.decode())

    def switch(self, to: str, back: str = BOARD) -> Any:
        return self.client.post(SWITCH, {"privacy": to, "next": back})


@pytest.fixture
def scene() -> Scene:
    facility = factories.FacilityFactory.create()
    rider = factories.RiderFactory.create(facility=facility, first_name=FIRST, last_name=LAST)
    columns: dict[str, Any] = {"rider": rider, "facility": facility, "pickup_facility": facility}
    driven = factories.RideFactory.create(**columns, pickup_at=NOW + dt.timedelta(hours=2))
    factories.put_driver_on(driven)
    waiting = factories.RideFactory.create(**columns, requested_by={"name": f"{FIRST} {LAST}", "phone": "+15550100"})
    Ride.objects.filter(pk=waiting.pk).update(
        discharge={"receiving": {"name": KIN}}, dropoff=waiting.dropoff | {"contact": {"name": KIN, "phone": "1"}}
    )
    with transaction.atomic():
        exception = exceptions.open_exception(
            locked(waiting.pk, system()), ExceptionType.LATE_PICKUP, by=system(), at=NOW, detected_by="tests"
        )
    person: User = factories.UserFactory.create(role=UserRole.DISPATCHER)
    client = Client()
    sign_in(client, person)
    return Scene(client, waiting, driven, exception)


def _pages(scene: Scene) -> list[str]:
    """Return the pages of a wall screen, and the parts of them that update live."""
    waiting, driven = scene.waiting.pk, scene.driven.pk
    return [
        BOARD,
        f"{BOARD}?view=list",
        f"{BOARD}?view=map",
        f"{BOARD}suggestions/",
        f"{BOARD}changes/?ride={waiting}&ride={driven}",
        f"{BOARD}rides/{waiting}/",
        f"{BOARD}rides/{waiting}/assign/",
        f"{BOARD}rides/{driven}/unassign/",
        f"{BOARD}drivers/{scene.driven.driver_id}/",
        f"/console/rides/{waiting}/",
        "/console/exceptions/",
        "/console/exceptions/list/",
        f"/console/exceptions/{scene.exception.pk}/",
        "/console/day/",
        "/console/day/list/",
        "/console/day/print/",
    ]


def test_no_page_and_no_part_of_one_names_a_rider_whole(scene: Scene) -> None:
    pages = _pages(scene)
    named = {path for path in pages if LAST in scene.read(path)}

    scene.switch("on")
    shown = {path: scene.read(path) for path in pages}
    parts = {path: scene.read(path, **{"HX-Request": "true"}) for path in pages}

    assert named >= set(pages[:4]) | set(pages[5:])
    for path, page in [*shown.items(), *parts.items()]:
        assert not [name for name in (LAST, FIRST, *KIN.split()) if name in page], path
    assert {path for path, page in shown.items() if INITIALS in page} >= named
    assert "Q. Z." in shown[f"/console/rides/{scene.waiting.pk}/"], "who asked for it may be the rider"


def test_privacy_mode_shows_initials_in_search_and_ride_action(scene: Scene) -> None:
    scene.switch("on")

    found = scene.client.post("/console/find/", {"q": LAST[:4]}).content.decode()
    said = scene.client.post(f"{BOARD}selection/", {"ride": f"{scene.driven.pk}:9", "reason_code": "other"})

    assert INITIALS in found
    assert LAST not in found + said.content.decode()


def test_printed_pages_and_booking_show_whole_names(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_sheet, "pdf_of", str.encode)
    scene.switch("on")

    desk = scene.read(f"/console/book/?rider={scene.waiting.rider_id}")
    printed = scene.read(f"{BOARD}drivers/{scene.driven.driver_id}/run-sheet.pdf")

    assert f"{LAST}, {FIRST}" in desk
    assert f"{LAST}, {FIRST}" in printed


def test_privacy_mode_is_marked_and_belongs_to_the_screen(scene: Scene) -> None:
    plain = scene.read(BOARD)
    answer = scene.switch("on", back=f"{BOARD}?view=list")
    on = scene.read(BOARD)
    table = scene.read("/admin/rides/ride/")
    other = Client()
    sign_in(other, User.objects.get())
    elsewhere = other.get(BOARD).content.decode()
    sign_in(scene.client, factories.UserFactory.create(role=UserRole.DISPATCHER))
    next_person = scene.read(BOARD)

    assert answer.headers["Location"] == f"{BOARD}?view=list"
    cookie = scene.client.cookies["carelane_privacy"]
    assert (cookie.value, bool(cookie["httponly"]), cookie["samesite"]) == ("on", True, "Lax")
    assert [page.count("privacy-mark") for page in (plain, on, table, elsewhere, next_person)] == [0, 1, 0, 0, 1]
    assert plain.count("Privacy mode (initials only)</") == 2, "on the board, and in the menu"
    assert "Privacy mode (initials only)" not in on
    assert LAST in elsewhere
    assert LAST not in next_person


def test_privacy_mode_is_switched_off_again(scene: Scene) -> None:
    scene.switch("on")
    answer = scene.client.post(SWITCH, {"privacy": "off", "next": BOARD}, follow=True)

    assert told(answer)[-1:] == ["Privacy mode is off: this screen shows riders by name."]
    assert LAST in scene.read(BOARD)


@pytest.mark.parametrize("back", ["", "https://elsewhere.example.org/", "//elsewhere.example.org/", "javascript:x"])
def test_switch_leads_to_no_other_place(scene: Scene, back: str) -> None:
    assert scene.switch("on", back).headers["Location"] == "/"


@pytest.mark.parametrize("sent", [{}, {"privacy": "maybe"}, {"privacy": "on\0"}])
def test_switch_knows_on_and_off_alone(scene: Scene, sent: dict[str, str]) -> None:
    answer = scene.client.post(SWITCH, sent)

    assert answer.status_code == 400
    assert "carelane_privacy" not in scene.client.cookies
    assert scene.client.get(SWITCH).status_code == 405


def test_page_that_answers_a_form_leads_back_to_the_start() -> None:
    client = visitor(UserRole.DISPATCHER)

    answer = client.post("/console/preferences/", {})

    assert answer.status_code == 422
    assert answer.context["shell"].privacy["back"] == ""


@pytest.mark.parametrize("role", [UserRole.ADMIN, UserRole.FLEET_ADMIN])
def test_whom_no_rider_is_named_to_has_no_switch(role: UserRole) -> None:
    page = visitor(role).get("/console/preferences/").content.decode()

    assert "privacy" not in page


def test_switch_takes_the_token_of_a_form() -> None:
    assert visitor(UserRole.DISPATCHER, checks_csrf=True).post(SWITCH, {"privacy": "on"}).status_code == 403
