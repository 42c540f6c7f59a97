"""Serializers of export destinations.  Secrets are write-only."""

from typing import Any, ClassVar, Final

from apps.exports.models import ExportDestination
from apps.exports.models.destinations import UploadErrorCode
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import In, Out, OutShape
from lib.api.unpaginated import WholePageOut

_CREDENTIAL_HELP: Final = (
    "The secret access key, the password, or a private key in OpenSSH or PEM format without passphrase. If it is"
    " omitted with `private_key`, a key pair is generated: add `publicKey` to the server. Responses never contain it."
)


class DestinationQuery(PageQuery):
    active = fields.Boolean(required=False)


class DestinationChangesIn(In):
    name = fields.Text(max_length=100)
    description = fields.Text(max_length=500, default="", allow_blank=True)
    active = fields.Boolean(default=True)
    folder = fields.Text(
        max_length=500,
        default="",
        allow_blank=True,
        help_text="Prefix of object keys, or path on the server: names separated by `/`. On a server it must exist.",
    )
    username = fields.Text(max_length=128, help_text="User name, or the access key id of a bucket.")
    sign_in = fields.Choice(choices=ExportDestination.SignIn.choices, help_text="Type of `secret`.")
    secret = fields.Text(
        max_length=20_000, required=False, multiline=True, trim_whitespace=False, help_text=_CREDENTIAL_HELP
    )
    endpoint_url = fields.Text(
        max_length=500,
        default="",
        allow_blank=True,
        help_text="Buckets only: https URL of the service, without the bucket.",
    )
    region = fields.Text(max_length=40, default="", allow_blank=True)
    bucket = fields.Text(max_length=63, default="", allow_blank=True)
    path_style = fields.Boolean(
        default=False, help_text="The bucket is in the path of the URL, as with MinIO, not in the host name."
    )
    host = fields.Text(max_length=253, default="", allow_blank=True, help_text="Servers only.")
    port = fields.Integer(min_value=1, max_value=65_535, required=False, allow_null=True)
    host_key = fields.Text(
        max_length=2_000,
        default="",
        allow_blank=True,
        help_text="Type and base64, as in known_hosts. No file is uploaded to a server with another key.",
    )
    phi_agreement = fields.Boolean(
        default=False, help_text="Rider data may be sent there. The caller and the time are recorded."
    )

    example: ClassVar[dict[str, Any]] = {
        "name": "Claims bucket",
        "folder": "carelane",
        "username": "AKIAIOSFODNN7EXAMPLE",
        "signIn": "secret_key",
        "secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",  # gitleaks:allow  # from the AWS documentation
        "endpointUrl": "https://s3.us-east-1.amazonaws.com",
        "region": "us-east-1",
        "bucket": "claims",
    }


class DestinationIn(DestinationChangesIn):
    kind = fields.Choice(choices=ExportDestination.Kind.choices)

    example: ClassVar[dict[str, Any]] = {"kind": "s3", **DestinationChangesIn.example}


class DestinationOut(Out):
    """A destination of exports, without its secret."""

    kind = fields.Choice(choices=ExportDestination.Kind.choices)
    sign_in = fields.Choice(choices=ExportDestination.SignIn.choices)
    port = fields.Integer(allow_null=True)
    fingerprint = fields.Text(
        help_text="Fingerprint of the host key, as `ssh-keygen -l` prints it; empty without a host key."
    )
    phi_agreed_at = fields.Instant(allow_null=True)
    tested_at = fields.Instant(allow_null=True)
    test_code = fields.Text(help_text="Why the last test failed; empty if it succeeded or there was none.")
    sent_at = fields.Instant(allow_null=True, help_text="Time of the last successful upload.")
    failed_at = fields.Instant(allow_null=True, help_text="Time of the last failed upload.")
    failure_code = fields.Text(help_text=f"Why it failed: {', '.join(f'`{code.value}`' for code in UploadErrorCode)}.")

    example: ClassVar[dict[str, Any]] = {
        "kind": "s3",
        "name": "Claims bucket",
        "description": "",
        "active": True,
        "folder": "carelane",
        "username": "AKIAIOSFODNN7EXAMPLE",
        "signIn": "secret_key",
        "endpointUrl": "https://s3.us-east-1.amazonaws.com",
        "region": "us-east-1",
        "bucket": "claims",
        "pathStyle": False,
        "host": "",
        "port": None,
        "hostKey": "",
        "fingerprint": "",
        "testCode": "",
        "failureCode": "",
    }

    class Meta:
        model = ExportDestination
        fields = (
            "id",
            "kind",
            "name",
            "description",
            "active",
            "folder",
            "username",
            "sign_in",
            "endpoint_url",
            "region",
            "bucket",
            "path_style",
            "host",
            "port",
            "host_key",
            "fingerprint",
            "phi_agreed_at",
            "phi_agreed_by",
            "tested_at",
            "test_code",
            "sent_at",
            "failed_at",
            "failure_code",
            "version",
            "created_by",
            "created_at",
            "updated_at",
        )


class DestinationWithKeyOut(DestinationOut):
    """A destination with its public key."""

    public_key = fields.Text(
        help_text="Line for authorized_keys on the server; empty unless it signs in by private key."
    )

    example: ClassVar[dict[str, Any]] = {**DestinationOut.example, "publicKey": ""}

    class Meta:
        model = ExportDestination
        fields = (*DestinationOut.Meta.fields, "public_key")


class ConnectionTestOut(OutShape):
    """Result of a test upload."""

    code = fields.Text(
        allow_null=True, help_text="Why it failed, with the codes of `failureCode`; null if it succeeded."
    )
    test_file_left = fields.Boolean(
        help_text="`carelane-test.txt` was uploaded but could not be deleted; uploading is enough for exports."
    )

    example: ClassVar[dict[str, Any]] = {"code": None, "testFileLeft": False}


class HostKeyOut(OutShape):
    """A host key that a server presents. Compare its fingerprint with one that you received another way."""

    host_key = fields.Text(source="*")
    fingerprint = fields.Text()

    example: ClassVar[dict[str, Any]] = {
        "hostKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDmwm0lrV6v4oe/QXajrYz83drreKabLmpIkrQD0Rp+x",
        "fingerprint": "SHA256:hvLo1cWbQ1zj0zKZ9cZ2cU1i4bZ0XoOUZ8gZ7uJY7xE",
    }


class HostKeysOut(OutShape):
    """Host keys of a server, the preferred one first."""

    data = HostKeyOut(many=True)  # type: ignore[assignment]  # hides an attribute of the serializer
    page = WholePageOut()
