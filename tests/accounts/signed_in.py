"""Sessions for tests: the state after a login, without the login itself."""

import time
from uuid import UUID

from allauth.account.internal.flows.login import (
    _AUTHENTICATION_METHODS_USER_SESSION_KEY,
    AUTHENTICATION_METHODS_SESSION_KEY,
)
from django.test import AsyncClient, Client

from apps.accounts.models import User
from apps.accounts.sessions import LAST_ACTIVE_AT, SIGNED_IN_AT

METHODS = AUTHENTICATION_METHODS_SESSION_KEY
METHODS_OF = _AUTHENTICATION_METHODS_USER_SESSION_KEY


def sign_in(client: Client | AsyncClient, user: User, *, at: float | None = None, second_factor: bool = True) -> None:
    """Log the client in with a session of the user that began at `at` (seconds since the epoch; default: now)."""
    client.force_login(user)
    session = client.session
    session[SIGNED_IN_AT] = session[LAST_ACTIVE_AT] = at if at is not None else time.time()
    methods = [{"method": "password", "at": time.time()}]
    if second_factor:
        methods.append({"method": "mfa", "at": time.time()})
    session[METHODS] = methods
    session[METHODS_OF] = user_key(user.pk)
    session.save()


def user_key(pk: UUID) -> str:
    return str(pk)
