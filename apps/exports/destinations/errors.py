"""Why an upload failed, in codes that do not depend on the other side's texts, and how long an upload may take."""

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext_lazy as _

from lib.choices import TextChoices


class UploadErrorCode(TextChoices):
    """Why a file could not be uploaded."""

    UNREACHABLE = "unreachable", _("nobody answers there")
    NAME_UNKNOWN = "name_unknown", _("the host name is unknown")
    ADDRESS_REFUSED = "address_refused", _("it lies where nothing may be sent")
    TLS_FAILED = "tls_failed", _("its certificate does not hold")
    NO_HOST_KEY = "no_host_key", _("no host key has been agreed on")
    HOST_KEY_CHANGED = "host_key_changed", _("its host key is not the one agreed on")
    NOT_AUTHORIZED = "not_authorized", _("it does not let us in, or not do this")
    NO_SUCH_BUCKET = "no_such_bucket", _("there is no such bucket")
    NO_SUCH_FOLDER = "no_such_folder", _("there is no such folder")
    NO_SPACE = "no_space", _("it has no room left")
    TIMED_OUT = "timed_out", _("it took too long")
    REDIRECTED = "redirected", _("it sends us to another address")
    DAMAGED = "damaged", _("what arrived is not what was sent")
    REFUSED = "refused", _("it refuses")
    BUSY = "busy", _("it has trouble of its own for now")
    SWITCHED_OFF = "switched_off", _("it is switched off here")
    SECRET_UNREADABLE = "secret_unreadable", _("its secret cannot be opened any more")


# Failures that may pass without anybody acting: the upload is tried again.
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
    """Time limits in seconds: to connect, between two signs of life of the other side, and for the whole upload.

    A task that uploads a file may run for 26 minutes (apps/exports/tasks.py).
    """

    connect: float = 10.0
    read: float = 60.0
    whole: float = 1_200.0


class UploadError(Exception):
    """The file did not arrive under its name; `retryable`: the same upload may succeed later without anybody acting."""

    def __init__(self, code: UploadErrorCode, *, retryable: bool | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.retryable = code in _TEMPORARY if retryable is None else retryable
