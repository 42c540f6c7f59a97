"""Forms of the exceptions desk: filters of queue and history, snooze, and close."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.console.ride import labels as ride_labels
from apps.console.ride.ride_forms import Versioned
from apps.rides import labels
from apps.rides.queries.exception_queue import SIZES, ExceptionFilter
from apps.rides.rules.exception_types import ExceptionType
from lib.console_forms import ListFilter, choose
from lib.ids import uuid_or_none
from lib.listing import Listing

_ANY: Final = ("", _("Any"))
_SEVERITIES: Final = [_ANY, *((value, badge.text) for value, badge in ride_labels.SEVERITIES.items())]
CODES: Final = list(labels.CODES.items())
QUEUE: Final = Listing(
    "exceptions",
    sorts={"harm": _("Act by"), "-severity": _("Severity"), "-age": _("Open for")},
    sizes=SIZES,
    size=SIZES[1],
)
HISTORY: Final = Listing(
    "exceptions_history",
    sorts={"-closed": _("Closed"), "-opened": _("Raised")},
    columns={
        "severity": _("Severity"),
        "ride": _("Ride"),
        "opened": _("Raised"),
        "stood": _("Time open"),
        "code": _("Closed as"),
        "closed": _("Closed"),
    },
    size=SIZES[1],
)


def _types() -> list[tuple[str, Any]]:
    return [
        _ANY,
        *sorted(((type_.value, type_.label) for type_ in ExceptionType), key=lambda choice: str(choice[1])),
    ]


class DeskFilter(ListFilter):
    """Filters of the queue and of the history; all of them are URL parameters."""

    severity = forms.ChoiceField(label=_("Severity"), required=False, choices=_SEVERITIES)
    type = forms.ChoiceField(label=_("Type"), required=False, choices=_types)
    facility = forms.ChoiceField(label=_("Facility"), required=False)

    def __init__(self, query: QueryDict, *, facilities: Iterable[tuple[UUID, str]]) -> None:
        super().__init__(query)
        choose(self, "facility", facilities, first=_("Any"))
        self.is_valid()  # invalid values are ignored

    def exception_filter(self) -> ExceptionFilter:
        values = {name: value for name, value in self.cleaned_data.items() if name != "facility"}
        return ExceptionFilter(facility_id=uuid_or_none(self.cleaned_data.get("facility")), **values)


class QueueFilter(DeskFilter):
    owner = forms.ChoiceField(
        label=_("Owner"),
        required=False,
        choices=[("", _("Anyone")), ("mine", _("Me")), ("nobody", _("Unclaimed"))],
    )
    snoozed = forms.ChoiceField(
        label=_("Snoozed"),
        required=False,
        choices=[("", _("Hide")), ("only", _("Only snoozed")), ("all", _("Include"))],
    )
    field_order = ("severity", "type", "facility", "owner", "snoozed")


class HistoryFilter(DeskFilter):
    code = forms.ChoiceField(label=_("Closed as"), required=False, choices=[_ANY, *CODES])
    closed = forms.ChoiceField(
        label=_("Closed by"),
        required=False,
        choices=[("", _("Anyone")), ("hand", _("A person")), ("itself", _("Itself"))],
    )
    field_order = ("severity", "type", "facility", "code", "closed")


class SnoozeForm(Versioned):
    """Snooze for 15 minutes, for an hour, or until the next occurrence of a time of day in the user's zone."""

    minutes = forms.TypedChoiceField(
        required=False, choices=[("15", "15"), ("60", "60"), ("0", "0")], coerce=int, empty_value=None
    )
    until = forms.TimeField(
        label=_("Until"), required=False, widget=forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    )

    names = {"until": "until"}

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if values.get("minutes") is None and values.get("until") is None and "until" not in self.errors:
            self.add_error("until", _("Enter a time within the next 24 hours."))
        return values

    def moment(self, at: datetime, zone: ZoneInfo) -> datetime | None:
        """Return the end of the snooze; None: the snooze ends now."""
        minutes = self.cleaned_data["minutes"]
        if minutes is not None:
            return at + timedelta(minutes=minutes) if minutes else None
        local = at.astimezone(zone)
        until = datetime.combine(local.date(), self.cleaned_data["until"], tzinfo=zone)
        if until <= local:
            until = datetime.combine(local.date() + timedelta(days=1), self.cleaned_data["until"], tzinfo=zone)
        return until.astimezone(UTC)


class NoteForm(Versioned):
    """The note of an open exception; an empty one removes it."""

    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=_("Shown here, on the board and at the handover while the alert is open."),
    )

    names = {"note": "note"}


class CloseForm(Versioned):
    """Close an exception with a code; `dismiss`: it needed no action."""

    code = forms.ChoiceField(label=_("Outcome"), choices=[("", _("Choose one")), *CODES])
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Needed with Other."),
    )
    dismiss = forms.BooleanField(required=False)

    names = {"resolutionCode": "code", "note": "note"}
