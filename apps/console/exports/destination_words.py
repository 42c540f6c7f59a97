"""How pages call the states of destinations, and what to do about what went wrong with them."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.exports.models import ExportDestination
from apps.exports.models.destinations import UploadErrorCode

Text = str | Promise

ADVICE: Final[Mapping[str, Text]] = {
    UploadErrorCode.UNREACHABLE: _(
        "Check the address and the port, and whether a firewall lets this service out to it."
    ),
    UploadErrorCode.NAME_UNKNOWN: _(
        "Check the spelling of the host name, and whether this service's name server knows it."
    ),
    UploadErrorCode.ADDRESS_REFUSED: _(
        "It is in a private network. Whoever runs this service can allow it: EXPORT_DESTINATION_NETWORKS."
    ),
    UploadErrorCode.TLS_FAILED: _(
        "Its certificate has lapsed, is of another name, or of an authority that this machine does not know. With dots"
        " in the name of the bucket, put the bucket into the path."
    ),
    UploadErrorCode.NO_HOST_KEY: _("Ask the server for its host key below, and compare it."),
    UploadErrorCode.HOST_KEY_CHANGED: _(
        "Nothing was sent. Ask whoever runs the server whether they changed its key; if they did, ask for it below and"
        " compare it. If they did not, somebody may stand between."
    ),
    UploadErrorCode.NOT_AUTHORIZED: _(
        "Check the user and the secret. A bucket's policy has to allow s3:PutObject in the folder, and a region that is"
        " wrong looks the same; on a server the user has to have the right to write there."
    ),
    UploadErrorCode.NO_SUCH_BUCKET: _("Check the name of the bucket, and the region."),
    UploadErrorCode.NO_SUCH_FOLDER: _("Make the folder on the server, or name another one: it is not made from here."),
    UploadErrorCode.NO_SPACE: _("Make room there. It is tried again by itself."),
    UploadErrorCode.TIMED_OUT: _("It may be busy. It is tried again by itself; if it stays so, ask whoever runs it."),
    UploadErrorCode.REDIRECTED: _("Give the address that belongs to the bucket's region: redirects are not followed."),
    UploadErrorCode.DAMAGED: _(
        "It is tried again by itself; if it stays so, something on the way alters what is sent."
    ),
    UploadErrorCode.REFUSED: _("Ask whoever runs it: their log says more than they tell us."),
    UploadErrorCode.BUSY: _("It is tried again by itself; if it stays so, ask whoever runs it."),
    UploadErrorCode.SWITCHED_OFF: _("Switch it on again under Change."),
    UploadErrorCode.SECRET_UNREADABLE: _("Enter the secret again under Change."),
}
_LABELS: Final = {code.value: code for code in UploadErrorCode}


def label_of(code: str) -> Text:
    """Say a code that is stored in words; "" where there is none."""
    return _LABELS[code].label if code in _LABELS else code


def badge_of(destination: ExportDestination) -> tuple[str, Text]:
    """Give a tone, and the word for how a destination does."""
    if not destination.active:
        return "quiet", _("Switched off")
    failed, sent, tested = destination.failed_at, destination.sent_at, destination.tested_at
    last = max((one for one in (failed, sent, tested) if one is not None), default=None)
    if last is None:
        return "info", _("Not tested")
    if last == failed or (last == tested and destination.test_code):
        return "bad", _("Failing")
    return "ok", _("Works")
