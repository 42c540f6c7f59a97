"""Forms of schedules.  Filters that only the API can set are kept when users change a schedule."""

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
from lib import zone_labels
from lib.access import Phi, Principal
from lib.api.serializers import camel
from lib.console_forms import add_errors, capitalized, choose
from lib.errors import DomainError
from lib.ids import uuid_or_none

MAX_CHOICES: Final = 500  # recipients to choose from
DATASET_NAMES: Final[Mapping[str, str | Promise]] = {
    "rides": _("Rides"),
    "completions": _("Completions, for billing"),
    "exceptions": _("Exceptions"),
    "drivers": _("Drivers"),
    "kpis": _("Figures"),
}
LEVEL_NAMES: Final[Mapping[Phi, str | Promise]] = {
    Phi.NONE: _("No rider data"),
    Phi.LIMITED: _("Names and numbers for billing"),
    Phi.FULL: _("All rider data"),
}
# Defaults: a report on Monday morning about the past week, an export every morning about the previous day.
_MONDAY_AT_SEVEN: Final = {"every": Every.WEEK, "weekdays": ["0"], "covers": Covers.PREVIOUS_WEEK, "at_time": time(7)}
_EVERY_MORNING: Final = {"every": Every.DAY, "covers": Covers.PREVIOUS_DAY, "at_time": time(6), "format": "csv"}


def _phi_level(value: str) -> Phi:
    return Phi(int(value))


class _ScheduleForm(forms.Form):
    """Fields of all schedules: cadence, period and recipients."""

    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    name = forms.CharField(
        label=_("Name"), max_length=60, help_text=_("Recipients can read it: do not write anything about riders.")
    )
    covers = forms.ChoiceField(label=_("Period"))
    every = forms.ChoiceField(label=_("How often"), choices=capitalized(Every.choices))
    weekdays = forms.MultipleChoiceField(
        label=_("Days of the week"),
        required=False,
        choices=[(str(number), name) for number, name in WEEKDAYS.items()],
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Only for every week."),
    )
    month_day = forms.IntegerField(
        label=_("Day of the month"),
        min_value=1,
        max_value=31,
        initial=1,
        help_text=_("Only for every month. In shorter months, the last day counts."),
    )
    at_time = forms.TimeField(
        label=_("At"), input_formats=["%H:%M"], widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )
    zone = forms.ChoiceField(label=_("Time zone"), choices=lambda: zone_labels.choices(known_zones(), iana=True))
    facility_id = forms.ChoiceField(label=_("Facility"), required=False)
    provider_id = forms.ChoiceField(label=_("Provider"), required=False)
    recipients = forms.MultipleChoiceField(label=_("People"), required=False, widget=forms.CheckboxSelectMultiple)

    kind: str
    form_filters: Sequence[str] = ("facility_id", "provider_id")

    def __init__(
        self, data: Any = None, *, by: Principal, current: ScheduleRequest | None = None, initial: Any = None
    ) -> None:
        super().__init__(data, initial={**(initial or {}), **({} if current is None else self.initial_of(current))})
        self.current = current
        choose(self, "facility_id", _named(Facility.objects.visible_to(by)), first=_("All facilities"))
        choose(self, "provider_id", _named(TransportProvider.objects.visible_to(by)), first=_("All providers"))
        self.set_recipients(schedule_recipients.candidates(by, schedule_recipients.scopes_for(self.kind, "")))

    def set_recipients(self, users: Any) -> None:
        rows = users.values_list("pk", "name", "email")[:MAX_CHOICES]
        choose(self, "recipients", [(pk, f"{name} ({email})") for pk, name, email in rows])

    def initial_of(self, current: ScheduleRequest) -> dict[str, Any]:
        return {
            "name": current.name,
            "covers": current.covers,
            "every": current.every,
            "weekdays": [str(day) for day in current.weekdays],
            "month_day": current.month_day,
            "at_time": current.at_time,
            "zone": current.zone,
            "recipients": [str(user_id) for user_id in current.recipients],
            **{name: str(value) for name, value in current.filters.items() if name in self.form_filters},
        }

    def schedule_request(self) -> ScheduleRequest:
        """Return the request of a valid form."""
        data = self.cleaned_data
        stored = {} if self.current is None else self.current.filters
        other_filters = {name: value for name, value in stored.items() if name not in self.form_filters}
        entered = {name: data[name] for name in self.form_filters if data[name]}
        ids = {name: UUID(value) for name, value in entered.items() if name.endswith("_id")}
        return ScheduleRequest(
            kind=self.kind,
            name=data["name"],
            covers=data["covers"],
            every=data["every"],
            weekdays=[int(day) for day in data["weekdays"]],
            month_day=data["month_day"],
            at_time=data["at_time"],
            zone=data["zone"],
            filters={**other_filters, **entered, **ids},
            recipients=[UUID(user_id) for user_id in data["recipients"]],
        )

    def add_errors(self, error: DomainError) -> None:
        add_errors(self, error, {camel(name): name for name in self.fields} | {"destinationId": "destination_id"})


class ReportForm(_ScheduleForm):
    """Form of a report by e-mail."""

    kind = ReportSchedule.Kind.REPORT.value
    form_filters = ("facility_id", "provider_id", "service_type", "basis")

    report = forms.ChoiceField(label=_("Report"))
    service_type = forms.ChoiceField(
        label=_("Service"), required=False, choices=[("", _("All services")), *capitalized(ServiceType.choices)]
    )
    basis = forms.ChoiceField(
        label=_("Closed days"),
        required=False,
        choices=[("", _("As closed")), (Basis.LIVE.value, _("Live"))],
    )

    def __init__(
        self, data: Any = None, *, by: Principal, current: ScheduleRequest | None = None, initial: Any = None
    ) -> None:
        super().__init__(data, by=by, current=current, initial={**_MONDAY_AT_SEVEN, **(initial or {})})
        choose(self, "report", [(OVERVIEW, str(_("Key figures"))), *((kpi.key, kpi_title(kpi)) for kpi in ALL_KPIS)])
        choose(self, "covers", capitalized(choice for choice in Covers.choices if choice[0] != Covers.CHANGES))

    def initial_of(self, current: ScheduleRequest) -> dict[str, Any]:
        return {**super().initial_of(current), "report": current.report}

    def schedule_request(self) -> ScheduleRequest:
        return replace(super().schedule_request(), report=self.cleaned_data["report"])


class ExportForm(_ScheduleForm):
    """Form of an export for recipients or a destination."""

    kind = ReportSchedule.Kind.EXPORT.value

    dataset = forms.ChoiceField(label=_("What"))
    format = forms.ChoiceField(label=_("Format"), choices=Export.Format.choices)
    phi = forms.TypedChoiceField(label=_("Rider data"), coerce=_phi_level)
    destination_id = forms.ChoiceField(
        label=_("Destination"),
        required=False,
        help_text=_("Recipients are notified by e-mail; a destination receives the file."),
    )

    def __init__(
        self, data: Any = None, *, by: Principal, current: ScheduleRequest | None = None, initial: Any = None
    ) -> None:
        super().__init__(data, by=by, current=current, initial={**_EVERY_MORNING, **(initial or {})})
        datasets = [dataset for dataset in DATASETS.values() if dataset.scope is None or by.has_scope(dataset.scope)]
        choose(self, "dataset", [(dataset.name, str(DATASET_NAMES[dataset.name])) for dataset in datasets])
        choose(self, "phi", [(phi.value, str(name)) for phi, name in LEVEL_NAMES.items() if phi <= level(by)])
        destinations = ExportDestination.objects.active().order_by("name", "pk").values_list("pk", "name")
        choose(self, "destination_id", destinations, first=_("To people, by e-mail"))
        choose(self, "covers", capitalized(Covers.choices))

    def initial_of(self, current: ScheduleRequest) -> dict[str, Any]:
        values = {"dataset": current.dataset, "format": current.format, "phi": current.phi.value}
        return {**super().initial_of(current), **values, "destination_id": str(current.destination_id or "")}

    def schedule_request(self) -> ScheduleRequest:
        data = self.cleaned_data
        current, request = self.current, super().schedule_request()
        is_same = current is not None and (current.dataset, current.phi) == (data["dataset"], data["phi"])
        destination_id = uuid_or_none(data["destination_id"])
        return replace(
            request,
            dataset=data["dataset"],
            format=data["format"],
            phi=data["phi"],
            columns=current.columns if is_same and current is not None else None,
            destination_id=destination_id,
            recipients=[] if destination_id else request.recipients,
        )


FORMS: Final[Mapping[str, type[_ScheduleForm]]] = {ReportForm.kind: ReportForm, ExportForm.kind: ExportForm}


def initial_from(query: QueryDict, *, by: Principal, zone: ZoneInfo, at: datetime) -> dict[str, Any]:
    """Return the initial values of a new schedule: the filters of the report page, the user and their time zone."""
    page_filters = filters(by, at=at)(query).parameters()
    report = query.get("report", OVERVIEW)
    return {
        "report": report,
        "facility_id": page_filters.get("facility", ""),
        "provider_id": page_filters.get("provider", ""),
        "service_type": page_filters.get("type", ""),
        "basis": page_filters.get("basis", ""),
        "zone": zone.key,
        "recipients": [str(by.id)],
    }


def _named(rows: Any) -> Iterable[tuple[UUID, str]]:
    return list(rows.order_by("name", "pk").values_list("pk", "name"))
