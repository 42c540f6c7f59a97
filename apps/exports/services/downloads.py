"""Links that hand the file of an export over once, within fifteen minutes."""

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
    """There is no file of the export yet, or never will be."""

    code = Code.INVALID_TRANSITION
    template = _("The export is %(state)s.")


class LinkGone(DomainError):
    """The link was used, its time has passed, the file was taken away, or whoever made it may not fetch it any more."""

    code = Code.GONE
    template = _("The link has been used or has expired. Get a new one.")


class RecentLoginRequired(DomainError):
    """Rider data leaves the console for whoever proved a moment ago who they are."""

    code = Code.FORBIDDEN
    template = _("Sign in again to continue.")


@dataclass(frozen=True, slots=True)
class Handed:
    """A file on its way out."""

    export: Export
    pieces: Iterator[bytes]


@transaction.atomic
def link(*, export_id: UUID, by: Principal, at: datetime, reauthenticated: bool) -> str:
    """Make a link, and answer the secret that it ends with; it is kept nowhere.

    `reauthenticated`: the caller has proved in the last minutes who they are, or is a token, which proves it with every
    request; without, nothing that holds rider data is handed out.

    Raises:
        NotFound: there is no such export.
        NotReady: it has no file.
        RecentLoginRequired: it holds rider data, and the caller has to sign in again first.
    """
    export = _reached(export_id, by)
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


def use(*, secret: str, at: datetime, request_id: str, ip: str | None) -> Handed:
    """Hand the file over to whoever has the link, and write down that it left.

    Of two who come at once, one gets it.  The rights that count are those of whoever made the link, at this moment.

    Raises:
        NotFound: there is no such link.
        LinkGone: it was used, or its time has passed, the file is gone, or whoever made it may not fetch it any more.
    """
    with transaction.atomic():
        row = ExportLink.objects.select_related("export").filter(digest=_digest(secret)).first()
        if row is None:
            raise NotFound(_("link"))
        taken = ExportLink.objects.filter(pk=row.pk, used_at__isnull=True, expires_at__gt=at).update(used_at=at)
        export = row.export
        if not taken or export.state != Export.State.READY or not export_files.place_of(export).exists():
            raise LinkGone
        holder = authentication.as_it_stands(row.made_for, at=at, request_id=request_id, ip=ip)
        if holder is None or not holder.has_scope(Scope.EXPORTS_CREATE) or _reached(export.pk, holder) is None:
            raise LinkGone
        audit.record(
            by=holder,
            action="exports.fetch",
            subject_type="export",
            subject_id=export.pk,
            phi=Phi(export.phi).name.lower(),
            details={"dataset": export.dataset, "format": export.format, "rows": export.rows},
        )
    return Handed(export, files.read(export_files.place_of(export)))


def _reached(export_id: UUID, by: Principal) -> Export | None:
    """Find an export that holds no more than the caller's exports may."""
    return Export.objects.visible_to(replace(by, phi=level(by))).filter(pk=export_id).first()


def forget(*, at: datetime) -> int:
    """Forget links a day after their end; say how many."""
    return ExportLink.objects.filter(expires_at__lt=at - timedelta(days=1)).delete()[0]


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
