"""Why an upload failed, in codes that do not depend on the server's texts, and how long an upload may take."""

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext_lazy as _

from lib.choices import TextChoices


class UploadErrorCode(TextChoices):
    """Why a file could not be uploaded."""

    UNREACHABLE = "unreachable", _("it does not respond")
    NAME_UNKNOWN = "name_unknown", _("the host name is unknown")
    ADDRESS_REFUSED = "address_refused", _("its address is not allowed")
    TLS_FAILED = "tls_failed", _("its certificate is not valid")
    NO_HOST_KEY = "no_host_key", _("no host key is trusted")
    HOST_KEY_CHANGED = "host_key_changed", _("its host key has changed")
    NOT_AUTHORIZED = "not_authorized", _("access was denied")
    NO_SUCH_BUCKET = "no_such_bucket", _("there is no such bucket")
    NO_SUCH_FOLDER = "no_such_folder", _("there is no such folder")
    NO_SPACE = "no_space", _("it has no space left")
    TIMED_OUT = "timed_out", _("it took too long")
    REDIRECTED = "redirected", _("it redirects to another address")
    DAMAGED = "damaged", _("the file was damaged on the way")
    REFUSED = "refused", _("it refused the file")
    BUSY = "busy", _("it is temporarily unavailable")
    SWITCHED_OFF = "switched_off", _("uploads are disabled")
    SECRET_UNREADABLE = "secret_unreadable", _("its secret cannot be decrypted")


# Temporary failures, after which the upload is tried again.
_TEMPORARY: Final = frozenset(
    {
        UploadErrorCode.UNREACHABLE,
        UploadErrorCode.NAME_UNKNOWN,
        UploadErrorCode.NO_SPACE,
        UploadErrorCode.TIMED_OUT,
        UploadErrorCode.DAMAGED,
        UploadErrorCode.BUSY,
    }
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits in seconds: to connect, between two responses of the server, and for the whole upload.

    A task that uploads a file may run for 26 minutes (apps/exports/tasks.py).
    """

    connect: float = 10.0
    read: float = 60.0
    total: float = 1_200.0


class UploadError(Exception):
    """The file did not arrive under its name; `retryable`: the same upload may succeed later."""

    def __init__(self, code: UploadErrorCode, *, retryable: bool | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.retryable = code in _TEMPORARY if retryable is None else retryable
