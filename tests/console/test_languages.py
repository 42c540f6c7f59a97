"""Language of pages and mails: that of the reader; the API is in English."""

import html
import re
from typing import Any

import polib
import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.urls import reverse
from django.utils.translation import get_language, override
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import Alert, User
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import alerts
from apps.audit.models import AuditEntry
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.api.document import document
from lib.messages import Message
from lib.scopes import Scope
from tests import factories
from tests.accounts.signed_in import sign_in
from tests.callers import TokenClient
from tests.console.visits import text_of, told, visitor
from tests.factories import NOW
from tests.rides.rides_in import ride_in
from tests.texts import CATALOGUES

pytestmark = pytest.mark.django_db

PAGE = "/console/preferences/"
SENT = {"density": "comfortable", "clock": "24"}


@pytest.fixture
def dana(client: Client) -> User:
    person = factories.UserFactory.create(role=UserRole.DISPATCHER, name="Dana Desk")
    sign_in(client, person)
    return person


@pytest.mark.parametrize(
    ("accepted", "language", "said"),
    [
        ("", "en", "Sign in"),
        ("es-MX,es;q=0.9,en;q=0.5", "es", "Iniciar sesión"),
        ("es", "es", "Iniciar sesión"),
        ("en-GB,es;q=0.8", "en", "Sign in"),
        ("fr,tlh;q=0.9", "en", "Sign in"),
        ("x" * 600, "en", "Sign in"),
    ],
)
def test_sign_in_page_speaks_as_the_browser_asks(client: Client, accepted: str, language: str, said: str) -> None:
    page = client.get("/accounts/login/", headers={"Accept-Language": accepted}, follow=True)

    assert f"<h1>{said}</h1>" in page.content.decode()
    assert f'<html lang="{language}" dir="ltr"' in page.content.decode()
    assert page["Content-Language"] == language
    assert "Accept-Language" in page["Vary"]
    assert get_language() == settings.LANGUAGE_CODE  # the language is reset afterwards


@pytest.mark.parametrize(
    ("chosen", "accepted", "language"),
    [("", "es", "es"), ("", "en", "en"), ("en", "es", "en"), ("es", "en", "es"), ("tlh", "es", "es")],
)
def test_pages_speak_as_their_reader_chose(
    client: Client, dana: User, chosen: str, accepted: str, language: str
) -> None:
    User.objects.update(language=chosen)  # the last one: a language that is no longer supported

    page = client.get("/console/board/", headers={"Accept-Language": accepted})

    assert f'<html lang="{language}" dir="ltr"' in page.content.decode()
    assert ("Tablero de despacho" in page.content.decode()) == (language == "es")
    assert page["Content-Language"] == language


def test_choice_is_kept_and_confirmed_in_the_chosen_language(client: Client, dana: User) -> None:
    answer = client.post(PAGE, {**SENT, "language": "es"}, follow=True)

    assert told(answer) == ["Se guardaron sus preferencias."]
    assert answer.context["form"].initial["language"] == "es"
    dana.refresh_from_db()
    assert dana.language == "es"
    back = client.post(PAGE, {**SENT, "language": ""}, follow=True)
    assert told(back) == ["Your preferences are saved."]
    assert [option for option, _ in answer.context["form"].fields["language"].choices] == ["", "en", "es"]


@pytest.mark.parametrize("sent", ["fr", "es\0", "ES", "english"])
def test_language_that_is_not_offered_is_refused(client: Client, dana: User, sent: str) -> None:
    answer = client.post(PAGE, {**SENT, "language": sent})

    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"language"}
    dana.refresh_from_db()
    assert dana.language == ""


@pytest.mark.parametrize("accepted", ["en", "es"])
def test_refused_form_names_the_field_in_the_readers_language(client: Client, dana: User, accepted: str) -> None:
    answer = client.post(PAGE, {**SENT, "density": "airy"}, headers={"Accept-Language": accepted})

    said = text_of(answer)
    assert ("Corrija 1 campo" in said) == (accepted == "es")
    assert ("Densidad: " in said) == (accepted == "es")


def test_walked_pages_contain_no_english_text_in_spanish() -> None:
    """No text node or label equals an English text of the catalog whose Spanish differs."""
    entries = polib.pofile(str(CATALOGUES[0]))
    english = {entry.msgid for entry in entries} - {entry.msgstr for entry in entries}
    ride = ride_in(RideStatus.ASSIGNED, dropoff=factories.stop(name="Home"))
    pages = {
        "board": (), "book_ride": (), "book_sheet": (), "planner_day": (), "exceptions": (), "inbox": (), "reports": (),
        "report_day": (), "report_utilization": (), "fleet_drivers": (), "fleet_shifts": (), "credential_board": (),
        "standing_orders": (), "handover": (), "home": (), "ride_page": (ride.pk,), "rider_page": (ride.rider_id,),
        "fleet_driver": (ride.driver_id,), "board_ride": (ride.pk,), "admin:organizations_facility_changelist": (),
    }  # fmt: skip
    clients = [visitor(role) for role in (UserRole.DISPATCHER, UserRole.ADMIN)]

    left = {}
    for name, ids in pages.items():
        answers = [client.get(reverse(name, args=ids), headers={"Accept-Language": "es"}) for client in clients]
        page = min(answers, key=lambda answer: answer.status_code)  # not every page is open to both
        assert page.status_code == 200, name
        visible = re.sub(r"<(script|style)\b.*?</\1>", "", page.content.decode(), flags=re.DOTALL)
        words = re.findall(r">([^<>]+)<", visible) + re.findall(r'(?:title|aria-label|placeholder)="([^"]+)"', visible)
        left[name] = {html.unescape(word).strip() for word in words} & english

    assert {name: words for name, words in left.items() if words} == {}


def test_page_of_a_wrong_address_speaks_the_readers_language(client: Client, dana: User) -> None:
    page = client.get("/nowhere/", headers={"Accept-Language": "es"})

    assert page.status_code == 404
    assert "Página no encontrada" in text_of(page)


def test_api_is_english_for_everybody(api: TokenClient) -> None:
    wrong: dict[str, Any] = {"riderId": "x"}

    answers = [api.post("/api/rides", wrong, headers={"Accept-Language": one}) for one in ("en", "es")]

    assert [answer.status_code for answer in answers] == [400, 400]
    english, spanish = [{**answer.json()["error"], "requestId": ""} for answer in answers]
    assert english == spanish
    assert "Content-Language" not in answers[1]


def test_description_of_the_api_is_english_whoever_asks_first(client: Client) -> None:
    document.cache_clear()
    with override("en"):
        wanted = repr(document())
    document.cache_clear()

    page = client.get("/docs/api", headers={"Accept-Language": "es"})

    assert page["Content-Language"] == "en"
    assert '<html lang="en">' in page.content.decode()
    assert repr(document()) == wanted
    assert "ambulatory" in wanted


def test_what_is_stored_does_not_depend_on_the_reader(client: Client, dana: User) -> None:
    """The same two actions, in English and in Spanish, store the same rows."""
    stored = []
    for language in ("en", "es"):
        User.objects.update(language=language)
        ride = factories.RideFactory.create(status="scheduled")
        before = AuditEntry.objects.count()
        client.get(f"/console/rides/{ride.pk}/")
        client.post(f"/console/rides/{ride.pk}/cancel/", {"version": ride.version, "reason_code": "weather"})
        fresh = Ride.objects.values("status", "reason_code", "fault", "end_note").get(pk=ride.pk)
        trail = list(AuditEntry.objects.order_by("pk").values_list("action", "outcome", "details")[before:])
        stored.append((fresh, trail))

    assert stored[0] == stored[1]
    assert stored[0][0]["status"] == "cancelled"


def test_each_mail_of_an_alert_is_in_the_language_of_its_reader(settings: Any) -> None:
    settings.ALERT_EMAILS = ["pager@example.org"]
    for name, language in (("ana", "es"), ("bob", "en"), ("cleo", "")):
        factories.UserFactory.create(email=f"{name}@example.org", role=UserRole.ADMIN, language=language)
    alerts.raise_alert(
        kind="test", severity=Alert.Severity.CRITICAL, scope=Scope.WEBHOOKS_MANAGE, key="a",
        title=Message(_("Webhook endpoint “%(endpoint)s” answers again"), {"endpoint": "Sur"}),
        text=[_("Dispatch has not found a driver.")], path="/console/inbox/", at=NOW,
    )  # fmt: skip

    alerts.send_mails(at=NOW)

    said = {message.to[0].partition("@")[0]: (message.subject, str(message.body)) for message in mail.outbox}
    link = f"\n\n{settings.BASE_URL}/console/inbox/\n"
    english = ("[Carelane] Webhook endpoint “Sur” answers again", f"Dispatch has not found a driver.{link}")
    spanish = (
        "[Carelane] El endpoint de webhook “Sur” responde otra vez",
        f"El despacho no ha encontrado conductor.{link}",
    )
    assert said == {"pager": english, "ana": spanish, "bob": english, "cleo": english}
    assert Alert.objects.get().title == "Webhook endpoint “Sur” answers again"


def test_inbox_says_alerts_in_the_readers_language(client: Client, dana: User) -> None:
    alerts.raise_alert(
        kind="test", severity=Alert.Severity.CRITICAL, scope=Scope.RIDES_WRITE, key="a", at=NOW,
        title=Message(_("No driver for a ride that has waited %(minutes)s minutes"), {"minutes": 45}),
        text=[_("Dispatch has not found a driver.")],
    )  # fmt: skip

    page = text_of(client.get("/console/inbox/", headers={"Accept-Language": "es"}))

    assert "Crítica Sin conductor para un traslado que espera desde hace 45 minutos" in page
    assert "El despacho no ha encontrado conductor." in page


@pytest.mark.parametrize(
    ("language", "asked_in", "subject"), [("es", "en", "contraseña"), ("", "es", "contraseña"), ("en", "es", "assword")]
)
def test_password_mail_is_in_the_language_of_whoever_gets_it(
    client: Client, language: str, asked_in: str, subject: str
) -> None:
    factories.UserFactory.create(email="ana@example.org", language=language)

    client.post("/accounts/password/reset/", {"email": "ana@example.org"}, headers={"Accept-Language": asked_in})

    (message,) = mail.outbox
    assert subject in message.subject


def test_data_admin_follows_the_readers_language(client: Client) -> None:
    sign_in(client, factories.UserFactory.create(role=UserRole.ADMIN, language="es"))
    driver = factories.DriverFactory.create()

    index = text_of(client.get("/admin/"))
    record = text_of(client.get(f"/admin/fleet/driver/{driver.pk}/change/"))

    assert "Flota Conductores" in index
    assert "Activación" in record
    assert "First name" not in record
    assert "Número de unidad" in text_of(client.get("/admin/fleet/vehicle/add/"))


def test_reading_a_table_is_recorded_under_its_english_name(client: Client, dana: User) -> None:
    """Control for `lib.admin`: without its topics the trail would contain `perfiles_de_adaptaciones.read`."""
    User.objects.update(language="es")
    profile = factories.AccommodationProfileFactory.create()

    page = client.get(f"/admin/riders/accommodationprofile/{profile.pk}/change/")

    assert "Perfiles de adaptaciones" in page.content.decode()
    assert AuditEntry.objects.values_list("action", flat=True).get() == "accommodation_profiles.read"
