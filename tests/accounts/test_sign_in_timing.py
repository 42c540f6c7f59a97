"""A refused login takes the same work for every name, so that its duration does not reveal which accounts exist."""

from collections.abc import Callable
from typing import Any

import pytest
from allauth.account.auth_backends import AuthenticationBackend
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from tests import factories

LOGIN = "/accounts/login/"
PASSWORD = "a heron stands in the canal"


@pytest.fixture(autouse=True)
def _fresh_counters(db: None) -> None:
    cache.clear()


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record an entry for each password that is hashed with Argon2."""
    times: list[str] = []

    def counted(name: str) -> Callable[..., Any]:
        run = getattr(Argon2PasswordHasher, name)

        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            times.append(name)
            return run(self, *args, **kwargs)

        return call

    for name in ("encode", "verify"):
        monkeypatch.setattr(Argon2PasswordHasher, name, counted(name))
    return times


def _person(email: str, *, password: str | None = PASSWORD, active: bool = True) -> User:
    user = factories.UserFactory.create(email=email, is_active=active)
    user.set_password(password)
    user.save()
    return user


def _refused(email: str) -> list[str]:
    """Try to log in with a wrong password; return the SQL statements without their values."""
    with CaptureQueriesContext(connection) as captured:
        response = Client().post(LOGIN, {"login": email, "password": "not the heron at all"})
    assert response.status_code == 200
    tables = ("account_emailaddress", "accounts_user", "audit_auditentry")
    return [query["sql"].split()[0] for query in captured if any(name in query["sql"] for name in tables)]


@pytest.mark.parametrize("email", ["known@example.org", "nobody@example.org", "left@example.org", "new@example.org"])
def test_every_refusal_hashes_one_password(hashed: list[str], email: str) -> None:
    _person("known@example.org")
    _person("left@example.org", active=False)
    _person("new@example.org", password=None)
    hashed.clear()

    _refused(email)

    assert len(hashed) == 1


def test_every_refusal_asks_the_database_the_same(hashed: list[str]) -> None:
    _person("known@example.org")

    assert _refused("known@example.org") == _refused("nobody@example.org")


def test_without_the_guard_an_unknown_address_would_hash_nothing(
    hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AuthenticationBackend, "_mitigate_timing_attack", lambda self, password: None)

    _refused("nobody@example.org")

    assert hashed == []
