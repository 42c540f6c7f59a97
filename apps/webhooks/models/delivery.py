"""Deliveries: one event on its way to one endpoint, and every attempt at it.

Rows carry their own due time.  Whoever claims one holds it for a lease, under an id of the claim: what a worker that
was thought dead reports later changes nothing.  Indexes are partial, so that a million delivered rows cost a claim
nothing.
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
from lib.crypto import sealed_text
from lib.ids import uuid7

# SQL for the id of a row that one statement makes of others: they sort as they were made.  Of migration 0001.
NEW_ID: Final = "webhooks_new_id()"


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def visible_to(self, principal: Principal) -> "DeliveryQuerySet":
        """Keep the deliveries of the endpoints that the caller sees, of events within the caller's own reach.

        An endpoint may have heard of more, before it was bound to less.  What is about endpoints and tokens is of no
        facility or provider, and the business of whoever sees the endpoint that hears of it.
        """
        of_none = Q(event__subject_type__in=["endpoint", "token"]) | Q(trigger="test")
        deliveries = self.filter(endpoint__in=EndpointQuerySet(Endpoint).visible_to(principal))
        if principal.facility_ids is not None:
            deliveries = deliveries.filter(of_none | Q(event__facility_id__in=principal.facility_ids))
        if principal.provider_ids is not None:
            deliveries = deliveries.filter(of_none | Q(event__provider_id__in=principal.provider_ids))
        return deliveries


class Delivery(models.Model):
    """One event for one endpoint.  The same event may have several: the first, resends and replays."""

    class Status(TextChoices):
        PENDING = "pending", _("Pending")
        IN_FLIGHT = "in_flight", _("In Flight")
        DELIVERED = "delivered", _("Delivered")
        EXHAUSTED = "exhausted", _("Exhausted")  # all attempts failed, or it grew too old
        HELD = "held", _("Held")  # collected while the endpoint was paused or disabled
        CANCELLED = "cancelled", pgettext_lazy("delivery status", "Cancelled")  # by people
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
    # Of the event, for the order of one ride's deliveries and for looking them up.
    event_type = models.CharField(max_length=40)
    subject_id = models.UUIDField()
    subject_sequence = models.PositiveIntegerField()
    status = models.CharField(max_length=11, choices=Status, default=Status.PENDING)
    priority = models.PositiveSmallIntegerField(choices=Priority, default=Priority.LIVE)
    trigger = models.CharField(max_length=6, choices=Trigger, default=Trigger.EVENT)
    attempts = models.PositiveSmallIntegerField(default=0)  # that came to an end, one way or the other
    claims = models.PositiveSmallIntegerField(default=0)  # since the last end: what kills its worker grows here alone
    due_at = models.DateTimeField()
    expires_at = models.DateTimeField()  # after it, it is given up when it could not be tried
    lease_until = models.DateTimeField(null=True)
    claim_id = models.UUIDField(null=True)
    # Rendered once, for endpoints that get the whole ride: a retry sends the same bytes.
    body_encrypted = models.BinaryField(null=True)
    body_level = models.CharField(max_length=13, blank=True)  # it was rendered at: another one is rendered anew
    last_code = models.PositiveSmallIntegerField(null=True)
    last_error = models.CharField(max_length=12, blank=True)
    # 0 for what the event brought about, 1 and on for resends and replays.
    round = models.PositiveSmallIntegerField(default=0)
    # Whether it waits for earlier ones of its subject: the endpoint's `ordering` when it was made.
    ordered = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)

    body_text = sealed_text("body")

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name_plural = "deliveries"
        constraints = [
            # Publishing twice what was published is nothing.
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
            # The claim: what is due in one lane, in its order.
            models.Index(
                fields=["endpoint", "priority", "due_at", "id"],
                name="delivery_pending",
                condition=Q(status="pending"),
            ),
            models.Index(
                fields=["endpoint", "lease_until"], name="delivery_in_flight", condition=Q(status="in_flight")
            ),
            # Order within one ride, where it is asked for.
            models.Index(
                fields=["endpoint", "subject_id", "subject_sequence"],
                name="delivery_open_of_subject",
                condition=Q(ordered=True, status__in=["pending", "in_flight"]),
            ),
            # What waits for people, and what a recovery takes up.
            models.Index(
                fields=["endpoint", "id"],
                name="delivery_stopped",
                condition=Q(status__in=["held", "exhausted", "quarantined"]),
            ),
            models.Index(fields=["endpoint", "-id"], name="delivery_of_endpoint"),
            # Tests: the last one of an endpoint, and those that somebody waits for.
            models.Index(fields=["endpoint", "-id"], name="delivery_test", condition=Q(trigger="test")),
            models.Index(fields=["due_at"], name="delivery_test_due", condition=Q(status="pending", trigger="test")),
            # Workers died over these: they are tried alone.
            models.Index(fields=["claims"], name="delivery_suspect", condition=Q(status="pending", claims__gte=3)),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk}"

    @property
    def next_attempt_at(self) -> datetime | None:
        """When it is sent next; None where nothing waits for that."""
        return self.due_at if self.status == self.Status.PENDING else None


class ErrorClass(TextChoices):
    """Why an attempt failed."""

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
    """One try at one delivery.  What the receiver answered is its own text: never trusted, shown as text alone."""

    id = models.BigAutoField(primary_key=True)
    # Without a constraint: it would lock each delivery once more in the very statement that writes it.
    delivery = models.ForeignKey(Delivery, models.CASCADE, related_name="tries", db_index=False, db_constraint=False)
    endpoint_id = models.UUIDField()
    number = models.PositiveSmallIntegerField()  # as `webhook-attempt` said; 0 where none was sent
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
