"""Passkeys: the whole ceremony over HTTP, and the policy that admins need a passkey."""

import json
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.core.cache import cache
from django.core.serializers.json import DjangoJSONEncoder
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from tests import factories
from tests.accounts.signed_in import METHODS, sign_in
from tests.accounts.soft_key import SoftKey

pytestmark = pytest.mark.django_db(transaction=True)  # enrollment commits before its audit entry
ADD, LOGIN = "/accounts/2fa/webauthn/add/", "/accounts/2fa/webauthn/login/"
SEED = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


@pytest.fixture(autouse=True)
def _as_in_production(settings: Any) -> None:
    cache.clear()
    settings.MFA_REQUIRED = True
    settings.MFA_WEBAUTHN_ALLOW_INSECURE_ORIGIN = False


@pytest.fixture
def key() -> SoftKey:
    return SoftKey(origin="https://testserver", rp_id="testserver")


def _person(role: UserRole = UserRole.DISPATCHER) -> User:
    return factories.UserFactory.create(role=role)


def _options(data: Any) -> dict[str, Any]:
    options: dict[str, Any] = json.loads(json.dumps(data, cls=DjangoJSONEncoder, default=dict))
    return options


def _enrol(client: Client, key: SoftKey) -> Any:
    page = client.get(ADD)
    options = _options(page.context["js_data"]["creation_options"])
    return client.post(ADD, {"name": "laptop", "credential": key.create(options)})


def _enrolled(key: SoftKey, role: UserRole = UserRole.DISPATCHER) -> User:
    person, client = _person(role), Client()
    sign_in(client, person, second_factor=False)
    _enrol(client, key)
    return person


def _sign_in_with(key: SoftKey, client: Client) -> Any:
    asked = client.get(LOGIN, headers={"X-Requested-With": "XMLHttpRequest"})
    return client.post(LOGIN, {"credential": key.get(asked.json()["request_options"])})


def _is_in(client: Client) -> bool:
    return client.get("/console/home/").status_code == 200


def test_passkey_is_enrolled_and_opens_what_was_closed(client: Client, key: SoftKey) -> None:
    person = _person()
    sign_in(client, person, second_factor=False)
    before = _is_in(client)

    response = _enrol(client, key)

    kept = Authenticator.objects.get(user=person.pk, type="webauthn")
    assert before is False
    assert response.status_code == 302
    assert kept.wrap().authenticator_data.credential_data.credential_id == key.credential_id
    assert _is_in(client)
    assert "second_factor.added" in AuditEntry.objects.values_list("action", flat=True)


def test_passkey_alone_signs_in_as_two_factors(client: Client, key: SoftKey) -> None:
    person = _enrolled(key)

    response = _sign_in_with(key, client)

    assert (response.status_code, response["Location"]) == (302, "/")
    assert client.session["_auth_user_id"] == str(person.pk)
    assert [(one["method"], one["type"], one["passwordless"]) for one in client.session[METHODS]] == [
        ("mfa", "webauthn", True)
    ]
    assert _is_in(client)
    assert AuditEntry.objects.get(action="sign_in").subject_id == person.pk


@pytest.mark.parametrize(
    "wrong",
    [
        {"origin": "https://elsewhere.example.org"},
        {"rp_id": "elsewhere.example.org"},
        {"verifies": False},
        {"credential_id": b"0123456789abcdef"},
        {"private": SoftKey(origin="", rp_id="").private},
    ],
    ids=["another site asked", "made for another site", "holder not checked", "unknown key", "forged signature"],
)
def test_answer_that_is_not_right_signs_nobody_in(client: Client, key: SoftKey, wrong: dict[str, Any]) -> None:
    _enrolled(key)
    for name, value in wrong.items():
        setattr(key, name, value)

    _sign_in_with(key, client)

    assert not _is_in(client)
    assert AuditEntry.objects.filter(action="sign_in").count() == 0


def test_answer_to_one_question_signs_in_once(client: Client, key: SoftKey) -> None:
    _enrolled(key)
    thief = Client()
    asked = client.get(LOGIN, headers={"X-Requested-With": "XMLHttpRequest"}).json()["request_options"]
    thief.get(LOGIN, headers={"X-Requested-With": "XMLHttpRequest"})
    answer = {"credential": key.get(asked)}

    stolen = thief.post(LOGIN, answer)
    client.post(LOGIN, answer)

    assert stolen.status_code == 302
    assert not _is_in(thief)
    assert _is_in(client)


def test_key_that_does_not_check_its_holder_is_not_enrolled(client: Client, key: SoftKey) -> None:
    key.verifies = False
    sign_in(client, _person(), second_factor=False)

    _enrol(client, key)

    assert Authenticator.objects.count() == 0


def _signed_in_by_app(client: Client, role: UserRole) -> User:
    person = _person(role)
    TOTP.activate(person, SEED)
    sign_in(client, person)
    session = client.session
    session[METHODS] = [*session[METHODS][:-1], session[METHODS][-1] | {"type": "totp"}]
    session.save()
    return person


def test_app_gives_an_admin_only_passkey_enrollment(client: Client, settings: Any) -> None:
    settings.ADMIN_PASSKEY_REQUIRED = True
    _signed_in_by_app(client, UserRole.ADMIN)

    home, enrolment = client.get("/console/home/"), client.get("/accounts/2fa/")

    assert (home.status_code, home["Location"]) == (302, "/accounts/2fa/")
    assert enrolment.status_code == 200
    assert "Admins must use a passkey" in enrolment.content.decode()


@pytest.mark.parametrize(
    ("role", "required", "opens"),
    [(UserRole.ADMIN, False, True), (UserRole.ADMIN, True, False), (UserRole.DISPATCHER, True, True)],
)
def test_app_opens_for_whom_it_is_enough(
    client: Client, settings: Any, role: UserRole, required: bool, opens: bool
) -> None:
    settings.ADMIN_PASSKEY_REQUIRED = required
    _signed_in_by_app(client, role)

    assert _is_in(client) is opens


@pytest.mark.real_clock  # the passkey is newer than the login
def test_admin_with_app_alone_adds_a_passkey_and_is_in(client: Client, key: SoftKey, settings: Any) -> None:
    settings.ADMIN_PASSKEY_REQUIRED = True
    _signed_in_by_app(client, UserRole.ADMIN)

    _enrol(client, key)

    assert _is_in(client)


def test_admin_with_passkey_who_uses_the_app_is_sent_back(client: Client, key: SoftKey, settings: Any) -> None:
    settings.ADMIN_PASSKEY_REQUIRED = True
    person = _signed_in_by_app(client, UserRole.ADMIN)
    _enrol(client, key)
    other = Client()
    sign_in(other, person)

    sent_back = other.get("/console/home/", follow=True)

    assert sent_back.redirect_chain[0][0] == "/accounts/login/"
    assert "Admins sign in with a passkey." in sent_back.content.decode()
    assert not _is_in(other)
    assert _sign_in_with(key, other).status_code == 302
    assert _is_in(other)


def test_password_without_app_code_does_not_reach_enrollment(client: Client, settings: Any) -> None:
    settings.ADMIN_PASSKEY_REQUIRED = True
    person = _person(UserRole.ADMIN)
    TOTP.activate(person, SEED)
    sign_in(client, person, second_factor=False)

    assert client.get(ADD)["Location"] == "/accounts/login/"


@pytest.mark.parametrize(("required", "left"), [(True, 1), (False, 0)])
def test_last_passkey_of_an_admin_stays_where_one_is_required(
    client: Client, key: SoftKey, settings: Any, required: bool, left: int
) -> None:
    settings.ADMIN_PASSKEY_REQUIRED = required
    _signed_in_by_app(client, UserRole.ADMIN)
    _enrol(client, key)
    passkey = Authenticator.objects.get(type="webauthn")

    client.post(f"/accounts/2fa/webauthn/keys/{passkey.pk}/remove/")

    assert Authenticator.objects.filter(type="webauthn").count() == left


def test_last_factor_of_anybody_stays_where_one_is_required(client: Client, key: SoftKey) -> None:
    sign_in(client, _person(), second_factor=False)
    _enrol(client, key)
    passkey = Authenticator.objects.get(type="webauthn")

    kept = client.post(f"/accounts/2fa/webauthn/keys/{passkey.pk}/remove/", follow=True)
    shown = client.get(f"/accounts/2fa/webauthn/keys/{passkey.pk}/remove/")

    assert "This is your only two-factor method" in kept.content.decode()
    assert shown.status_code == 200
    assert Authenticator.objects.filter(type="webauthn").count() == 1


def test_passkey_of_somebody_else_is_not_there(client: Client, key: SoftKey) -> None:
    person = _enrolled(key)
    TOTP.activate(person, SEED)
    passkey = Authenticator.objects.get(type="webauthn")
    sign_in(client, _person())

    answer = client.post(f"/accounts/2fa/webauthn/keys/{passkey.pk}/remove/")

    assert answer.status_code == 404
    assert Authenticator.objects.filter(type="webauthn").count() == 1
