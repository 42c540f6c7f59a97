"""Action buttons of a record in the admin: their effects, and their messages on failure."""

from uuid import uuid4

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.contrib.messages import get_messages
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.models import AuditEntry
from tests import factories
from tests.accounts.signed_in import sign_in

pytestmark = pytest.mark.django_db

PASSWORD = "a heron stands in the canal"


@pytest.fixture
def admin() -> Client:
    client = Client()
    sign_in(client, factories.UserFactory.create(role=UserRole.ADMIN))
    return client


def _press(client: Client, person_id: object, button: str) -> tuple[int, list[str]]:
    """Press a button on a user's page; return the status and the messages of the next page."""
    response = client.post(f"/admin/accounts/user/{person_id}/{button}/")
    return response.status_code, [str(message) for message in get_messages(response.wsgi_request)]


def _signed_in_by_password(person: User) -> Client:
    person.set_password(PASSWORD)
    person.save()
    client = Client()
    client.post("/accounts/login/", {"login": person.email, "password": PASSWORD})
    return client


def test_sessions_of_a_person_are_ended(admin: Client) -> None:
    person = factories.UserFactory.create()
    theirs = _signed_in_by_password(person)

    pressed = _press(admin, person.pk, "end-sessions")

    assert pressed == (302, ["Sessions ended: 1."])
    assert theirs.get("/console/home/").status_code == 302
    assert AuditEntry.objects.filter(action="users.end_sessions", subject_id=person.pk).count() == 1


def test_second_factors_of_a_person_are_removed(admin: Client) -> None:
    person = factories.UserFactory.create()
    TOTP.activate(person, "JBSWY3DPEHPK3PXP")

    pressed = _press(admin, person.pk, "reset-second-factors")

    assert pressed == (302, ["Two-factor authentication is reset, and all sessions are ended."])
    assert not Authenticator.objects.filter(user=person.pk).exists()


def test_refusal_of_the_service_is_said_on_the_page(admin: Client) -> None:
    person = factories.UserFactory.create(is_active=False)

    pressed = _press(admin, person.pk, "sign-in-link")

    assert pressed == (302, ["There is no such user."])
    assert AuditEntry.objects.count() == 0


def test_button_of_a_record_that_is_not_there_is_not_found(admin: Client) -> None:
    assert _press(admin, uuid4(), "end-sessions")[0] == 404
