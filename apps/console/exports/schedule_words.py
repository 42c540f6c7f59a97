"""What schedules and their runs are called, and what to do where one did not work."""

from collections.abc import Mapping
from typing import Final

from django.utils.dates import WEEKDAYS
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.exports.schedule_forms import DATASET_NAMES
from apps.exports.models import ReportSchedule, ScheduleRun
from apps.exports.models.destinations import UploadErrorCode
from apps.exports.models.schedule_words import Outcome, Pause, RunState
from apps.exports.models.schedules import OVERVIEW
from apps.exports.rules.cadence import Covers, Every
from apps.reporting.kpi_labels import kpi_title
from apps.reporting.rules.kpis import KPI_BY_KEY
from lib.clocks import clock

_AGAIN: Final = gettext_lazy("It is tried again by itself.")
_LOOK_AT_DESTINATION: Final = gettext_lazy("Ask whoever keeps the destination to look at it, then run it now.")
# What to do; of every other outcome that a try can end with, it is tried again.
ADVICE: Final[Mapping[str, str | Promise]] = {
    Outcome.NOT_PERMITTED: gettext_lazy(
        "Whoever has the right makes a schedule of their own, or an admin gives it back."
    ),
    Outcome.NOBODY_LEFT: gettext_lazy("Change the schedule, and choose people who may get it."),
    Outcome.DESTINATION_GONE: gettext_lazy("Change the schedule, and choose another destination."),
    Outcome.EXPORT_CANCELLED: gettext_lazy("Run it now if you still want it."),
    Outcome.INTERNAL_ERROR: gettext_lazy("Tell whoever runs this service; the log has more."),
    Outcome.SUPERSEDED: gettext_lazy("Nothing has to be done."),
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
        _LOOK_AT_DESTINATION,
    ),
}
TONES: Final[Mapping[str, str]] = {
    RunState.DONE: "ok",
    RunState.FAILED: "bad",
    RunState.REFUSED: "bad",
    RunState.MISSED: "",
}


def what(schedule: ReportSchedule) -> str:
    """Say what a schedule makes."""
    if schedule.kind == ReportSchedule.Kind.EXPORT:
        name = DATASET_NAMES.get(schedule.dataset, schedule.dataset)
        return f"{name}, {schedule.get_format_display()}"
    return _("Main figures") if schedule.report == OVERVIEW else kpi_title(KPI_BY_KEY[schedule.report])


def when(schedule: ReportSchedule) -> str:
    """Say when a schedule is due."""
    at = clock(schedule.at_time)
    match schedule.every:
        case Every.WEEK:
            days = ", ".join(str(WEEKDAYS[day]) for day in schedule.weekdays)
            return _("%(days)s at %(time)s") % {"days": days, "time": at}
        case Every.MONTH:
            return _("Every month on day %(day)s at %(time)s") % {"day": schedule.month_day, "time": at}
    said = capfirst(str(Every(schedule.every).label))
    return _("%(days)s at %(time)s") % {"days": said, "time": at}


def covers(schedule: ReportSchedule) -> str:
    return capfirst(str(Covers(schedule.covers).label))


def why_resting(schedule: ReportSchedule) -> str:
    return "" if schedule.active else capfirst(str(Pause(schedule.paused_for).label))


def state_of(run: ScheduleRun) -> dict[str, str]:
    """Give the badge of a run, what came of it, and what to do."""
    outcome = run.outcome
    label = ""
    if outcome:
        label = str(Outcome(outcome).label if outcome in Outcome.values else UploadErrorCode(outcome).label)
    advice: str | Promise = ""
    if outcome:
        advice = (
            _AGAIN if run.state == RunState.QUEUED else ADVICE.get(outcome, _("Run it now, or wait for the next one."))
        )
    return {
        "text": capfirst(str(RunState(run.state).label)),
        "tone": TONES.get(run.state, "warn" if outcome else "info"),
        "outcome": capfirst(label),
        "advice": str(advice),
    }
