"""Bulk booking from a CSV sheet: each row fills the booking form, and all rows are checked before any is booked."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import StringIO
from typing import Any, Final
from uuid import UUID

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from apps.console.booking.form import BookingForm, Desk
from apps.console.booking.place_fields import HOME
from apps.console.booking.presets import FACILITY, PRESETS
from apps.riders import queries as riders
from apps.riders.labels import whole_name
from apps.rides.rules.draft import RideDraft
from apps.rides.services import booking_preview
from lib.console_forms import choose
from lib.errors import DomainError
from lib.ids import uuid7

MAX_ROWS: Final = 100  # in one request; each row takes as many queries as a booking
MAX_BYTES: Final = 100_000
COLUMNS: Final = ("rider", "reason", "day", "time", "from", "to", "note")
REQUIRED: Final = ("rider", "day", "time")
_PLACES: Final[Mapping[str, str]] = {"from": "pickup_from", "to": "dropoff_at"}


class SheetForm(forms.Form):
    """Rows as text or as a file, and the requesting facility.  `text` is the content that was read."""

    text = ""

    facility = forms.ChoiceField(label=gettext_lazy("Facility"), required=False)
    rows = forms.CharField(
        label=gettext_lazy("Rows"),
        required=False,
        max_length=MAX_BYTES,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false", "class": "mono"}),
    )
    file = forms.FileField(label=gettext_lazy("Or a CSV file"), required=False, max_length=200)

    def __init__(self, *args: Any, desk: Desk, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = [(facility.pk, facility.name) for facility in desk.facilities]
        choose(self, "facility", rows, first=_("None of them") if desk.by.facility_ids is None else None)

    def clean(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        if (file := cleaned.get("file")) is not None:
            if file.size > MAX_BYTES:
                self.add_error("file", _("The file is too large."))
                return cleaned
            try:
                cleaned["rows"] = file.read().decode("utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", _("The file is not UTF-8 text."))
        self.text = cleaned.get("rows", "").replace("\0", "")
        if not self.errors and not self.text.strip():
            self.add_error("rows", _("There are no rows."))
        return cleaned

    def records(self) -> list[dict[str, str]]:
        """Parse the rows by their header; [] with an error on the form if it lacks columns or has too many rows."""
        reader = csv.DictReader(StringIO(self.text, newline=None))
        names = [name.strip().lower() for name in reader.fieldnames or ()]
        if missing := [name for name in REQUIRED if name not in names]:
            self.add_error("rows", _("Columns missing in the first row: %(names)s.") % {"names": ", ".join(missing)})
            return []
        reader.fieldnames = names
        records = [{name: str(row.get(name) or "").strip() for name in COLUMNS} for row in reader]
        if len(records) > MAX_ROWS:
            self.add_error("rows", _("At most %(count)s rows at a time.") % {"count": MAX_ROWS})
            return []
        return records


@dataclass(frozen=True, slots=True)
class SheetRow:
    """A row, by its line number in the sheet: its draft, or its problems.  `name` is the rider's name."""

    number: int
    record: Mapping[str, str]
    rider_id: UUID | None
    name: str
    draft: RideDraft | None
    problems: Sequence[str]


def lines(records: Sequence[Mapping[str, str]], *, desk: Desk) -> list[SheetRow]:
    """Check every row like a booking in the form, without booking it.  About twenty queries per row."""
    return [_line(number, record, desk) for number, record in enumerate(records, 2)]


def _line(number: int, record: Mapping[str, str], desk: Desk) -> SheetRow:
    matches = list(riders.search({"called": record["rider"]}, by=desk.by)[:2]) if record["rider"] else []
    if len(matches) != 1:
        problem = _("Several riders have this id.") if matches else _("There is no rider with this id.")
        return SheetRow(number, record, None, "", None, [problem])
    rider, name = matches[0], whole_name(matches[0], desk.by)
    reason = record["reason"].lower() or desk.preset_key
    if reason not in PRESETS:
        presets = ", ".join(PRESETS)
        return SheetRow(
            number, record, rider.pk, name, None, [_("The reason is one of these: %(known)s.") % {"known": presets}]
        )
    row_desk = replace(desk, rider=riders.record(rider, by=desk.by), preset_key=reason)
    form = BookingForm(_form_data(record, row_desk), desk=row_desk)
    if form.is_valid():
        try:
            preview = booking_preview.preview(draft=form.draft(), rider=rider, predicts=False, by=desk.by, at=desk.now)
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            if not preview.overlapping_ids:
                return SheetRow(number, record, rider.pk, name, form.draft(), [])
            form.add_error(None, _("The rider has a ride at this time."))
    return SheetRow(number, record, rider.pk, name, None, _problems(form))


def _form_data(record: Mapping[str, str], desk: Desk) -> dict[str, Any]:
    """Return the form data of a row; an empty column gets the form's default."""
    blank = BookingForm(desk=desk)
    values = {name: blank[name].value() for name in blank.fields}
    facility = str(desk.facility.pk) if desk.facility else ""
    values |= {"key": uuid7(), "facility": facility, "day": record["day"], "clock": record["time"]}
    values |= {"driver_notes": record["note"], "planner_name": desk.name}
    for column, name in _PLACES.items():
        if place := record[column].lower():
            values[name] = place if place in (HOME, FACILITY) else record[column]
    return {name: value for name, value in values.items() if value not in (None, False)}


def _problems(form: BookingForm) -> list[str]:
    problems = []
    for name, errors in form.errors.items():
        label = "" if name == "__all__" else f"{form.fields[name].label}: "
        problems += [f"{label}{error}" for error in errors]
    return problems
