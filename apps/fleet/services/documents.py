"""Scans of credentials: adding, downloading and removing them.  Storage: docs/adr/0021."""

from datetime import datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.fleet.models import Document
from apps.fleet.services.credentials import active_credential, subject_of
from lib.access import Principal
from lib.crypto import keyed_digest
from lib.errors import DomainError, InvalidInput, NotFound
from lib.file_kinds import FileKind, kind_of
from lib.ids import uuid7

MOST: Final = 10  # scans per credential; a credential never needs more


class TooManyDocuments(DomainError):
    """The credential has the maximum number of scans."""

    template = _("A credential has at most %(most)s scans: remove one first.")

    def __init__(self) -> None:
        super().__init__(most=MOST)


@transaction.atomic
def add(*, credential_id: UUID, data: bytes, size: int, by: Principal, at: datetime) -> Document:
    """Add a scan to a credential in force; returns the existing scan if the bytes are the same.

    `size` is the size of the upload in bytes; for an upload that is too large, `data` may be incomplete.

    Raises:
        NotFound: the credential is not in the caller's data scope, or was replaced.
        InvalidInput: the file is empty, too large, or neither PDF nor JPEG nor PNG by its bytes.
        TooManyDocuments: the credential has the maximum number of scans.
    """
    kind = _checked(data, size)
    credential = active_credential(credential_id, by)
    digest = keyed_digest(data, purpose="fleet_document.content")
    scans = credential.documents.not_removed()
    duplicate = scans.filter(digest=digest).first()
    if duplicate is not None:
        return duplicate
    if scans.count() >= MOST:
        raise TooManyDocuments
    document = Document(
        id=uuid7(), credential=credential, kind=kind, size=size, digest=digest, added_at=at, added_by=by.actor
    )
    document.content = data
    document.save(force_insert=True)
    _record(document, "add", by)
    return document


@transaction.atomic
def read_content(*, document_id: UUID, by: Principal) -> Document:
    """Return a scan with its content, and record the access in the audit trail.

    Raises:
        NotFound: it is not in the caller's data scope, or was removed.
    """
    document = Document.objects.visible_to(by).not_removed().defer(None).filter(pk=document_id).first()
    if document is None:
        raise NotFound(_("document"))
    _record(document, "read", by)
    return document


@transaction.atomic
def remove(*, document_id: UUID, reason: str, by: Principal, at: datetime) -> Document:
    """Delete the bytes of a scan permanently; its row stays, with who removed it and why.

    Raises:
        NotFound: it is not in the caller's data scope, or was removed before.
        InvalidInput: there is no reason.
    """
    if not reason.strip():
        raise InvalidInput("reason", _("A removal needs a reason."), detail_code="required")
    visible_ids = Document.objects.visible_to(by).not_removed().filter(pk=document_id).values_list("pk", flat=True)
    document = Document.objects.not_removed().select_for_update(of=("self",)).filter(pk__in=list(visible_ids)).first()
    if document is None:
        raise NotFound(_("document"))
    document.content_encrypted, document.removed_at, document.removed_by = None, at, by.actor
    document.removal_reason = reason.strip()
    document.save(update_fields=["content_encrypted", "removed_at", "removed_by", "removal_reason"])
    _record(document, "remove", by, document.removal_reason)
    return document


def _checked(data: bytes, size: int) -> FileKind:
    most = settings.UPLOAD_MAX_BYTES
    if not size:
        raise InvalidInput("document", _("The file is empty."), detail_code="required")
    if size > most or len(data) != size:
        raise InvalidInput(
            "document", _("The file is larger than %(most)s MB."), detail_code="too_large", most=f"{most / 2**20:.3g}"
        )
    kind = kind_of(data)
    if kind is None:
        raise InvalidInput("document", _("The file is neither PDF nor JPEG nor PNG, or not whole."))
    return kind


def _record(document: Document, verb: str, by: Principal, reason: str = "") -> None:
    credential = document.credential
    audit.record(
        by=by,
        action=f"documents.{verb}",
        subject_type=subject_of(credential).value,
        subject_id=credential.subject_id,
        reason=reason,
        details={"documentId": str(document.pk), "credentialId": str(credential.pk), "type": credential.type},
    )
