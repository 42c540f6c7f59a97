"""Accounts of people: the first admin, links for the first sign-in, and the end of access."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from allauth.account.forms import default_token_generator
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import transaction
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.audit.services import audit
from lib.access import Principal
from lib.errors import Code, DomainError, NotFound
from lib.scopes import Scope


class EmailTaken(DomainError):
    """Another account has this e-mail address."""

    code = Code.DUPLICATE_RESOURCE
    template = _("An account has this e-mail address.")


class MayNotManageUsers(DomainError):
    """The caller's role does not manage accounts."""

    code = Code.FORBIDDEN
    template = _("Your role does not manage accounts.")


@transaction.atomic
def create_admin(*, email: str, name: str, by: Principal) -> User:
    """Create an admin without a password; `one_time_link` lets them set one.

    Raises:
        MayNotManageUsers: the caller lacks `users:manage`.
        EmailTaken: an account has this address.
    """
    _require(by)
    if User.objects.filter(email=email.lower()).exists():
        raise EmailTaken
    user = User.objects.create_user(email, None, name=name, role=UserRole.ADMIN)
    audit.record(by=by, action="users.create", subject_type="user", subject_id=user.pk)
    return user


@transaction.atomic
def one_time_link(*, user_id: UUID, by: Principal) -> str:
    """Return the URL at which a person sets a password once, within PASSWORD_RESET_TIMEOUT (24 hours).

    It becomes invalid with its first use, a new password or the next sign-in.  It requires a second factor like any
    sign-in.

    Raises:
        MayNotManageUsers: the caller lacks `users:manage`.
        NotFound: there is no such active account.
    """
    _require(by)
    user = _locked(user_id)
    key = f"{user_pk_to_url_str(user)}-{default_token_generator.make_token(user)}"
    path = reverse("account_reset_password_from_key", kwargs={"uidb36": "UID", "key": "KEY"})
    audit.record(by=by, action="users.sign_in_link", subject_type="user", subject_id=user.pk)
    return f"{settings.BASE_URL}{path.replace('UID-KEY', key)}"


@transaction.atomic
def end_sessions(*, user_id: UUID, by: Principal) -> int:
    """Sign a person out everywhere; return how many sessions ended.

    Raises:
        MayNotManageUsers: the caller lacks `users:manage`.
        NotFound: there is no such active account.
    """
    _require(by)
    user = _locked(user_id)
    ended = _end_sessions(user.pk)
    audit.record(by=by, action="users.end_sessions", subject_type="user", subject_id=user.pk)
    return ended


@transaction.atomic
def reset_second_factors(*, user_id: UUID, by: Principal) -> None:
    """Remove all second factors of a person who lost theirs, and end their sessions.

    The next sign-in enrolls a new second factor.

    Raises:
        MayNotManageUsers: the caller lacks `users:manage`.
        NotFound: there is no such active account.
    """
    _require(by)
    user = _locked(user_id)
    Authenticator.objects.filter(user=user.pk).delete()
    _end_sessions(user.pk)
    audit.record(by=by, action="users.reset_second_factors", subject_type="user", subject_id=user.pk)


@transaction.atomic
def apply_person_change(*, user_id: UUID, changed: Iterable[str], by: Principal) -> None:
    """Apply the consequences of a changed account: end its sessions, and remove sign-in with a former address.

    Raises:
        MayNotManageUsers: the caller lacks `users:manage`.
    """
    _require(by)
    names = set(changed)
    if "email" in names:
        EmailAddress.objects.filter(user=user_id).delete()
    if names & {"email", "role", "is_active"}:
        _end_sessions(user_id)


def _require(by: Principal) -> None:
    if not by.has_scope(Scope.USERS_MANAGE):
        raise MayNotManageUsers


def clear_sessions(*, at: datetime) -> int:
    """Delete expired sessions and their addresses and browsers; return how many sessions."""
    UserSession.objects.filter(last_seen_at__lt=at - timedelta(seconds=settings.SESSION_COOKIE_AGE)).delete()
    return Session.objects.filter(expire_date__lt=at).delete()[0]


def _locked(user_id: UUID) -> User:
    user = User.objects.select_for_update().filter(pk=user_id, is_active=True).first()
    if user is None:
        raise NotFound(_("user"))
    return user


def _end_sessions(user_id: UUID) -> int:
    sessions = list(UserSession.objects.filter(user=user_id))
    for session in sessions:
        session.end()
    return len(sessions)
