"""Login: who may log in, how many attempts are allowed, and when a session ends."""

import time
from typing import Any

import pytest
import time_machine
from allauth.account.forms import default_token_generator
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP, format_hotp_value, hotp_value, yield_hotp_counters_from_time
from allauth.usersessions.models import UserSession
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from django.db import connection
from django.test import Client, RequestFactory
from django.urls import reverse

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from apps.console.account.adapters import AccountAdapter
from apps.console.account.middleware import BACKGROUND_HEADER
from apps.console.account.views import forbidden
from tests import factories
from tests.accounts.signed_in import sign_in

PASSWORD = "a heron stands in the canal"
SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
LOGIN = "/accounts/login/"


@pytest.fixture(autouse=True)
def _fresh_counters(db: None) -> None:
    cache.clear()


@pytest.fixture
def person(db: None) -> User:
    user = factories.UserFactory.create(role=UserRole.DISPATCHER)
    user.set_password(PASSWORD)
    user.save()
    return user


def _log_in(client: Client, email: str, password: str = PASSWORD) -> Any:
    return client.post(LOGIN, {"login": email, "password": password})


def _code(seed: str = SEED) -> str:
    return str(format_hotp_value(hotp_value(seed, next(iter(yield_hotp_counters_from_time())))))


def _actions() -> list[str]:
    return list(AuditEntry.objects.order_by("at", "id").values_list("action", flat=True))


def test_password_sign_in_gets_a_new_session_and_is_audited(client: Client, person: User) -> None:
    client.get(LOGIN)
    client.session["marker"] = 1
    before = client.session.session_key

    response = _log_in(client, person.email.upper())

    entry = AuditEntry.objects.get()
    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.session.session_key != before
    assert (entry.action, entry.actor, entry.subject_id) == ("sign_in", f"user:{person.pk}", person.pk)
    assert UserSession.objects.filter(user=person.pk).count() == 1


def test_wrong_password_and_unknown_address_read_the_same(client: Client, person: User) -> None:
    wrong = _log_in(client, person.email, "not the heron at all")
    unknown = _log_in(client, "nobody@example.org", "not the heron at all")

    bodies = [
        response.content.replace(email.encode(), b"").split(b"csrfmiddlewaretoken")[0]
        for response, email in ((wrong, person.email), (unknown, "nobody@example.org"))
    ]
    assert wrong.status_code == unknown.status_code == 200
    assert wrong.context["form"].non_field_errors() == unknown.context["form"].non_field_errors()
    assert bodies[0] == bodies[1]
    assert _actions() == ["sign_in.failed", "sign_in.failed"]
    assert list(AuditEntry.objects.order_by("at", "id").values_list("subject_id", flat=True)) == [person.pk, None]


def test_sixth_attempt_is_refused_even_with_the_right_password(client: Client, person: User) -> None:
    for _ in range(5):
        _log_in(client, person.email, "not the heron at all")

    response = _log_in(client, person.email)

    assert response.status_code == 200
    assert "_auth_user_id" not in client.session
    assert _actions() == ["sign_in.failed"] * 5 + ["sign_in.locked"]


def test_lock_opens_by_itself_after_five_minutes(client: Client, person: User) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        for _ in range(5):
            _log_in(client, person.email, "not the heron at all")
        clock.shift(301)

        response = _log_in(client, person.email)

    assert response.status_code == 302


def test_inactive_account_does_not_sign_in(client: Client, person: User) -> None:
    User.objects.filter(pk=person.pk).update(is_active=False)

    response = _log_in(client, person.email)

    assert response["Location"] == "/accounts/inactive/"
    assert "_auth_user_id" not in client.session


def test_second_factor_is_asked_for_before_anything_opens(client: Client, person: User) -> None:
    TOTP.activate(person, SEED)

    response = _log_in(client, person.email)
    home = client.get("/console/home/")

    assert response["Location"] == "/accounts/2fa/authenticate/"
    assert home.status_code == 302
    assert home["Location"].startswith(LOGIN)
    assert _actions() == []


def test_code_of_the_app_signs_in_once(client: Client, person: User) -> None:
    TOTP.activate(person, SEED)
    code = _code()
    _log_in(client, person.email)
    first = client.post("/accounts/2fa/authenticate/", {"code": code})
    other = Client()
    _log_in(other, person.email)

    replayed = other.post("/accounts/2fa/authenticate/", {"code": code})

    assert (first.status_code, first["Location"]) == (302, "/")
    assert client.get("/console/home/").status_code == 200
    assert replayed.status_code == 200
    assert "_auth_user_id" not in other.session


def test_seeds_are_nowhere_in_the_database(person: User) -> None:
    TOTP.activate(person, SEED)

    with connection.cursor() as cursor:
        cursor.execute("SELECT data::text FROM mfa_authenticator")
        stored = [row[0] for row in cursor.fetchall()]

    assert len(stored) == 1
    assert SEED not in stored[0]
    totp = Authenticator.objects.get(user=person.pk).wrap()
    assert totp.validate_code(_code()) is True


def test_admin_sign_in_needs_more_than_a_password(client: Client, person: User) -> None:
    TOTP.activate(person, SEED)

    page = client.get("/admin/login/?next=/admin/")
    posted = client.post("/admin/login/", {"username": person.email, "password": PASSWORD})

    assert page["Location"].startswith(LOGIN)
    assert posted["Location"].startswith(LOGIN)
    assert "_auth_user_id" not in client.session
    assert client.get("/admin/")["Location"] == "/admin/login/?next=/admin/"


def test_person_without_second_factor_reaches_enrolment_alone(client: Client, person: User, settings: Any) -> None:
    settings.MFA_REQUIRED = True
    sign_in(client, person, second_factor=False)

    home, admin = client.get("/console/home/"), client.get("/admin/rides/ride/")
    enrolment = client.get("/accounts/2fa/totp/activate/")

    assert (home.status_code, home["Location"]) == (302, "/accounts/2fa/")
    assert (admin.status_code, admin["Location"]) == (302, "/accounts/2fa/")
    assert enrolment.status_code == 200


@pytest.mark.django_db(transaction=True)
def test_enrolling_opens_the_session_under_a_new_id(client: Client, settings: Any) -> None:
    person = factories.UserFactory.create(role=UserRole.DISPATCHER)
    settings.MFA_REQUIRED = True
    sign_in(client, person, second_factor=False)
    secret = client.get("/accounts/2fa/totp/activate/").context["form"].secret
    before = client.session.session_key

    response = client.post("/accounts/2fa/totp/activate/", {"code": _code(secret)})

    assert response.status_code == 302
    assert client.session.session_key != before
    assert client.get("/console/home/").status_code == 200
    assert _actions() == ["second_factor.added"]


def test_password_session_of_an_enrolled_person_is_ended(client: Client, person: User, settings: Any) -> None:
    settings.MFA_REQUIRED = True
    TOTP.activate(person, SEED)
    sign_in(client, person, second_factor=False)

    response = client.get("/console/home/")

    assert (response.status_code, response["Location"]) == (302, LOGIN)
    assert "_auth_user_id" not in client.session


def test_required_second_factor_cannot_be_removed(client: Client, person: User, settings: Any) -> None:
    settings.MFA_REQUIRED = True
    TOTP.activate(person, SEED)
    sign_in(client, person)

    response = client.post("/accounts/2fa/totp/deactivate/")

    assert response.status_code == 200
    assert Authenticator.objects.filter(user=person.pk, type="totp").exists()


def test_recovery_codes_may_go_where_a_second_factor_is_required(person: User, settings: Any) -> None:
    settings.MFA_REQUIRED = True
    TOTP.activate(person, SEED)
    codes = RecoveryCodes.activate(person)

    assert get_adapter().can_delete_authenticator(codes.instance)


def test_password_reset_does_not_sign_in(client: Client, person: User) -> None:
    TOTP.activate(person, SEED)
    key = default_token_generator.make_token(person)
    path = reverse("account_reset_password_from_key", kwargs={"uidb36": person.pk.hex, "key": key})
    form = client.get(path)["Location"]

    response = client.post(form, {"password1": "a second heron, further on", "password2": "a second heron, further on"})

    assert response.status_code == 302
    assert client.get("/console/home/")["Location"].startswith(LOGIN)
    assert _actions()[-1] == "password.reset"


def test_reset_reads_the_same_for_unknown_addresses(client: Client, person: User) -> None:
    known = client.post("/accounts/password/reset/", {"email": person.email})
    unknown = client.post("/accounts/password/reset/", {"email": "nobody@example.org"})

    assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])


@pytest.mark.parametrize(("seconds", "status"), [(14 * 60, 200), (15 * 60 + 1, 302)])
def test_idle_session_ends_after_fifteen_minutes(client: Client, person: User, seconds: int, status: int) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        sign_in(client, person)
        client.get("/console/home/")
        clock.shift(seconds)

        response = client.get("/console/home/")

    assert response.status_code == status


def test_background_requests_do_not_keep_a_session_alive(client: Client, person: User) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        sign_in(client, person)
        client.get("/console/home/")
        statuses = []
        for _ in range(4):
            clock.shift(5 * 60)
            statuses.append(client.get("/console/home/", headers={BACKGROUND_HEADER: "1"}).status_code)

    assert statuses == [200, 200, 200, 302]


def test_page_learns_how_long_its_session_lasts(client: Client, person: User) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        sign_in(client, person)
        clock.shift(10 * 60)
        background = client.get("/accounts/session/", headers={BACKGROUND_HEADER: "1"}).json()
        prolonged = client.post("/accounts/session/").json()
        clock.shift(11 * 3600 + 45 * 60)
        ended = client.get("/accounts/session/", headers={BACKGROUND_HEADER: "1"})

    assert background == {"secondsLeft": 5 * 60}
    assert prolonged == {"secondsLeft": 15 * 60}
    assert ended.status_code == 302


def test_page_learns_that_its_session_is_near_twelve_hours_old(client: Client, person: User) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        sign_in(client, person)
        for _ in range(71):
            clock.shift(10 * 60)
            client.get("/console/home/")
        clock.shift(9 * 60)

        assert client.post("/accounts/session/").json() == {"secondsLeft": 60}


@pytest.mark.parametrize(("minutes", "warning"), [(15, 120), (2, 60)])
def test_pages_know_when_to_warn(client: Client, person: User, settings: Any, minutes: int, warning: int) -> None:
    settings.SESSION_IDLE_SECONDS, settings.SESSION_WARNING_SECONDS = minutes * 60, warning
    with time_machine.travel(factories.NOW, tick=False):
        sign_in(client, person)
        page = client.get("/console/home/").content.decode()

    assert f'data-left="{minutes * 60}" data-warning="{warning}"' in page


def test_busy_session_ends_after_twelve_hours(client: Client, person: User) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        sign_in(client, person)
        for _ in range(72):
            clock.shift(10 * 60)
            assert client.get("/console/home/").status_code == 200
        clock.shift(1)

        response = client.get("/console/home/")

    assert response.status_code == 302
    assert response["Clear-Site-Data"] == '"cache", "storage"'
    assert _actions() == ["session.ended"]


def test_session_that_does_not_say_when_it_began_is_ended(client: Client, person: User) -> None:
    client.force_login(person)

    response = client.get("/console/home/")

    assert response.status_code == 302


def test_sign_out_ends_the_session_and_clears_the_browser(client: Client, person: User, settings: Any) -> None:
    sign_in(client, person)
    key = client.session.session_key
    thief = Client()
    thief.cookies[settings.SESSION_COOKIE_NAME] = str(key)

    response = client.post("/accounts/logout/")

    assert response["Clear-Site-Data"] == '"cache", "storage"'
    assert thief.get("/console/home/").status_code == 302
    assert _actions() == ["sign_out"]


def test_disabled_account_is_out_with_the_next_request(client: Client, person: User) -> None:
    sign_in(client, person)
    User.objects.filter(pk=person.pk).update(is_active=False)

    response = client.get("/console/home/")

    assert response.status_code == 302


def test_signed_in_pages_are_not_stored_by_browsers(client: Client, person: User) -> None:
    sign_in(client, person)

    response = client.get("/console/home/")

    assert response["Cache-Control"] == "no-store"


def test_old_proof_is_asked_for_again_before_roles_are_given(client: Client) -> None:
    admin = factories.UserFactory.create(role=UserRole.ADMIN)
    sign_in(client, admin)
    session = client.session
    session["account_authentication_methods"] = [{"method": "mfa", "at": time.time() - 301}]
    session.save()

    response = client.get(f"/admin/accounts/user/{admin.pk}/change/")

    assert response.status_code == 302
    assert "/reauthenticate/" in response["Location"]


def test_password_given_again_opens_what_asked_for_it(client: Client, person: User) -> None:
    sign_in(client, person)
    with time_machine.travel(factories.NOW, tick=False) as clock:
        clock.shift(301)
        asked = client.get("/accounts/2fa/totp/activate/")

        wrong = client.post(asked["Location"], {"password": "not the heron at all"})
        right = client.post(asked["Location"], {"password": PASSWORD})

    assert asked["Location"].startswith("/accounts/reauthenticate/")
    assert (wrong.status_code, wrong.context["form"].errors.keys()) == (200, {"password"})
    assert (right.status_code, right["Location"]) == (302, "/accounts/2fa/totp/activate/")


def test_last_second_factor_is_removed_where_none_is_required(client: Client, person: User, settings: Any) -> None:
    settings.MFA_REQUIRED = False
    TOTP.activate(person, SEED)
    sign_in(client, person)

    response = client.post("/accounts/2fa/totp/deactivate/")

    assert response.status_code == 302
    assert not Authenticator.objects.filter(user=person.pk, type="totp").exists()
    assert _actions() == ["second_factor.removed"]


@pytest.mark.parametrize(
    ("notice", "actions"),
    [("account/email/password_changed", ["password.changed"]), ("account/email/email_changed", [])],
)
def test_notice_of_a_changed_credential_alone_leaves_a_trail(
    rf: RequestFactory, person: User, notice: str, actions: list[str]
) -> None:
    with context.request_context(rf.get("/")):
        AccountAdapter().send_notification_mail(notice, person)

    assert _actions() == actions


def test_form_without_its_token_is_refused_with_a_page(person: User) -> None:
    careful = Client(enforce_csrf_checks=True)

    response = careful.post(LOGIN, {"login": person.email, "password": PASSWORD})

    assert response.status_code == 403
    assert "403_csrf.html" in [template.name for template in response.templates]
    assert "_auth_user_id" not in careful.session


def test_refusal_outside_the_admin_names_admins_and_no_roles(rf: RequestFactory, person: User) -> None:
    factories.UserFactory.create(role=UserRole.ADMIN, name="Ada Admin")
    request = rf.get("/somewhere")
    request.user = person
    request.session = SessionStore()

    page = forbidden(request).content.decode()

    assert "Ada Admin" in page
    assert "The page is for" not in page
