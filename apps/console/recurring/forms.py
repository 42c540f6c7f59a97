"""Forms of an existing order: single days, holds, its end.  Each contains the version that was shown."""

from collections.abc import Mapping
from typing import Any, Final, cast

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.recurring.models import HoldReason
from lib.console_forms import add_errors, day_field
from lib.errors import DomainError, StaleVersion

STALE: Final = _(
    "Someone else changed the standing order. This page shows the current state. Review it, then save again."
)

ALONG: Final = _("If unchanged, it moves with the chair time.")


def time_field(label: Any, **options: Any) -> forms.TimeField:
    widget = forms.TimeInput(attrs={"type": "time"}, format="%H:%M")
    return forms.TimeField(label=label, widget=widget, **options)


class Versioned(forms.Form):
    """`version` is the one that was shown; `names` are form fields by their names in the API."""

    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    names: Mapping[str, str] = {}

    def refuse(self, error: DomainError) -> None:
        """Add an error; after a stale version, the form has the version that the page now shows."""
        if isinstance(error, StaleVersion):
            self.data = cast(QueryDict, self.data).copy()
            self.data["version"] = str(error.current_version)
            self.add_error(None, STALE)
        else:
            add_errors(self, error, self.names)


class Plain(Versioned):
    """A button without fields."""


class DayForm(Versioned):
    """One occurrence by its pattern date; `shown` is its service date, which the page shows."""

    day = forms.DateField(widget=forms.HiddenInput)
    shown = forms.DateField(widget=forms.HiddenInput)
    names = {"date": "day"}


class MoveForm(DayForm):
    to_date = day_field(_("On"))
    chair_time = time_field(_("Chair time"), required=False, help_text=_("Leave blank to use the time of the series."))
    pickup_time = time_field(_("Pickup"), required=False, help_text=ALONG)
    return_time = time_field(_("Return trip"), required=False, help_text=ALONG)

    names = {
        "date": "day",
        "toDate": "to_date",
        "chairTime": "chair_time",
        "pickupTime": "pickup_time",
        "returnTime": "return_time",
    }


class HoldForm(Versioned):
    reason = forms.ChoiceField(
        label=_("Reason"),
        choices=[
            (HoldReason.HOSPITAL_STAY, _("Hospital stay")),
            (HoldReason.TRAVEL, _("Travel")),
            (HoldReason.TRANSPLANT, _("Transplant")),
            (HoldReason.OTHER, _("Other")),
        ],
    )
    from_date = day_field(_("First day without rides"))
    until = day_field(
        _("Last day without rides"),
        required=False,
        help_text=_("Leave blank to hold until resumed. You get a weekly reminder to review it."),
    )

    names = {"from": "from_date", "until": "until"}


class ResumeForm(Versioned):
    from_date = day_field(_("First day with rides"))

    names = {"from": "from_date"}


class EndForm(Versioned):
    last_date = day_field(
        _("Last day with rides"),
        required=False,
        help_text=_("Leave blank to end it now; all rides that have not started are canceled."),
    )

    names = {"on": "last_date"}


class RiderSearch(forms.Form):
    """Search for the rider of a new order by name, external id or phone."""

    q = forms.CharField(
        label=_("Rider"),
        max_length=100,
        error_messages={"required": _("Enter a name, MRN or phone.")},
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=_("Name, MRN or phone"),
    )
