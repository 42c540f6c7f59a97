"""Events: the append-only record of changes.

Events are the history of a record, the source of reports, the pull feed and the outbox of webhooks.  They are written
in the transaction of the change, and never altered: a trigger (migration 0002) refuses it.
"""

from typing import TYPE_CHECKING, Final

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from apps.events.xid8 import CurrentTransactionId, OldestRunningTransactionId, Xid8Field
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal


# Subjects visible to their client and the operator only; the data of their events contains `clientId`.
OF_CLIENTS: Final = ("endpoint", "export", "token")


class EventQuerySet(models.QuerySet["Event"]):
    def visible_to(self, principal: "Principal") -> "EventQuerySet":
        """Filter to the principal's data scope; events of tokens and endpoints to those of its own client.

        People, and the service itself, see the tokens and endpoints of all clients.
        """
        events = self
        if principal.client_id is not None:
            own = Q(data__clientId=str(principal.client_id))
            events = events.filter(~Q(subject_type__in=OF_CLIENTS) | own)
        if principal.facility_ids is not None:
            events = events.filter(facility_id__in=principal.facility_ids)
        if principal.provider_ids is not None:
            events = events.filter(provider_id__in=principal.provider_ids)
        return events

    def settled(self) -> "EventQuerySet":
        """Events before which no running transaction can still commit one, so that a cursor misses no event."""
        return self.filter(transaction__lt=OldestRunningTransactionId())

    def in_commit_order(self) -> "EventQuerySet":
        return self.order_by(F("transaction"), "id")


class Event(models.Model):
    """A change of a record.  Holds ids, statuses and instants; never names, phone numbers or addresses."""

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    transaction = Xid8Field(_("transaction"), db_default=CurrentTransactionId(), editable=False)
    type = models.CharField(_("type"), max_length=40)
    subject_type = models.CharField(_("subject type"), max_length=20)
    subject_id = models.UUIDField(_("subject id"))
    # The subject's version after the change; consecutive from 1 for rides, so receivers can order and detect gaps.
    sequence = models.PositiveIntegerField(_("sequence"))
    # Ids, no foreign keys: every app records events, so this app may not import another one.
    facility_id = models.UUIDField(_("facility"), null=True)
    provider_id = models.UUIDField(_("transport provider"), null=True)
    occurred_at = models.DateTimeField(
        _("occurred at")
    )  # when the change happened, by the clock of the reporting system
    recorded_at = models.DateTimeField(_("recorded at"), db_default=Now(), editable=False)
    actor = models.CharField(_("actor"), max_length=60)  # "user:<id>", "token:<id>", "system"
    request_id = models.CharField(_("request id"), max_length=64, blank=True)
    data = models.JSONField(_("data"), default=dict)  # camelCase, as it is published

    objects = EventQuerySet.as_manager()

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = [
            # A lost update would record the same version twice; the database refuses it.
            models.UniqueConstraint(name="event_sequence_once", fields=["subject_type", "subject_id", "sequence"]),
            models.CheckConstraint(name="event_type_form", condition=Q(type__regex=r"^[a-z_]+(\.[a-z_]+)+$")),
        ]
        indexes = [
            models.Index(fields=["transaction", "id"], name="event_feed"),
            models.Index(fields=["type", "transaction", "id"], name="event_feed_by_type"),
            # For retention: the oldest deletable events, without scanning the events of rides.
            models.Index(fields=["id"], name="event_forgettable", condition=~Q(subject_type="ride")),
        ]

    def __str__(self) -> str:
        return f"event {self.pk}"


class OutboxEntry(models.Model):
    """An event for which no webhook deliveries have been created yet.

    A trigger of migration 0002 inserts the row together with the event, also for events inserted by SQL.  Ids of the
    events of a subject rise with their sequence, because its row is locked while they are recorded.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    event_id = models.UUIDField(_("event id"))

    class Meta:
        verbose_name = _("unpublished event")
        verbose_name_plural = _("unpublished events")

    def __str__(self) -> str:
        return f"unpublished event {self.pk}"
