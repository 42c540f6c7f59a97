"""Forms of the ride page.  Each form carries the version of the ride that the page showed."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from apps.console.ride import labels as ride_labels
from apps.riders.rules.needs import Mobility
from apps.rides import labels
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import Action, ReasonList
from apps.rides.rules.reasons import ABORT_REASONS, AT_DOOR_UNASSIGN_REASONS, CODES, PROVIDER_REASONS
from apps.rides.rules.ride_actions import MOMENTS
from apps.rides.services.leg_decisions import Answer
from lib.console_forms import CheckboxList, add_errors, capitalized, choose
from lib.errors import Code, DomainError, StaleVersion

MAX_NOTE: Final = 500
# Reasons of rides that are canceled automatically, by standing orders and deadlines.
_AUTOMATIC: Final = frozenset({"standing_order_hold", "standing_order_ended", "calendar_shift", "will_call_not_used"})
OwnReasons = Mapping[tuple[str, str], str]


class Versioned(forms.Form):
    """`version` is that of the ride on the page; `names` maps paths in the API to form fields."""

    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0)

    names: Mapping[str, str] = {}
    is_stale = False

    def refuse(self, refusal: DomainError) -> None:
        """Add an error of a service to the form.

        After a stale version, sets `is_stale` and the current version, so that the form can be submitted again from the
        page that shows the changes.
        """
        if isinstance(refusal, StaleVersion):
            self.is_stale = True
            self.data = cast(QueryDict, self.data).copy()
            self.data["version"] = str(refusal.current_version)
            self.add_error(None, _("Someone else changed it. Review the changes, then submit again."))
        elif refusal.details and not any(detail.field in self.names for detail in refusal.details):
            for detail in refusal.details:
                self.add_error(None, str(detail.text))
        else:
            add_errors(self, refusal, self.names)


class Overridable(Versioned):
    """A form whose soft rules can be overridden with a reason, by users with the scope for it.

    `can_override` is set if an override would help: the page then shows the fields for it.
    """

    override = forms.BooleanField(label=_("Override"), required=False)
    override_reason = forms.CharField(label=_("Why"), required=False, max_length=MAX_NOTE)

    names = {"overrideReason": "override_reason"}
    can_override = False

    def refuse(self, refusal: DomainError) -> None:
        kinds = {detail.also.get("kind") for detail in refusal.details}
        self.can_override = (
            kinds == {"soft"} or refusal.code is Code.DUPLICATE_RIDE or self.data.get("override") == "on"
        )
        super().refuse(refusal)


class ChecklistOpen(DomainError):
    """Items of the discharge checklist are open: the user has to confirm that the rider is ready."""

    code = Code.RULE_VIOLATION
    template = _("Still open on the checklist: %(items)s. Is the rider ready anyway?")


class ReadyForm(Overridable):
    """Release of a rider.  `asks` is set if the checklist is open: the page then asks for a confirmation."""

    confirmed = forms.BooleanField(required=False, widget=forms.HiddenInput)
    asks = False

    def refuse(self, refusal: DomainError) -> None:
        self.asks = isinstance(refusal, ChecklistOpen)
        super().refuse(refusal)


class ReasonForm(Versioned):
    """Reason of an ending or an unassignment.  `on_board` adds the rider's current location as a required field."""

    reason_code = forms.ChoiceField(label=_("Reason"))
    note = forms.CharField(
        label=_("Note"),
        required=False,
        max_length=MAX_NOTE,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("Needed with the reason Other."),
    )

    names = {"reasonCode": "reason_code", "note": "note", "riderLocation": "rider_location"}

    def __init__(self, *args: Any, reasons: Sequence[tuple[str, Any]], on_board: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        cast(forms.ChoiceField, self.fields["reason_code"]).choices = [("", _("Choose one")), *reasons]
        if on_board:
            self.fields["rider_location"] = forms.CharField(label=_("Where the rider is now"), max_length=MAX_NOTE)


class CorrectionForm(Overridable):
    """Reason why an ending is reverted."""

    note = forms.CharField(
        label=_("Reason for the correction"), max_length=MAX_NOTE, widget=forms.Textarea(attrs={"rows": 2})
    )

    names = {"note": "note", "overrideReason": "override_reason"}


class LinkForm(Versioned):
    """Other rides of the rider that become legs of one trip with the ride; `offered` are their labels by id."""

    rides = forms.MultipleChoiceField(label=_("Rides of this rider"), widget=CheckboxList)

    def __init__(self, *args: Any, offered: Mapping[str, str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._offered = offered
        choose(self, "rides", offered.items())

    def ride_ids(self, ride_id: UUID) -> list[UUID]:
        return [ride_id, *(UUID(value) for value in self.cleaned_data["rides"])]

    def refuse(self, refusal: DomainError) -> None:
        """Add each refusal with the ride that it concerns."""
        chosen = self.cleaned_data.get("rides", [])
        for detail in refusal.details:
            index = re.fullmatch(r"rideIds\[([1-9])\]", detail.field or "")
            about = f"{self._offered[chosen[int(index[1]) - 1]]}: " if index else ""
            self.add_error("rides", f"{about}{detail.text}")
        if not refusal.details:
            super().refuse(refusal)


class NotesForm(Versioned):
    driver = forms.CharField(label=_("For the driver"), required=False, max_length=1000, widget=forms.Textarea)
    facility = forms.CharField(label=_("Facility note"), required=False, max_length=1000, widget=forms.Textarea)
    dispatcher = forms.CharField(
        label=_("Internal (dispatch only)"), required=False, max_length=1000, widget=forms.Textarea
    )

    def __init__(self, *args: Any, dispatchers: bool, **options: Any) -> None:
        super().__init__(*args, **options)
        if not dispatchers:
            del self.fields["dispatcher"]
        for name in set(self.fields) - {"version"}:
            self.fields[name].widget.attrs["rows"] = 3


class MomentForm(Overridable):
    """A milestone entered manually, after a phone call.  Requires the ride's zone as Django's current time zone."""

    type = forms.ChoiceField(label=_("Event"))
    occurred_at = forms.DateTimeField(
        label=_("When"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text=_("Leave blank for now."),
    )
    contacted = forms.ChoiceField(
        label=_("Who was called"),
        required=False,
        choices=[("", _("None")), *ride_labels.CONTACTED.items()],
        help_text=_("For a contact attempt."),
    )
    secured = forms.BooleanField(label=_("Wheelchair or stretcher secured"), required=False)
    handoff_name = forms.CharField(
        label=_("Received by"),
        required=False,
        max_length=100,
        help_text=_("At the drop-off, if the signature policy requires it."),
    )
    note = forms.CharField(label=_("Note"), required=False, max_length=MAX_NOTE)

    names = {"overrideReason": "override_reason", "occurredAt": "occurred_at", "handoffName": "handoff_name"}

    def __init__(self, *args: Any, status: str, **options: Any) -> None:
        super().__init__(*args, **options)
        offered = [(moment, labels.MOMENTS[moment]) for moment in MOMENTS.get(status, ())]
        cast(forms.ChoiceField, self.fields["type"]).choices = offered


class AnswerForm(Versioned):
    """The planner's decision for a ride without a driver; another mode requires `mobility`."""

    answer = forms.ChoiceField(choices=Answer.choices)
    mobility = forms.ChoiceField(
        label=_("How the rider can ride instead"),
        required=False,
        choices=[("", _("Choose one")), *capitalized(Mobility.choices)],
    )

    names = {"accommodation.mobility": "mobility", "mobility": "mobility"}

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if values.get("answer") == Answer.CHANGE_MODE and not values.get("mobility"):
            self.add_error("mobility", _("Say how the rider can ride instead."))
        return values


class TickForm(Versioned):
    """One item of the discharge checklist: the pressed button sets it (`tick`) or clears it (`untick`)."""

    tick = forms.ChoiceField(required=False, choices=list(ride_labels.CHECKLIST.items()))
    untick = forms.ChoiceField(required=False, choices=list(ride_labels.CHECKLIST.items()))

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or {}
        if bool(values.get("tick")) == bool(values.get("untick")):
            self.add_error(None, _("Press one line of the checklist."))
        return values


def reasons_for(ride: Ride, reasons: ReasonList, action: Action | None, own: OwnReasons) -> list[tuple[str, Any]]:
    """Return codes and labels of the reasons for a step from the ride's status, including the operator's own."""
    codes: Sequence[str] = CODES[reasons]
    if action is Action.ABORT:
        codes = ABORT_REASONS
    elif reasons is ReasonList.UNFULFILLED:
        codes = PROVIDER_REASONS if ride.driver_id else [code for code in codes if code not in ABORT_REASONS]
    elif reasons is ReasonList.UNASSIGN and ride.status == "arrived":
        codes = AT_DOOR_UNASSIGN_REASONS
    offered = [(code, ride_labels.code_label(code)) for code in codes if code not in _AUTOMATIC]
    return offered + [(code, label) for (name, code), label in own.items() if name == reasons.value]
