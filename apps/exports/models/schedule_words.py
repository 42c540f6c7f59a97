"""What becomes of schedules and their runs, by code, as it is stored and as the API says it."""

from django.utils.translation import gettext_lazy as _

from lib.choices import TextChoices


class Pause(TextChoices):
    """Why a schedule rests."""

    BY_PEOPLE = "by_people", _("it was paused")
    FAILING = "failing", _("its last runs failed")
    NOT_PERMITTED = "not_permitted", _("its owner may not make it any more")
    NOBODY_LEFT = "nobody_left", _("nobody is left who may get it")


class RunState(TextChoices):
    """How far a run is."""

    QUEUED = "queued", _("waiting")
    MAKING = "making", _("being made")
    SENDING = "sending", _("being sent")
    DONE = "done", _("done")
    FAILED = "failed", _("failed")
    REFUSED = "refused", _("refused")
    MISSED = "missed", _("left out")


class Outcome(TextChoices):
    """What a run ended with, or waits with; besides those of `UploadErrorCode`, which destinations have."""

    NOT_PERMITTED = "not_permitted", _("its owner may not make it any more")
    NOBODY_LEFT = "nobody_left", _("nobody is left who may get it")
    DESTINATION_GONE = "destination_gone", _("its destination was removed, or takes no rider data")
    TOO_MANY_EXPORTS = "too_many_exports", _("its owner made too many exports within the hour")
    EXPORT_FAILED = "export_failed", _("the file could not be made")
    EXPORT_CANCELLED = "export_cancelled", _("the export was cancelled")
    MAIL_FAILED = "mail_failed", _("the mail server does not take it")
    DATABASE_UNAVAILABLE = "database_unavailable", _("the database did not answer")
    STORAGE_UNAVAILABLE = "storage_unavailable", _("the file could not be read")
    WORKER_LOST = "worker_lost", _("who sent it went away, time and again")
    INTERNAL_ERROR = "internal_error", _("something went wrong here")
    SUPERSEDED = "superseded", _("a later one was made in its place")
