"""Shapes of schedules and their runs."""

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
# Fields of the request that the wire spells as they are here.
_NOBODY: Final = UUID(int=0)
_SAME: Final = ("name", "covers", "every", "zone", "dataset", "format", "report", "month_day", "destination_id")


class ScheduleChangesIn(In):
    """A schedule; on PATCH, what is to be another."""

    name = fields.Text(max_length=60, help_text="Whoever gets it may read it: nothing about riders.")
    covers = fields.Choice(
        choices=Covers.choices,
        help_text="Which days a run is about, counted from the moment it was due; `changes` for exports alone. With "
        "`every` `weekdays`, `previous_day` leaves Fridays and Saturdays out: `last_7_days` or `changes` have them.",
    )
    every = fields.Choice(choices=Every.choices)
    weekdays = fields.Listed(
        child=fields.Choice(choices=DAYS), default=list, max_length=7, help_text="With `every` `week`."
    )
    month_day = fields.Integer(
        default=1, min_value=1, max_value=31, help_text="With `every` `month`; the last day where a month is shorter."
    )
    time = fields.ClockTime(source="at_time", help_text="On the clock of `zone`.")
    zone = fields.Zone(max_length=64)
    dataset = fields.Choice(choices=sorted(DATASETS), required=False, help_text="Of an export.")
    format = fields.Choice(choices=Export.Format.choices, required=False, help_text="Of an export.")
    columns = fields.Listed(
        child=fields.Text(max_length=40),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=200,
        help_text="These columns alone; null for all of the level that are not sealed.",
    )
    phi = fields.Choice(
        choices=_LEVELS, default="none", help_text="The PHI level of the file; above `none` needs `exports:phi`."
    )
    report = fields.Text(
        max_length=40, required=False, help_text="Of a report: `overview`, or the key of a definition."
    )
    facility_id = fields.Uuid(required=False, allow_null=True)
    provider_id = fields.Uuid(required=False, allow_null=True)
    payer_id = fields.Uuid(required=False, allow_null=True, help_text="Of an export.")
    status = fields.Listed(
        child=fields.Text(max_length=20),
        required=False,
        allow_null=True,
        allow_empty=False,
        max_length=10,
        help_text="Of an export.",
    )
    service_type = fields.Choice(choices=ServiceType.choices, required=False, allow_null=True, help_text="Of a report.")
    basis = fields.Choice(choices=Basis.choices, required=False, allow_null=True, help_text="Of a report.")
    recipients = fields.Listed(
        child=fields.Text(max_length=254),
        default=list,
        max_length=MAX_RECIPIENTS,
        help_text="E-mail addresses of people with an account, who may see all of it. Without a destination.",
    )
    destination_id = fields.Uuid(
        required=False, allow_null=True, help_text="Where the file of an export is put. Without recipients."
    )

    example: ClassVar[dict[str, Any]] = {
        "name": "Claims of the day before",
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
    """A schedule to be kept."""

    kind = fields.Choice(choices=ReportSchedule.Kind.choices)

    example: ClassVar[dict[str, Any]] = {"kind": "export", **ScheduleChangesIn.example}


class ScheduleQuery(PageQuery):
    """Schedules by kind, and whether they rest."""

    kind = fields.Choice(choices=ReportSchedule.Kind.choices, required=False)
    active = fields.Boolean(required=False)


def request_of(given: Mapping[str, Any], was: ScheduleRequest | None = None) -> ScheduleRequest:
    """Take a request out of a body; what it leaves out is as it was.  One query where it names people."""
    request = was or ScheduleRequest(
        kind=given["kind"], name="", covers="", every="", at_time=given["at_time"], zone=given["zone"]
    )
    changes: dict[str, Any] = {name: given[name] for name in (*_SAME, "at_time") if name in given}
    if "columns" in given:
        changes["columns"] = None if given["columns"] is None else tuple(given["columns"])
    if "phi" in given:
        changes["phi"] = Phi[given["phi"].upper()]
    if "weekdays" in given:
        changes["weekdays"] = [DAYS.index(day) for day in given["weekdays"]]
    if "recipients" in given:
        changes["recipients"] = _people(given["recipients"])
    kept = {**request.filters, **{name: given[name] for name in _FILTERS if name in given}}
    changes["filters"] = {name: value for name, value in kept.items() if value is not None}
    return replace(request, **changes)


def _people(addresses: list[str]) -> list[Any]:
    """Find people by their addresses; an address of nobody stays what it is, and is nobody's id."""
    known = dict(User.objects.filter(email__in=[one.lower() for one in addresses]).values_list("email", "pk"))
    return [known.get(one.lower(), _NOBODY) for one in addresses]


class _Weekdays(fields.Listed):
    """Days of the week by their names."""

    def to_representation(self, value: Any) -> list[str]:
        return [DAYS[number] for number in value]


class _PhiLevel(fields.Text):
    """The name of a PHI level."""

    def to_representation(self, value: Any) -> str:
        return Phi(value).name.lower()


class _Addresses(fields.Listed):
    """People by their e-mail addresses."""

    def to_representation(self, value: Any) -> list[str]:
        return sorted(one.email for one in value.all())


class ScheduleOut(Out):
    """What is made by itself, when, and to whom it goes."""

    phi = _PhiLevel()
    columns = fields.Listed(child=fields.Text(), allow_null=True)
    filters = fields.Anything()
    weekdays = _Weekdays(child=fields.Text())
    time = fields.ClockTime(source="at_time")
    recipients = _Addresses(child=fields.Text())
    paused_for = fields.Text(
        help_text="Why it rests: `by_people`, `failing`, `not_permitted` or `nobody_left`; empty where it does not."
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
    """Runs by state."""

    state = fields.Listed(child=fields.Choice(choices=RunState.choices), required=False, allow_empty=False)


class ScheduleRunOut(Out):
    """What became of a schedule at one moment.  Without days it is about what changed since `changedSince`."""

    outcome = fields.Text(help_text="Why it failed, was refused or waits; empty where nothing is wrong.")

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
