"""Form fields for needs beyond the rider's profile, and for companions, of a ride or standing order.

A `Need` maps a form field to a path in an object of the API; its `ValueType` creates the field and converts values.
`NeedFields` adds the fields of an object to a form and returns the object (`to_object`) or a merge patch (`patch`).  An
empty field means that the value of the profile applies, or that there are no companions.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, cast

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.riders.rules import accommodation
from apps.riders.rules.needs import AssistLevel, Mobility, OxygenSource, Precautions, Severity
from apps.riders.schemas.accommodation import MAX_LOAD_MINUTES, MAX_POUNDS, STAIR_EQUIPMENT
from apps.rides.services.ride_changes import merge
from lib.console_forms import capitalized

Shape = Mapping[str, Any]
YES: Final = "yes"
NO: Final = "no"
MAX_EQUIPMENT: Final = 20
MAX_EQUIPMENT_LENGTH: Final = 50  # characters
MAX_COMPANIONS: Final = 9


@dataclass(frozen=True, slots=True)
class ValueType:
    """Type of a value: how it becomes a form field, and how it is converted.

    `field` creates the field from its label and the profile's value; `to_initial` converts a value to the field's
    initial value; `from_cleaned` converts the cleaned value back.
    """

    field: Callable[[Any, str], forms.Field]
    to_initial: Callable[[Any], Any] = lambda value: value
    from_cleaned: Callable[[Any], Any] = lambda value: value


@dataclass(frozen=True, slots=True)
class Need:
    """One field; `path` holds the keys of its value in the API's object."""

    name: str
    path: tuple[str, ...]
    label: Any
    kind: ValueType

    def of(self, shape: Shape) -> Any:
        """Return the value in an object; None if it is missing."""
        value: Any = shape
        for key in self.path:
            value = (value or {}).get(key)
        return value


def choice(choices: Iterable[tuple[Any, Any]]) -> ValueType:
    labels = dict(capitalized(choices))

    def field(label: Any, default: str) -> forms.Field:
        default = labels.get(default, "")
        first = _("From profile: %(value)s") % {"value": default} if default else _("From profile")
        return forms.ChoiceField(label=label, required=False, choices=[("", first), *labels.items()])

    return ValueType(field, lambda value: value or "", lambda word: word or None)


def yes_or_no() -> ValueType:
    choice_type = choice([(YES, gettext_lazy("Yes")), (NO, gettext_lazy("No"))])
    return ValueType(choice_type.field, _yes_or_no, {YES: True, NO: False}.get)


def _yes_or_no(value: Any) -> str:
    return {True: YES, False: NO}.get(value, "")


def checkbox() -> ValueType:
    return ValueType(
        lambda label, _usual: forms.BooleanField(label=label, required=False),
        bool,
        lambda is_checked: is_checked or None,
    )


def integer(least: int, most: int) -> ValueType:
    return ValueType(
        lambda label, usual: forms.IntegerField(
            label=label, required=False, min_value=least, max_value=most, help_text=_help_text(usual)
        )
    )


def decimal(least: int, most: int) -> ValueType:
    def field(label: Any, usual: str) -> forms.Field:
        return forms.DecimalField(
            label=label,
            required=False,
            min_value=least,
            max_value=most,
            decimal_places=1,
            widget=forms.NumberInput(attrs={"step": "0.1"}),
            help_text=_help_text(usual),
        )

    return ValueType(field, _decimal, lambda number: None if number is None else float(number))


def _decimal(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def text() -> ValueType:
    def field(label: Any, usual: str) -> forms.Field:
        widget = forms.Textarea(attrs={"rows": 2})
        return forms.CharField(label=label, required=False, max_length=1000, widget=widget, help_text=_help_text(usual))

    return ValueType(field, lambda value: value or "", lambda text: text or None)


class TextListField(forms.CharField):
    """A comma-separated list, cleaned to a list of stripped texts without empty ones."""

    def clean(self, value: Any) -> list[str]:
        words = [word.strip() for word in super().clean(value).split(",") if word.strip()]
        if len(words) > MAX_EQUIPMENT or any(len(word) > MAX_EQUIPMENT_LENGTH for word in words):
            message = _("At most %(count)s, of %(length)s characters each.")
            raise forms.ValidationError(message % {"count": MAX_EQUIPMENT, "length": MAX_EQUIPMENT_LENGTH})
        return words


def text_list() -> ValueType:
    def field(label: Any, usual: str) -> forms.Field:
        return TextListField(
            label=label, required=False, help_text=" ".join([_("Separate with commas."), _help_text(usual)])
        )

    return ValueType(field, lambda value: ", ".join(value or ()), lambda words: words or None)


def _help_text(usual: str) -> str:
    return _("If blank, from profile: %(value)s.") % {"value": usual.rstrip(".")} if usual else ""


_SEVERITY: Final = choice(Severity.choices)
NEEDS: Final = (
    Need("mobility", ("mobility",), gettext_lazy("Mobility"), choice(Mobility.choices)),
    Need("assist_level", ("assistLevel",), gettext_lazy("Assistance"), choice(AssistLevel.choices)),
    Need("chair_width_in", ("chair", "widthIn"), gettext_lazy("Own chair, width in inches"), decimal(1, 99)),
    Need("chair_weight_lb", ("chair", "weightLb"), gettext_lazy("Own chair, pounds"), integer(1, MAX_POUNDS)),
    Need("provide_chair", ("chair", "provide"), gettext_lazy("Bring a wheelchair"), yes_or_no()),
    Need("rider_weight_lb", ("riderWeightLb",), gettext_lazy("Rider, pounds"), integer(1, MAX_POUNDS)),
    Need("oxygen_uses", ("oxygen", "uses"), gettext_lazy("Oxygen"), yes_or_no()),
    Need("oxygen_liters", ("oxygen", "litersPerMinute"), gettext_lazy("Oxygen, liters a minute"), decimal(0, 25)),
    Need("oxygen_source", ("oxygen", "source"), gettext_lazy("Oxygen comes from"), choice(OxygenSource.choices)),
    Need("home_steps", ("stairs", "home"), gettext_lazy("Steps at home"), integer(0, 500)),
    Need("stair_equipment", ("stairs", "equipment"), gettext_lazy("Help over steps"), choice(STAIR_EQUIPMENT)),
    Need("second_person", ("stairs", "secondPerson"), gettext_lazy("A second person helps"), yes_or_no()),
    Need("handoff_required", ("handoffRequired",), gettext_lazy("Hand-to-hand"), yes_or_no()),
    Need("not_alone", ("mustNotBeLeftAlone",), gettext_lazy("Do not leave alone"), yes_or_no()),
    Need("service_animal", ("serviceAnimal",), gettext_lazy("Service animal"), yes_or_no()),
    Need("child_seat", ("childSeat",), gettext_lazy("Child seat"), yes_or_no()),
    Need("hearing", ("hearing",), gettext_lazy("Hard of hearing"), _SEVERITY),
    Need("vision", ("vision",), gettext_lazy("Impaired sight"), _SEVERITY),
    Need("cognition", ("cognition",), gettext_lazy("Confusion"), _SEVERITY),
    Need("speech", ("speech",), gettext_lazy("Impaired speech"), _SEVERITY),
    Need("precautions", ("precautions",), gettext_lazy("Infection precautions"), choice(Precautions.choices)),
    Need("load_minutes", ("loadMinutes",), gettext_lazy("Getting in, minutes"), integer(0, MAX_LOAD_MINUTES)),
    Need("unload_minutes", ("unloadMinutes",), gettext_lazy("Getting out, minutes"), integer(0, MAX_LOAD_MINUTES)),
    Need("equipment", ("equipment",), gettext_lazy("Equipment"), text_list()),
    Need("needs_for_drivers", ("driverNotes",), gettext_lazy("About the needs, for drivers"), text()),
    Need("needs_for_dispatchers", ("dispatcherNotes",), gettext_lazy("About the needs, for dispatchers"), text()),
)
FOR_DISPATCHERS: Final = "needs_for_dispatchers"
COMPANIONS: Final = (
    Need("escorts", ("escorts",), gettext_lazy("Number of companions"), integer(0, MAX_COMPANIONS)),
    Need("attendants", ("attendantsProvided",), gettext_lazy("Attendants provided by us"), integer(0, MAX_COMPANIONS)),
    Need("children", ("children",), gettext_lazy("Children"), integer(0, MAX_COMPANIONS)),
    Need("animal_along", ("serviceAnimal",), gettext_lazy("A service animal"), checkbox()),
)


class NeedFields:
    """Form fields of one object of the API, whose name is `wire`.

    `current` is the object before the change, {} in a form that creates one; `usual` holds the values that apply
    where a field is empty.  With `is_complete`, `current` has every key: an empty field empties its value, and what
    always has a value has no empty choice.
    """

    def __init__(
        self,
        form: forms.Form,
        needs: Sequence[Need],
        *,
        wire: str,
        current: Shape,
        usual: Shape,
        is_complete: bool = False,
    ) -> None:
        self._form, self._needs, self._wire, self._current = form, needs, wire, current
        for need in needs:
            field = need.kind.field(need.label, _plain(need.kind.to_initial(need.of(usual))))
            field.initial = need.kind.to_initial(need.of(current))
            if is_complete and isinstance(field, forms.ChoiceField):
                _replace_empty_choice(field, is_required=need.of(accommodation.complete({})) is not None)
            form.fields[need.name] = field

    def wires(self) -> dict[str, str]:
        """Return the form's field names by their paths in the API."""
        return {".".join((self._wire, *need.path)): need.name for need in self._needs}

    def to_object(self) -> dict[str, Any]:
        """Return the object of a valid form, without empty values."""
        values = merge({}, self._changes(self._needs))
        return {key: value for key, value in values.items() if value != {}}

    def patch(self) -> dict[str, Any]:
        """Return the changes as a merge patch; {} if nothing changed."""
        patch = self._changes([need for need in self._needs if need.name in self._form.changed_data])
        after = merge(self._current, patch)
        # None instead of an empty object: {} would override all values of the profile in this object.
        return {key: None if after.get(key) == {} else value for key, value in patch.items()}

    def _changes(self, needs: Iterable[Need]) -> dict[str, Any]:
        changes: dict[str, Any] = {}
        for need in needs:
            *outer, key = need.path
            target = changes
            for name in outer:
                target = target.setdefault(name, {})
            target[key] = need.kind.from_cleaned(self._form.cleaned_data[need.name])
        return changes

    # For the template

    @property
    def fields(self) -> list[BoundField]:
        return [self._form[need.name] for need in self._needs]

    @property
    def has_errors(self) -> bool:
        return any(field.errors for field in self.fields)

    @property
    def summary(self) -> str:
        """Summarize the fields that are not empty, numbers with their value."""
        return ", ".join(filter(None, map(_summary, self.fields)))


def _replace_empty_choice(field: forms.ChoiceField, *, is_required: bool) -> None:
    """Replace the choice of the profile's value: a value that is required has no empty choice."""
    labels = [(value, label) for value, label in cast(Iterable[tuple[str, Any]], field.choices) if value]
    field.choices = labels if is_required else [("", _("Not specified")), *labels]
    field.required = is_required


def _summary(field: BoundField) -> str:
    value = field.value()
    if value in (None, "", False):
        return ""
    if isinstance(field.field, forms.IntegerField):
        return f"{field.label}: {value}"
    return str(field.label)


def _plain(value: Any) -> str:
    return "" if value is None else str(value)
