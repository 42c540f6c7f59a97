"""State of the booking form: parsed from the URL or the posted form, with defaults from the session.

`desk_of` builds the `Desk` of a request: facility, purpose and rider.  `new_form` opens a form with the defaults of
the desk.  `reopened_form` reopens a posted form after a button, and resets the fields that the button changes.
`remember` stores facility and unit in the session after a booking.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.http import Http404, HttpRequest

from apps.accounts.sessions import principal_of
from apps.console.booking.form import BookingForm, Desk
from apps.console.booking.place_fields import TYPED
from apps.console.booking.presets import PRESETS, default_preset_at
from apps.organizations.models import Contact, Facility
from apps.riders import queries as riders
from apps.riders.models import Rider
from lib.access import Principal
from lib.ids import uuid7, uuid_or_none

# Session key: facility and unit of the last booking.  The session holds no data about riders.
SESSION_KEY: Final = "carelane_booking_desk"
# Fields with defaults from the purpose, see `reopened_form`.
_PRESET_FIELDS: Final = ("when", "way_back", "pickup_from", "dropoff_at")
_DISCARDED: Final = ("q", "somebody_else", "allow_duplicate", "facility")


def desk_of(request: HttpRequest, form_data: Mapping[str, Any], *, do: str, now: datetime) -> Desk:
    """Build the desk from query parameters or a posted form.  At most seven queries.

    `do` is the pressed button, with its argument after a colon (`pick:<rider>`); "" is the button that books.

    Raises:
        Http404: the rider or the facility does not exist or is not visible to the user.
    """
    by = principal_of(request)
    facilities = tuple(Facility.objects.visible_to(by).filter(active=True).order_by("name", "pk"))
    facility = _facility(request, form_data, facilities, by)
    action, _, argument = do.partition(":")
    rider_id = argument if action == "pick" else form_data.get("rider", "")
    rider = None if action in ("forget", "new") or not rider_id else _rider(rider_id, by)
    key = argument if action == "preset" else form_data.get("preset") or form_data.get("for") or ""
    is_new = action == "new" or (bool(form_data.get("is_new")) and action not in ("pick", "known"))
    return Desk(
        by=by,
        name=str(request.user.name),  # type: ignore[union-attr]  # the views require a login
        preset_key=key if key in PRESETS else default_preset_at(facility.kind if facility else ""),
        facility=facility,
        facilities=facilities,
        rider=rider,
        is_new=is_new and rider is None,
        now=now,
    )


def _facility(
    request: HttpRequest, form_data: Mapping[str, Any], facilities: tuple[Facility, ...], by: Principal
) -> Facility | None:
    by_id = {str(facility.pk): facility for facility in facilities}
    if "facility" in form_data:
        if form_data["facility"] in by_id:
            return by_id[form_data["facility"]]
        if form_data["facility"] or by.facility_ids is not None:
            raise Http404
        return None
    last = by_id.get(request.session.get(SESSION_KEY, {}).get("facility", ""))
    return last or next(iter(facilities), None)


def _rider(rider_id: str, by: Principal) -> riders.RiderRecord:
    pk = uuid_or_none(rider_id)
    rider = None if pk is None else Rider.objects.visible_to(by).filter(pk=pk).first()
    if rider is None:
        raise Http404
    return riders.record(rider, by=by)


def new_form(request: HttpRequest, desk: Desk) -> BookingForm:
    """Return a new form with default values.  One query without a remembered unit of this facility."""
    return BookingForm(desk=desk, initial={"key": uuid7(), **_defaults(request, desk)})


def reopened_form(request: HttpRequest, desk: Desk, form_data: Mapping[str, Any], *, do: str) -> BookingForm:
    """Return an unbound form with the posted values, except those that the pressed button resets.

    A change of the purpose or facility resets times and places, a change of the rider only the places; a typed address
    always stays.  A change of the facility also resets unit and entrance.
    """
    action = do.partition(":")[0]
    resets_fields = action in ("preset", "facility", "pick", "forget", "new", "known")
    form = BookingForm(desk=desk)
    names = [name for name in form.fields if name not in _DISCARDED and name in form_data]
    values = {name: form_data[name] for name in names}
    if resets_fields:
        for name in _PRESET_FIELDS:
            is_place = name in ("pickup_from", "dropoff_at")
            if action not in ("preset", "facility") and not is_place:
                continue
            if is_place and values.get(name) == TYPED:
                continue  # a typed address stays
            values.pop(name, None)
    if action == "facility":
        of_facility = ("unit", "unit_phone", "entrance")
        values = {name: value for name, value in values.items() if name not in of_facility}
    defaults = _defaults(request, desk) if action in ("facility", "preset") else {}
    form.initial = {**{name: value for name, value in defaults.items() if not values.get(name)}, **_non_empty(values)}
    if action == "find":
        form.initial["q"] = form_data.get("q", "")
    form.initial.setdefault("facility", str(desk.facility.pk) if desk.facility else "")
    return form


def _non_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value != ""}


def _defaults(request: HttpRequest, desk: Desk) -> dict[str, Any]:
    """Return the defaults: facility, the user as planner, and the unit.

    The unit is that of the last booking at this facility in the session, else the one in the facility's contacts.
    """
    facility_id = desk.facility.pk if desk.facility else None
    last = request.session.get(SESSION_KEY, {})
    unit = {name: last[name] for name in ("unit", "unit_phone") if last.get("facility") == str(facility_id)}
    if not unit and facility_id is not None:
        unit = _listed_unit(facility_id)
    return {"facility": str(facility_id or ""), "planner_name": desk.name, **unit}


def _listed_unit(facility_id: UUID) -> dict[str, str]:
    rows = Contact.objects.filter(facility_id=facility_id, role__in=("unit", "charge_nurse"))
    first = rows.order_by("-role", "name", "pk").first()  # "unit" before "charge_nurse"
    return {"unit": first.name[:50], "unit_phone": first.phone} if first else {}


def remember(request: HttpRequest, form: BookingForm) -> None:
    """Store facility and unit of a booking in the session, as defaults of the next one."""
    desk = form.desk
    if desk.facility is not None:
        unit = {"unit": form.cleaned_data["unit"], "unit_phone": form.cleaned_data["unit_phone"]}
        request.session[SESSION_KEY] = {"facility": str(desk.facility.pk), **unit}
