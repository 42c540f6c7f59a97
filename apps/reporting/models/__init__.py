from apps.reporting.models.cells import Basis, Cell, Tally
from apps.reporting.models.codes import SuggestedCode
from apps.reporting.models.destinations import ExportDestination, ExportDestinationQuerySet
from apps.reporting.models.exports import Export, ExportLink, ExportQuerySet
from apps.reporting.models.schedules import ReportSchedule, ReportScheduleQuerySet, ScheduleRun, ScheduleRunQuerySet
from apps.reporting.models.upkeep import Restatement, Upkeep

__all__ = [
    "Basis",
    "Cell",
    "Export",
    "ExportDestination",
    "ExportDestinationQuerySet",
    "ExportLink",
    "ExportQuerySet",
    "ReportSchedule",
    "ReportScheduleQuerySet",
    "Restatement",
    "ScheduleRun",
    "ScheduleRunQuerySet",
    "SuggestedCode",
    "Tally",
    "Upkeep",
]
