"""Links that download the file of an export once, within fifteen minutes."""

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.accounts.services import authentication
from apps.audit.services import audit
from apps.exports.formats import files
from apps.exports.models import Export, ExportLink
from apps.exports.services import export_files
from apps.exports.services.export_validation import level
from lib.access import Phi, Principal
from lib.errors import Code, DomainError, NotFound
from lib.messages import lowered
from lib.scopes import Scope

LIFETIME: Final = timedelta(minutes=15)


class NotReady(DomainError):
    """The export has no file."""

    code = Code.INVALID_TRANSITION
    template = _("The export is %(state)s.")


class LinkGone(DomainError):
    """The link was used or has expired, the file was deleted, or the creator of the link has lost access."""

    code = Code.GONE
    template = _("The link has been used or has expired. Get a new one.")


class RecentLoginRequired(DomainError):
    """Downloading rider data requires a recent sign-in."""

    code = Code.FORBIDDEN
    template = _("Sign in again to continue.")


@dataclass(frozen=True, slots=True)
class Download:
    """The file of an export as a stream."""

    export: Export
    chunks: Iterator[bytes]


@transaction.atomic
def link(*, export_id: UUID, by: Principal, at: datetime, reauthenticated: bool) -> str:
    """Create a link; return the secret at its end, of which only a digest is stored.

    `reauthenticated`: the caller has signed in within the last minutes, or is a token.  Files with rider data require
    it.

    Raises:
        NotFound: there is no such export.
        NotReady: it has no file.
        RecentLoginRequired: it contains rider data, and the caller has to sign in again first.
    """
    export = _visible_export(export_id, by)
    if export is None:
        raise NotFound(_("export"))
    if export.state != Export.State.READY:
        raise NotReady(state=lowered(Export.State(export.state).label))
    if export.phi > Phi.NONE and not reauthenticated:
        raise RecentLoginRequired
    secret = secrets.token_urlsafe(32)
    ExportLink.objects.create(
        export=export, digest=_digest(secret), made_for=by.actor, role=by.role, made_at=at, expires_at=at + LIFETIME
    )
    return secret


def use(*, secret: str, at: datetime, request_id: str, ip: str | None) -> Download:
    """Use a link: return the file and record the download.

    Of two concurrent requests, one gets the file.  The current rights of the creator of the link apply.

    Raises:
        NotFound: there is no such link.
        LinkGone: it was used or has expired, the file is gone, or its creator has lost access.
    """
    with transaction.atomic():
        row = ExportLink.objects.select_related("export").filter(digest=_digest(secret)).first()
        if row is None:
            raise NotFound(_("link"))
        is_usable = ExportLink.objects.filter(pk=row.pk, used_at__isnull=True, expires_at__gt=at).update(used_at=at)
        export = row.export
        if not is_usable or export.state != Export.State.READY or not export_files.file_path(export).exists():
            raise LinkGone
        creator = authentication.current_principal_of(row.made_for, at=at, request_id=request_id, ip=ip)
        if (
            creator is None
            or not creator.has_scope(Scope.EXPORTS_CREATE)
            or _visible_export(export.pk, creator) is None
        ):
            raise LinkGone
        audit.record(
            by=creator,
            action="exports.fetch",
            subject_type="export",
            subject_id=export.pk,
            phi=Phi(export.phi).name.lower(),
            details={"dataset": export.dataset, "format": export.format, "rows": export.rows},
        )
    return Download(export, files.read(export_files.file_path(export)))


def _visible_export(export_id: UUID, by: Principal) -> Export | None:
    """Return an export within the caller's data scope and PHI level."""
    return Export.objects.visible_to(replace(by, phi=level(by))).filter(pk=export_id).first()


def delete_expired_links(*, at: datetime) -> int:
    """Delete links a day after they expired; return how many."""
    return ExportLink.objects.filter(expires_at__lt=at - timedelta(days=1)).delete()[0]


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
