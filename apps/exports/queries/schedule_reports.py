"""Schedules and their runs as people look through them, and the figures that a report by mail holds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from apps.exports.models import ReportSchedule, ScheduleRun
from apps.exports.models.schedules import OVERVIEW
from apps.organizations.models import Facility, TransportProvider
from apps.reporting import kpi_labels
from apps.reporting.models import Basis
from apps.reporting.queries.figures import Figure
from apps.reporting.queries.reports import facility_kpis
from apps.reporting.queries.selection import Selection, select
from apps.reporting.rules.kpis import KPI_BY_KEY, Kpi
from apps.rides.rules.draft import ServiceType
from lib.access import Phi, Principal
from lib.listing import spelled

HISTORY: Final = 50  # runs on a page


def schedules(*, by: Principal) -> QuerySet[ReportSchedule]:
    """Find the schedules that the caller sees, with their owners and where they go."""
    return ReportSchedule.objects.visible_to(by).select_related("user", "client", "destination")


def last_runs(rows: Sequence[ReportSchedule]) -> dict[UUID, ScheduleRun]:
    """Give the latest run of each schedule that has one.  One query."""
    found = ScheduleRun.objects.filter(schedule__in=[row.pk for row in rows]).select_related("export")
    return {run.schedule_id: run for run in found.order_by("schedule_id", "-due_at").distinct("schedule_id")}


def runs_of(schedule: ReportSchedule) -> list[ScheduleRun]:
    """List the latest runs of a schedule.  One query."""
    return list(schedule.runs.select_related("export").order_by("-due_at")[:HISTORY])


def definitions_of(report: str) -> list[Kpi]:
    """List the figures of a report."""
    return [KPI_BY_KEY[key] for key in kpi_labels.MAIN_KPIS] if report == OVERVIEW else [KPI_BY_KEY[report]]


def address_of(schedule: ReportSchedule, run: ScheduleRun | None = None) -> str:
    """Write where the page with the same figures is; without a run, with the days that it usually shows."""
    kept = schedule.filters
    days = {} if run is None else {"period": "own", "from": run.first_day, "to": run.last_day}
    asked = {
        **days,
        "facility": kept.get("facilityId"),
        "provider": kept.get("providerId"),
        "type": kept.get("serviceType"),
        "basis": kept["basis"] if kept.get("basis") == Basis.LIVE else "",
    }
    page = reverse("reports") if schedule.report == OVERVIEW else reverse("report_figure", args=[schedule.report])
    query = spelled(asked)
    return f"{page}?{query}" if query else page


def narrowed_to(filters: Mapping[str, Any]) -> list[str]:
    """Say in words what a report is narrowed to.  Two queries at the most."""
    found: list[str] = []
    if "facilityId" in filters:
        found += Facility.objects.filter(pk=filters["facilityId"]).values_list("name", flat=True)
    if "providerId" in filters:
        found += TransportProvider.objects.filter(pk=filters["providerId"]).values_list("name", flat=True)
    if "serviceType" in filters:
        found.append(str(ServiceType(filters["serviceType"]).label))
    if filters.get("basis") == Basis.LIVE:
        found.append(_("As they are now"))
    return found


def selected(run: ScheduleRun, *, by: Principal) -> Selection:
    """Select what a run of a report is about, inside the reach of whoever it is for."""
    kept = run.schedule.filters
    assert run.first_day is not None  # noqa: S101  # reports go by days
    assert run.last_day is not None  # noqa: S101  # for the type checker
    return select(
        by=by,
        first=run.first_day,
        last=run.last_day,
        facility_ids=[UUID(kept["facilityId"])] if "facilityId" in kept else [],
        provider_ids=[UUID(kept["providerId"])] if "providerId" in kept else [],
        service_types=[kept["serviceType"]] if "serviceType" in kept else [],
        basis=Basis(kept.get("basis", Basis.CLOSED)),
    )


def report(run: ScheduleRun, *, by: Principal) -> dict[str, Any]:
    """Give a mail the figures of a run as the page has them for its reader, those of few rides left out for anybody.

    `rows` are the figures with the period before; of a report about one figure, `facilities` are its rows by facility.
    """
    definitions = definitions_of(run.schedule.report)
    reader = replace(by, phi=Phi.NONE)
    selection = selected(run, by=reader)
    found = facility_kpis(by=reader, selection=selection, kpis=definitions)
    rows = [_row(found.total[one.key], found.total_before[one.key], kpi_labels.kpi_title(one)) for one in definitions]
    facilities = []
    if run.schedule.report != OVERVIEW:
        facilities = [
            _row(
                row.figures[run.schedule.report], row.before[run.schedule.report], row.name or _("Rides of no facility")
            )
            for row in found.rows
        ]
    return {
        "rows": rows,
        "facilities": facilities,
        "before": selection.before(),
        "narrowed_to": narrowed_to(run.schedule.filters),
        "as_of": found.progress.as_of,
        "path": address_of(run.schedule, run),
    }


def _row(figure: Figure, before: Figure, title: str) -> dict[str, str]:
    definition = figure.kpi
    return {
        "title": title,
        "value": kpi_labels.format_value(definition, figure.value),
        "of": kpi_labels.format_ratio(figure),
        "before": kpi_labels.format_value(definition, before.value),
        "before_of": kpi_labels.format_ratio(before),
    }
