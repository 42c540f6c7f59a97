"""Validation of schedules against datasets, recipients and the caller's access."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.accounts.models import User
from apps.accounts.sessions import principal_of_absent
from apps.exports.models import ExportDestination, ReportSchedule
from apps.exports.models.schedules import OVERVIEW
from apps.exports.queries.datasets import DATASETS
from apps.exports.rules.cadence import Covers, Every, days_covered
from apps.exports.services import schedule_recipients
from apps.exports.services.export_validation import (
    ExportRequest,
    check_records,
    level,
    parse_stored_filters,
    plan_export,
    stored_filters,
)
from apps.organizations.zones import known_zones
from apps.reporting.models import Basis
from apps.reporting.rules.kpis import KPI_BY_KEY
from apps.riders.rules.disclosure import PhiNotPermitted
from apps.rides.rules.draft import ServiceType
from lib.access import Phi, Principal
from lib.api.serializers import camel
from lib.errors import InvalidInput, ScopeMissing
from lib.messages import FieldName

MAX_RECIPIENTS: Final = 20
# Any due time after a month of 31 days, the longest that a schedule can cover.
_AFTER_31_DAYS: Final = dt.datetime(2001, 2, 1, 12, tzinfo=dt.UTC)
# Filters for days and changes are set by each run.
EXPORT_FILTERS: Final = ("facility_id", "provider_id", "payer_id", "status")
REPORT_FILTERS: Final = ("facility_id", "provider_id", "service_type", "basis")
_ONLY_EXPORTS: Final = _("%(field)s is only for exports.")
_ONE_OF: Final = _("%(field)s must be one of: %(choices)s.")


@dataclass(frozen=True, slots=True)
class ScheduleRequest:
    """A schedule as requested: values have the right types and are not validated yet.  `recipients` are user ids."""

    kind: str
    name: str
    covers: str
    every: str
    at_time: dt.time
    zone: str
    dataset: str = ""
    format: str = ""
    columns: tuple[str, ...] | None = None
    phi: Phi = Phi.NONE
    report: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    weekdays: Collection[int] = ()
    month_day: int = 1
    recipients: Collection[UUID] = ()
    destination_id: UUID | None = None


def check(request: ScheduleRequest, by: Principal) -> list[User]:
    """Validate a request; return its recipients.

    Raises:
        ScopeMissing: the caller may not make such exports or read reports.
        InvalidInput: a field is invalid, or names a record outside the caller's data scope.
        PhiNotPermitted: the PHI level or a column is above the caller's level.
        NotFound: there is no such dataset or format.
    """
    for scope in sorted(schedule_recipients.scopes_for(request.kind, request.dataset)):
        if not by.has_scope(scope):
            raise ScopeMissing(scope)
    _check_cadence(request)
    if request.kind == ReportSchedule.Kind.REPORT:
        _check_report(request, by)
    else:
        _check_export(request, by)
    if request.destination_id is None:
        return _recipients(request, by)
    _check_destination(request, request.destination_id)
    return []


def apply(schedule: ReportSchedule, request: ScheduleRequest, by: Principal) -> None:
    """Set the columns of a schedule from a validated request and the caller's data scope; not recipients, due time."""
    schedule.kind, schedule.name = request.kind, request.name
    schedule.facility_ids = None if by.facility_ids is None else sorted(by.facility_ids)
    schedule.provider_ids = None if by.provider_ids is None else sorted(by.provider_ids)
    schedule.phi = request.phi
    schedule.dataset, schedule.format, schedule.report = request.dataset, request.format, request.report
    schedule.columns = None if request.columns is None else list(request.columns)
    schedule.filters, schedule.covers = stored_filters(request.filters), request.covers
    schedule.every, schedule.at_time, schedule.zone = request.every, request.at_time, request.zone
    schedule.weekdays = sorted(set(request.weekdays)) if request.every == Every.WEEK else []
    schedule.month_day = request.month_day if request.every == Every.MONTH else 1
    schedule.destination_id = request.destination_id
    schedule.way = (
        ReportSchedule.DeliveryMethod.DESTINATION if request.destination_id else ReportSchedule.DeliveryMethod.MAIL
    )


def request_of(schedule: ReportSchedule) -> ScheduleRequest:
    """Convert a schedule to the request that creates it.  One query."""
    is_report = schedule.kind == ReportSchedule.Kind.REPORT
    stored = schedule.filters
    report_filters = {name: stored[camel(name)] for name in ("service_type", "basis") if camel(name) in stored}
    return ScheduleRequest(
        kind=schedule.kind,
        name=schedule.name,
        covers=schedule.covers,
        every=schedule.every,
        at_time=schedule.at_time,
        zone=schedule.zone,
        dataset=schedule.dataset,
        format=schedule.format,
        columns=None if schedule.columns is None else tuple(schedule.columns),
        phi=schedule.level,
        report=schedule.report,
        filters={**parse_stored_filters(stored), **(report_filters if is_report else {})},
        weekdays=schedule.weekdays,
        month_day=schedule.month_day,
        recipients=list(schedule.recipients.order_by("pk").values_list("pk", flat=True)),
        destination_id=schedule.destination_id,
    )


def _check_cadence(request: ScheduleRequest) -> None:
    if request.zone not in known_zones():
        raise InvalidInput("zone", _("%(field)s must be the IANA time zone of a place, such as America/Chicago."))
    if request.every == Every.WEEK and not request.weekdays:
        raise InvalidInput("weekdays", _("%(field)s must have at least one day."), detail_code="required")


def _check_filters(request: ScheduleRequest, allowed: Collection[str]) -> None:
    for name in request.filters:
        if name not in allowed:
            raise InvalidInput(camel(name), _("%(field)s is not a filter of this schedule."), detail_code="unknown")


def _check_report(request: ScheduleRequest, by: Principal) -> None:
    for name, value in (("dataset", request.dataset), ("format", request.format), ("columns", request.columns)):
        if value:
            raise InvalidInput(name, _ONLY_EXPORTS, detail_code="unknown")
    if request.report != OVERVIEW and request.report not in KPI_BY_KEY:
        raise InvalidInput("report", _("%(field)s must be overview or the key of a KPI."))
    if request.covers == Covers.CHANGES:
        raise InvalidInput("covers", _("%(field)s must be a period of days: a report cannot cover changes."))
    if request.phi > Phi.NONE:
        raise InvalidInput("phi", _("%(field)s must be none: a report contains no rider data."))
    if request.destination_id is not None:
        raise InvalidInput("destinationId", _ONLY_EXPORTS)
    _check_filters(request, REPORT_FILTERS)
    if request.filters.get("service_type", ServiceType.values[0]) not in ServiceType.values:
        raise InvalidInput("serviceType", _ONE_OF, choices=ServiceType.values)
    if request.filters.get("basis", Basis.CLOSED) not in (Basis.CLOSED, Basis.LIVE):
        raise InvalidInput("basis", _ONE_OF, choices=[Basis.CLOSED.value, Basis.LIVE.value])
    check_records(request.filters, by)


def _check_export(request: ScheduleRequest, by: Principal) -> None:
    if request.report:
        raise InvalidInput("report", _("%(field)s is only for reports."), detail_code="unknown")
    for name, value in (("dataset", request.dataset), ("format", request.format)):
        if not value:
            raise InvalidInput(name, _("%(field)s is required for exports."), detail_code="required")
    if request.phi > level(by):
        raise PhiNotPermitted(["phi"], {"phi": request.phi})
    _check_filters(request, EXPORT_FILTERS)
    dataset = DATASETS.get(request.dataset)
    period_filter = "changed_since" if request.covers == Covers.CHANGES else "service_date_from"
    if dataset is not None and period_filter not in dataset.conditions:
        message = _("%(field)s has no such period for the dataset %(dataset)s.")
        raise InvalidInput("covers", message, dataset=dataset.name)
    # With the filters that a run adds, for the longest period.
    days = days_covered(Covers(request.covers), _AFTER_31_DAYS, request.zone)
    period = {} if days is None else {"service_date_from": days[0], "service_date_to": days[1]}
    export_request = ExportRequest(request.dataset, request.format, {**request.filters, **period}, request.columns)
    plan_export(export_request, replace(by, phi=request.phi))


def _check_destination(request: ScheduleRequest, destination_id: UUID) -> None:
    if request.recipients:
        message = _("%(field)s and %(other)s cannot be combined.")
        raise InvalidInput("recipients", message, other=FieldName("destinationId"))
    destination = ExportDestination.objects.active().filter(pk=destination_id).first()
    if destination is None:
        raise InvalidInput("destinationId", _("There is no such destination."))
    if not destination.accepts(request.phi):
        raise InvalidInput("destinationId", _("No agreement allows rider data at this destination."))


def _recipients(request: ScheduleRequest, by: Principal) -> list[User]:
    """Look up the recipients.  The error is the same for unknown users and for those without access."""
    ids = set(request.recipients)
    if not 0 < len(ids) <= MAX_RECIPIENTS:
        message = _("%(field)s must be 1 to %(most)s people unless the schedule has a destination.")
        raise InvalidInput("recipients", message, most=MAX_RECIPIENTS)
    draft = ReportSchedule()
    apply(draft, request, by)
    scopes = schedule_recipients.scopes_for(request.kind, request.dataset)
    users = list(schedule_recipients.candidates(by, scopes).filter(pk__in=ids))
    if len(users) < len(ids) or not all(
        schedule_recipients.may_receive(principal_of_absent(user), draft) for user in users
    ):
        message = _("%(field)s must be people with an account who may see everything that the schedule sends.")
        raise InvalidInput("recipients", message)
    return users
