"""First login of a user, and the end of access."""

import datetime as dt
from io import StringIO

import pytest
import time_machine
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.accounts.services import people
from apps.accounts.tasks import clear_sessions
from apps.audit.models import AuditEntry
from lib.access import Principal, system
from lib.errors import NotFound
from tests import factories
from tests.accounts.signed_in import sign_in

PASSWORD = "a heron stands in the canal"

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin() -> Principal:
    return factories.principal(UserRole.ADMIN)


def _created() -> str:
    out = StringIO()
    call_command("create_admin", "Ada@Example.org", "--name", "Ada", stdout=out)
    return out.getvalue().strip().removeprefix("http://localhost:8000")


def _set_password(client: Client, link: str) -> bool:
    form = client.get(link)
    if form.status_code != 302:
        return False
    answer = client.post(form["Location"], {"password1": PASSWORD, "password2": PASSWORD})
    return answer.status_code == 302


def test_fresh_service_has_no_accounts() -> None:
    assert User.objects.count() == 0


def test_first_admin_sets_a_password_by_a_link_that_works_once(client: Client) -> None:
    link = _created()

    first, second = _set_password(client, link), _set_password(Client(), link)

    user = User.objects.get()
    assert (user.email, user.name, user.role) == ("ada@example.org", "Ada", "admin")
    assert user.check_password(PASSWORD)
    assert (first, second) == (True, False)


def test_link_of_the_first_admin_dies_after_24_hours(client: Client) -> None:
    with time_machine.travel(factories.NOW, tick=False) as clock:
        link = _created()
        clock.shift(24 * 3600 + 1)

        worked = _set_password(client, link)

    assert worked is False
    assert User.objects.get().has_usable_password() is False


def test_create_admin_refuses_a_taken_address() -> None:
    _created()

    with pytest.raises(CommandError, match="has this e-mail address"):
        _created()

    assert User.objects.count() == 1


def test_create_admin_refuses_what_is_no_address() -> None:
    with pytest.raises(CommandError, match="not an e-mail address"):
        call_command("create_admin", "ada", "--name", "Ada")

    assert User.objects.count() == 0


def test_only_those_who_manage_users_do_so(dispatcher: Principal) -> None:
    person = factories.UserFactory.create()
    TOTP.activate(person, "JBSWY3DPEHPK3PXP")

    with pytest.raises(people.MayNotManageUsers):
        people.create_admin(email="eve@example.org", name="Eve", by=dispatcher)
    with pytest.raises(people.MayNotManageUsers):
        people.one_time_link(user_id=person.pk, by=dispatcher)
    with pytest.raises(people.MayNotManageUsers):
        people.reset_second_factors(user_id=person.pk, by=dispatcher)
    with pytest.raises(people.MayNotManageUsers):
        people.end_sessions(user_id=person.pk, by=dispatcher)
    with pytest.raises(people.MayNotManageUsers):
        people.apply_person_change(user_id=person.pk, changed=["role"], by=dispatcher)

    assert not User.objects.filter(email="eve@example.org").exists()
    assert Authenticator.objects.filter(user=person.pk).exists()
    assert AuditEntry.objects.count() == 0


def test_resetting_second_factors_removes_them_and_ends_sessions(admin: Principal) -> None:
    person = factories.UserFactory.create()
    TOTP.activate(person, "JBSWY3DPEHPK3PXP")
    client = _session_of(person)

    people.reset_second_factors(user_id=person.pk, by=admin)

    entry = AuditEntry.objects.get()
    assert not Authenticator.objects.filter(user=person.pk).exists()
    assert client.get("/console/home/").status_code == 302
    assert (entry.action, entry.actor, entry.subject_id) == ("users.reset_second_factors", admin.actor, person.pk)


def test_ending_sessions_signs_out_everywhere(admin: Principal) -> None:
    person = factories.UserFactory.create()
    first, second = _session_of(person), _session_of(person)

    ended = people.end_sessions(user_id=person.pk, by=admin)

    assert ended == 2
    assert [client.get("/console/home/").status_code for client in (first, second)] == [302, 302]


def test_inactive_person_is_not_found(admin: Principal) -> None:
    person = factories.UserFactory.create(is_active=False)

    with pytest.raises(NotFound):
        people.one_time_link(user_id=person.pk, by=admin)

    assert AuditEntry.objects.count() == 0


def test_given_up_address_signs_nobody_in(admin: Principal) -> None:
    person = factories.UserFactory.create()
    EmailAddress.objects.create(user=person, email=person.email, primary=True)
    client = _session_of(person)

    people.apply_person_change(user_id=person.pk, changed=["email"], by=system())

    assert not EmailAddress.objects.filter(user=person.pk).exists()
    assert client.get("/console/home/").status_code == 302


def test_new_name_ends_no_session(admin: Principal) -> None:
    person = factories.UserFactory.create()
    client = _session_of(person)

    people.apply_person_change(user_id=person.pk, changed=["name"], by=admin)

    assert client.get("/console/home/").status_code == 200


def _session_of(person: User) -> Client:
    client = Client()
    sign_in(client, person)
    UserSession.objects.create(
        user=person, session_key=client.session.session_key, ip="192.0.2.1", user_agent="a browser"
    )
    return client


def test_ended_sessions_are_deleted_with_their_notes(now: dt.datetime) -> None:
    old, young = factories.UserFactory.create(), factories.UserFactory.create()
    sign_in(Client(), old)
    UserSession.objects.create(user=old, session_key="old", ip="192.0.2.1", user_agent="canary")
    assert Session.objects.count() == 1

    with time_machine.travel(now + dt.timedelta(hours=12, seconds=1), tick=False):
        sign_in(Client(), young)
        UserSession.objects.create(user=young, session_key="young", ip="192.0.2.2", user_agent="")
        clear_sessions()

    assert [session.get_decoded()["_auth_user_id"] for session in Session.objects.all()] == [str(young.pk)]
    assert [session.session_key for session in UserSession.objects.all()] == ["young"]
