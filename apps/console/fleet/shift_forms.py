"""Forms of the shift pages."""

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.booking.fields import FIRST, SECOND, ClockField
from apps.console.ride.ride_forms import Versioned
from apps.fleet.models import Driver, Shift, Vehicle
from lib.clocks import clock
from lib.console_forms import choose, day_field
from lib.ids import uuid_or_none
from lib.time_parsing import instants

_DAY: Final = dt.timedelta(days=1)
_NONE: Final = gettext_lazy("Choose…")


class PlanFilter(forms.Form):
    """Filter by week and provider.  Ignores invalid values: the default is the current week and all providers."""

    day = day_field(gettext_lazy("Week of"), required=False)
    provider = forms.ChoiceField(label=gettext_lazy("Provider"), required=False)

    def __init__(self, query: QueryDict, *, providers: Iterable[tuple[UUID, str]], today: dt.date) -> None:
        super().__init__(query)
        choose(self, "provider", providers, first=_("Any"))
        self.is_valid()
        day: dt.date = self.cleaned_data.get("day") or today
        self.first = day - day.weekday() * _DAY
        self.data = query.copy()
        self.data["day"] = day.isoformat()  # shows the day that is used, also if the sent one is invalid

    @property
    def provider_id(self) -> UUID | None:
        return uuid_or_none(str(self.cleaned_data.get("provider", "")))

    def query(self, day: dt.date) -> str:
        """Return the URL parameters of the same filter for another week."""
        parameters = QueryDict(mutable=True)
        parameters["day"] = day.isoformat()
        if self.provider_id is not None:
            parameters["provider"] = str(self.provider_id)
        return parameters.urlencode()


class RidesConfirmation(Versioned):
    """Confirms the rides that a change leaves without a shift: `accept` applies to the rides in `seen`, ids as text."""

    accept = forms.BooleanField(
        label=gettext_lazy("I have reviewed these rides: keep them with the driver"), required=False
    )
    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    @property
    def seen_ids(self) -> frozenset[UUID]:
        """The ids of the rides that the user was shown and has accepted; invalid ids are ignored."""
        if not self.cleaned_data["accept"]:
            return frozenset()
        return frozenset(filter(None, map(uuid_or_none, self.cleaned_data["seen"].split())))

    def require_confirmation(self, field: str | None) -> None:
        """Add an error: the user must confirm the rides, again if `accept` was for other rides."""
        if self.cleaned_data.pop("accept"):
            self.data = cast(QueryDict, self.data).copy()
            del self.data["accept"]
            self.add_error(
                field, _("More rides would be outside the driver's shifts than you reviewed. Review them again.")
            )
        elif field:
            self.add_error(field, _("Review the rides that would be outside the driver's shifts."))


class ShiftForm(RidesConfirmation):
    """A driver, a vehicle, and a time span; if `ends` is before `starts`, the shift ends on the next day.

    Times are local to the driver's provider.  `version` is that of the changed shift, 0 for a new one.
    """

    driver = forms.ChoiceField(label=gettext_lazy("Driver"))
    vehicle = forms.ChoiceField(label=gettext_lazy("Vehicle"))
    day = day_field(gettext_lazy("Day"))
    starts = ClockField(label=gettext_lazy("From"))
    ends = ClockField(label=gettext_lazy("Until"))
    break_starts = ClockField(label=gettext_lazy("Break from"), required=False)
    break_ends = ClockField(label=gettext_lazy("Break until"), required=False)
    which = forms.ChoiceField(
        label=gettext_lazy("The clocks go back: which of the two"),
        required=False,
        widget=forms.RadioSelect,
        choices=((FIRST, gettext_lazy("The first")), (SECOND, gettext_lazy("The second"))),
    )

    names: Mapping[str, str] = {
        "driverId": "driver", "vehicleId": "vehicle", "startsAt": "starts", "endsAt": "ends",
        "breakStartsAt": "break_starts", "breakEndsAt": "break_ends",
    }  # fmt: skip
    asks_which = False
    starts_at: dt.datetime | None = None
    ends_at: dt.datetime | None = None
    break_starts_at: dt.datetime | None = None
    break_ends_at: dt.datetime | None = None

    def __init__(self, *args: Any, drivers: Sequence[Driver], vehicles: Sequence[Vehicle], **options: Any) -> None:
        super().__init__(*args, **options)
        self._zones = {str(driver.pk): driver.provider.timezone for driver in drivers}
        many = len({driver.provider_id for driver in drivers} | {vehicle.provider_id for vehicle in vehicles}) > 1
        choose(
            self, "driver", [(driver.pk, _option_label(_name(driver), driver, many)) for driver in drivers], first=_NONE
        )
        choose(
            self,
            "vehicle",
            [(vehicle.pk, _option_label(vehicle.unit_number, vehicle, many)) for vehicle in vehicles],
            first=_NONE,
        )

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        zone, day = self._zones.get(values.get("driver", "")), values.get("day")
        for name in ("starts", "ends", "break_starts", "break_ends"):
            if isinstance(values.get(name), dt.timedelta):
                self.add_error(name, _("Enter a time of day, such as 14:30 or 2:30p."))
        starts, ends = values.get("starts"), values.get("ends")
        if zone is None or day is None or not isinstance(starts, dt.time) or not isinstance(ends, dt.time):
            return values
        if starts == ends:
            self.add_error("ends", _("A shift cannot start and end at the same time."))
            return values
        self.starts_at = self._instant("starts", day, starts, zone)
        self.ends_at = self._instant("ends", day if ends > starts else day + _DAY, ends, zone)
        self.break_starts_at = self._break("break_starts", day, starts, zone)
        self.break_ends_at = self._break("break_ends", day, starts, zone)
        return values

    def _break(self, name: str, day: dt.date, starts: dt.time, zone: str) -> dt.datetime | None:
        """Return a time of the break; one before the start of the shift is on the next day."""
        time = self.cleaned_data.get(name)
        if not isinstance(time, dt.time):
            return None
        return self._instant(name, day if time >= starts else day + _DAY, time, zone)

    def _instant(self, name: str, day: dt.date, time: dt.time, zone: str) -> dt.datetime | None:
        candidates, words = instants(day, time, zone), {"time": clock(time)}
        if not candidates:
            self.add_error(name, _("There is no %(time)s on that day: the clocks go forward.") % words)
            return None
        if len(candidates) == 1:
            return candidates[0]
        self.asks_which = True
        which = self.cleaned_data.get("which")
        if not which:
            self.add_error(name, _("%(time)s occurs twice on that day: choose one of the two.") % words)
            return None
        return candidates[1] if which == SECOND else candidates[0]

    @property
    def service_arguments(self) -> dict[str, Any]:
        """The values of a valid form as keyword arguments of the shift services."""
        return {
            "driver_id": UUID(self.cleaned_data["driver"]),
            "vehicle_id": UUID(self.cleaned_data["vehicle"]),
            "starts_at": self.starts_at,
            "ends_at": self.ends_at,
            "break_starts_at": self.break_starts_at,
            "break_ends_at": self.break_ends_at,
        }


class StepForm(RidesConfirmation):
    """A change of a shift by one button, without other fields."""


def times_of(shift: Shift, zone: str) -> dict[str, str]:
    """Return the day and times of a shift as initial values of its form."""
    begins, ends = (at.astimezone(ZoneInfo(zone)) for at in (shift.starts_at, shift.ends_at))
    return {"day": begins.date().isoformat(), "starts": clock(begins), "ends": clock(ends), **break_of(shift, zone)}


def break_of(shift: Shift, zone: str) -> dict[str, str]:
    """Return the local times of the planned break; empty without one."""
    if shift.break_starts_at is None or shift.break_ends_at is None:
        return {}
    begins, ends = (at.astimezone(ZoneInfo(zone)) for at in (shift.break_starts_at, shift.break_ends_at))
    return {"break_starts": clock(begins), "break_ends": clock(ends)}


def _name(driver: Driver) -> str:
    return f"{driver.last_name}, {driver.first_name}"


def _option_label(name: str, owner: Driver | Vehicle, many: bool) -> str:
    return f"{name} ({owner.provider.name})" if many else name
