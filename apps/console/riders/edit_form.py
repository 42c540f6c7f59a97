"""Forms of a rider's data and needs.  The service validates; the forms parse, and name the field of an error."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from apps.console.booking.needs_fields import FOR_DISPATCHERS, NEEDS, NeedFields
from apps.console.recurring.driver_fields import DriverFields
from apps.console.ride.ride_forms import Versioned
from apps.organizations.models import Facility
from apps.organizations.rules import stops
from apps.riders.models import Consent, ContactPreference
from apps.riders.queries import RiderRecord
from apps.riders.rules.contacts import PHONE_KINDS
from apps.riders.rules.rider_status import RiderStatus
from apps.rides.rules.disclosure import disclosure_of
from apps.rides.services.ride_changes import merge
from lib.access import Principal
from lib.console_forms import capitalized, choose, day_field
from lib.phones import PhoneField

MAX_PHONES: Final = 5
MAX_CAREGIVERS: Final = 5
MAX_PLACES: Final = 10
_COLUMNS: Final = (
    *("first_name", "last_name", "preferred_name", "date_of_birth", "medicaid_id", "member_id", "verified"),
    *("email", "language", "interpreter_needed", "contact_preference", "sms_consent"),
    *("driver_gender_preference", "status", "status_reason", "status_from", "status_until"),
)
_HOME: Final[Mapping[str, str]] = {
    "home_line1": "addressLine1",
    "home_line2": "addressLine2",
    "home_city": "city",
    "home_state": "state",
    "home_postal_code": "postalCode",
    "home_steps": "steps",
    "home_instructions": "instructions",
}
_KINDS: Final = (
    ("mobile", gettext_lazy("Mobile")),
    ("home", pgettext_lazy("place", "Home")),
    ("work", gettext_lazy("Work")),
    ("other", gettext_lazy("Other")),
)
_LANGUAGE: Final = r"^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$"


class RiderForm(Versioned):
    """The data of a rider, with the version that was shown.  `changes` returns only what the user changed."""

    first_name = forms.CharField(label=gettext_lazy("First name"), max_length=100)
    last_name = forms.CharField(label=gettext_lazy("Last name"), max_length=100)
    preferred_name = forms.CharField(label=gettext_lazy("Preferred name"), required=False, max_length=100)
    date_of_birth = day_field(gettext_lazy("Born on"), required=False, since=date(1900, 1, 1))
    medicaid_id = forms.CharField(label=gettext_lazy("Medicaid ID"), required=False, max_length=50)
    member_id = forms.CharField(label=gettext_lazy("Member ID"), required=False, max_length=50)
    verified = forms.BooleanField(label=gettext_lazy("Identity verified"), required=False)
    email = forms.EmailField(label=gettext_lazy("Email"), required=False, max_length=254)
    language = forms.RegexField(
        _LANGUAGE,
        label=gettext_lazy("Language"),
        max_length=35,
        help_text=gettext_lazy("Its code, such as en or es."),
        error_messages={"invalid": gettext_lazy("Enter the code of a language, such as en or es.")},
    )
    interpreter_needed = forms.BooleanField(label=gettext_lazy("Interpreter needed"), required=False)
    contact_preference = forms.ChoiceField(
        label=gettext_lazy("Contact by"), choices=capitalized(ContactPreference.choices)
    )
    sms_consent = forms.ChoiceField(label=gettext_lazy("Text messages"), choices=Consent.choices)
    home_line1 = forms.CharField(
        label=gettext_lazy("Street and number"), required=False, max_length=stops.MAX_LENGTHS["addressLine1"]
    )
    home_line2 = forms.CharField(
        label=gettext_lazy("Apartment, suite"), required=False, max_length=stops.MAX_LENGTHS["addressLine2"]
    )
    home_city = forms.CharField(label=gettext_lazy("City"), required=False, max_length=stops.MAX_LENGTHS["city"])
    home_state = forms.CharField(label=gettext_lazy("State"), required=False, max_length=stops.MAX_LENGTHS["state"])
    home_postal_code = forms.CharField(
        label=gettext_lazy("Postal code"), required=False, max_length=stops.MAX_LENGTHS["postalCode"]
    )
    home_steps = forms.IntegerField(label=gettext_lazy("Steps"), required=False, min_value=0, max_value=stops.MAX_STEPS)
    home_instructions = forms.CharField(
        label=gettext_lazy("Instructions for the driver there"),
        required=False,
        max_length=stops.MAX_LENGTHS["instructions"],
    )
    emergency_name = forms.CharField(label=gettext_lazy("Emergency contact"), required=False, max_length=100)
    emergency_phone = PhoneField(label=gettext_lazy("Their phone"), required=False)
    emergency_relation = forms.CharField(label=gettext_lazy("Relation"), required=False, max_length=50)
    driver_gender_preference = forms.ChoiceField(
        label=gettext_lazy("Drivers"),
        required=False,
        choices=[
            ("", gettext_lazy("Any")),
            ("female", gettext_lazy("Women only")),
            ("male", gettext_lazy("Men only")),
        ],
    )
    status = forms.ChoiceField(label=gettext_lazy("Status"), choices=capitalized(RiderStatus.choices))
    status_reason = forms.CharField(label=gettext_lazy("Reason"), required=False, max_length=200)
    status_from = day_field(gettext_lazy("From"), required=False)
    status_until = day_field(gettext_lazy("Until"), required=False)
    facilities = forms.MultipleChoiceField(
        label=gettext_lazy("Facilities"), required=False, widget=forms.CheckboxSelectMultiple
    )

    def __init__(self, data: Any = None, *, record: RiderRecord, by: Principal) -> None:
        rider = record.rider
        self._rider = rider
        home = rider.home_address or {}
        emergency = rider.emergency_contact or {}
        initial = {name: getattr(rider, name) for name in _COLUMNS}
        initial |= {name: home.get(key) for name, key in _HOME.items()}
        initial |= {f"emergency_{key}": emergency.get(key, "") for key in ("name", "phone", "relation")}
        initial |= {"version": rider.version, "facilities": [str(pk) for pk in record.facility_ids]}
        super().__init__(data, initial=initial)
        places = Facility.objects.visible_to(by).order_by("name", "pk").values_list("pk", "name")
        choose(self, "facilities", places)
        self.phones = _Rows(self, "phone", rider.phones, _phone_fields, MAX_PHONES)
        self.caregivers = _Rows(self, "caregiver", rider.caregivers, _person_fields, MAX_CAREGIVERS)
        self.saved_places = _Rows(self, "place", rider.saved_places, _place_fields, MAX_PLACES, combine=_changed_place)
        self.preferred = DriverFields(self, current_ids=rider.preferred_driver_ids, by=by, name="preferred")
        self.excluded = DriverFields(
            self,
            current_ids=rider.excluded_driver_ids,
            by=by,
            name="excluded",
            wire="excludedDriverIds",
            ranked=False,
        )
        for field in self.fields.values():
            field.widget.attrs.setdefault("autocomplete", "off")  # these are not the user's own data
        self.names = {
            **{_wire(name): name for name in _COLUMNS},
            **{f"homeAddress.{key}": name for name, key in _HOME.items()},
            **{f"emergencyContact.{key}": f"emergency_{key}" for key in ("name", "phone", "relation")},
            **self.preferred.wires(),
            **self.excluded.wires(),
            "facilityIds": "facilities",
        }

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        self.preferred.check()
        self.excluded.check()
        self.phones.check("number", _("Enter the number, or clear the row."))
        self.caregivers.check("name", _("Enter the name, or clear the row."))
        for key in ("addressLine1", "city"):
            self.saved_places.check(key, _("Enter street and city, or clear the row."))
        for name in ("name", "phone"):
            if self._has_emergency() and not self.cleaned_data.get(f"emergency_{name}"):
                self.add_error(f"emergency_{name}", _("An emergency contact needs name and phone."))
        if any(self.cleaned_data.get(name) for name in _HOME) and not self.cleaned_data.get("home_line1"):
            self.add_error("home_line1", _("Required for an address."))
        return cleaned

    def _has_emergency(self) -> bool:
        return any(self.cleaned_data.get(f"emergency_{key}") for key in ("name", "phone", "relation"))

    def changes(self) -> dict[str, Any]:
        """Return the changed columns of a valid form, as `riders.services.amend` takes them."""
        values, changed = self.cleaned_data, set(self.changed_data)
        changes: dict[str, Any] = {name: values[name] for name in _COLUMNS if name in changed}
        if changed & set(_HOME):
            home = {key: values[name] for name, key in _HOME.items() if name in changed}
            changes["home_address"] = home | {"steps": values["home_steps"] or 0} if values["home_line1"] else None
        if changed & {"emergency_name", "emergency_phone", "emergency_relation"}:
            person = {key: values[f"emergency_{key}"] for key in ("name", "phone", "relation")}
            changes["emergency_contact"] = person if self._has_emergency() else None
        rows: tuple[tuple[str, _Rows], ...] = (
            ("phones", self.phones),
            ("caregivers", self.caregivers),
            ("saved_places", self.saved_places),
        )
        changes |= {name: part.values() for name, part in rows if part.changed(changed)}
        lists = (("preferred_driver_ids", self.preferred), ("excluded_driver_ids", self.excluded))
        changes |= {name: part.ids() for name, part in lists if part.ids() != getattr(self._rider, name)}
        if "facilities" in changed:
            changes["facility_ids"] = [UUID(pk) for pk in values["facilities"]]
        return changes


class _Rows:
    """A list of objects as rows of fields, the existing ones and an empty one; a cleared row is removed.

    Keys of an object that have no field stay; `combine` returns the object after its fields have changed.
    """

    def __init__(
        self,
        form: forms.Form,
        name: str,
        current: Sequence[Mapping[str, Any]],
        fields: Any,
        most: int,
        combine: Callable[[Mapping[str, Any], Mapping[str, Any]], dict[str, Any]] = lambda before, row: {
            **before,
            **row,
        },
    ) -> None:
        self._form, self._current, self._combine = form, current, combine
        self._rows: list[dict[str, str]] = []
        for number in range(max(len(current), min(len(current) + 1, most))):
            row = dict(current[number]) if number < len(current) else {}
            names = {}
            for key, field in fields(number).items():
                names[key] = f"{name}_{number}_{key}"
                field.initial = row.get(key, field.initial)
                form.fields[names[key]] = field
            self._rows.append(names)

    def check(self, required: str, message: str) -> None:
        for names in self._rows:
            has_changed = any(name in self._form.changed_data for name in names.values())
            if has_changed and self._is_filled(names) and not self._form.cleaned_data.get(names[required]):
                self._form.add_error(names[required], message)

    def changed(self, changed_names: set[str]) -> bool:
        return any(name in changed_names for names in self._rows for name in names.values())

    def values(self) -> list[dict[str, Any]]:
        rows = []
        for number, names in enumerate(self._rows):
            if self._is_filled(names):
                before = dict(self._current[number]) if number < len(self._current) else {}
                rows.append(self._combine(before, {key: self._form.cleaned_data[name] for key, name in names.items()}))
        return rows

    def _is_filled(self, names: Mapping[str, str]) -> bool:
        filled = (name for key, name in names.items() if key != "kind")
        return any(self._form.cleaned_data.get(name) or name in self._form.errors for name in filled)

    @property
    def rows(self) -> list[list[BoundField]]:
        """The rows for the template."""
        return [[self._form[name] for name in names.values()] for names in self._rows]


def _phone_fields(number: int) -> dict[str, forms.Field]:
    return {
        "number": PhoneField(label=_("Phone %(number)s") % {"number": number + 1}, required=False),
        "ext": forms.CharField(label=_("Extension"), required=False, max_length=10),
        "kind": forms.ChoiceField(label=_("Kind"), choices=_KINDS, required=False, initial=PHONE_KINDS[0]),
    }


def _place_fields(number: int) -> dict[str, forms.Field]:
    labels = {
        "name": _("Place %(number)s") % {"number": number + 1},
        "instructions": _("Instructions for the driver there"),
        "addressLine1": _("Street and number"),
        "addressLine2": _("Apartment, suite"),
        "city": _("City"),
        "state": _("State"),
        "postalCode": _("Postal code"),
    }
    return {
        key: forms.CharField(label=label, required=False, max_length=stops.MAX_LENGTHS[key])
        for key, label in labels.items()
    }


def _changed_place(before: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a saved place after an edit: another address is no longer that of its facility or coordinates."""
    has_moved = any((before.get(key) or "") != row[key] for key in ("addressLine1", "city", "state", "postalCode"))
    return stops.merged(before, {**row, "facilityId": None} if has_moved else row)


def _person_fields(number: int) -> dict[str, forms.Field]:
    return {
        "name": forms.CharField(
            label=_("Caregiver %(number)s") % {"number": number + 1}, required=False, max_length=100
        ),
        "phone": PhoneField(label=_("Their phone"), required=False),
        "relation": forms.CharField(label=_("Relation"), required=False, max_length=50),
    }


class NeedsForm(Versioned):
    """The needs of a rider, with the version of the rider that was shown."""

    def __init__(self, data: Any = None, *, record: RiderRecord, by: Principal) -> None:
        super().__init__(data, initial={"version": record.rider.version})
        self._before = record.needs
        sees_all = disclosure_of(by).dispatcher_notes
        needs = [need for need in NEEDS if sees_all or need.name != FOR_DISPATCHERS]
        self.needs = NeedFields(self, needs, wire="accommodation", current=record.needs, usual={})
        for need in needs:  # this is the profile itself: no choice stands for what the profile says
            field = cast(Any, self.fields[need.name])
            if need.of(record.needs) is not None and hasattr(field, "choices"):
                field.choices = [choice for choice in field.choices if choice[0]]
        self.names = {wire.removeprefix("accommodation."): name for wire, name in self.needs.wires().items()}
        self.names |= self.needs.wires()

    def shape(self) -> dict[str, Any]:
        """Return the whole needs of a valid form, in the API's shape."""
        return merge(self._before, self.needs.patch())


def _wire(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
