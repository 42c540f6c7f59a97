"""Deny by default: every address requires a login, except those listed here."""

import re
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from apps.accounts.rules.roles import UserRole
from apps.console.account.middleware import ENROLMENT_ROUTES
from tests import factories
from tests.accounts.signed_in import sign_in

# Open without login.  The API's routes require bearer tokens: tests/api covers them.
PUBLIC = {
    "accounts/login/",
    "accounts/logout/",
    "accounts/inactive/",
    "accounts/signup/",
    "accounts/login/code/confirm/",  # reports that no login by code is pending
    "accounts/password/reset/",
    "accounts/password/reset/done/",
    "accounts/password/reset/key/<key>/",
    "accounts/password/reset/key/done/",
    "accounts/2fa/authenticate/",  # second step of a login
    "accounts/2fa/webauthn/login/",
    "admin/login/",
    "admin/jsi18n/",  # translations of Django's own scripts
}
# /metrics takes a token, as the API does; a calendar has its secret in the address.
PUBLIC_PREFIXES = ("api/", "docs/", "static/", "metrics", "calendar/<str:secret>.ics")
SAMPLE = {"uuid": "01a1fa1d-29c5-7525-aa8a-6e9f346294ae", "int": "1", "str": "x", "path": "x", "slug": "x"}


def _routes(resolver: URLResolver, before: str = "") -> list[tuple[str, str | None]]:
    found: list[tuple[str, str | None]] = []
    for entry in resolver.url_patterns:
        path = before + str(entry.pattern)
        if isinstance(entry, URLResolver):
            found += _routes(entry, path)
        elif isinstance(entry, URLPattern):
            found.append((path, entry.name))
    return found


def _sample(route: str) -> str:
    """Fill in a route's parameters; regular expressions become matching words."""
    route = re.sub(r"\(\?P<uidb36>.*?\)-\(\?P<key>.*?\)", "1-x", route)
    route = re.sub(r"\(\?P<(\w+)>.*?\)", "x", route)
    route = re.sub(r"<(\w+):\w+>", lambda match: SAMPLE[match.group(1)], route)
    return route.replace("^", "").replace("$", "").replace("\\", "")


def _pages() -> list[tuple[str, str | None]]:
    routes = [(route.replace("^", "").replace("$", ""), name) for route, name in _routes(get_resolver())]
    return [(route, name) for route, name in routes if not route.startswith(PUBLIC_PREFIXES)]


def _name(route: str) -> str:
    return re.sub(r"\(\?P<uidb36>.*?\)-\(\?P<key>.*?\)", "<key>", route)


@pytest.mark.django_db
def test_all_pages_except_public_pages_redirect_to_login(client: Client) -> None:
    closed, open_ = [], set()
    for route, _ in _pages():
        response = client.get(f"/{_sample(route)}")
        redirected = response.status_code == 302 and ("/login/?next=" in response["Location"])
        if redirected:
            closed.append(route)
        else:
            open_.add(_name(route))

    assert open_ - PUBLIC == set()
    assert len(closed) > 100


@pytest.mark.django_db
def test_session_without_second_factor_opens_enrolment_alone(client: Client, settings: Any) -> None:
    settings.MFA_REQUIRED = True
    person = factories.UserFactory.create(role=UserRole.ADMIN)
    opened, walked = set(), 0
    for route, name in _pages():
        sign_in(client, person, second_factor=False)
        response = client.get(f"/{_sample(route)}")
        walked += 1
        if not (response.status_code == 302 and response["Location"] in {"/accounts/2fa/", "/"}):
            opened.add(name if name in ENROLMENT_ROUTES else _name(route))

    assert opened - ENROLMENT_ROUTES - PUBLIC == set()
    assert walked > 100


@pytest.mark.django_db
@pytest.mark.parametrize("has_factor", [False, True])
def test_u4_no_page_names_a_rider_before_the_second_factor(client: Client, settings: Any, has_factor: bool) -> None:
    settings.MFA_REQUIRED = True
    person = factories.UserFactory.create(role=UserRole.DISPATCH_SUPERVISOR)
    if has_factor:
        Authenticator.objects.create(user=person, type=Authenticator.Type.TOTP, data={"secret": "x"})
    ride = factories.RideFactory.create(rider=factories.RiderFactory.create(last_name="Abernathy-Quill"))
    name = b"Abernathy-Quill"
    known = {"ride_id": ride.pk, "rider_id": ride.rider_id}
    walked = 0
    for route, _ in _pages():
        sign_in(client, person, second_factor=False)
        own = re.sub(r"<uuid:(\w+)>", lambda match: str(known.get(match.group(1), SAMPLE["uuid"])), route)
        response = client.get(f"/{_sample(own)}")
        walked += 1
        assert name not in response.content, route
    sign_in(client, person)
    shown = client.get(f"/console/rides/{ride.pk}/").content

    assert walked > 100
    assert name in shown, "which the walk would have met"


@pytest.mark.django_db
def test_strict_csp_is_sent_even_on_missing_pages(client: Client) -> None:
    for path in ("/accounts/login/", "/nowhere/"):
        policy = client.get(path)["Content-Security-Policy"]

        assert "script-src 'self'" in policy
        assert "style-src 'self'" in policy
        assert "unsafe" not in policy


@pytest.mark.django_db
def test_no_answer_lets_a_page_use_camera_microphone_or_place(client: Client, settings: Any) -> None:
    client.raise_request_exception = False
    static = "/static/console/shell.js"
    pages = [f"/{_sample(route)}" for route, _ in _routes(get_resolver())]
    answers = {path: client.get(path) for path in [*pages, "/nowhere/", "/api/nowhere", static]}
    answers["a bad host"] = client.get("/console/home/", headers={"host": "elsewhere.example.org"})

    assert len(answers) > 150
    assert {answer.status_code for answer in answers.values()} >= {200, 302, 400, 401, 404}
    for path, answer in answers.items():
        policy = answer["Permissions-Policy"].split(", ")
        assert {"camera=()", "microphone=()", "geolocation=()", "publickey-credentials-get=(self)"} <= set(policy), path
        answer.close()  # for a static file, the file


@pytest.mark.django_db
def test_page_that_fails_keeps_the_policies(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(request: Any) -> None:
        raise RuntimeError("a bug")

    sign_in(client, factories.UserFactory.create())
    client.raise_request_exception = False
    monkeypatch.setattr("apps.console.shell.home.contents_for", fail)

    failed = client.get("/console/home/")

    assert failed.status_code == 500
    assert "camera=()" in failed["Permissions-Policy"]
    assert "script-src 'self'" in failed["Content-Security-Policy"]


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["email/", "confirm-email/", "confirm-email/1/", "password/set/"])
def test_pages_that_a_library_brings_along_are_not_there(client: Client, path: str) -> None:
    sign_in(client, factories.UserFactory.create(role=UserRole.ADMIN))

    assert client.get(f"/accounts/{path}").status_code == 404
