"""People and their memberships, API clients and their tokens, idempotency records, and alerts."""

from datetime import datetime
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Greatest, Now
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.accounts.rules.admin_rights import allows, allows_some
from apps.accounts.rules.roles import (
    PHI_OF_USER,
    SCOPED_BY_FACILITY,
    SCOPED_BY_PROVIDER,
    SCOPES_OF_USER,
    TokenRole,
    UserRole,
)
from apps.organizations.models import Facility, TransportProvider
from lib.access import Phi, Principal
from lib.choices import TextChoices
from lib.ids import uuid7
from lib.messages import Message
from lib.scopes import Scope


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **columns: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **columns)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """A person with an account.  Rights come only from `role`: there are no superusers and no permission rows."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    email = models.EmailField(_("email"), unique=True)
    name = models.CharField(_("name"), max_length=150)
    role = models.CharField(_("role"), max_length=20, choices=UserRole)
    is_active = models.BooleanField(_("active"), default=True)
    facilities = models.ManyToManyField(Facility, blank=True, related_name="members", verbose_name=_("facilities"))
    providers = models.ManyToManyField(
        TransportProvider, blank=True, related_name="members", verbose_name=_("providers")
    )
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)
    # Display preferences.  `db_default`, because an older release may insert people during a deployment.
    single_keys = models.BooleanField(
        _("single-key shortcuts"), default=True, db_default=True
    )  # WCAG 2.1.4: may be off
    compact = models.BooleanField(_("compact pages"), default=False, db_default=False)
    twelve_hours = models.BooleanField(_("12-hour clock"), null=True)  # None: CLOCK_HOURS of the organization
    # How the browser signals a new alert while the page is in the background.
    alert_sound = models.BooleanField(_("sound for alerts"), default=False, db_default=False)
    alert_notices = models.BooleanField(_("browser notifications"), default=False, db_default=False)
    # One of settings.LANGUAGES; empty: the language of the browser.  Without `choices`, so that adding a language needs
    # no migration.
    language = models.CharField(_("language"), max_length=8, blank=True, default="", db_default="")

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = ["name", "role"]

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        constraints = [models.CheckConstraint(name="user_role_known", condition=Q(role__in=UserRole.values))]

    def __str__(self) -> str:
        return f"user {self.pk}"

    @property
    def is_staff(self) -> bool:
        """Return whether the person may open /admin/; each page there checks further rights."""
        return self.is_active

    @property
    def scopes(self) -> frozenset[str]:
        return SCOPES_OF_USER[UserRole(self.role)] if self.is_active else frozenset()

    @property
    def is_bound_to_facilities(self) -> bool:
        return self.role in SCOPED_BY_FACILITY

    @property
    def is_bound_to_providers(self) -> bool:
        return self.role in SCOPED_BY_PROVIDER

    @property
    def phi(self) -> Phi:
        return PHI_OF_USER[UserRole(self.role)]

    def has_perm(self, perm: str, obj: models.Model | None = None) -> bool:
        """Return a right of Django's admin from the table in admin_rights.py; `visible_to` applies the data scope."""
        return self.is_active and allows(UserRole(self.role), perm)

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_active and allows_some(UserRole(self.role), app_label)


class ApiClient(models.Model):
    """An external system: its tokens are replaced over time; its idempotency keys and external references persist."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    name = models.CharField(_("name"), max_length=100, unique=True)
    # The integrator's rotation policy: the maximum lifetime of this client's tokens (interface spec, 5.3).
    max_token_age_days = models.PositiveSmallIntegerField(_("max token age days"), default=365)
    contact_email = models.EmailField(_("contact email"), blank=True)
    active = models.BooleanField(_("active"), default=True)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    class Meta:
        verbose_name_plural = pgettext_lazy("table", "API clients")
        verbose_name = pgettext_lazy("table", "API client")
        constraints = [
            models.CheckConstraint(
                name="api_client_token_age_within_a_year",
                condition=Q(max_token_age_days__gte=1, max_token_age_days__lte=365),
            )
        ]

    def __str__(self) -> str:
        return self.name


class ApiTokenQuerySet(models.QuerySet["ApiToken"]):
    def visible_to(self, principal: Principal) -> "ApiTokenQuerySet":
        """Filter to tokens whose data scope is within that of the principal."""
        tokens = self
        if principal.facility_ids is not None:
            tokens = tokens.filter(facility_ids__contained_by=sorted(principal.facility_ids))
        if principal.provider_ids is not None:
            tokens = tokens.filter(provider_ids__contained_by=sorted(principal.provider_ids))
        return tokens

    def live(self, at: datetime) -> "ApiTokenQuerySet":
        """Filter to tokens that are not revoked, expired or replaced."""
        return self.exclude(_ended(at))

    def ended(self, at: datetime) -> "ApiTokenQuerySet":
        """Filter to tokens that no longer work."""
        return self.filter(_ended(at))


def _ended(at: datetime) -> Q:
    return Q(revoked_at__isnull=False) | Q(expires_at__lte=at) | Q(overlap_until__lte=at)


class ApiToken(models.Model):
    """A bearer token: its rights, lifetime and allowed networks.  The secret is returned once and never stored.

    `digest` is HMAC-SHA-256 of the secret under the pepper named by `pepper_id`.
    """

    class PhiLevel(TextChoices):
        NONE = "none", _("None")
        LIMITED = "limited", _("Limited")
        FULL = "full", _("Full")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(ApiClient, models.PROTECT, related_name="tokens", verbose_name=_("client"))
    name = models.CharField(_("name"), max_length=100, blank=True)
    key_id = models.CharField(_("key id"), max_length=12, unique=True)
    digest = models.BinaryField(_("digest"), max_length=32)
    pepper_id = models.CharField(_("pepper id"), max_length=16)
    role = models.CharField(_("role"), max_length=20, choices=TokenRole)
    # A subset of the role's scopes; null: all of them.
    scopes = ArrayField(models.CharField(max_length=30), null=True, blank=True, verbose_name=_("scopes"))
    facility_ids = ArrayField(
        models.UUIDField(), null=True, blank=True, verbose_name=_("facility ids")
    )  # null: every facility
    provider_ids = ArrayField(
        models.UUIDField(), null=True, blank=True, verbose_name=_("provider ids")
    )  # null: every provider
    # Networks that may use the token; empty: any.
    allowed_cidrs = ArrayField(
        models.CharField(max_length=43), verbose_name=_("allowed CIDRs"), default=list, blank=True
    )
    api_version = models.CharField(pgettext_lazy("column", "API version"), max_length=10)
    phi_level = models.CharField(_("PHI level"), max_length=7, choices=PhiLevel, default=PhiLevel.NONE)
    not_before = models.DateTimeField(_("not before"), null=True, blank=True)
    expires_at = models.DateTimeField(_("expires at"))
    revoked_at = models.DateTimeField(_("revoked at"), null=True, blank=True)
    revoked_reason = models.CharField(_("revoked reason"), max_length=200, blank=True)
    replaces = models.OneToOneField(
        "self", models.PROTECT, null=True, blank=True, related_name="replaced_by", verbose_name=_("replaces")
    )
    # set on the older token at rotation
    overlap_until = models.DateTimeField(_("overlap until"), null=True, blank=True)
    last_used_at = models.DateTimeField(_("last used at"), null=True, blank=True)  # precision: one minute
    last_used_ip = models.GenericIPAddressField(_("last used from"), null=True, blank=True)
    created_by = models.CharField(_("created by"), max_length=60)
    created_at = models.DateTimeField(_("created at"), auto_now_add=True)

    objects = ApiTokenQuerySet.as_manager()

    class Meta:
        verbose_name_plural = pgettext_lazy("table", "API tokens")
        verbose_name = pgettext_lazy("table", "API token")
        constraints = [
            models.CheckConstraint(name="api_token_role_known", condition=Q(role__in=TokenRole.values)),
            models.CheckConstraint(
                name="api_token_phi_level_known", condition=Q(phi_level__in=["none", "limited", "full"])
            ),
            models.CheckConstraint(
                name="api_token_lives", condition=Q(not_before__isnull=True) | Q(not_before__lt=F("expires_at"))
            ),
            models.CheckConstraint(
                name="api_token_revocation_has_reason", condition=Q(revoked_at__isnull=True) | ~Q(revoked_reason="")
            ),
        ]
        indexes = [models.Index(fields=["client", "-created_at"], name="api_token_of_client")]

    def __str__(self) -> str:
        return f"token {self.key_id}"

    @property
    def ends_at(self) -> datetime:
        """Return when the token stops working unless revoked.

        The earlier of its expiry and the end of the overlap with its successor.
        """
        return self.expires_at if self.overlap_until is None else min(self.expires_at, self.overlap_until)


class IdempotencyRecord(models.Model):
    """The response to a POST with an Idempotency-Key, kept 7 days; inserted in the transaction of the change itself."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(ApiClient, models.CASCADE, related_name="+", db_index=False, verbose_name=_("client"))
    key = models.CharField(_("key"), max_length=255)
    fingerprint = models.BinaryField(_("fingerprint"), max_length=32)  # SHA-256 of method, path and canonical body
    status = models.PositiveSmallIntegerField(_("status"), null=True)
    headers = models.JSONField(_("headers"), default=dict)
    # Encrypted: a response may contain rider data, and is stored here for longer than the request takes.
    body_encrypted = models.BinaryField(_("body encrypted"), null=True)
    # Riders in the response: every repetition discloses them again and is audited.
    rider_ids = ArrayField(models.UUIDField(), default=list, verbose_name=_("rider ids"))
    created_at = models.DateTimeField(_("created at"), db_default=Now(), db_index=True)

    class Meta:
        verbose_name = _("idempotency record")
        verbose_name_plural = _("idempotency records")
        constraints = [models.UniqueConstraint(name="idempotency_key_once", fields=["client", "key"])]

    def __str__(self) -> str:
        return f"idempotency record {self.pk}"


class AlertQuerySet(models.QuerySet["Alert"]):
    def visible_to(self, principal: Principal) -> "AlertQuerySet":
        """Filter to alerts for the principal: their scope is one of the principal's.

        Alerts about a facility, or a provider, also have to be within the data scope.
        """
        in_scope = self.filter(scope__in=[scope for scope in Scope.values if principal.has_scope(scope)])
        if principal.provider_ids is not None:
            return in_scope.filter(Q(provider__isnull=True) | Q(provider_id__in=principal.provider_ids), facility=None)
        if principal.facility_ids is not None:
            return in_scope.filter(Q(facility__isnull=True) | Q(facility_id__in=principal.facility_ids), provider=None)
        return in_scope

    def open(self) -> "AlertQuerySet":
        """Filter to alerts that are neither resolved nor acknowledged."""
        return self.filter(resolved_at__isnull=True, acknowledged_at__isnull=True)


class Alert(models.Model):
    """A notification to people, in the inbox of the console and by mail.

    Contains no personal data, because mails leave the system.
    """

    class Severity(TextChoices):
        INFO = "info", _("Info")
        WARNING = "warning", _("Warning")
        CRITICAL = "critical", _("Critical")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(_("kind"), max_length=40)  # "webhook.endpoint.failing", ...
    severity = models.CharField(_("severity"), max_length=8, choices=Severity)
    scope = models.CharField(_("scope"), max_length=30)  # people with this scope are alerted
    # The facility or provider that the alert is about, if any.
    facility = models.ForeignKey(
        Facility, models.CASCADE, null=True, blank=True, related_name="+", verbose_name=_("facility")
    )
    provider = models.ForeignKey(
        TransportProvider, models.CASCADE, null=True, blank=True, related_name="+", verbose_name=_("provider")
    )
    # Identifies the condition; while an alert with this key is open, no second one is created.
    key = models.CharField(_("key"), max_length=100)
    # Messages as JSON, see lib.messages; `title` and `text` render them in the reader's language.
    title_message = models.JSONField(_("title message"))
    text_messages = models.JSONField(_("text messages"), default=list)  # one per line
    path = models.CharField(_("path"), max_length=200, blank=True)  # of the page with details
    created_at = models.DateTimeField(_("created at"))
    resolved_at = models.DateTimeField(_("resolved at"), null=True)  # automatically, when the condition has ended
    acknowledged_at = models.DateTimeField(_("acknowledged at"), null=True)
    acknowledged_by = models.CharField(_("acknowledged by"), max_length=60, blank=True)
    emailed_at = models.DateTimeField(_("emailed at"), null=True)
    # Claim of the worker that sends the mail (lib/db/leases.py).
    claim_id = models.UUIDField(_("claim id"), null=True)
    lease_until = models.DateTimeField(_("lease until"), null=True)

    objects = AlertQuerySet.as_manager()

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        constraints = [
            models.UniqueConstraint(
                name="alert_open_once",
                fields=["key"],
                condition=Q(resolved_at__isnull=True, acknowledged_at__isnull=True),
            ),
            models.CheckConstraint(
                name="alert_acknowledged_by_somebody",
                condition=Q(acknowledged_at__isnull=True) | ~Q(acknowledged_by=""),
            ),
        ]
        indexes = [
            models.Index(fields=["-created_at", "id"], name="alert_newest"),
            models.Index(fields=["created_at"], name="alert_to_mail", condition=Q(emailed_at__isnull=True)),
            # A condition that has ended is resolved by key, whether it was acknowledged or not.
            models.Index(fields=["key"], name="alert_by_key", condition=Q(resolved_at__isnull=True)),
            models.Index(Greatest("created_at", "resolved_at", "acknowledged_at"), name="alert_changed"),
        ]

    def __str__(self) -> str:
        return f"alert {self.pk}"

    @property
    def title(self) -> str:
        return capfirst(str(Message.from_json(self.title_message)))

    @property
    def text(self) -> str:
        return "\n".join(capfirst(str(Message.from_json(line))) for line in self.text_messages)
