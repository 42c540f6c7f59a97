"""Display preferences of a user: shortcuts, density, clock."""

import datetime as dt
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW

pytestmark = pytest.mark.django_db

PAGE = "/console/preferences/"
OTHERWISE = {"density": "compact", "clock": "12"}
SILENT = {"alert_sound": False, "alert_notices": False}


def _kept(person: User) -> tuple[bool, bool, bool | None]:
    person.refresh_from_db()
    return person.single_keys, person.compact, person.twelve_hours


@pytest.fixture
def dana(client: Client) -> User:
    person = factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")
    sign_in(client, person)
    return person


@pytest.mark.parametrize("role", list(UserRole))
def test_everybody_has_preferences_and_the_usual_ones_at_first(role: UserRole) -> None:
    client = visitor(role)

    page = client.get(PAGE)
    home = client.get("/console/home/").content.decode()

    assert page.context["form"].initial == {
        "single_keys": True,
        "density": "comfortable",
        "clock": "usual",
        "alert_sound": False,
        "alert_notices": False,
        "language": "",
    }
    assert f'href="{PAGE}"' in home
    assert "data-single-keys" not in home
    assert "data-density" not in home


def test_preferences_hold_on_every_page_of_their_person_alone(client: Client, dana: User) -> None:
    other = factories.UserFactory.create()

    answer = client.post(PAGE, OTHERWISE, follow=True)

    assert told(answer) == ["Your preferences are saved."]
    assert answer.context["form"].initial == {"single_keys": False, "language": "", **SILENT, **OTHERWISE}
    assert _kept(dana) == (False, True, True)
    assert _kept(other) == (True, False, None)
    for path in ("/console/home/", "/admin/", PAGE, "/console/board/"):
        page = client.get(path).content.decode()
        assert '<html lang="en" dir="ltr" data-density="compact">' in page
        assert ' data-single-keys="off"' in page
        assert "<strong>9:00\N{NO-BREAK SPACE}AM</strong>" in page
    client.post(PAGE, {"single_keys": "on", "density": "comfortable", "clock": "24"})
    assert _kept(dana) == (True, False, False)
    client.post(PAGE, {"single_keys": "on", "density": "comfortable", "clock": "usual"})
    assert _kept(dana) == (True, False, None)


def test_alert_sound_and_notifications_are_off_by_default(client: Client, dana: User) -> None:
    before = client.get("/console/home/").content.decode()
    client.post(PAGE, {**OTHERWISE, "alert_sound": "on"})
    after = client.get("/console/home/").content.decode()

    assert [" data-sound" in before, " data-notices" in before, 'id="mute"' in before] == [False] * 3
    assert [" data-sound" in after, " data-notices" in after, 'id="mute"' in after] == [True, False, True]
    assert "alert_notices" not in visitor(UserRole.AUDITOR).get(PAGE).content.decode()
    client.post(PAGE, {**OTHERWISE, "alert_notices": "on"})
    dana.refresh_from_db()
    assert (dana.alert_sound, dana.alert_notices) == (False, True)


@pytest.mark.parametrize(
    ("sent", "wrong"),
    [
        ({}, {"density", "clock"}),
        ({"density": "airy", "clock": "12"}, {"density"}),
        ({"density": "compact", "clock": "13"}, {"clock"}),
        ({"density": "comp\0act", "clock": "24"}, {"density"}),
    ],
)
def test_what_is_not_offered_is_refused_and_nothing_kept(
    client: Client, dana: User, sent: dict[str, str], wrong: set[str]
) -> None:
    answer = client.post(PAGE, sent)

    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == wrong
    assert f"Fix {len(wrong)} field" in text_of(answer)
    assert _kept(dana) == (True, False, None)


def test_saving_takes_the_token_of_the_form() -> None:
    client = visitor(checks_csrf=True)

    assert client.post(PAGE, OTHERWISE).status_code == 403
    assert _kept(User.objects.get()) == (True, False, None)


@pytest.mark.parametrize("twelve", [False, True])
def test_u2_clock_of_twelve_hours_is_that_of_all_pages(client: Client, dana: User, twelve: bool) -> None:
    """One afternoon time on the board, the ride page, the admin's list and its record."""
    User.objects.update(twelve_hours=twelve)
    ride = factories.RideFactory.create(pickup_at=NOW + dt.timedelta(hours=5, minutes=30))

    wanted, other = ("2:30 PM", "14:30") if twelve else ("14:30", "2:30 PM")
    for path in (
        "/console/board/",
        f"/console/rides/{ride.pk}/",
        "/admin/rides/ride/",
        f"/admin/rides/ride/{ride.pk}/",
        "/console/board/?view=list",
        "/console/board/suggestions/",
        "/console/board/?view=map",
    ):
        page = _words(client.get(path, follow=True))
        assert wanted in page, path
        assert other not in page, path


@pytest.mark.parametrize(("chosen", "shown"), [(None, "9:00 AM"), (True, "9:00 AM"), (False, "09:00")])
def test_u2_whoever_has_not_chosen_a_clock_has_the_organizations(
    client: Client, dana: User, settings: Any, chosen: bool | None, shown: str
) -> None:
    settings.CLOCK_HOURS = 12
    User.objects.update(twelve_hours=chosen)

    page = client.get(PAGE)

    whole = page.content.decode().replace("\N{NO-BREAK SPACE}", " ")
    assert f"<strong>{shown}</strong>" in whole
    assert (" data-twelve-hours" in whole) == (chosen is not False)
    assert "As usual here: 12 hours" in text_of(page)


@pytest.mark.parametrize("twelve", [False, True])
def test_u2_sessions_are_listed_by_the_same_clock(client: Client, dana: User, twelve: bool) -> None:
    User.objects.update(twelve_hours=twelve)
    UserSession.objects.create(user=dana, session_key=client.session.session_key, ip="192.0.2.1", created_at=NOW)

    assert ("Fri, Nov 20, 9:00 AM CT" if twelve else "Fri, Nov 20, 09:00 CT") in _words(
        client.get("/accounts/sessions/")
    )


@pytest.mark.parametrize("count", [1, 3])
def test_page_asks_the_same_whatever_there_is(
    dana: User, client: Client, django_assert_num_queries: Any, count: int
) -> None:
    factories.UserFactory.create_batch(count)

    with django_assert_num_queries(3):  # session, user, inbox
        client.get(PAGE)


def _words(response: Any) -> str:
    return text_of(response).replace("\N{NO-BREAK SPACE}", " ")
