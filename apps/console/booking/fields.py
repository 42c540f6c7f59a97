"""Parts of the booking form: the times of a ride, and the data of a new rider."""

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.booking.presets import ARRIVE, AT_TIME, NONE, PICKUP, WILL_CALL
from apps.organizations.rules import stops
from apps.rides.rules import booking_rules, timing
from apps.rides.rules.draft import ServiceType
from lib.clocks import clock
from lib.console_forms import day_field
from lib.phones import PhoneField
from lib.time_parsing import InvalidTime, instants, may_be_afternoon, parse

FIRST: Final = "first"
SECOND: Final = "second"
_PLAIN_INPUT: Final = {"autocomplete": "off", "spellcheck": "false"}


class ClockField(forms.CharField):
    """A time of day (`time`), or a duration from now (`timedelta`); None if empty."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=20, widget=forms.TextInput(attrs=_PLAIN_INPUT), **options)

    def clean(self, value: Any) -> time | timedelta | None:
        text = super().clean(value)
        if not text:
            return None
        try:
            return parse(text)
        except InvalidTime:
            raise forms.ValidationError(_("Enter a time such as 14:30, 2:30p, +45 or now.")) from None


class TimesFields(forms.Form):
    """Times of the ride and of the return trip, as clock times in `zone`.

    `check_times` converts them to the instants `pickup_at`, `appointment_at` and `back_at`.  `is_ambiguous` is set if a
    time occurs twice on the day, because clocks are set back: then `which` selects the first or second.
    """

    zone: str
    now: datetime
    pickup_at: datetime | None = None
    appointment_at: datetime | None = None
    back_at: datetime | None = None
    is_ambiguous = False

    when = forms.ChoiceField(
        label=gettext_lazy("When"),
        widget=forms.RadioSelect,
        choices=(
            (PICKUP, gettext_lazy("Pickup at")),
            (ARRIVE, gettext_lazy("Arrive by")),
            (WILL_CALL, gettext_lazy("Will-call")),
        ),
    )
    clock = ClockField(label=gettext_lazy("Time"), required=False)
    day = day_field(gettext_lazy("Day"))
    pickup_clock = ClockField(
        label=gettext_lazy("Pickup"),
        required=False,
        help_text=gettext_lazy("If blank, calculated from the drive time."),
    )
    which = forms.ChoiceField(
        label=gettext_lazy("The clocks go back: which of the two"),
        required=False,
        widget=forms.RadioSelect,
        choices=((FIRST, gettext_lazy("The first")), (SECOND, gettext_lazy("The second"))),
    )
    way_back = forms.ChoiceField(
        label=gettext_lazy("Return trip"),
        widget=forms.RadioSelect,
        choices=(
            (NONE, gettext_lazy("None")),
            (WILL_CALL, gettext_lazy("Will-call")),
            (AT_TIME, gettext_lazy("Scheduled")),
        ),
    )
    back_clock = ClockField(
        label=gettext_lazy("Return pickup at"),
        required=False,
        help_text=gettext_lazy(
            "For a will-call, an approximate time. If blank, one hour after the appointment or at the end of treatment."
        ),
    )

    @property
    def is_recorded(self) -> bool:
        """Return whether the ride is recorded after the fact."""
        return False

    @property
    def today(self) -> date:
        return timing.local_day(self.now, self.zone)

    def instant(self, name: str) -> datetime | None:
        """Return the instant of a clock field on the form's day; None if it is empty or invalid.

        `5` means 17:00 once 05:00 has passed today; `05:00` never does.  Of a ride that has taken place, `5` means the
        latest of the two that has passed.  Adds an error if the time does not exist on
        that day, if it occurs twice and `which` is empty, or if a duration from now is combined with another day than
        today.  A duration is rounded down to the minute.
        """
        entered, day = self.cleaned_data.get(name), self.cleaned_data.get("day")
        if entered is None or day is None:
            return None
        if isinstance(entered, timedelta):
            if day != self.today:
                self.add_error(name, _("A time counted from now works only for today."))
                return None
            later: datetime = self.now + entered
            return later.replace(second=0, microsecond=0)
        candidates = self._instants(name, day, entered)
        if len(candidates) == 1:
            return candidates[0]
        params = {"time": clock(entered)}
        if not candidates:
            self.add_error(name, _("There is no %(time)s on that day: the clocks go forward.") % params)
            return None
        self.is_ambiguous = True
        which = self.cleaned_data.get("which")
        if not which:
            self.add_error(name, _("%(time)s occurs twice on that day: choose one of the two.") % params)
            return None
        return candidates[1] if which == SECOND else candidates[0]

    def _instants(self, name: str, day: date, entered: time) -> tuple[datetime, ...]:
        candidates = instants(day, entered, self.zone)
        if day != self.today or not may_be_afternoon(str(self[name].value())):
            return candidates
        afternoon = instants(day, entered.replace(hour=entered.hour + 12), self.zone)
        if self.is_recorded:
            return afternoon if all(candidate <= self.now for candidate in afternoon) else candidates
        has_passed = all(booking_rules.is_past(candidate, at=self.now) for candidate in candidates)
        return afternoon if has_passed else candidates

    def check_times(self, service: str) -> None:
        """Set `pickup_at`, `appointment_at` and `back_at`; None for a time that is empty or invalid.

        A will-call return trip without a time is estimated from the appointment; without an appointment it is an error.
        For dialysis it stays None: the service estimates it from the treatment.
        """
        is_arrival = self.cleaned_data.get("when") == ARRIVE
        if self.cleaned_data.get("clock") is None and "clock" not in self.errors:
            self.add_error("clock", _("Enter a time."))
        entered = self.instant("clock")
        self.appointment_at = entered if is_arrival else None
        self.pickup_at = self.instant("pickup_clock") if is_arrival else entered
        return_mode = self.cleaned_data.get("way_back")
        self.back_at = self.instant("back_clock") if return_mode in (WILL_CALL, AT_TIME) else None
        has_return_time = self.cleaned_data.get("back_clock") is not None or "back_clock" in self.errors
        if return_mode == AT_TIME and not has_return_time:
            self.add_error("back_clock", _("Enter a time."))
        if return_mode == WILL_CALL and not has_return_time and service != ServiceType.DIALYSIS:
            self._estimate_return(is_arrival)

    def _estimate_return(self, is_arrival: bool) -> None:
        if self.appointment_at is not None:
            self.back_at = timing.add_minutes(self.appointment_at, timing.VISIT_MINUTES)
        elif not is_arrival:
            self.add_error("back_clock", _("Enter an approximate time."))


class NewRiderFields(forms.Form):
    """Fields of a new rider.  None is required by itself, because the form also books known riders."""

    first_name = forms.CharField(label=gettext_lazy("First name"), required=False, max_length=100)
    last_name = forms.CharField(label=gettext_lazy("Last name"), required=False, max_length=100)
    birth_date = day_field(gettext_lazy("Born on"), required=False, since=date(1900, 1, 1))
    phone = PhoneField(label=gettext_lazy("Phone"), required=False)
    home_line1 = forms.CharField(
        label=gettext_lazy("Home: street and number"), required=False, max_length=stops.MAX_LENGTHS["addressLine1"]
    )
    home_line2 = forms.CharField(
        label=gettext_lazy("Apartment, suite"), required=False, max_length=stops.MAX_LENGTHS["addressLine2"]
    )
    home_city = forms.CharField(label=gettext_lazy("City"), required=False, max_length=stops.MAX_LENGTHS["city"])
    home_state = forms.CharField(label=gettext_lazy("State"), required=False, max_length=stops.MAX_LENGTHS["state"])
    home_postal_code = forms.CharField(
        label=gettext_lazy("Postal code"), required=False, max_length=stops.MAX_LENGTHS["postalCode"]
    )
    somebody_else = forms.BooleanField(
        label=gettext_lazy("This is a different person: add a new rider"), required=False
    )

    _HOME: Final[Mapping[str, str]] = {
        "home_line1": "addressLine1",
        "home_line2": "addressLine2",
        "home_city": "city",
        "home_state": "state",
        "home_postal_code": "postalCode",
    }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("first_name", "last_name", "birth_date", *self._HOME):
            self.fields[name].widget.attrs["autocomplete"] = "off"  # these are not the user's own data

    def check_new_rider(self) -> None:
        for name in ("first_name", "last_name"):
            if not self.cleaned_data.get(name) and name not in self.errors:
                self.add_error(name, _("Required for a new rider."))
        if self.cleaned_data.get("home_line1") and not self.cleaned_data.get("home_city"):
            self.add_error("home_city", _("Required for an address."))

    def typed_home(self) -> dict[str, str]:
        """Return the home address as typed, not validated; {} without a street."""
        home = {key: str(self[name].value() or "").strip() for name, key in self._HOME.items()}
        return home if home["addressLine1"] else {}

    def rider_draft(self, needs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of `RideDraft.rider`; `needs` become the needs in the rider's profile."""
        cleaned = self.cleaned_data
        home = {key: cleaned[name] for name, key in self._HOME.items() if cleaned[name]}
        draft: dict[str, Any] = {
            "first_name": cleaned["first_name"],
            "last_name": cleaned["last_name"],
            "date_of_birth": cleaned["birth_date"],
            "accommodation": dict(needs),
        }
        if cleaned["phone"]:
            draft["phones"] = [{"number": cleaned["phone"]}]
        if cleaned["home_line1"]:
            draft["home_address"] = home
        return draft
