"""Shapes of destinations of exports.  Secrets are written, and in no answer."""

from typing import Any, ClassVar, Final

from apps.exports.models import ExportDestination
from apps.exports.models.destinations import UploadErrorCode
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import In, Out, OutShape
from lib.api.unpaginated import WholePageOut

_SEALED_HELP: Final = (
    "The secret key of the access key, the password, or a private key of OpenSSH or PEM without passphrase. Left out"
    " with `private_key`, one is made: have `publicKey` let in. It is in no answer."
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
        help_text="What keys begin with, or a path: names with `/` between. Of a server it has to be there.",
    )
    username = fields.Text(max_length=128, help_text="The access key id of a bucket.")
    sign_in = fields.Choice(choices=ExportDestination.SignIn.choices, help_text="What `secret` is.")
    secret = fields.Text(
        max_length=20_000, required=False, multiline=True, trim_whitespace=False, help_text=_SEALED_HELP
    )
    endpoint_url = fields.Text(
        max_length=500, default="", allow_blank=True, help_text="Of buckets: https, without the bucket."
    )
    region = fields.Text(max_length=40, default="", allow_blank=True)
    bucket = fields.Text(max_length=63, default="", allow_blank=True)
    path_style = fields.Boolean(default=False, help_text="The bucket stands in the path, as MinIO has it.")
    host = fields.Text(max_length=253, default="", allow_blank=True, help_text="Of servers.")
    port = fields.Integer(min_value=1, max_value=65_535, required=False, allow_null=True)
    host_key = fields.Text(
        max_length=2_000,
        default="",
        allow_blank=True,
        help_text="Type and base64, as in known_hosts. Nothing is put on a server that shows another one.",
    )
    phi_agreement = fields.Boolean(
        default=False, help_text="That rider data may go there; who said so, and when, is recorded."
    )

    example: ClassVar[dict[str, Any]] = {
        "name": "Claims bucket",
        "folder": "carelane",
        "username": "AKIAIOSFODNN7EXAMPLE",
        "signIn": "secret_key",
        "secret": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",  # gitleaks:allow  # of AWS's own documents
        "endpointUrl": "https://s3.us-east-1.amazonaws.com",
        "region": "us-east-1",
        "bucket": "claims",
    }


class DestinationIn(DestinationChangesIn):
    kind = fields.Choice(choices=ExportDestination.Kind.choices)

    example: ClassVar[dict[str, Any]] = {"kind": "s3", **DestinationChangesIn.example}


class DestinationOut(Out):
    """Where exports are put. Its secret is not shown."""

    kind = fields.Choice(choices=ExportDestination.Kind.choices)
    sign_in = fields.Choice(choices=ExportDestination.SignIn.choices)
    port = fields.Integer(allow_null=True)
    fingerprint = fields.Text(help_text="Of the host key, as `ssh-keygen -l` has it; empty where none is agreed on.")
    phi_agreed_at = fields.Instant(allow_null=True)
    tested_at = fields.Instant(allow_null=True)
    test_code = fields.Text(help_text="Why the last test failed; empty where it worked, or there was none.")
    sent_at = fields.Instant(allow_null=True, help_text="When a file was last put there.")
    failed_at = fields.Instant(allow_null=True, help_text="When that last failed.")
    failure_code = fields.Text(help_text=f"Why it did: {', '.join(f'`{code.value}`' for code in UploadErrorCode)}.")

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
    """One destination."""

    public_key = fields.Text(help_text="The line that lets us in, for authorized_keys; empty without a private key.")

    example: ClassVar[dict[str, Any]] = {**DestinationOut.example, "publicKey": ""}

    class Meta:
        model = ExportDestination
        fields = (*DestinationOut.Meta.fields, "public_key")


class ConnectionTestOut(OutShape):
    """Result of a test upload."""

    code = fields.Text(allow_null=True, help_text="Why it failed, as `failureCode`; null: it worked.")
    test_file_left = fields.Boolean(
        help_text="`carelane-test.txt` was uploaded but could not be deleted; uploading is enough for exports."
    )

    example: ClassVar[dict[str, Any]] = {"code": None, "testFileLeft": False}


class HostKeyOut(OutShape):
    """A key that a server shows. Compare its fingerprint with what its operator tells you by another way."""

    host_key = fields.Text(source="*")
    fingerprint = fields.Text()

    example: ClassVar[dict[str, Any]] = {
        "hostKey": "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDmwm0lrV6v4oe/QXajrYz83drreKabLmpIkrQD0Rp+x",
        "fingerprint": "SHA256:hvLo1cWbQ1zj0zKZ9cZ2cU1i4bZ0XoOUZ8gZ7uJY7xE",
    }


class HostKeysOut(OutShape):
    """Host keys, the one to agree on first."""

    data = HostKeyOut(many=True)  # type: ignore[assignment]  # what a serializer has of that name is hidden
    page = WholePageOut()
