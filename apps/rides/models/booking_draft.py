from typing import Self

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from lib.access import Principal
from lib.crypto import encrypted_text
from lib.ids import uuid7


class BookingDraftQuerySet(models.QuerySet["BookingDraft"]):
    def visible_to(self, by: Principal) -> Self:
        """Only the caller's own drafts."""
        return self.filter(user_id=by.id) if by.kind == "user" else self.none()


class BookingDraft(models.Model):
    """An unfinished booking: the form of the booking page when it was last saved.

    `key` is the key of the form, which becomes the id of the ride.  `form_data` is JSON, form fields by name.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+", verbose_name=_("user"))
    key = models.UUIDField(_("key"))
    form_data_encrypted = models.BinaryField(
        _("form data encrypted")
    )  # names, birth dates and addresses of riders who have no record yet
    created_at = models.DateTimeField(_("created at"))
    saved_at = models.DateTimeField(_("saved at"), db_index=True)

    form_data = encrypted_text("form_data")
    objects = BookingDraftQuerySet.as_manager()

    class Meta:
        verbose_name = _("booking draft")
        verbose_name_plural = _("booking drafts")
        constraints = [models.UniqueConstraint(name="booking_draft_once", fields=["user", "key"])]

    def __str__(self) -> str:
        return f"booking draft {self.pk}"
