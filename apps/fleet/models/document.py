"""Scans of credentials, encrypted, in a separate table: docs/adr/0021."""

from typing import TYPE_CHECKING, Final, Self

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.fleet.models.credential import Credential
from lib.crypto import encrypted_bytes
from lib.file_kinds import FileKind
from lib.ids import uuid7

if TYPE_CHECKING:
    from lib.access import Principal


class DocumentQuerySet(models.QuerySet["Document"]):
    def visible_to(self, principal: "Principal") -> Self:
        """Filter by the principal's data scope."""
        if principal.provider_ids is None:
            return self
        return self.filter(
            Q(credential__driver__provider_id__in=principal.provider_ids)
            | Q(credential__vehicle__provider_id__in=principal.provider_ids)
        )

    def not_removed(self) -> Self:
        """Filter to documents that were not removed, oldest first; `content_encrypted` is deferred."""
        return self.filter(removed_at__isnull=True).defer("content_encrypted").order_by("added_at", "id")


class Document(models.Model):
    """A scan of a credential: the bytes as uploaded.  Removing it deletes only the bytes.

    The original file name is not stored: file names often contain names of persons.
    """

    # Rows are up to several megabytes large, and re-encryption holds a batch of them in memory.
    REENCRYPTED_AT_ONCE: Final = 4

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    credential = models.ForeignKey(Credential, models.PROTECT, related_name="documents", verbose_name=_("credential"))
    kind = models.CharField(_("kind"), max_length=15, choices=[(kind, kind) for kind in FileKind])
    size = models.PositiveIntegerField(_("size"))  # bytes
    digest = models.BinaryField(_("digest"))  # keyed digest: detects the same file uploaded twice
    content_encrypted = models.BinaryField(_("content encrypted"), null=True)
    added_at = models.DateTimeField(_("added at"))
    added_by = models.CharField(_("added by"), max_length=60)
    removed_at = models.DateTimeField(_("removed at"), null=True)
    removed_by = models.CharField(_("removed by"), max_length=60, blank=True)
    removal_reason = models.CharField(_("removal reason"), max_length=500, blank=True)

    content = encrypted_bytes("content")

    objects = DocumentQuerySet.as_manager()

    class Meta:
        verbose_name = _("document")
        verbose_name_plural = _("documents")
        constraints = [
            models.CheckConstraint(name="document_kind_known", condition=Q(kind__in=list(FileKind))),
            models.CheckConstraint(name="document_holds_something", condition=Q(size__gt=0)),
            models.CheckConstraint(
                name="document_removed_whole",
                condition=Q(removed_at__isnull=True, removed_by="", removal_reason="", content_encrypted__isnull=False)
                | (
                    Q(removed_at__isnull=False, content_encrypted__isnull=True)
                    & ~Q(removed_by="")
                    & ~Q(removal_reason="")
                ),
            ),
            models.UniqueConstraint(
                name="document_once", fields=["credential", "digest"], condition=Q(removed_at__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"document {self.pk}"

    @property
    def file_name(self) -> str:
        """Return the file name for downloads: the credential type, and a part of the document id."""
        return f"{self.credential.type}-{self.pk.hex[-6:]}.{FileKind(self.kind).ending}"
