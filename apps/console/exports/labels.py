"""Labels of destinations, schedules and runs on pages, and advice after failures."""

from collections.abc import Mapping
from typing import Final

from django.utils.dates import WEEKDAYS
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.exports.schedule_forms import DATASET_NAMES
from apps.exports.models import ExportDestination, ReportSchedule, ScheduleRun
from apps.exports.models.destinations import UploadErrorCode
from apps.exports.models.schedules import OVERVIEW, PauseReason, RunOutcome, RunState
from apps.exports.rules.cadence import Covers, Every
from apps.reporting.kpi_labels import kpi_title
from apps.reporting.rules.kpis import KPI_BY_KEY
from lib.clocks import clock

Text = str | Promise

DESTINATION_ADVICE: Final[Mapping[str, Text]] = {
    UploadErrorCode.UNREACHABLE: gettext_lazy(
        "Check the address and the port, and whether a firewall lets this service out to it."
    ),
    UploadErrorCode.NAME_UNKNOWN: gettext_lazy(
        "Check the spelling of the host name, and whether this service's name server knows it."
    ),
    UploadErrorCode.ADDRESS_REFUSED: gettext_lazy(
        "It is in a private network. The operator can allow it with EXPORT_DESTINATION_NETWORKS."
    ),
    UploadErrorCode.TLS_FAILED: gettext_lazy(
        "Its certificate has expired, names another host, or comes from an authority that this machine does not "
        "trust. If the bucket name has dots, put the bucket in the path."
    ),
    UploadErrorCode.NO_HOST_KEY: gettext_lazy("Get the server's host key below and compare it."),
    UploadErrorCode.HOST_KEY_CHANGED: gettext_lazy(
        "Nothing was sent. Ask the server's administrator whether the key was changed. If it was, get the new "
        "key below and compare it. If not, someone may be intercepting the connection."
    ),
    UploadErrorCode.NOT_AUTHORIZED: gettext_lazy(
        "Check the user and the secret. A bucket's policy must allow s3:PutObject in the folder; a wrong region "
        "gives the same error. On a server, the user must be allowed to write to the folder."
    ),
    UploadErrorCode.NO_SUCH_BUCKET: gettext_lazy("Check the bucket name and the region."),
    UploadErrorCode.NO_SUCH_FOLDER: gettext_lazy(
        "Create the folder on the server or enter another one. Carelane does not create folders."
    ),
    UploadErrorCode.NO_SPACE: gettext_lazy("Free up space there. Carelane tries again."),
    UploadErrorCode.TIMED_OUT: gettext_lazy(
        "It may be busy. Carelane tries again; if the error persists, contact its administrator."
    ),
    UploadErrorCode.REDIRECTED: gettext_lazy("Enter the address of the bucket's region. Redirects are not followed."),
    UploadErrorCode.DAMAGED: gettext_lazy(
        "Carelane tries again. If the error persists, something on the network changes the data."
    ),
    UploadErrorCode.REFUSED: gettext_lazy("Contact its administrator: the server's log has the details."),
    UploadErrorCode.BUSY: gettext_lazy("Carelane tries again; if the error persists, contact its administrator."),
    UploadErrorCode.SWITCHED_OFF: gettext_lazy("Turn it on under Change."),
    UploadErrorCode.SECRET_UNREADABLE: gettext_lazy("Enter the secret again under Change."),
}
_LABELS: Final = {code.value: code for code in UploadErrorCode}


def upload_error_label(code: str) -> Text:
    """Return the label of a stored error code; "" for no code."""
    return _LABELS[code].label if code in _LABELS else code


def destination_badge(destination: ExportDestination) -> tuple[str, Text]:
    """Return the tone and the text of a destination's badge."""
    if not destination.active:
        return "quiet", gettext_lazy("Switched off")
    failed, sent, tested = destination.failed_at, destination.sent_at, destination.tested_at
    last = max((time for time in (failed, sent, tested) if time is not None), default=None)
    if last is None:
        return "info", gettext_lazy("Not tested")
    if last == failed or (last == tested and destination.test_code):
        return "bad", gettext_lazy("Failing")
    return "ok", gettext_lazy("Active")


_RETRIED: Final = gettext_lazy("Carelane tries again.")
_CHECK_DESTINATION: Final = gettext_lazy("Ask an admin to check the destination, then run it now.")
# For all other outcomes, users can run the schedule or wait.
RUN_ADVICE: Final[Mapping[str, Text]] = {
    RunOutcome.NOT_PERMITTED: gettext_lazy(
        "Someone with access can create a schedule, or an admin can restore the access."
    ),
    RunOutcome.NOBODY_LEFT: gettext_lazy("Change the schedule and choose recipients with access."),
    RunOutcome.DESTINATION_GONE: gettext_lazy("Change the schedule and choose another destination."),
    RunOutcome.EXPORT_CANCELLED: gettext_lazy("Run it now if you still need it."),
    RunOutcome.INTERNAL_ERROR: gettext_lazy("Contact the operator of this service. The log has details."),
    RunOutcome.SUPERSEDED: gettext_lazy("No action is needed."),
    **dict.fromkeys(
        (
            UploadErrorCode.NAME_UNKNOWN,
            UploadErrorCode.ADDRESS_REFUSED,
            UploadErrorCode.TLS_FAILED,
            UploadErrorCode.HOST_KEY_CHANGED,
            UploadErrorCode.NOT_AUTHORIZED,
            UploadErrorCode.NO_SUCH_BUCKET,
            UploadErrorCode.NO_SUCH_FOLDER,
            UploadErrorCode.NO_SPACE,
            UploadErrorCode.REDIRECTED,
            UploadErrorCode.REFUSED,
            UploadErrorCode.SWITCHED_OFF,
            UploadErrorCode.SECRET_UNREADABLE,
        ),
        _CHECK_DESTINATION,
    ),
}
RUN_TONES: Final[Mapping[str, str]] = {
    RunState.DONE: "ok",
    RunState.FAILED: "bad",
    RunState.REFUSED: "bad",
    RunState.MISSED: "",
}


def schedule_content(schedule: ReportSchedule) -> str:
    """Describe the content of a schedule."""
    if schedule.kind == ReportSchedule.Kind.EXPORT:
        name = DATASET_NAMES.get(schedule.dataset, schedule.dataset)
        return f"{name}, {schedule.get_format_display()}"
    return _("Key figures") if schedule.report == OVERVIEW else kpi_title(KPI_BY_KEY[schedule.report])


def schedule_cadence(schedule: ReportSchedule) -> str:
    """Describe when a schedule is due."""
    at = clock(schedule.at_time)
    match schedule.every:
        case Every.WEEK:
            days = ", ".join(str(WEEKDAYS[day]) for day in schedule.weekdays)
            return _("%(days)s at %(time)s") % {"days": days, "time": at}
        case Every.MONTH:
            return _("Every month on day %(day)s at %(time)s") % {"day": schedule.month_day, "time": at}
    label = capfirst(str(Every(schedule.every).label))
    return _("%(days)s at %(time)s") % {"days": label, "time": at}


def schedule_period(schedule: ReportSchedule) -> str:
    return capfirst(str(Covers(schedule.covers).label))


def pause_reason(schedule: ReportSchedule) -> str:
    return "" if schedule.active else capfirst(str(PauseReason(schedule.paused_for).label))


def run_badge(run: ScheduleRun) -> dict[str, str]:
    """Return the badge of a run, its outcome, and what to do about it."""
    outcome = run.outcome
    label = ""
    if outcome:
        label = str(RunOutcome(outcome).label if outcome in RunOutcome.values else UploadErrorCode(outcome).label)
    advice: Text = ""
    if outcome:
        advice = (
            _RETRIED
            if run.state == RunState.QUEUED
            else RUN_ADVICE.get(outcome, _("Run it now, or wait for the next one."))
        )
    return {
        "text": capfirst(str(RunState(run.state).label)),
        "tone": RUN_TONES.get(run.state, "warn" if outcome else "info"),
        "outcome": capfirst(label),
        "advice": str(advice),
    }
