"""Management of export destinations: add, change, test, remove."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from io import BytesIO
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.exports.destinations import sftp
from apps.exports.destinations.errors import Limits, UploadError, UploadErrorCode
from apps.exports.destinations.ssh_keys import HostKey
from apps.exports.models import ExportDestination
from apps.exports.services import destination_validation as validation
from apps.exports.services import uploads
from apps.exports.services.destination_validation import DestinationParams
from lib.access import Principal
from lib.constraints import constraint_of
from lib.errors import Code, DomainError, InvalidInput, NotFound, StaleVersion

MAX_DESTINATIONS: Final = 50
TEST_FILE: Final = "carelane-test.txt"
_TEST_TEXT: Final = b"Carelane can upload files here. This one may be deleted.\n"
_TEST_LIMITS: Final = Limits(connect=5.0, read=8.0, total=12.0)  # a person waits for the result
_SCAN_SECONDS: Final = 20
# Fields of the address.  A new address needs a new host key, agreement about rider data and password.
_ADDRESS: Final = ("endpoint_url", "bucket", "host", "port")


class TooManyDestinations(DomainError):
    """The limit of destinations is reached."""

    code = Code.RULE_VIOLATION
    template = _("There are already %(most)s destinations, which is the limit.")

    def __init__(self) -> None:
        super().__init__(most=MAX_DESTINATIONS)


class ScopeTooNarrow(DomainError):
    """Destinations receive exports of all facilities and providers, so managing them requires access to all."""

    code = Code.FORBIDDEN
    template = _("Managing destinations requires access to all facilities and providers.")


class NotAnSftpServer(DomainError):
    """The destination is not an SFTP server and has no host keys."""

    code = Code.RULE_VIOLATION
    template = _("Only SFTP servers have host keys.")


class HostKeysUnavailable(DomainError):
    """The server did not send its host keys."""

    code = Code.RULE_VIOLATION
    template = _("The server did not send its host keys: %(reason)s.")

    def __init__(self, code: UploadErrorCode) -> None:
        super().__init__(reason=code.label)
        self.upload_error = code


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """Result of a test upload: `code` says why it failed; `test_file_left`: the test file could not be deleted."""

    destination: ExportDestination
    code: UploadErrorCode | None
    test_file_left: bool = False


def add(*, params: DestinationParams, by: Principal, at: datetime) -> ExportDestination:
    """Add a destination.  Resolves its host name before the transaction begins.

    Raises:
        ScopeTooNarrow: the caller is limited to facilities or providers.
        InvalidInput: a value is invalid, or the name is taken.
        AddressBlocked: exports may not be sent there.
        TooManyDestinations: there are 50.
    """
    _check_scope(by)
    validation.check(params)
    secret = validation.secret_of(params, has_secret=False)
    validation.check_address(params)
    if ExportDestination.objects.visible_to(by).count() >= MAX_DESTINATIONS:
        raise TooManyDestinations
    destination = ExportDestination(created_by=by.actor, created_at=at, updated_at=at)
    with _unique_name(), transaction.atomic():
        _apply(destination, params, secret, by, at)
        destination.save(force_insert=True)
        _audit("destinations.add", destination, by)
    return destination


def change(
    *, destination_id: UUID, changes: Mapping[str, Any], expected_version: int | None, by: Principal, at: datetime
) -> ExportDestination:
    """Apply `changes`, by the field names of `DestinationParams`.

    A new address clears the host key and the agreement about rider data, unless `changes` include them, and requires
    the password again: otherwise a manager could have it sent to a server of their own.  Resolves a new host name
    before the transaction begins.

    Raises:
        NotFound: there is no such destination.
        StaleVersion: its version is not `expected_version`.
        ScopeTooNarrow, InvalidInput, AddressBlocked: as in `add`.
    """
    _check_scope(by)
    current = validation.params_of(get(destination_id, by))
    params = _changed(current, changes)
    moves = any(getattr(params, name) != getattr(current, name) for name in (*_ADDRESS, "path_style"))
    if params.kind != current.kind:
        raise InvalidInput("kind", _("%(field)s cannot be changed: add another destination."), detail_code="fixed")
    if moves:
        validation.check(params)
        validation.check_address(params)
    with _unique_name(), transaction.atomic():
        destination = _locked(destination_id, by, expected_version)
        current = validation.params_of(destination)
        params = _changed(current, changes)
        if params == current:
            return destination
        validation.check(params)
        secret = validation.secret_of(params, has_secret=_keeps_secret(current, params))
        _apply(destination, params, secret, by, at)
        destination.version += 1
        destination.updated_at = at
        destination.save()
        names = [field.name for field in fields(DestinationParams)]
        changed = [name for name in names if getattr(params, name) != getattr(current, name)]
        _audit("destinations.change", destination, by, changed=changed)
    return destination


@transaction.atomic
def remove(*, destination_id: UUID, expected_version: int | None = None, by: Principal, at: datetime) -> None:
    """Remove a destination and its secret; uploaded files stay.

    Raises:
        NotFound: there is no such destination.
        StaleVersion: its version is not `expected_version`.
        ScopeTooNarrow: as in `add`.
    """
    _check_scope(by)
    destination = _locked(destination_id, by, expected_version)
    destination.secret = ""
    destination.active, destination.deleted_at, destination.updated_at = False, at, at
    destination.version += 1
    destination.save(update_fields=["secret_encrypted", "active", "deleted_at", "updated_at", "version"])
    _audit("destinations.remove", destination, by)


def test(*, destination_id: UUID, by: Principal, at: datetime) -> ConnectionTest:
    """Upload a small file and delete it again, also if the destination is inactive; takes up to 25 seconds.

    Must not run inside a transaction.  A destination that accepts files but does not let us delete them passes the
    test; `carelane-test.txt` is left there.

    Raises:
        NotFound: there is no such destination.
        ScopeTooNarrow: as in `add`.
    """
    _check_scope(by)
    destination = get(destination_id, by)
    code, file_left = _upload_test_file(destination)
    rows = ExportDestination.objects.filter(pk=destination.pk)
    with transaction.atomic():
        rows.update(tested_at=at, test_code=code or "")
        _audit("destinations.test", destination, by, outcome=code.value if code else "ok")
        return ConnectionTest(rows.get(), code, file_left)


def host_keys(*, destination_id: UUID, by: Principal) -> list[HostKey]:
    """Get the host keys that a server presents, the preferred one first.  A person has to compare a fingerprint.

    Takes up to 20 seconds; must not run inside a transaction.

    Raises:
        NotFound: there is no such destination.
        NotAnSftpServer: it is a bucket.
        HostKeysUnavailable: no SSH server answers.
        ScopeTooNarrow: as in `add`.
    """
    _check_scope(by)
    destination = get(destination_id, by)
    if destination.kind != ExportDestination.Kind.SFTP:
        raise NotAnSftpServer
    try:
        return sftp.host_keys(destination.host, destination.port or 22, uploads.rules(), seconds=_SCAN_SECONDS)
    except UploadError as refusal:
        raise HostKeysUnavailable(refusal.code) from None


def get(destination_id: UUID, by: Principal) -> ExportDestination:
    """Return a destination.

    Raises:
        NotFound: there is no such destination.
    """
    destination = ExportDestination.objects.visible_to(by).filter(pk=destination_id).first()
    if destination is None:
        raise NotFound(_("export destination"))
    return destination


def _locked(destination_id: UUID, by: Principal, expected_version: int | None) -> ExportDestination:
    rows = ExportDestination.objects.visible_to(by).select_for_update(no_key=True)
    destination = rows.filter(pk=destination_id).first()
    if destination is None:
        raise NotFound(_("export destination"))
    if expected_version is not None and expected_version != destination.version:
        raise StaleVersion(destination.version)
    return destination


def _upload_test_file(destination: ExportDestination) -> tuple[UploadErrorCode | None, bool]:
    try:
        uploads.upload_file(destination, BytesIO(_TEST_TEXT), TEST_FILE, limits=_TEST_LIMITS)
    except UploadError as refusal:
        return refusal.code, False
    try:
        uploads.remove_file(destination, TEST_FILE, limits=_TEST_LIMITS)
    except UploadError:
        return None, True
    return None, False


def _changed(current: DestinationParams, changes: Mapping[str, Any]) -> DestinationParams:
    values = {field.name: changes.get(field.name, getattr(current, field.name)) for field in fields(DestinationParams)}
    if any(values[name] != getattr(current, name) for name in _ADDRESS):
        values["phi_agreement"] = changes.get("phi_agreement", False)
        if values["kind"] == ExportDestination.Kind.SFTP:
            values["host_key"] = changes.get("host_key", "")
    return DestinationParams(**values)


def _keeps_secret(current: DestinationParams, params: DestinationParams) -> bool:
    if params.sign_in != current.sign_in:
        return False
    # Access keys and private keys only sign; a password is sent to the server.
    is_sent = params.sign_in == ExportDestination.SignIn.PASSWORD
    return not is_sent or (params.host, params.port) == (current.host, current.port)


def _apply(
    destination: ExportDestination, params: DestinationParams, secret: str | None, by: Principal, at: datetime
) -> None:
    has_moved = any(getattr(destination, name) != getattr(params, name) for name in _ADDRESS)
    for field in fields(DestinationParams):
        if field.name not in ("secret", "phi_agreement"):
            setattr(destination, field.name, getattr(params, field.name))
    if params.host_key:
        destination.host_key = " ".join(params.host_key.split()[:2])  # without its comment
    if secret is not None:
        destination.secret = secret
    if not params.phi_agreement:
        destination.phi_agreed_at, destination.phi_agreed_by = None, ""
    elif has_moved or destination.phi_agreed_at is None:
        destination.phi_agreed_at, destination.phi_agreed_by = at, by.actor


@contextmanager
def _unique_name() -> Iterator[None]:
    """Translate a violation of the unique name.

    Raises:
        InvalidInput: another destination has the name.
    """
    try:
        yield
    except IntegrityError as refusal:
        if constraint_of(refusal) != "export_destination_name_once":
            raise
        raise InvalidInput(
            "name", _("%(field)s is already used by another destination."), detail_code="taken"
        ) from None


def _check_scope(by: Principal) -> None:
    if by.is_bound:
        raise ScopeTooNarrow


def _audit(action: str, destination: ExportDestination, by: Principal, **details: Any) -> None:
    audit.record(by=by, action=action, subject_type="export_destination", subject_id=destination.pk, details=details)
