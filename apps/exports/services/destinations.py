"""Putting files of exports where they are wanted."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography.exceptions import InvalidTag
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.audit.services import audit
from apps.exports.destinations import s3, sftp
from apps.exports.destinations.names import check_name
from apps.exports.destinations.outcome import Limits, PutCode, PutRefused
from apps.exports.destinations.sigv4 import Key
from apps.exports.models import ExportDestination
from apps.exports.services import export_files, leases
from lib.access import system
from lib.outbound import Rules

__all__ = ["PutCode", "PutRefused", "put", "put_file", "remove_file", "rules", "workshop"]

log = logging.getLogger(__name__)
_PORTS = frozenset({443, 8443, 9000, 9443})  # of buckets: the webhooks' own, and those that MinIO is given


def rules() -> Rules:
    """Where this deployment's exports may go."""
    return Rules(
        networks=settings.EXPORT_DESTINATION_NETWORKS, plain_http=settings.EXPORT_DESTINATION_PLAIN_HTTP, ports=_PORTS
    )


def put(destination: ExportDestination, path: Path, name: str, *, clock: Callable[[], datetime] = timezone.now) -> None:
    """Put a file into the folder of a destination under `name`, whole or not at all, in place of one of that name.

    Takes as long as the file is large, 20 minutes at the most; wants no transaction around it.  `name` is letters,
    digits, `.`, `_` and `-`, and holds nothing of a person: it stands in the trail.

    Raises:
        PutRefused: it did not work; why stands in the destination as well.
        FileNotFoundError: there is no file at `path`.
        ValueError: `name` is none.
    """
    check_name(name)
    path.stat()
    rows = ExportDestination.objects.filter(pk=destination.pk)
    try:
        current = rows.sent_to().first()  # people may have changed it since it was read
        if current is None:
            raise PutRefused(PutCode.SWITCHED_OFF)
        put_file(current, path, name)
    except PutRefused as refusal:
        failed = {"failed_at": clock(), "failure_code": refusal.code}
        leases.settle(lambda: rows.update(**failed))
        log.warning("file not put: %s", refusal.code.value, extra={"destination_id": str(destination.pk)})
        raise
    leases.settle(partial(_record_put, destination, name, clock()))


@transaction.atomic
def _record_put(destination: ExportDestination, name: str, at: datetime) -> None:
    ExportDestination.objects.filter(pk=destination.pk).update(sent_at=at)
    audit.record(
        by=system("reporting"),
        action="destinations.put",
        subject_type="export_destination",
        subject_id=destination.pk,
        details={"name": name},
    )


def put_file(destination: ExportDestination, path: Path, name: str, *, limits: Limits | None = None) -> None:
    """Put a file there, whatever else is said of the destination; raises as `put` does."""
    limits = limits or Limits()
    if destination.kind == ExportDestination.Kind.S3:
        s3.put(_bucket(destination, limits), path, name)
    else:
        with workshop() as place:
            sftp.put(_server(destination, limits), path, name, workshop=place)


def remove_file(destination: ExportDestination, name: str, *, limits: Limits | None = None) -> None:
    """Take a file away again.

    Raises:
        PutRefused: it did not work.
    """
    limits = limits or Limits()
    if destination.kind == ExportDestination.Kind.S3:
        s3.remove(_bucket(destination, limits), name)
    else:
        with workshop() as place:
            sftp.remove(_server(destination, limits), name, workshop=place)


@contextmanager
def workshop() -> Iterator[Path]:
    """Make a folder for what is needed for a moment, which the sweep of exports takes away where a crash leaves it.

    Raises:
        PutRefused: it cannot be made.
    """
    try:
        place = TemporaryDirectory(dir=export_files.folder(), prefix=export_files.SENDING)
    except OSError:
        raise PutRefused(PutCode.NO_SCRATCH) from None
    with place as name:
        yield Path(name)


def _bucket(destination: ExportDestination, limits: Limits) -> s3.Bucket:
    return s3.Bucket(
        endpoint_url=destination.endpoint_url,
        name=destination.bucket,
        key=Key(destination.username, _secret(destination), destination.region),
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
        raise PutRefused(PutCode.SECRET_UNREADABLE) from None
