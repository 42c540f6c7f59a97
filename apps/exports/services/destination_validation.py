"""Validation of export destinations."""

import re
from dataclasses import dataclass, field
from typing import Final

from django.utils.translation import gettext_lazy as _

from apps.exports.destinations import ssh_keys
from apps.exports.destinations.names import is_folder
from apps.exports.models import ExportDestination
from apps.exports.services import uploads
from lib.api.serializers import camel
from lib.control_characters import has_control
from lib.errors import Code, Detail, DomainError, InvalidInput
from lib.messages import Template
from lib.outbound import BadUrl, Blocked, NameUnknown, allowed_addresses, check_form, check_host

DestinationKind, SignIn = ExportDestination.Kind, ExportDestination.SignIn

# Amazon S3 User Guide, "Bucket naming rules"; older and other services also allow underscores and capitals.
_BUCKET: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,61}[A-Za-z0-9]", re.ASCII)
_REGION: Final = re.compile(r"[a-z0-9-]{1,40}", re.ASCII)
_USERNAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,127}", re.ASCII)  # no characters that are special to ssh
_MAX_SECRET: Final = 20_000  # characters
# Fields of one type of destination: empty for the other.
BUCKET_FIELDS: Final = ("endpoint_url", "region", "bucket", "path_style")
SERVER_FIELDS: Final = ("host", "port", "host_key")


class AddressBlocked(DomainError):
    """Exports may not be sent to this scheme, port, host name or address."""

    code = Code.ENDPOINT_URL_BLOCKED

    def __init__(self, field_name: str, detail_code: str, message: Template) -> None:
        detail = Detail(field=field_name, code=detail_code, message=message)
        super().__init__(detail.text, details=[detail])


@dataclass(frozen=True, slots=True)
class DestinationParams:
    """Settings of a destination; `secret` None keeps the current secret, or generates a private key."""

    kind: str
    name: str
    username: str
    sign_in: str
    description: str = ""
    active: bool = True
    folder: str = ""
    endpoint_url: str = ""
    region: str = ""
    bucket: str = ""
    path_style: bool = False
    host: str = ""
    port: int | None = None
    host_key: str = ""
    phi_agreement: bool = False
    secret: str | None = field(default=None, repr=False)


def params_of(destination: ExportDestination) -> DestinationParams:
    """Return the settings of a destination without its secret."""
    return DestinationParams(
        kind=destination.kind,
        name=destination.name,
        username=destination.username,
        sign_in=destination.sign_in,
        description=destination.description,
        active=destination.active,
        folder=destination.folder,
        endpoint_url=destination.endpoint_url,
        region=destination.region,
        bucket=destination.bucket,
        path_style=destination.path_style,
        host=destination.host,
        port=destination.port,
        host_key=destination.host_key,
        phi_agreement=destination.phi_agreed_at is not None,
    )


def check(params: DestinationParams) -> None:
    """Check settings except secret and address.

    Raises:
        InvalidInput: a value is invalid, or belongs to the other type of destination.
    """
    is_bucket = params.kind == DestinationKind.S3
    for name in SERVER_FIELDS if is_bucket else BUCKET_FIELDS:
        if getattr(params, name):
            message = _("%(field)s is a field of the other kind of destination.")
            raise InvalidInput(camel(name), message, detail_code="other_kind")
    if (params.sign_in == SignIn.SECRET_KEY) != is_bucket:
        raise InvalidInput("signIn", _("%(field)s does not fit this kind of destination."), detail_code="other_kind")
    if has_control(params.name):
        raise InvalidInput("name", _("%(field)s must not contain control characters."), detail_code="control")
    if not is_folder(params.folder, absolute=not is_bucket):
        message = _("%(field)s must be names separated by / of only letters, digits, spaces and . _ - = + @ ,")
        raise InvalidInput("folder", message)
    if not _USERNAME.fullmatch(params.username):
        raise InvalidInput("username", _("%(field)s must have only letters, digits and . _ - + @"))
    if is_bucket:
        _check_bucket(params)
    else:
        _check_server(params)


def _check_bucket(params: DestinationParams) -> None:
    if not _BUCKET.fullmatch(params.bucket) or ".." in params.bucket:
        raise InvalidInput("bucket", _("%(field)s must be 3 to 63 letters, digits, dots and hyphens."))
    if not _REGION.fullmatch(params.region):
        raise InvalidInput("region", _("%(field)s must be lowercase letters, digits and hyphens, such as us-east-1."))


def _check_server(params: DestinationParams) -> None:
    port = params.port or 0
    if port != 22 and not 1024 <= port <= 65_535:
        raise InvalidInput("port", _("%(field)s must be 22, or 1024 to 65535."))
    if params.host_key:
        try:
            ssh_keys.host_key(params.host_key)
        except ssh_keys.BadKey:
            message = _("%(field)s must be the type and base64 of a public key, as in known_hosts.")
            raise InvalidInput("hostKey", message, detail_code="bad_key") from None


def secret_of(params: DestinationParams, *, has_secret: bool) -> str | None:
    """Check the secret and return it as it is stored; None to keep the current one (`has_secret`).

    Raises:
        InvalidInput: it is invalid or missing.
    """
    if params.secret is None:
        if has_secret:
            return None
        if params.sign_in == SignIn.PRIVATE_KEY:
            return ssh_keys.new_private_key()
        raise InvalidInput("secret", _("%(field)s is required."), detail_code="required")
    if params.sign_in != SignIn.PRIVATE_KEY:
        if not params.secret or has_control(params.secret) or len(params.secret) > _MAX_SECRET:
            raise InvalidInput("secret", _("%(field)s must be one line of text."))
        return params.secret
    try:
        return ssh_keys.private_key(params.secret[: _MAX_SECRET + 1])
    except ssh_keys.BadKey as fault:
        if fault.locked:
            message = _("%(field)s must be a private key without a passphrase. Carelane stores it encrypted.")
            raise InvalidInput("secret", message, detail_code="has_passphrase") from None
        message = _("%(field)s must be a private key in OpenSSH or PEM format.")
        raise InvalidInput("secret", message, detail_code="bad_key") from None


def check_address(params: DestinationParams) -> None:
    """Check the address, with a DNS lookup.

    Raises:
        AddressBlocked: exports may not be sent there.
    """
    name = "endpointUrl" if params.kind == DestinationKind.S3 else "host"
    try:
        host, port = _host_and_port(params)
        allowed_addresses(host, port, uploads.rules())
    except BadUrl as refusal:
        raise AddressBlocked(name, "form", refusal.text) from None
    except NameUnknown:
        raise AddressBlocked(name, "unresolvable", _("%(field)s must have a host name that resolves.")) from None
    except Blocked:
        raise AddressBlocked(name, "address", _("%(field)s leads to an address that exports may not reach.")) from None


def _host_and_port(params: DestinationParams) -> tuple[str, int]:
    """Check the form of the address; return the host and port to connect to.

    Raises:
        BadUrl, Blocked: as in lib/outbound.py.
    """
    rules = uploads.rules()
    if params.kind == DestinationKind.SFTP:
        check_host(params.host, rules)
        return params.host, params.port or 22
    parts = check_form(params.endpoint_url, rules)
    if parts.path.strip("/") or parts.query:
        raise BadUrl(_("%(field)s must have no path and no query: the bucket has a field of its own."))
    host = parts.hostname or ""
    if not params.path_style:
        host = f"{params.bucket}.{host}"
        check_host(host, rules)
    return host, parts.port or 443
