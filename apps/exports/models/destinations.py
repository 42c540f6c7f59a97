"""Destinations to which exports are uploaded: S3 buckets and SFTP servers."""

from cryptography.exceptions import InvalidTag
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.exports.destinations.errors import UploadErrorCode as UploadErrorCode
from apps.exports.destinations.ssh_keys import host_key, public_line
from lib.access import Phi, Principal
from lib.choices import TextChoices
from lib.crypto import encrypted_text
from lib.ids import uuid7


class ExportDestinationQuerySet(models.QuerySet["ExportDestination"]):
    def visible_to(self, principal: Principal) -> "ExportDestinationQuerySet":
        """Select existing destinations: they belong to the operator, and every caller sees the same."""
        return self.filter(deleted_at__isnull=True)

    def active(self) -> "ExportDestinationQuerySet":
        """Select destinations that files can be uploaded to."""
        return self.filter(deleted_at__isnull=True, active=True)


class ExportDestination(models.Model):
    """A bucket or server that export files are uploaded to.

    Columns of the other kind are empty.  `secret` is the secret access key of a bucket, a password, or an SSH private
    key without passphrase in OpenSSH format.
    """

    class Kind(TextChoices):
        S3 = "s3", _("S3 bucket")
        SFTP = "sftp", _("SFTP server")

    class SignIn(TextChoices):
        """Type of `secret`."""

        SECRET_KEY = "secret_key", _("secret key")
        PASSWORD = "password", _("password")
        PRIVATE_KEY = "private_key", _("private key")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid7, editable=False)
    kind = models.CharField(_("kind"), max_length=4, choices=Kind)
    name = models.CharField(_("name"), max_length=100)
    description = models.CharField(_("description"), max_length=500, blank=True)
    active = models.BooleanField(_("active"), default=True)
    folder = models.CharField(
        _("folder"), max_length=500, blank=True
    )  # prefix of object keys, or path; without a trailing slash
    username = models.CharField(_("username"), max_length=128)  # access key id of a bucket
    sign_in = models.CharField(_("sign in"), max_length=11, choices=SignIn)
    secret_encrypted = models.BinaryField(_("secret encrypted"), null=True)  # null: the destination was removed
    # Buckets only.
    endpoint_url = models.CharField(_("endpoint url"), max_length=500, blank=True)  # without the bucket
    region = models.CharField(_("region"), max_length=40, blank=True)
    bucket = models.CharField(_("bucket"), max_length=63, blank=True)
    path_style = models.BooleanField(
        _("path style"), default=False
    )  # the bucket is in the path and not in the host name
    # Servers only.
    host = models.CharField(_("host"), max_length=253, blank=True)
    port = models.PositiveIntegerField(_("port"), null=True)
    host_key = models.CharField(
        _("host key"), max_length=2000, blank=True
    )  # type and base64, as in known_hosts; "": no key is trusted
    # Who confirmed the agreement about rider data, and when.
    phi_agreed_by = models.CharField(_("phi agreed by"), max_length=60, blank=True)
    phi_agreed_at = models.DateTimeField(_("phi agreed at"), null=True)
    # Results of the last test and of the last uploads; codes are values of UploadErrorCode.
    tested_at = models.DateTimeField(_("tested at"), null=True)
    test_code = models.CharField(_("test code"), max_length=20, blank=True)  # "": it succeeded
    sent_at = models.DateTimeField(_("sent at"), null=True)
    failed_at = models.DateTimeField(_("failed at"), null=True)
    failure_code = models.CharField(_("failure code"), max_length=20, blank=True)  # at `failed_at`
    version = models.PositiveIntegerField(_("version"), default=1)  # counts changes of settings, not uploads
    created_by = models.CharField(_("created by"), max_length=60)
    created_at = models.DateTimeField(_("created at"))
    updated_at = models.DateTimeField(_("updated at"))
    deleted_at = models.DateTimeField(_("deleted at"), null=True)

    secret = encrypted_text("secret")

    objects = ExportDestinationQuerySet.as_manager()

    class Meta:
        verbose_name = _("export destination")
        verbose_name_plural = _("export destinations")
        constraints = [
            models.CheckConstraint(
                name="export_destination_is_of_its_kind",
                condition=Q(
                    kind="s3",
                    sign_in="secret_key",
                    host="",
                    port__isnull=True,
                    host_key="",
                )
                & ~Q(endpoint_url="")
                & ~Q(bucket="")
                | Q(
                    kind="sftp",
                    sign_in__in=["password", "private_key"],
                    endpoint_url="",
                    region="",
                    bucket="",
                    path_style=False,
                    port__gte=1,
                    port__lte=65_535,
                )
                & ~Q(host=""),
            ),
            models.CheckConstraint(
                name="export_destination_removed_is_off",
                condition=Q(deleted_at__isnull=True, secret_encrypted__isnull=False)
                | Q(deleted_at__isnull=False, secret_encrypted__isnull=True, active=False),
            ),
            models.CheckConstraint(
                name="export_destination_agreed_by_whom",
                condition=Q(phi_agreed_at__isnull=True, phi_agreed_by="")
                | Q(phi_agreed_at__isnull=False) & ~Q(phi_agreed_by=""),
            ),
            # Users choose destinations by name.
            models.UniqueConstraint(
                name="export_destination_name_once", fields=["name"], condition=Q(deleted_at__isnull=True)
            ),
        ]
        indexes = [models.Index(fields=["-created_at", "id"], name="export_destination_newest")]

    def __str__(self) -> str:
        return f"export destination {self.pk}"

    @property
    def place(self) -> str:
        """Return the address for display, without secrets."""
        if self.kind == self.Kind.S3:
            return f"{self.endpoint_url} {'/'.join(filter(None, (self.bucket, self.folder)))}"
        folder = f" {self.folder}" if self.folder else ""
        return f"{self.username}@{self.host}:{self.port}{folder}"

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the trusted host key, as `ssh-keygen -l` prints it; "" without one."""
        return host_key(self.host_key).fingerprint if self.host_key else ""

    @property
    def public_key(self) -> str:
        """Return the line for authorized_keys; "" without a private key, or if the secret cannot be decrypted."""
        if self.sign_in != self.SignIn.PRIVATE_KEY:
            return ""
        try:
            return public_line(self.secret, "carelane")
        except (KeyError, InvalidTag):
            return ""

    def accepts(self, phi: Phi) -> bool:
        """Return whether exports of this PHI level may be sent there: rider data requires an agreement."""
        return phi == Phi.NONE or self.phi_agreed_at is not None
