from apps.exports.models.codes import SuggestedCode
from apps.exports.models.destinations import ExportDestination, ExportDestinationQuerySet
from apps.exports.models.exports import Export, ExportLink, ExportQuerySet
from apps.exports.models.schedules import ReportSchedule, ReportScheduleQuerySet, ScheduleRun, ScheduleRunQuerySet

__all__ = [
    "Export",
    "ExportDestination",
    "ExportDestinationQuerySet",
    "ExportLink",
    "ExportQuerySet",
    "ReportSchedule",
    "ReportScheduleQuerySet",
    "ScheduleRun",
    "ScheduleRunQuerySet",
    "SuggestedCode",
]
