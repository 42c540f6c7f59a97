"""Filters of reports and their URL parameters: days, and ids of facilities and providers, never names."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from apps.console.kit.lists import Filters
from apps.organizations.models import Facility, TransportProvider
from apps.reporting.models import Basis
from apps.reporting.queries.selection import MAX_DAYS, Selection, select
from apps.rides.rules.draft import ServiceType
from lib.access import Principal
from lib.console_forms import ListFilter, MultiSelectField, add_errors, capitalized, choose, day_field
from lib.errors import InvalidInput
from lib.ids import uuid_or_none

USUAL_DAYS: Final = 30
OWN: Final = "own"
# Periods of days end yesterday: today's upcoming rides would count as not completed.
PERIODS: Final[Sequence[tuple[str, str | Promise]]] = (
    ("", _("Last 30 days")),
    ("7", _("Last 7 days")),
    ("90", _("Last 90 days")),
    ("month", _("This month")),
    ("last_month", _("Last month")),
    (OWN, _("From, to")),
)
Choices = Sequence[tuple[UUID, str]]
_SUMMARY_FIELDS: Final = ("facility", "provider", "type", "basis")


class ReportFilter(ListFilter):
    """Filter by days, facilities, provider and service, with closed days as closed or as they are now."""

    period = forms.ChoiceField(label=_("Period"), required=False, choices=PERIODS)
    facility = MultiSelectField(label=_("Facilities"), all_label=_("All facilities"))
    provider = forms.ChoiceField(label=_("Provider"), required=False)
    type = forms.ChoiceField(
        label=_("Service"), required=False, choices=[("", _("All services")), *capitalized(ServiceType.choices)]
    )
    basis = forms.ChoiceField(
        label=_("Closed days"),
        required=False,
        choices=[("", _("As closed")), (Basis.LIVE.value, _("Live"))],
    )

    def __init__(self, query: QueryDict, *, facilities: Choices, providers: Choices, today: date) -> None:
        super().__init__(query)
        self.today = today
        # `from` is a reserved word of Python.
        days = {"from": day_field(_("From"), required=False), "to": day_field(_("To"), required=False)}
        fields = list(self.fields.items())
        self.fields = dict([fields[0], *days.items(), *fields[1:]])
        choose(self, "facility", facilities)
        choose(self, "provider", providers, first=_("All providers"))

    def clean(self) -> dict[str, Any]:
        """Treat two dates without a period as a custom period; clear the dates for any other period."""
        data: dict[str, Any] = super().clean() or {}
        first, last = data.get("from"), data.get("to")
        if not data.get("period") and first and last:
            data["period"] = OWN
        if data.get("period") != OWN:
            return data | {"from": None, "to": None}
        for name in ("from", "to"):
            if not data.get(name) and name not in self.errors:
                self.add_error(name, _("Enter both days."))
        return data

    @property
    def days(self) -> tuple[date, date]:
        """The first and the last day of a valid form."""
        period, yesterday = self.cleaned_data["period"], self.today - timedelta(days=1)
        begun = self.today.replace(day=1)
        if period == OWN:
            return self.cleaned_data["from"], self.cleaned_data["to"]
        if period == "month":
            return begun, self.today
        if period == "last_month":
            ended = begun - timedelta(days=1)
            return ended.replace(day=1), ended
        return self.today - timedelta(days=int(period or USUAL_DAYS)), yesterday

    def selection(self, by: Principal, *, max_days: int = MAX_DAYS) -> Selection | None:
        """Return the selection; None if the form is invalid: its fields then have errors."""
        if not self.is_valid():
            return None
        first, last = self.days
        try:
            return select(
                by=by,
                first=first,
                last=last,
                facility_ids=[UUID(facility_id) for facility_id in self.cleaned_data["facility"]],
                provider_ids=list(filter(None, [uuid_or_none(self.cleaned_data["provider"])])),
                service_types=list(filter(None, [self.cleaned_data["type"]])),
                basis=Basis(self.cleaned_data.get("basis") or Basis.CLOSED),
                max_days=max_days,
            )
        except InvalidInput as refusal:
            self.refuse(refusal)
            return None

    def refuse(self, refusal: InvalidInput) -> None:
        add_errors(self, refusal, {"to": "to", "from": "from"})

    def summary(self) -> list[tuple[str, str]]:
        """Return the filter of a valid form in words: label and chosen value of each field."""
        fields = {name: cast(forms.ChoiceField, self.fields[name]) for name in _SUMMARY_FIELDS if name in self.fields}
        return [(str(field.label), self._value_text(name, field)) for name, field in fields.items()]

    def _value_text(self, name: str, field: forms.ChoiceField) -> str:
        selected = self.cleaned_data[name]
        if isinstance(field, MultiSelectField) and not selected:
            return str(field.all_label)
        selected_values = selected if isinstance(selected, list) else [selected]
        return ", ".join(str(label) for value, label in _options(field) if value in selected_values)


def _options(field: forms.ChoiceField) -> Iterable[tuple[str, Any]]:
    return cast(Iterable[tuple[str, Any]], field.choices)


class WorkFilter(ReportFilter):
    """Filter of the utilization report, which shows rides as they are now, also on closed days."""

    basis = None  # type: ignore[assignment]  # removes the inherited field from the form


def filters(by: Principal, *, at: datetime, form: type[ReportFilter] = ReportFilter) -> Filters:
    """Return the factory of the filter forms.  Two queries, for any number of forms."""
    facilities = list(Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))
    providers = list(TransportProvider.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name"))
    today = at.astimezone(ZoneInfo(settings.OPERATOR_TIME_ZONE)).date()
    return partial(form, facilities=facilities, providers=providers, today=today)
