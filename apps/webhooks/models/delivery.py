"""Deliveries of events to endpoints, and attempts at them.

A row has its own due time.  A worker that claims it holds a lease under a claim id (`lib.db.leases`).  Indexes are
partial, so that millions of delivered rows do not slow down a claim.
"""

from datetime import datetime
from typing import Final

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.events.models import Event
from apps.webhooks.models.endpoint import Endpoint, EndpointQuerySet
from lib.access import Principal
from lib.choices import TextChoices
from lib.crypto import encrypted_text
from lib.ids import uuid7

# SQL function of migration 0002 for the ids of rows that are inserted by SELECT: a UUIDv7, in order of insertion.
NEW_ID: Final = "webhooks_new_id()"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def visible_to(self, principal: Principal) -> "DeliveryQuerySet":
        """Select deliveries of endpoints and events within the caller's data scope.

        An endpoint may have received other events before its subscription was reduced.  Events of endpoints and tokens
        have no facility or provider: they are visible with the endpoint that received them.
        """
        of_none = Q(event__subject_type__in=["endpoint", "token"]) | Q(trigger="test")
        deliveries = self.filter(endpoint__in=EndpointQuerySet(Endpoint).visible_to(principal))
        if principal.facility_ids is not None:
            deliveries = deliveries.filter(of_none | Q(event__facility_id__in=principal.facility_ids))
        if principal.provider_ids is not None:
            deliveries = deliveries.filter(of_none | Q(event__provider_id__in=principal.provider_ids))
        return deliveries


class Delivery(models.Model):
    """One event for one endpoint.  An event has one delivery per round: the first, then resends and replays."""

    class Status(TextChoices):
        PENDING = "pending", _("Pending")
        IN_FLIGHT = "in_flight", _("Being sent")
        DELIVERED = "delivered", _("Delivered")
        EXHAUSTED = "exhausted", _("Exhausted")  # all attempts failed, or it grew too old
        HELD = "held", _("Held")  # collected while the endpoint was paused or disabled
        CANCELLED = "cancelled", pgettext_lazy("delivery status", "Canceled")  # by people
        QUARANTINED = "quarantined", _("Quarantined")  # workers died over it

    class Priority(models.IntegerChoices):
        LIVE = 0
        RETRY = 1
        REPLAY = 2

    class Trigger(TextChoices):
        EVENT = "event", _("Event")
        RESEND = "resend", _("Resend")
        REPLAY = "replay", _("Replay")
        TEST = "test", _("Test")

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    endpoint = models.ForeignKey(Endpoint, models.CASCADE, related_name="deliveries", db_index=False)
    event = models.ForeignKey(Event, models.PROTECT, related_name="+", db_index=False)
    # Copied from the event, for the order of deliveries of a ride and for lookups.
    event_type = models.CharField(max_length=40)
    subject_id = models.UUIDField()
    subject_sequence = models.PositiveIntegerField()
    status = models.CharField(max_length=11, choices=Status, default=Status.PENDING)
    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.LIVE)
    trigger = models.CharField(max_length=6, choices=Trigger, default=Trigger.EVENT)
    attempts = models.PositiveSmallIntegerField(default=0)  # that have ended
    claims = models.PositiveSmallIntegerField(default=0)  # since the last result: grows if workers die
    due_at = models.DateTimeField()
    expires_at = models.DateTimeField()  # if it could not be tried until then, it is given up
    lease_until = models.DateTimeField(null=True)
    claim_id = models.UUIDField(null=True)
    # Stored for bodies with more than their event, so that retries send the same bytes.
    body_encrypted = models.BinaryField(null=True)
    body_level = models.CharField(max_length=13, blank=True)  # the payload level of the stored body
    last_code = models.PositiveSmallIntegerField(null=True)
    last_error = models.CharField(max_length=12, blank=True)
    # 0 is the first delivery of the event to the endpoint; resends and replays follow.
    round = models.PositiveSmallIntegerField(default=0)
    # Whether it waits for earlier deliveries of its subject: the endpoint's `ordering` when it was created.
    ordered = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    body_text = encrypted_text("body")

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            # Publishing an event again changes nothing.
            models.UniqueConstraint(name="delivery_once_per_round", fields=["event", "endpoint", "round"]),
            models.CheckConstraint(
                name="delivery_in_flight_is_claimed",
                condition=Q(status="in_flight", claim_id__isnull=False, lease_until__isnull=False)
                | (~Q(status="in_flight") & Q(claim_id__isnull=True, lease_until__isnull=True)),
            ),
            models.CheckConstraint(
                name="delivery_ended_at_an_instant",
                condition=Q(status__in=["pending", "in_flight", "held"], ended_at__isnull=True)
                | (~Q(status__in=["pending", "in_flight", "held"]) & Q(ended_at__isnull=False)),
            ),
        ]
        indexes = [
            # Claims: due deliveries of one endpoint, in order.
            models.Index(
                fields=["endpoint", "priority", "due_at", "id"],
                name="delivery_pending",
                condition=Q(status="pending"),
            ),
            models.Index(
                fields=["endpoint", "lease_until"], name="delivery_in_flight", condition=Q(status="in_flight")
            ),
            # Claims of endpoints with ordering by subject.
            models.Index(
                fields=["endpoint", "subject_id", "subject_sequence"],
                name="delivery_open_of_subject",
                condition=Q(ordered=True, status__in=["pending", "in_flight"]),
            ),
            # Lists, alerts and recoveries of deliveries that need people.
            models.Index(
                fields=["endpoint", "id"],
                name="delivery_stopped",
                condition=Q(status__in=["held", "exhausted", "quarantined"]),
            ),
            models.Index(fields=["endpoint", "-id"], name="delivery_of_endpoint"),
            # The last test of an endpoint, and claims of tests.
            models.Index(fields=["endpoint", "-id"], name="delivery_test", condition=Q(trigger="test")),
            models.Index(fields=["due_at"], name="delivery_test_due", condition=Q(status="pending", trigger="test")),
            # Claims of suspects.
            models.Index(fields=["claims"], name="delivery_suspect", condition=Q(status="pending", claims__gte=3)),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"

    @property
    def next_attempt_at(self) -> datetime | None:
        """When it is sent next; None unless it is pending."""
        return self.due_at if self.status == self.Status.PENDING else None


class ErrorClass(TextChoices):
    """Reasons why an attempt failed."""

    DNS = "dns", _("the name was not found")
    CONNECT = "connect", _("no connection")
    TLS = "tls", _("no trustworthy TLS")
    TIMEOUT = "timeout", _("no answer within 15 seconds")
    BLOCKED_IP = "blocked_ip", _("the address may not be reached")
    HTTP_3XX = "http_3xx", _("a redirect, which is not followed")
    HTTP_4XX = "http_4xx", _("refused by the receiver")
    HTTP_5XX = "http_5xx", _("failed at the receiver")
    PROTOCOL = "protocol", _("the answer was not HTTP")
    RENDER = "render", _("the body could not be made")
    LOST_WORKER = "lost_worker", _("the worker ended before the answer")


class Attempt(models.Model):
    """One attempt at a delivery.  The response is untrusted text of the receiver: it is only shown as text."""

    id = models.BigAutoField(primary_key=True)
    # Without a database constraint: it would lock each delivery again when its attempt is inserted.
    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="tries", db_index=False, db_constraint=False)
    endpoint_id = models.UUIDField()
    number = models.PositiveSmallIntegerField()  # the header `webhook-attempt`; 0 if nothing was sent
    started_at = models.DateTimeField()
    duration_ms = models.PositiveIntegerField()
    code = models.PositiveSmallIntegerField(null=True)
    error = models.CharField(max_length=12, choices=ErrorClass, blank=True)
    response_headers = models.JSONField(default=dict)
    response_snippet = models.TextField(blank=True)  # the first 4 KiB
    remote_ip = models.GenericIPAddressField(null=True)
    worker = models.CharField(max_length=80)

    class Meta:
        indexes = [
            models.Index(fields=["delivery", "id"], name="attempt_of_delivery"),
            # Health of the last day, by endpoint; retention, by time.
            models.Index(fields=["endpoint_id", "started_at"], name="attempt_of_endpoint"),
        ]

    def __str__(self) -> str:
        return f"attempt {self.pk}"
