"""Destinations of exports as people and integrators keep them: added, changed, tried, taken away."""

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

MAX_DESTINATIONS: Final = 50  # destinations
TEST_FILE: Final = "carelane-test.txt"
_TEST_TEXT: Final = b"Carelane can put files here. This one may be deleted.\n"
_TEST_LIMITS: Final = Limits(connect=5.0, read=8.0, whole=12.0)  # somebody waits
_SCAN_SECONDS: Final = 20
# What says where files go; whoever changes that says anew what was entrusted to the place before.
_PLACE: Final = ("endpoint_url", "bucket", "host", "port")


class TooManyDestinations(DomainError):
    """There are as many as there may be."""

    code = Code.RULE_VIOLATION
    template = _("There are already %(most)s destinations, which is the limit.")

    def __init__(self) -> None:
        super().__init__(most=MAX_DESTINATIONS)


class ScopeTooNarrow(DomainError):
    """Exports of everybody go there: whoever decides on it reaches everything."""

    code = Code.FORBIDDEN
    template = _("Managing destinations requires access to all facilities and providers.")


class NotAServer(DomainError):
    """Only servers of SFTP have host keys."""

    code = Code.RULE_VIOLATION
    template = _("Only SFTP servers have host keys.")


class HostKeysUnavailable(DomainError):
    """The server did not tell its host keys; the detail has the code of why."""

    code = Code.RULE_VIOLATION
    template = _("The server did not tell its host keys: %(reason)s.")

    def __init__(self, code: UploadErrorCode) -> None:
        super().__init__(reason=code.label)
        self.why = code


@dataclass(frozen=True, slots=True)
class ConnectionTest:
    """Result of a test upload: `code` says why it failed; `test_file_left`: the test file could not be deleted."""

    destination: ExportDestination
    code: UploadErrorCode | None
    test_file_left: bool = False


def add(*, params: DestinationParams, by: Principal, at: datetime) -> ExportDestination:
    """Add a destination.  Looks its name up, before any transaction.

    Raises:
        ScopeTooNarrow: the caller is bound to facilities or providers.
        InvalidInput: a value is none, or the name is taken.
        AddressBlocked: exports may not go there.
        TooManyDestinations: there are 50.
    """
    _check_scope(by)
    validation.check(params)
    secret = validation.secret_of(params, kept=False)
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
    """Change what is named in `changes`, in the fields of `DestinationParams`.

    Another address drops the host key and the agreement about rider data, unless `changes` name them, and wants the
    password anew: nobody is to have it sent to a server of their own.  Looks a new name up, before any transaction of
    its own.

    Raises:
        NotFound: there is no such destination.
        StaleVersion: it is not at `expected_version`.
        ScopeTooNarrow, InvalidInput, AddressBlocked: as in `add`.
    """
    _check_scope(by)
    was = validation.params_of(get(destination_id, by))
    params = _changed(was, changes)
    moves = any(getattr(params, name) != getattr(was, name) for name in (*_PLACE, "path_style"))
    if params.kind != was.kind:
        raise InvalidInput("kind", _("%(field)s cannot be changed: add another destination."), detail_code="fixed")
    if moves:
        validation.check(params)
        validation.check_address(params)
    with _unique_name(), transaction.atomic():
        destination = _locked(destination_id, by, expected_version)
        was = validation.params_of(destination)
        params = _changed(was, changes)
        if params == was:
            return destination
        validation.check(params)
        secret = validation.secret_of(params, kept=_keeps_secret(was, params))
        _apply(destination, params, secret, by, at)
        destination.version += 1
        destination.updated_at = at
        destination.save()
        changed = [one.name for one in fields(DestinationParams) if getattr(params, one.name) != getattr(was, one.name)]
        _audit("destinations.change", destination, by, changed=changed)
    return destination


@transaction.atomic
def remove(*, destination_id: UUID, expected_version: int | None = None, by: Principal, at: datetime) -> None:
    """Put nothing there any more, and destroy its secret; what was put there stays.

    Raises:
        NotFound: there is no such destination.
        StaleVersion: it is not at `expected_version`.
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
    """Put a small file there and take it away again, whether the destination is active or not; within 25 seconds.

    Wants no transaction around it.  A place that lets us put files and not delete them is as good: what is left is
    `carelane-test.txt`.

    Raises:
        NotFound: there is no such destination.
        ScopeTooNarrow: as in `add`.
    """
    _check_scope(by)
    destination = get(destination_id, by)
    code, left = _upload_test_file(destination)
    rows = ExportDestination.objects.filter(pk=destination.pk)
    with transaction.atomic():
        rows.update(tested_at=at, test_code=code or "")
        _audit("destinations.test", destination, by, outcome=code.value if code else "ok")
        return ConnectionTest(rows.get(), code, left)


def host_keys(*, destination_id: UUID, by: Principal) -> list[HostKey]:
    """Ask a server for its host keys, the one to agree on first.  Somebody has to compare its fingerprint.

    Takes 20 seconds at the most; wants no transaction around it.

    Raises:
        NotFound: there is no such destination.
        NotAServer: it is a bucket.
        HostKeysUnavailable: nobody answers there who speaks SSH.
        ScopeTooNarrow: as in `add`.
    """
    _check_scope(by)
    destination = get(destination_id, by)
    if destination.kind != ExportDestination.Kind.SFTP:
        raise NotAServer
    try:
        return sftp.host_keys(destination.host, destination.port or 22, uploads.rules(), seconds=_SCAN_SECONDS)
    except UploadError as refusal:
        raise HostKeysUnavailable(refusal.code) from None


def get(destination_id: UUID, by: Principal) -> ExportDestination:
    """Read a destination.

    Raises:
        NotFound: there is none.
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


def _changed(was: DestinationParams, changes: Mapping[str, Any]) -> DestinationParams:
    """Say what is params after changes; another place begins without what was entrusted to the one before."""
    values = {one.name: changes.get(one.name, getattr(was, one.name)) for one in fields(DestinationParams)}
    if any(values[name] != getattr(was, name) for name in _PLACE):
        values["phi_agreement"] = changes.get("phi_agreement", False)
        if values["kind"] == ExportDestination.Kind.SFTP:
            values["host_key"] = changes.get("host_key", "")
    return DestinationParams(**values)


def _keeps_secret(was: DestinationParams, params: DestinationParams) -> bool:
    if params.sign_in != was.sign_in:
        return False
    # Requests to buckets are signed, and a private key signs: neither is told.
    told = params.sign_in == ExportDestination.SignIn.PASSWORD
    return not told or (params.host, params.port) == (was.host, was.port)


def _apply(
    destination: ExportDestination, params: DestinationParams, secret: str | None, by: Principal, at: datetime
) -> None:
    moved = any(getattr(destination, name) != getattr(params, name) for name in _PLACE)
    for one in fields(DestinationParams):
        if one.name not in ("secret", "phi_agreement"):
            setattr(destination, one.name, getattr(params, one.name))
    if params.host_key:
        destination.host_key = " ".join(params.host_key.split()[:2])  # without its comment
    if secret is not None:
        destination.secret = secret
    if not params.phi_agreement:
        destination.phi_agreed_at, destination.phi_agreed_by = None, ""
    elif moved or destination.phi_agreed_at is None:
        destination.phi_agreed_at, destination.phi_agreed_by = at, by.actor


@contextmanager
def _unique_name() -> Iterator[None]:
    """Turn what the database says of a name that is taken into a word to the caller."""
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
