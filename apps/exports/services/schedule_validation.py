"""What somebody wants made by itself, checked against what they may see."""

import datetime as dt
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from apps.accounts.models import User
from apps.accounts.sessions import principal_of_absent
from apps.exports.models import ExportDestination, ReportSchedule
from apps.exports.models.schedules import OVERVIEW
from apps.exports.queries.datasets import DATASETS
from apps.exports.rules.cadence import Covers, Every, days_covered
from apps.exports.services import schedule_recipients
from apps.exports.services.export_validation import (
    Wanted,
    check_reach,
    filters_as_kept,
    filters_from_kept,
    level,
    plan_of,
)
from apps.organizations.zones import known_zones
from apps.reporting.models import Basis
from apps.reporting.rules.kpis import KPI_BY_KEY
from apps.riders.rules.disclosure import PhiNotPermitted
from apps.rides.rules.draft import ServiceType
from lib.access import Phi, Principal
from lib.api.serializers import camel
from lib.errors import InvalidInput, ScopeMissing

MOST_RECIPIENTS: Final = 20
# What narrows a schedule; days and changes follow from the moment at which it is due.
_AFTER_31_DAYS: Final = dt.datetime(2001, 2, 1, 12, tzinfo=dt.UTC)
EXPORT_FILTERS: Final = ("facility_id", "provider_id", "payer_id", "status")
REPORT_FILTERS: Final = ("facility_id", "provider_id", "service_type", "basis")


@dataclass(frozen=True, slots=True)
class Wish:
    """A wish as it comes: names of ours, values of the right types, and nothing judged yet.

    `filters` are those of the kind, by their names here.  `recipients` are ids of people.
    """

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


def check(wish: Wish, by: Principal) -> list[User]:
    """Check a wish, and give the people it is for.

    Raises:
        ScopeMissing: the caller may not make such exports, or read reports.
        InvalidInput: a field does not make sense, or names what the caller does not reach; names it.
        PhiNotPermitted: the level, or a column, is above the caller's.
        NotFound: there is no such dataset, or no such format.
    """
    for scope in sorted(schedule_recipients.scopes_for(wish.kind, wish.dataset)):
        if not by.may(scope):
            raise ScopeMissing(scope)
    _check_cadence(wish)
    if wish.kind == ReportSchedule.Kind.REPORT:
        _check_report(wish, by)
    else:
        _check_export(wish, by)
    if wish.destination_id is None:
        return _people(wish, by)
    _check_destination(wish, wish.destination_id)
    return []


def apply(schedule: ReportSchedule, wish: Wish, by: Principal) -> None:
    """Write a wish that was checked into a row, with the caller's reach; people, and when it is due, are left out."""
    schedule.kind, schedule.name = wish.kind, wish.name
    schedule.facility_ids = None if by.facility_ids is None else sorted(by.facility_ids)
    schedule.provider_ids = None if by.provider_ids is None else sorted(by.provider_ids)
    schedule.phi = wish.phi
    schedule.dataset, schedule.format, schedule.report = wish.dataset, wish.format, wish.report
    schedule.columns = None if wish.columns is None else list(wish.columns)
    schedule.filters, schedule.covers = filters_as_kept(wish.filters), wish.covers
    schedule.every, schedule.at_time, schedule.zone = wish.every, wish.at_time, wish.zone
    schedule.weekdays = sorted(set(wish.weekdays)) if wish.every == Every.WEEK else []
    schedule.month_day = wish.month_day if wish.every == Every.MONTH else 1
    schedule.destination_id = wish.destination_id
    schedule.way = ReportSchedule.Way.DESTINATION if wish.destination_id else ReportSchedule.Way.MAIL


def wish_of(schedule: ReportSchedule) -> Wish:
    """Say a schedule as the wish that it was made of.  One query."""
    report = schedule.kind == ReportSchedule.Kind.REPORT
    own = {name: schedule.filters[camel(name)] for name in ("service_type", "basis") if camel(name) in schedule.filters}
    return Wish(
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
        filters={**filters_from_kept(schedule.filters), **(own if report else {})},
        weekdays=schedule.weekdays,
        month_day=schedule.month_day,
        recipients=list(schedule.recipients.order_by("pk").values_list("pk", flat=True)),
        destination_id=schedule.destination_id,
    )


def _check_cadence(wish: Wish) -> None:
    if wish.zone not in known_zones():
        raise InvalidInput("zone", "zone must be an IANA time zone, such as America/Chicago.")
    if wish.every == Every.WEEK and not wish.weekdays:
        raise InvalidInput("weekdays", "weekdays must name a day at least.", detail_code="required")


def _check_filters(wish: Wish, known: Collection[str]) -> None:
    for name in wish.filters:
        if name not in known:
            raise InvalidInput(camel(name), f"{camel(name)} is no filter of this schedule.", detail_code="unknown")


def _check_report(wish: Wish, by: Principal) -> None:
    for name, value in (("dataset", wish.dataset), ("format", wish.format), ("columns", wish.columns)):
        if value:
            raise InvalidInput(name, f"{name} is for exports.", detail_code="unknown")
    if wish.report != OVERVIEW and wish.report not in KPI_BY_KEY:
        raise InvalidInput("report", "report must be overview, or the key of a definition.")
    if wish.covers == Covers.CHANGES:
        raise InvalidInput("covers", "covers must name days: a report has no changes.")
    if wish.phi > Phi.NONE:
        raise InvalidInput("phi", "phi must be none: mails hold figures alone.")
    if wish.destination_id is not None:
        raise InvalidInput("destinationId", "destinationId is for exports.")
    _check_filters(wish, REPORT_FILTERS)
    if wish.filters.get("service_type", ServiceType.values[0]) not in ServiceType.values:
        raise InvalidInput("serviceType", f"serviceType must be one of: {', '.join(ServiceType.values)}.")
    if wish.filters.get("basis", Basis.CLOSED) not in (Basis.CLOSED, Basis.LIVE):
        raise InvalidInput("basis", "basis must be closed or live.")
    check_reach(wish.filters, by)


def _check_export(wish: Wish, by: Principal) -> None:
    if wish.report:
        raise InvalidInput("report", "report is for reports.", detail_code="unknown")
    for name, value in (("dataset", wish.dataset), ("format", wish.format)):
        if not value:
            raise InvalidInput(name, f"{name} is required for exports.", detail_code="required")
    if wish.phi > level(by):
        raise PhiNotPermitted(["phi"], {"phi": wish.phi})
    _check_filters(wish, EXPORT_FILTERS)
    dataset = DATASETS.get(wish.dataset)
    needed = "changed_since" if wish.covers == Covers.CHANGES else "service_date_from"
    if dataset is not None and needed not in dataset.conditions:
        raise InvalidInput("covers", f"covers must be another one for {dataset.name}.")
    # What a run adds, over the longest time that it may be about.
    days = days_covered(Covers(wish.covers), _AFTER_31_DAYS, wish.zone)
    period = {} if days is None else {"service_date_from": days[0], "service_date_to": days[1]}
    wanted = Wanted(wish.dataset, wish.format, {**wish.filters, **period}, wish.columns)
    plan_of(wanted, replace(by, phi=wish.phi))


def _check_destination(wish: Wish, destination_id: UUID) -> None:
    if wish.recipients:
        raise InvalidInput("recipients", "recipients must be empty beside destinationId.")
    found = ExportDestination.objects.sent_to().filter(pk=destination_id).first()
    if found is None:
        raise InvalidInput("destinationId", "There is no such destination.")
    if not found.takes(wish.phi):
        raise InvalidInput("destinationId", "Nobody has agreed that rider data may go to this destination.")


def _people(wish: Wish, by: Principal) -> list[User]:
    """Find the people that are named; who may not get it is refused as those that nobody knows."""
    asked = set(wish.recipients)
    if not 0 < len(asked) <= MOST_RECIPIENTS:
        raise InvalidInput("recipients", f"recipients must be 1 to {MOST_RECIPIENTS} people, without a destination.")
    draft = ReportSchedule()
    apply(draft, wish, by)
    scopes = schedule_recipients.scopes_for(wish.kind, wish.dataset)
    found = list(schedule_recipients.candidates(by, scopes).filter(pk__in=asked))
    if len(found) < len(asked) or not all(
        schedule_recipients.may_get(principal_of_absent(one), draft) for one in found
    ):
        raise InvalidInput("recipients", "recipients must be people with an account who may see all of it.")
    return found
