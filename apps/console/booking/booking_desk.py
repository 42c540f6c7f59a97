"""State of the booking form: parsed from the URL or the posted form, with defaults from the session.

`desk_of` builds the `Desk` of a request: facility, purpose and rider.  `form_begun` opens a new form with the defaults
of the desk.  `form_continued` reopens a posted form after a button, and resets the fields that the button changes.
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
from apps.console.booking.presets import PRESETS, usual_at
from apps.organizations.models import Contact, Facility
from apps.riders import queries as riders
from apps.riders.models import Rider
from lib.access import Principal
from lib.ids import uuid7, uuid_or_none

# Session key: facility and unit of the last booking.  The session holds no data about riders.
REMEMBERED: Final = "carelane_booking_desk"
# Fields with defaults from the purpose, see `form_continued`.
_OF_REASON: Final = ("when", "way_back", "pickup_from", "dropoff_at")
_NOT_KEPT: Final = ("q", "somebody_else", "allow_duplicate", "facility")


def desk_of(request: HttpRequest, said: Mapping[str, Any], *, do: str, now: datetime) -> Desk:
    """Build the desk from query parameters or a posted form.  At most seven queries.

    `do` is the pressed button, with its argument after a colon (`pick:<rider>`); "" is the button that books.

    Raises:
        Http404: the rider or the facility does not exist or is not visible to the user.
    """
    by = principal_of(request)
    facilities = tuple(Facility.objects.visible_to(by).filter(active=True).order_by("name", "pk"))
    facility = _facility(request, said, facilities, by)
    asked, _, chosen = do.partition(":")
    rider_id = chosen if asked == "pick" else said.get("rider", "")
    rider = None if asked in ("forget", "new") or not rider_id else _rider(rider_id, by)
    key = chosen if asked == "preset" else said.get("preset") or said.get("for") or ""
    is_new = asked == "new" or (bool(said.get("is_new")) and asked not in ("pick", "known"))
    return Desk(
        by=by,
        name=str(request.user.name),  # type: ignore[union-attr]  # the views require a login
        preset_key=key if key in PRESETS else usual_at(facility.kind if facility else ""),
        facility=facility,
        facilities=facilities,
        rider=rider,
        is_new=is_new and rider is None,
        now=now,
    )


def _facility(
    request: HttpRequest, said: Mapping[str, Any], facilities: tuple[Facility, ...], by: Principal
) -> Facility | None:
    known = {str(one.pk): one for one in facilities}
    if "facility" in said:
        if said["facility"] in known:
            return known[said["facility"]]
        if said["facility"] or by.facility_ids is not None:
            raise Http404
        return None
    last = known.get(request.session.get(REMEMBERED, {}).get("facility", ""))
    return last or next(iter(facilities), None)


def _rider(rider_id: str, by: Principal) -> riders.RiderRecord:
    pk = uuid_or_none(rider_id)
    found = None if pk is None else Rider.objects.visible_to(by).filter(pk=pk).first()
    if found is None:
        raise Http404
    return riders.record(found, by=by)


def form_begun(request: HttpRequest, desk: Desk) -> BookingForm:
    """Return a new form with default values.  One query without a remembered unit of this facility."""
    return BookingForm(desk=desk, initial={"key": uuid7(), **_usual(request, desk)})


def form_continued(request: HttpRequest, desk: Desk, said: Mapping[str, Any], *, do: str) -> BookingForm:
    """Return an unbound form with the posted values, except those that the pressed button resets.

    A change of the purpose or facility resets times and places, a change of the rider only the places; a typed address
    always stays.  A change of the facility also resets unit and entrance.
    """
    asked = do.partition(":")[0]
    begins_anew = asked in ("preset", "facility", "pick", "forget", "new", "known")
    form = BookingForm(desk=desk)
    names = [name for name in form.fields if name not in _NOT_KEPT and name in said]
    kept = {name: said[name] for name in names}
    if begins_anew:
        for name in _OF_REASON:
            of_place = name in ("pickup_from", "dropoff_at")
            if asked not in ("preset", "facility") and not of_place:
                continue
            if of_place and kept.get(name) == TYPED:
                continue  # a typed address stays
            kept.pop(name, None)
    if asked == "facility":
        of_the_other = ("unit", "unit_phone", "entrance")
        kept = {name: value for name, value in kept.items() if name not in of_the_other}
    usual = _usual(request, desk) if asked in ("facility", "preset") else {}
    form.initial = {**{name: value for name, value in usual.items() if not kept.get(name)}, **_said(kept)}
    if asked == "find":
        form.initial["q"] = said.get("q", "")
    form.initial.setdefault("facility", str(desk.facility.pk) if desk.facility else "")
    return form


def _said(kept: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kept.items() if value != ""}


def _usual(request: HttpRequest, desk: Desk) -> dict[str, Any]:
    """Return the defaults: facility, the user as planner, and the unit.

    The unit is that of the last booking at this facility in the session, else the one in the facility's contacts.
    """
    facility_id = desk.facility.pk if desk.facility else None
    last = request.session.get(REMEMBERED, {})
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
        said = {"unit": form.cleaned_data["unit"], "unit_phone": form.cleaned_data["unit_phone"]}
        request.session[REMEMBERED] = {"facility": str(desk.facility.pk), **said}
