"""Serializers of schedules and their runs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Final
from uuid import UUID

from apps.accounts.models import User
from apps.exports.models import Export, ReportSchedule, ScheduleRun
from apps.exports.models.schedules import RunState
from apps.exports.queries.datasets import DATASETS
from apps.exports.rules.cadence import Covers, Every
from apps.exports.services.schedule_validation import EXPORT_FILTERS, MAX_RECIPIENTS, REPORT_FILTERS, ScheduleRequest
from apps.organizations.rules.opening_hours import DAYS
from apps.reporting.models import Basis
from apps.rides.rules.draft import ServiceType
from lib.access import Phi
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import In, Out

_LEVELS: Final = [level.name.lower() for level in Phi]
_FILTERS: Final = tuple(dict.fromkeys((*EXPORT_FILTERS, *REPORT_FILTERS)))
_NO_USER: Final = UUID(int=0)
# Fields that have the same name in the API and in `ScheduleRequest`.
_SAME_NAMES: Final = ("name", "covers", "every", "zone", "dataset", "format", "report", "month_day", "destination_id")


class ScheduleChangesIn(In):
    """A schedule; on PATCH, the changes of one."""

    name = fields.Text(max_length=60, help_text="Recipients can read it: do not write anything about riders.")
    covers = fields.Choice(
        choices=Covers.choices,
        help_text="Days that a run covers, counted from its due time; `changes` is for exports only. With `every` "
        "`weekdays`, `previous_day` skips Fridays and Saturdays; `last_7_days` and `changes` include them.",
    )
    every = fields.Choice(choices=Every.choices)
    weekdays = fields.List(
        child=fields.Choice(choices=DAYS), default=list, max_length=7, help_text="If `every` is `week`."
    )
    month_day = fields.Integer(
        default=1, min_value=1, max_value=31, help_text="If `every` is `month`; the last day of shorter months."
    )
    time = fields.ClockTime(source="at_time", help_text="Local time in `zone`.")
    zone = fields.Zone(max_length=64)
    dataset = fields.Choice(choices=sorted(DATASETS), required=False, help_text="Exports only.")
    format = fields.Choice(choices=Export.Format.choices, required=False, help_text="Exports only.")
    columns = fields.List(
        child=fields.Text(max_length=40),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=200,
        help_text="Only these columns; null for all columns of the level that are not encrypted.",
    )
    phi = fields.Choice(
        choices=_LEVELS,
        default="none",
        help_text="PHI level of the file; above `none` it needs the scope `exports:phi`.",
    )
    report = fields.Text(max_length=40, required=False, help_text="Reports only: `overview`, or the key of a KPI.")
    facility_id = fields.Uuid(required=False, allow_null=True)
    provider_id = fields.Uuid(required=False, allow_null=True)
    payer_id = fields.Uuid(required=False, allow_null=True, help_text="Exports only.")
    status = fields.List(
        child=fields.Text(max_length=20),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=10,
        help_text="Exports only.",
    )
    service_type = fields.Choice(
        choices=ServiceType.choices, required=False, allow_null=True, help_text="Reports only."
    )
    basis = fields.Choice(choices=Basis.choices, required=False, allow_null=True, help_text="Reports only.")
    recipients = fields.List(
        child=fields.Text(max_length=254),
        default=list,
        max_length=MAX_RECIPIENTS,
        help_text="E-mail addresses of users who may see all of its content. Not with a destination.",
    )
    destination_id = fields.Uuid(
        required=False, allow_null=True, help_text="Exports only: where the file is uploaded. Not with recipients."
    )

    example: ClassVar[dict[str, Any]] = {
        "name": "Claims of the previous day",
        "dataset": "completions",
        "format": "csv",
        "covers": "previous_day",
        "every": "day",
        "time": "06:00",
        "zone": "America/Chicago",
        "status": ["completed"],
        "recipients": ["pat@example.org"],
    }


class ScheduleIn(ScheduleChangesIn):
    """A new schedule."""

    kind = fields.Choice(choices=ReportSchedule.Kind.choices)

    example: ClassVar[dict[str, Any]] = {"kind": "export", **ScheduleChangesIn.example}


class ScheduleQuery(PageQuery):
    """Filters of the list of schedules."""

    kind = fields.Choice(choices=ReportSchedule.Kind.choices, required=False)
    active = fields.Boolean(required=False)


def request_of(data: Mapping[str, Any], current: ScheduleRequest | None = None) -> ScheduleRequest:
    """Convert a validated body; omitted fields come from `current`.  One query if it names recipients."""
    request = current or ScheduleRequest(
        kind=data["kind"], name="", covers="", every="", at_time=data["at_time"], zone=data["zone"]
    )
    changes: dict[str, Any] = {name: data[name] for name in (*_SAME_NAMES, "at_time") if name in data}
    if "columns" in data:
        changes["columns"] = None if data["columns"] is None else tuple(data["columns"])
    if "phi" in data:
        changes["phi"] = Phi[data["phi"].upper()]
    if "weekdays" in data:
        changes["weekdays"] = [DAYS.index(day) for day in data["weekdays"]]
    if "recipients" in data:
        changes["recipients"] = _user_ids(data["recipients"])
    filters = {**request.filters, **{name: data[name] for name in _FILTERS if name in data}}
    changes["filters"] = {name: value for name, value in filters.items() if value is not None}
    return replace(request, **changes)


def _user_ids(addresses: list[str]) -> list[UUID]:
    """Look up users by e-mail address; an unknown address becomes an id that no user has."""
    lowercase = [address.lower() for address in addresses]
    ids = dict(User.objects.filter(email__in=lowercase).values_list("email", "pk"))
    return [ids.get(address, _NO_USER) for address in lowercase]


class _Weekdays(fields.List):
    """Names of weekdays."""

    def to_representation(self, value: Any) -> list[str]:
        return [DAYS[number] for number in value]


class _PhiLevel(fields.Text):
    """The name of a PHI level."""

    def to_representation(self, value: Any) -> str:
        return Phi(value).name.lower()


class _Addresses(fields.List):
    """E-mail addresses of users."""

    def to_representation(self, value: Any) -> list[str]:
        return sorted(user.email for user in value.all())


class ScheduleOut(Out):
    """A schedule of an export or a report."""

    phi = _PhiLevel()
    columns = fields.List(child=fields.Text(), allow_null=True)
    filters = fields.Anything()
    weekdays = _Weekdays(child=fields.Text())
    time = fields.ClockTime(source="at_time")
    recipients = _Addresses(child=fields.Text())
    paused_for = fields.Text(
        help_text="Why it is paused: `by_people`, `failing`, `not_permitted` or `nobody_left`; empty if it is active."
    )

    class Meta:
        model = ReportSchedule
        fields = [
            "id",
            "kind",
            "name",
            "dataset",
            "format",
            "columns",
            "phi",
            "report",
            "filters",
            "covers",
            "every",
            "weekdays",
            "month_day",
            "time",
            "zone",
            "next_at",
            "way",
            "recipients",
            "destination_id",
            "active",
            "paused_for",
            "failures",
            "version",
            "created_at",
            "updated_at",
        ]


class ScheduleRunQuery(PageQuery):
    """Filters of the list of runs."""

    state = fields.List(child=fields.Choice(choices=RunState.choices), required=False, allow_empty=False)


class ScheduleRunOut(Out):
    """A run of a schedule.  Without days it covers what changed since `changedSince`."""

    outcome = fields.Text(help_text="Why it failed, was refused or is delayed; empty otherwise.")

    class Meta:
        model = ScheduleRun
        fields = [
            "id",
            "schedule_id",
            "due_at",
            "manual",
            "first_day",
            "last_day",
            "changed_since",
            "state",
            "outcome",
            "export_id",
            "attempts",
            "try_at",
            "created_at",
            "ended_at",
        ]
