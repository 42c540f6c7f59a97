"""Adapters of allauth: no sign-up, encrypted second factors, and an audit entry for every authentication event.

Audit entries are written in adapter methods instead of handlers of allauth's signals: the order of calls stays visible.
"""

import time
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.internal.flows.login import get_authentication_records, record_authentication
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from apps.accounts import totp_secrets
from apps.accounts.models import User
from apps.accounts.rules.roles import UserRole
from apps.accounts.sessions import SIGNED_IN_AT, principal_of, principal_of_user, stranger
from apps.audit.services import audit
from apps.console.kit.languages import in_language_of

SECOND_FACTORS = (Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN)

# Actions of the audit trail by the template of allauth's notification email.
CREDENTIAL_CHANGES = {
    "account/email/password_changed": "password.changed",
    "account/email/password_set": "password.changed",
    "account/email/password_reset": "password.reset",
    "mfa/email/totp_activated": "second_factor.added",
    "mfa/email/webauthn_added": "second_factor.added",
    "mfa/email/totp_deactivated": "second_factor.removed",
    "mfa/email/webauthn_removed": "second_factor.removed",
    "mfa/email/recovery_codes_generated": "second_factor.recovery_codes_generated",
}


class AccountAdapter(DefaultAccountAdapter):
    """Login, logout and passwords."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        """Administrators create accounts; there is no sign-up."""
        return False

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        """Count the attempt; the sixth within five minutes is refused, even with the right password."""
        try:
            super().pre_authenticate(request, **credentials)
        except ValidationError:
            _record_refusal(request, "sign_in.locked", credentials)
            raise

    def authentication_failed(self, request: HttpRequest, **credentials: Any) -> None:
        _record_refusal(request, "sign_in.failed", credentials)

    def login(self, request: HttpRequest, user: User) -> None:
        super().login(request, user)
        request.session[SIGNED_IN_AT] = time.time()
        audit.record(by=principal_of_user(user, request), action="sign_in", subject_type="user", subject_id=user.pk)

    def logout(self, request: HttpRequest) -> None:
        by = principal_of(request)
        audit.record(by=by, action="sign_out", subject_type="user", subject_id=by.id)
        super().logout(request)

    def is_reauthentication_required(self, *, app: str) -> bool:
        """Accept a login of the last minutes as recent authentication, like a reentered password."""
        records = get_authentication_records(context.request, context.request.user)
        newest = max((record["at"] for record in records), default=0)
        if time.time() - newest < settings.ACCOUNT_REAUTHENTICATION_TIMEOUT:
            return False
        return bool(super().is_reauthentication_required(app=app))

    def reauthenticate(self, user: User, password: str) -> bool:
        """Check the password again; allauth's version needs an email address row, which accounts here do not have."""
        authenticated = self.authenticate(context.request, email=user.email, password=password)
        return authenticated is not None and authenticated.pk == user.pk

    def send_notification_mail(self, template_prefix: str, user: User, *args: Any, **kwargs: Any) -> None:
        """Record a change of credentials before the user is notified by email."""
        request = context.request
        action = CREDENTIAL_CHANGES.get(template_prefix)
        if action is not None:
            audit.record(by=principal_of_user(user, request), action=action, subject_type="user", subject_id=user.pk)
        if action == "second_factor.added" and request.user == user:
            _raise_to_second_factor(request, user)
        with in_language_of(user):
            super().send_notification_mail(template_prefix, user, *args, **kwargs)

    def send_password_reset_mail(self, user: User, email: str, context: dict[str, Any]) -> None:
        """Send the email in the account owner's language: another user may have requested it."""
        with in_language_of(user):
            super().send_password_reset_mail(user, email, context)


class MfaAdapter(DefaultMFAAdapter):
    """Second factors: seeds are encrypted, and the last required one cannot be removed."""

    def encrypt(self, text: str) -> str:
        return totp_secrets.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return totp_secrets.decrypt(encrypted_text)

    def can_delete_authenticator(self, authenticator: Authenticator) -> bool:
        if not settings.MFA_REQUIRED:
            return True
        required_types = (Authenticator.Type.WEBAUTHN,) if needs_passkey(authenticator.user) else SECOND_FACTORS
        if authenticator.type not in required_types:
            return True
        authenticators = Authenticator.objects.filter(user=authenticator.user_id, type__in=required_types)
        return bool(authenticators.exclude(pk=authenticator.pk).exists())


def needs_passkey(user: User | AnonymousUser) -> bool:
    """Return whether the user needs a passkey: no other second factor is accepted."""
    return bool(settings.ADMIN_PASSKEY_REQUIRED) and isinstance(user, User) and user.role == UserRole.ADMIN


def _record_refusal(request: HttpRequest, action: str, credentials: dict[str, Any]) -> None:
    """Record a refused login with the account's id if it exists, never the typed text: it may be a password."""
    user = User.objects.filter(email=str(credentials.get("email", "")).lower()).only("pk").first()
    audit.record(
        by=stranger(request),
        action=action,
        subject_type="user",
        subject_id=user.pk if user else None,
        outcome="denied",
    )


def _raise_to_second_factor(request: HttpRequest, user: User) -> None:
    """Mark the session that added a second factor as authenticated with it, and change the session id."""
    newest = Authenticator.objects.filter(user=user.pk, type__in=SECOND_FACTORS).latest("created_at")
    record_authentication(request, user, "mfa", id=newest.pk, type=newest.type)
    old_key = request.session.session_key
    request.session.cycle_key()
    UserSession.objects.filter(session_key=old_key).update(session_key=request.session.session_key)
