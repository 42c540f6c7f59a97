"""What becomes of schedules and their runs, by code, as it is stored and as the API says it."""

from lib.choices import TextChoices
from lib.retelling import named_in_sentences


@named_in_sentences
class Pause(TextChoices):
    """Why a schedule rests."""

    BY_PEOPLE = "by_people", "it was paused"
    FAILING = "failing", "its last runs failed"
    NOT_PERMITTED = "not_permitted", "its owner may not make it any more"
    NOBODY_LEFT = "nobody_left", "nobody is left who may get it"


class RunState(TextChoices):
    """How far a run is."""

    QUEUED = "queued", "waiting"
    MAKING = "making", "being made"
    SENDING = "sending", "being sent"
    DONE = "done", "done"
    FAILED = "failed", "failed"
    REFUSED = "refused", "refused"
    MISSED = "missed", "left out"


class Outcome(TextChoices):
    """What a run ended with, or waits with; besides those of `UploadErrorCode`, which destinations have."""

    NOT_PERMITTED = "not_permitted", "its owner may not make it any more"
    NOBODY_LEFT = "nobody_left", "nobody is left who may get it"
    DESTINATION_GONE = "destination_gone", "its destination was removed, or takes no rider data"
    TOO_MANY_EXPORTS = "too_many_exports", "its owner made too many exports within the hour"
    EXPORT_FAILED = "export_failed", "the file could not be made"
    EXPORT_CANCELLED = "export_cancelled", "the export was cancelled"
    MAIL_FAILED = "mail_failed", "the mail server does not take it"
    DATABASE_UNAVAILABLE = "database_unavailable", "the database did not answer"
    STORAGE_UNAVAILABLE = "storage_unavailable", "the file could not be read"
    WORKER_LOST = "worker_lost", "who sent it went away, time and again"
    INTERNAL_ERROR = "internal_error", "something went wrong here"
    SUPERSEDED = "superseded", "a later one was made in its place"
