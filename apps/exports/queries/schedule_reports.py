"""Queries of schedules and runs for pages, and the values of reports by e-mail."""

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

MAX_RUNS: Final = 50  # on the page of a schedule


def schedules(*, by: Principal) -> QuerySet[ReportSchedule]:
    """Select the schedules that the caller sees, with owners and destinations."""
    return ReportSchedule.objects.visible_to(by).select_related("user", "client", "destination")


def last_runs(rows: Sequence[ReportSchedule]) -> dict[UUID, ScheduleRun]:
    """Return the latest run of each schedule that has one.  One query."""
    runs = ScheduleRun.objects.filter(schedule__in=[row.pk for row in rows]).select_related("export")
    return {run.schedule_id: run for run in runs.order_by("schedule_id", "-due_at").distinct("schedule_id")}


def runs_of(schedule: ReportSchedule) -> list[ScheduleRun]:
    """List the latest runs of a schedule.  One query."""
    return list(schedule.runs.select_related("export").order_by("-due_at")[:MAX_RUNS])


def kpis_of(report: str) -> list[Kpi]:
    """List the KPIs of a report."""
    return [KPI_BY_KEY[key] for key in kpi_labels.MAIN_KPIS] if report == OVERVIEW else [KPI_BY_KEY[report]]


def report_url(schedule: ReportSchedule, run: ScheduleRun | None = None) -> str:
    """Return the URL of the page with the same values; without a run, for its default period."""
    filters = schedule.filters
    days = {} if run is None else {"period": "own", "from": run.first_day, "to": run.last_day}
    parameters = {
        **days,
        "facility": filters.get("facilityId"),
        "provider": filters.get("providerId"),
        "type": filters.get("serviceType"),
        "basis": filters["basis"] if filters.get("basis") == Basis.LIVE else "",
    }
    page = reverse("reports") if schedule.report == OVERVIEW else reverse("report_figure", args=[schedule.report])
    query = spelled(parameters)
    return f"{page}?{query}" if query else page


def filter_texts(filters: Mapping[str, Any]) -> list[str]:
    """Return the filters of a schedule as texts.  Two queries at most."""
    texts: list[str] = []
    if "facilityId" in filters:
        texts += Facility.objects.filter(pk=filters["facilityId"]).values_list("name", flat=True)
    if "providerId" in filters:
        texts += TransportProvider.objects.filter(pk=filters["providerId"]).values_list("name", flat=True)
    if "serviceType" in filters:
        texts.append(str(ServiceType(filters["serviceType"]).label))
    if filters.get("basis") == Basis.LIVE:
        texts.append(_("Live"))
    return texts


def selected(run: ScheduleRun, *, by: Principal) -> Selection:
    """Return the selection of a report run, within the data scope of a recipient."""
    filters = run.schedule.filters
    assert run.first_day is not None  # noqa: S101  # reports always cover days
    assert run.last_day is not None  # noqa: S101  # for the type checker
    return select(
        by=by,
        first=run.first_day,
        last=run.last_day,
        facility_ids=[UUID(filters["facilityId"])] if "facilityId" in filters else [],
        provider_ids=[UUID(filters["providerId"])] if "providerId" in filters else [],
        service_types=[filters["serviceType"]] if "serviceType" in filters else [],
        basis=Basis(filters.get("basis", Basis.CLOSED)),
    )


def report(run: ScheduleRun, *, by: Principal) -> dict[str, Any]:
    """Return the values of a report run for a recipient, as the page shows them; small counts are always suppressed.

    `rows` are the KPIs with their previous values; for a report on one KPI, `facilities` are its rows by facility.
    """
    kpis = kpis_of(run.schedule.report)
    recipient = replace(by, phi=Phi.NONE)
    selection = selected(run, by=recipient)
    values = facility_kpis(by=recipient, selection=selection, kpis=kpis)
    rows = [_row(values.total[kpi.key], values.total_before[kpi.key], kpi_labels.kpi_title(kpi)) for kpi in kpis]
    facilities = []
    if run.schedule.report != OVERVIEW:
        facilities = [
            _row(
                row.figures[run.schedule.report],
                row.before[run.schedule.report],
                row.name or _("Rides without a facility"),
            )
            for row in values.rows
        ]
    return {
        "rows": rows,
        "facilities": facilities,
        "before": selection.before(),
        "before_name": kpi_labels.previous_period(selection.days),
        "narrowed_to": filter_texts(run.schedule.filters),
        "as_of": values.progress.as_of,
        "path": report_url(run.schedule, run),
    }


def _row(figure: Figure, before: Figure, title: str) -> dict[str, str]:
    kpi = figure.kpi
    return {
        "title": title,
        "value": kpi_labels.format_value(kpi, figure.value),
        "of": kpi_labels.format_ratio(figure),
        "before": kpi_labels.format_value(kpi, before.value),
        "before_of": kpi_labels.format_ratio(before),
    }
