"""Forms of schedules.  What is narrowed to by the API alone stays as it is when people change the rest."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, time
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.http import QueryDict
from django.utils.dates import WEEKDAYS
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.console.reports.forms import filters
from apps.exports.models import Export, ExportDestination, ReportSchedule
from apps.exports.models.schedules import OVERVIEW
from apps.exports.queries.datasets import DATASETS
from apps.exports.rules.cadence import Covers, Every
from apps.exports.services import schedule_recipients
from apps.exports.services.export_validation import level
from apps.exports.services.schedule_validation import ScheduleRequest
from apps.organizations.models import Facility, TransportProvider
from apps.organizations.zones import known_zones
from apps.reporting.kpi_labels import kpi_title
from apps.reporting.models import Basis
from apps.reporting.rules.kpis import ALL_KPIS
from apps.rides.rules.draft import ServiceType
from lib.access import Phi, Principal
from lib.api.serializers import camel
from lib.console_forms import choose, put_on, spoken
from lib.errors import DomainError
from lib.ids import uuid_or_none

MOST_NAMED: Final = 500  # people to choose from
DATASET_NAMES: Final[Mapping[str, str | Promise]] = {
    "rides": _("Rides"),
    "completions": _("Completions, for billing"),
    "exceptions": _("Exceptions"),
    "drivers": _("Drivers"),
    "kpis": _("Figures"),
}
LEVEL_NAMES: Final[Mapping[Phi, str | Promise]] = {
    Phi.NONE: _("No rider is named"),
    Phi.LIMITED: _("Names and numbers for billing"),
    Phi.FULL: _("Everything about riders"),
}
# A report goes out when a week is over and somebody is there to read it; an export when the day is.
_MONDAY_AT_SEVEN: Final = {"every": Every.WEEK, "weekdays": ["0"], "covers": Covers.PREVIOUS_WEEK, "at_time": time(7)}
_EVERY_MORNING: Final = {"every": Every.DAY, "covers": Covers.PREVIOUS_DAY, "at_time": time(6), "format": "csv"}


def _level(value: str) -> Phi:
    return Phi(int(value))


class _ScheduleForm(forms.Form):
    """When, about which days, and to whom."""

    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    name = forms.CharField(
        label=_("Name"), max_length=60, help_text=_("Whoever it goes to reads it: write nothing about riders into it.")
    )
    covers = forms.ChoiceField(label=_("About which days"))
    every = forms.ChoiceField(label=_("How often"), choices=spoken(Every.choices))
    weekdays = forms.MultipleChoiceField(
        label=_("On which days of the week"),
        required=False,
        choices=[(str(number), name) for number, name in WEEKDAYS.items()],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("For every week alone."),
    )
    month_day = forms.IntegerField(
        label=_("On which day of the month"),
        min_value=1,
        max_value=31,
        initial=1,
        help_text=_("For every month alone. Where a month is shorter, its last day counts."),
    )
    at_time = forms.TimeField(
        label=_("At"), input_formats=["%H:%M"], widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    zone = forms.ChoiceField(label=_("Time zone"), choices=[(zone, zone) for zone in sorted(known_zones())])
    facility_id = forms.ChoiceField(label=_("Facility"), required=False)
    provider_id = forms.ChoiceField(label=_("Provider"), required=False)
    recipients = forms.MultipleChoiceField(label=_("People"), required=False, widget=forms.CheckboxSelectMultiple)

    kind: str
    own_filters: Sequence[str] = ("facility_id", "provider_id")

    def __init__(
        self, data: Any = None, *, by: Principal, was: ScheduleRequest | None = None, initial: Any = None
    ) -> None:
        super().__init__(data, initial={**(initial or {}), **({} if was is None else self.initial_of(was))})
        self.was = was
        choose(self, "facility_id", _named(Facility.objects.visible_to(by)), first=_("All facilities"))
        choose(self, "provider_id", _named(TransportProvider.objects.visible_to(by)), first=_("All providers"))
        self.offer_people(schedule_recipients.candidates(by, schedule_recipients.scopes_for(self.kind, "")))

    def offer_people(self, people: Any) -> None:
        rows = people.values_list("pk", "name", "email")[:MOST_NAMED]
        choose(self, "recipients", [(pk, f"{name} ({email})") for pk, name, email in rows])

    def initial_of(self, was: ScheduleRequest) -> dict[str, Any]:
        return {
            "name": was.name,
            "covers": was.covers,
            "every": was.every,
            "weekdays": [str(one) for one in was.weekdays],
            "month_day": was.month_day,
            "at_time": was.at_time,
            "zone": was.zone,
            "recipients": [str(one) for one in was.recipients],
            **{name: str(value) for name, value in was.filters.items() if name in self.own_filters},
        }

    def schedule_request(self) -> ScheduleRequest:
        """Say what is asked for, of a form that holds."""
        data = self.cleaned_data
        kept = {} if self.was is None else {n: v for n, v in self.was.filters.items() if n not in self.own_filters}
        asked = {name: data[name] for name in self.own_filters if data[name]}
        ids = {name: UUID(value) for name, value in asked.items() if name.endswith("_id")}
        return ScheduleRequest(
            kind=self.kind,
            name=data["name"],
            covers=data["covers"],
            every=data["every"],
            weekdays=[int(one) for one in data["weekdays"]],
            month_day=data["month_day"],
            at_time=data["at_time"],
            zone=data["zone"],
            filters={**kept, **asked, **ids},
            recipients=[UUID(one) for one in data["recipients"]],
        )

    def refuse(self, refusal: DomainError) -> None:
        put_on(self, refusal, {camel(name): name for name in self.fields} | {"destinationId": "destination_id"})


class ReportForm(_ScheduleForm):
    """A report by mail."""

    kind = ReportSchedule.Kind.REPORT.value
    own_filters = ("facility_id", "provider_id", "service_type", "basis")

    report = forms.ChoiceField(label=_("Report"))
    service_type = forms.ChoiceField(
        label=_("Service"), required=False, choices=[("", _("All services")), *spoken(ServiceType.choices)]
    )
    basis = forms.ChoiceField(
        label=_("Closed days"),
        required=False,
        choices=[("", _("As they were closed")), (Basis.LIVE.value, _("As they are now"))],
    )

    def __init__(
        self, data: Any = None, *, by: Principal, was: ScheduleRequest | None = None, initial: Any = None
    ) -> None:
        super().__init__(data, by=by, was=was, initial={**_MONDAY_AT_SEVEN, **(initial or {})})
        choose(self, "report", [(OVERVIEW, str(_("Main figures"))), *((one.key, kpi_title(one)) for one in ALL_KPIS)])
        choose(self, "covers", spoken((value, label) for value, label in Covers.choices if value != Covers.CHANGES))

    def initial_of(self, was: ScheduleRequest) -> dict[str, Any]:
        return {**super().initial_of(was), "report": was.report}

    def schedule_request(self) -> ScheduleRequest:
        return replace(super().schedule_request(), report=self.cleaned_data["report"])


class ExportForm(_ScheduleForm):
    """An export, told of by mail or put to a destination."""

    kind = ReportSchedule.Kind.EXPORT.value

    dataset = forms.ChoiceField(label=_("What"))
    format = forms.ChoiceField(label=_("Format"), choices=Export.Format.choices)
    phi = forms.TypedChoiceField(label=_("What of riders is in it"), coerce=_level)
    destination_id = forms.ChoiceField(
        label=_("Where to"), required=False, help_text=_("People are told by e-mail; a destination is sent the file.")
    )

    def __init__(
        self, data: Any = None, *, by: Principal, was: ScheduleRequest | None = None, initial: Any = None
    ) -> None:
        super().__init__(data, by=by, was=was, initial={**_EVERY_MORNING, **(initial or {})})
        sets = [one for one in DATASETS.values() if one.scope is None or by.has_scope(one.scope)]
        choose(self, "dataset", [(one.name, str(DATASET_NAMES[one.name])) for one in sets])
        choose(self, "phi", [(one.value, str(name)) for one, name in LEVEL_NAMES.items() if one <= level(by)])
        places = ExportDestination.objects.active().order_by("name", "pk").values_list("pk", "name")
        choose(self, "destination_id", places, first=_("To people, by e-mail"))
        choose(self, "covers", spoken(Covers.choices))

    def initial_of(self, was: ScheduleRequest) -> dict[str, Any]:
        mine = {"dataset": was.dataset, "format": was.format, "phi": was.phi.value}
        return {**super().initial_of(was), **mine, "destination_id": str(was.destination_id or "")}

    def schedule_request(self) -> ScheduleRequest:
        data = self.cleaned_data
        same = self.was is not None and (self.was.dataset, self.was.phi) == (data["dataset"], data["phi"])
        place = uuid_or_none(data["destination_id"])
        return replace(
            super().schedule_request(),
            dataset=data["dataset"],
            format=data["format"],
            phi=data["phi"],
            columns=self.was.columns if same and self.was is not None else None,
            destination_id=place,
            recipients=[] if place else super().schedule_request().recipients,
        )


FORMS: Final[Mapping[str, type[_ScheduleForm]]] = {ReportForm.kind: ReportForm, ExportForm.kind: ExportForm}


def initial_from(query: QueryDict, *, by: Principal, zone: ZoneInfo, at: datetime) -> dict[str, Any]:
    """Say what a new schedule begins with: the filter of the page that it was asked for on, its reader, their zone."""
    known = filters(by, at=at)(query).known()
    report = query.get("report", OVERVIEW)
    return {
        "report": report,
        "facility_id": known.get("facility", ""),
        "provider_id": known.get("provider", ""),
        "service_type": known.get("type", ""),
        "basis": known.get("basis", ""),
        "zone": zone.key,
        "recipients": [str(by.id)],
    }


def _named(rows: Any) -> Iterable[tuple[UUID, str]]:
    return list(rows.order_by("name", "pk").values_list("pk", "name"))
