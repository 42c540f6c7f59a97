"""Uploads of export files to destinations."""

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.audit.services import audit
from apps.exports.destinations import s3, sftp
from apps.exports.destinations.errors import Limits, UploadError, UploadErrorCode
from apps.exports.destinations.names import check_name
from apps.exports.models import ExportDestination
from lib.access import system
from lib.db import leases
from lib.outbound import Rules

log = logging.getLogger(__name__)
_PORTS = frozenset({443, 8443, 9000, 9443})  # of buckets: the ports of webhooks, and the defaults of MinIO


def rules() -> Rules:
    """Return the rules of this deployment about where exports may be sent."""
    return Rules(
        networks=settings.EXPORT_DESTINATION_NETWORKS, plain_http=settings.EXPORT_DESTINATION_PLAIN_HTTP, ports=_PORTS
    )


def upload(
    destination: ExportDestination, path: Path, name: str, *, clock: Callable[[], datetime] = timezone.now
) -> None:
    """Upload a file to a destination under `name`; replaces a file of that name.  It arrives whole or not at all.

    Takes up to 20 minutes and must not run inside a transaction.  `name` is letters, digits, `.`, `_` and `-`, and
    contains nothing about a person, because the audit trail shows it.  The destination is read again: it may have
    changed.

    Raises:
        UploadError: the upload failed; the reason is stored at the destination as well.
        FileNotFoundError: there is no file at `path`.
        ValueError: `name` is not allowed.
    """
    check_name(name)
    rows = ExportDestination.objects.filter(pk=destination.pk)
    with path.open("rb") as file:
        try:
            current = rows.active().first()
            if current is None:
                raise UploadError(UploadErrorCode.SWITCHED_OFF)
            upload_file(current, file, name)
        except UploadError as failure:
            failed = {"failed_at": clock(), "failure_code": failure.code}
            leases.settle_with_retries(lambda: rows.update(**failed))
            log.warning("upload failed: %s", failure.code.value, extra={"destination_id": str(destination.pk)})
            raise
    leases.settle_with_retries(partial(_record_upload, destination, name, clock()))


@transaction.atomic
def _record_upload(destination: ExportDestination, name: str, at: datetime) -> None:
    ExportDestination.objects.filter(pk=destination.pk).update(sent_at=at)
    audit.record(
        by=system("reporting"),
        action="destinations.upload",
        subject_type="export_destination",
        subject_id=destination.pk,
        details={"name": name},
    )


def upload_file(destination: ExportDestination, file: BinaryIO, name: str, *, limits: Limits | None = None) -> None:
    """Upload a file whether the destination is switched on or not, and record nothing; raises as `upload` does."""
    limits = limits or Limits()
    if destination.kind == ExportDestination.Kind.S3:
        s3.upload(_bucket(destination, limits), file, name)
    else:
        sftp.upload(_server(destination, limits), file, name)


def remove_file(destination: ExportDestination, name: str, *, limits: Limits | None = None) -> None:
    """Delete an uploaded file.

    Raises:
        UploadError: it was not deleted.
    """
    limits = limits or Limits()
    if destination.kind == ExportDestination.Kind.S3:
        s3.remove(_bucket(destination, limits), name)
    else:
        sftp.remove(_server(destination, limits), name)


def _bucket(destination: ExportDestination, limits: Limits) -> s3.Bucket:
    return s3.Bucket(
        endpoint_url=destination.endpoint_url,
        name=destination.bucket,
        key=s3.AccessKey(destination.username, _secret(destination), destination.region),
        folder=destination.folder,
        path_style=destination.path_style,
        rules=rules(),
        limits=limits,
    )


def _server(destination: ExportDestination, limits: Limits) -> sftp.Server:
    secret, by_key = _secret(destination), destination.sign_in == ExportDestination.SignIn.PRIVATE_KEY
    return sftp.Server(
        host=destination.host,
        port=destination.port or 22,
        username=destination.username,
        host_key=destination.host_key,
        password="" if by_key else secret,
        private_key=secret if by_key else "",
        folder=destination.folder,
        rules=rules(),
        limits=limits,
    )


def _secret(destination: ExportDestination) -> str:
    try:
        return str(destination.secret)
    except (KeyError, InvalidTag):
        raise UploadError(UploadErrorCode.SECRET_UNREADABLE) from None
