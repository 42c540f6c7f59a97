"""What may come of putting a file somewhere, in words that stay the same whatever the other side says."""

from dataclasses import dataclass
from typing import Final

from lib.choices import TextChoices


class PutCode(TextChoices):
    """Why a file could not be put somewhere."""

    UNREACHABLE = "unreachable", "nobody answers there"
    NAME_UNKNOWN = "name_unknown", "the host name is unknown"
    ADDRESS_REFUSED = "address_refused", "it lies where nothing may be sent"
    TLS_FAILED = "tls_failed", "its certificate does not hold"
    NO_HOST_KEY = "no_host_key", "no host key has been agreed on"
    HOST_KEY_CHANGED = "host_key_changed", "its host key is not the one agreed on"
    NOT_AUTHORIZED = "not_authorized", "it does not let us in, or not do this"
    NO_SUCH_BUCKET = "no_such_bucket", "there is no such bucket"
    NO_SUCH_FOLDER = "no_such_folder", "there is no such folder"
    NO_SPACE = "no_space", "it has no room left"
    TIMED_OUT = "timed_out", "it took too long"
    REDIRECTED = "redirected", "it sends us to another address"
    DAMAGED = "damaged", "what arrived is not what was sent"
    REFUSED = "refused", "it refuses"
    BUSY = "busy", "it has trouble of its own for now"
    SWITCHED_OFF = "switched_off", "it is switched off here"
    SECRET_UNREADABLE = "secret_unreadable", "its secret cannot be opened any more"
    NO_SCRATCH = "no_scratch", "the folder of exports cannot be written to here"
    NO_PROGRAM = "no_program", "the program sftp is not installed here"


# What may be gone by itself a while later.
_PASSES: Final = frozenset(
    {
        PutCode.UNREACHABLE,
        PutCode.NAME_UNKNOWN,
        PutCode.NO_SPACE,
        PutCode.NO_SCRATCH,
        PutCode.TIMED_OUT,
        PutCode.DAMAGED,
        PutCode.BUSY,
    }
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that things may take: to connect, between two signs of life, and altogether.

    A task that puts a file has 26 minutes (apps/reporting/tasks.py).
    """

    connect: float = 10.0
    read: float = 60.0
    whole: float = 1_200.0


class PutRefused(Exception):  # as refusals are named
    """The file is not there under its name; `retryable`: the same may work later without anybody's doing."""

    def __init__(self, code: PutCode, *, retryable: bool | None = None) -> None:
        super().__init__(code.value)
        self.code = code
        self.retryable = code in _PASSES if retryable is None else retryable
