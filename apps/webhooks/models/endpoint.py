"""Endpoints: their address and subscription, their secrets, and the state of their circuit breaker."""

import json
from datetime import datetime

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import ApiClient
from lib.access import Principal
from lib.choices import TextChoices
from lib.crypto import encrypted_text
from lib.ids import uuid7


class PayloadLevel(TextChoices):
    ID_ONLY = "id-only", _("ids only")
    SUMMARY = "summary", _("summary")
    FULL_RESOURCE = "full-resource", _("full resource")


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def visible_to(self, principal: Principal) -> "EndpointQuerySet":
        """Select endpoints of the caller's client (all, for people) whose data scope is not wider than the caller's."""
        endpoints = self.filter(deleted_at__isnull=True)
        if principal.kind == "token":
            endpoints = endpoints.filter(client_id=principal.client_id)
        if principal.facility_ids is not None:
            endpoints = endpoints.filter(facility_ids__contained_by=sorted(principal.facility_ids))
        if principal.provider_ids is not None:
            endpoints = endpoints.filter(provider_ids__contained_by=sorted(principal.provider_ids))
        return endpoints

    def sent_to(self) -> "EndpointQuerySet":
        """Select endpoints that deliveries are sent to now: active, and not of a client that is switched off."""
        client_is_active = Q(client__isnull=True) | Q(client__active=True)
        return self.filter(client_is_active, state=Endpoint.State.ACTIVE, deleted_at__isnull=True)


class Endpoint(models.Model):
    """An address that events are sent to.  Its URL must not contain personal data."""

    class State(TextChoices):
        PENDING = "pending", _("Pending")  # no successful test yet
        ACTIVE = "active", _("Active")
        PAUSED = "paused", _("Paused")  # by people, or by the receiver with 410
        DISABLED = "disabled", _("Disabled")  # failed for days

    class Ordering(TextChoices):
        NONE = "none", _("None")
        SUBJECT = "subject", _("Subject")  # the events of one ride one after the other

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    client = models.ForeignKey(ApiClient, models.PROTECT, null=True, related_name="endpoints")  # null: the operator
    name = models.CharField(max_length=100)
    url = models.CharField(max_length=2000)
    description = models.CharField(max_length=500, blank=True)
    state = models.CharField(max_length=8, choices=State, default=State.PENDING)
    state_reason = models.CharField(max_length=40, blank=True)
    state_changed_at = models.DateTimeField()
    # Event types, families such as "ride.*", or "*".
    event_types = ArrayField(models.CharField(max_length=40))
    facility_ids = ArrayField(models.UUIDField(), null=True)  # null: every facility
    provider_ids = ArrayField(models.UUIDField(), null=True)  # null: every provider
    payload_level = models.CharField(max_length=13, choices=PayloadLevel, default=PayloadLevel.ID_ONLY)
    # Who confirmed, and when, that the receiver may get rider data.
    phi_agreed_by = models.CharField(max_length=60, blank=True)
    phi_agreed_at = models.DateTimeField(null=True)
    api_version = models.CharField(max_length=10)
    ordering = models.CharField(max_length=7, choices=Ordering, default=Ordering.NONE)
    asymmetric = models.BooleanField(default=False)  # also signed with ed25519
    max_in_flight = models.PositiveSmallIntegerField(default=8)
    headers_encrypted = models.BinaryField(null=True)  # JSON; may contain a password of the receiver's gateway
    # `sequence` counts events about the endpoint; `version` counts changes of its settings and state.
    sequence = models.PositiveIntegerField(default=0)
    version = models.PositiveIntegerField(default=1)
    created_by = models.CharField(max_length=60)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True)

    headers_text = encrypted_text("headers")

    objects = EndpointQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="endpoint_state_known", condition=Q(state__in=["pending", "active", "paused", "disabled"])
            ),
            models.CheckConstraint(
                name="endpoint_level_known", condition=Q(payload_level__in=["id-only", "summary", "full-resource"])
            ),
            models.CheckConstraint(
                name="endpoint_full_resource_agreed",
                condition=~Q(payload_level="full-resource")
                | (Q(phi_agreed_at__isnull=False) & ~Q(phi_agreed_by="") & Q(url__startswith="https://")),
            ),
            models.CheckConstraint(name="endpoint_hears_something", condition=Q(event_types__len__gt=0)),
            models.CheckConstraint(
                name="endpoint_in_flight_bounds", condition=Q(max_in_flight__gte=1, max_in_flight__lte=64)
            ),
            models.CheckConstraint(name="endpoint_ordering_known", condition=Q(ordering__in=["none", "subject"])),
        ]
        indexes = [models.Index(fields=["-created_at", "id"], name="endpoint_newest")]

    def __str__(self) -> str:
        return f"endpoint {self.pk}"

    def valid_secrets(self, at: datetime) -> "models.QuerySet[EndpointSecret]":
        """Select the secrets that deliveries are signed with, newest first."""
        valid = self.secrets.filter(Q(expires_at__isnull=True) | Q(expires_at__gt=at))
        return valid.order_by("-created_at", "-pk")

    @property
    def own_headers(self) -> dict[str, str]:
        """Return the custom headers of every delivery."""
        headers: dict[str, str] = json.loads(self.headers_text or "{}")
        return headers

    @property
    def header_names(self) -> list[str]:
        return sorted(self.own_headers)


class EndpointHealth(models.Model):
    """The state of an endpoint's circuit breaker (`rules.circuit_breaker.CircuitState`), written with its attempts."""

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, primary_key=True, related_name="health")
    failures = models.PositiveIntegerField(default=0)
    failures_since_success = models.PositiveIntegerField(default=0)
    open_count = models.PositiveSmallIntegerField(default=0)
    open_until = models.DateTimeField(null=True)
    sample_since = models.DateTimeField(null=True)
    sample_attempts = models.PositiveIntegerField(default=0)
    sample_failures = models.PositiveIntegerField(default=0)
    failing_since = models.DateTimeField(null=True)
    alert_level = models.PositiveSmallIntegerField(default=0)
    last_success_at = models.DateTimeField(null=True)
    last_failure_at = models.DateTimeField(null=True)
    # The last alert about deliveries that were given up: once an hour.
    exhausted_alerted_at = models.DateTimeField(null=True)
    # Counters of metrics.
    attempts_total = models.BigIntegerField(default=0)
    failures_total = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"health of endpoint {self.pk}"


class EndpointSecret(models.Model):
    """A secret that deliveries are signed with until it expires; up to three are valid during a rotation."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="secrets")
    secret_encrypted = models.BinaryField()
    created_at = models.DateTimeField()
    created_by = models.CharField(max_length=60)
    expires_at = models.DateTimeField(null=True)  # null: the current secret

    text = encrypted_text("secret")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="endpoint_secret_one_present", fields=["endpoint"], condition=Q(expires_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return f"webhook secret {self.pk}"


class SigningKey(models.Model):
    """An ed25519 key of this deployment.  GET /webhooks/keys lists it until a week after it is retired."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    private_encrypted = models.BinaryField()
    public = models.BinaryField(max_length=32)
    created_at = models.DateTimeField()
    retired_at = models.DateTimeField(null=True)

    private = encrypted_text("private")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                name="signing_key_one_present",
                fields=["retired_at"],
                condition=Q(retired_at__isnull=True),
                nulls_distinct=False,
            )
        ]

    def __str__(self) -> str:
        return f"signing key {self.pk}"
