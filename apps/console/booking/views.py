"""The booking desk: one form, which is found its rider, looked ahead with, and booked."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.booking import booking_desk, repeat, rider_combo
from apps.console.booking.form import BookingForm, Desk
from apps.console.booking.presets import PRESETS
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.templatetags.moments import distance
from apps.riders.rules import rider_status
from apps.rides.queries import availability, bookings
from apps.rides.queries import booking_drafts as kept_drafts
from apps.rides.rules.booking_rules import IN_WORDS, Question
from apps.rides.services import booking, booking_drafts
from lib.clocks import clock
from lib.errors import DomainError
from lib.local_time import local_time
from lib.scopes import Scope


@dataclass(frozen=True, slots=True)
class Seen:
    """What the form means as it stands: its times, how the ride is promised, and what stands against it."""

    echo: str | SafeString
    times: list[tuple[str, SafeString]]
    promise: SafeString | None
    vehicles: str
    questions: list[str]
    refusals: list[str]


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.RIDES_WRITE)
def book(request: HttpRequest) -> HttpResponse:
    """Fill the form in, step by step or at once; its buttons say in `do` what is wanted of it."""
    now = timezone.now()
    if request.method != "POST":
        form = _taken_up(request, now) if "draft" in request.GET else _begun(request, now)
        return _page(request, form)
    do = _wanted(request)
    desk = booking_desk.desk_of(request, request.POST.dict(), do=do, now=now)
    if do not in ("", "look"):
        return _page(request, booking_desk.form_continued(request, desk, request.POST.dict(), do=do), do=do)
    form = BookingForm(request.POST, desk=desk)
    if form.is_valid() and not do:
        try:
            booked = booking_drafts.book(draft=form.draft(), key=form.cleaned_data["key"], by=desk.by, at=now)
        except booking.BookedAlready:
            messages.info(request, _with_link(_("This ride was booked already."), form.cleaned_data["key"]))
            return redirect("book_ride")
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            booking_desk.remember(request, form)
            _tell(request, booked)
            return redirect("book_ride")
    return _page(request, form)


@require_POST
@require_scope(Scope.RIDES_WRITE)
def riders(request: HttpRequest) -> HttpResponse:
    """Offer riders while somebody types, as the options of a combobox."""
    found = rider_combo.find(request.POST.get("q", "")[:100].replace("\0", ""), by=principal_of(request))
    return render(request, "rides/rider_options.html", {"found": found})


@require_POST
@require_scope(Scope.RIDES_WRITE)
def check(request: HttpRequest) -> HttpResponse:
    """Say what the form as it stands means, and would become."""
    desk = booking_desk.desk_of(request, request.POST.dict(), do="", now=timezone.now())
    form = BookingForm(request.POST, desk=desk)
    context = {"form": form, "desk": desk, "seen": _seen(form), **_standing(form)}
    if desk.rider is not None:
        _record_look(desk, [desk.rider.rider.pk])
    return render(request, "rides/booking_seen.html", context)


def _begun(request: HttpRequest, now: datetime) -> BookingForm:
    """Open the form for what the address names: a rider, a facility, a reason, or a ride to repeat."""
    ride = repeat.repeated(request.GET.get("repeat", ""), principal_of(request))
    asked = request.GET.dict() if ride is None else repeat.asked_by(ride)
    desk = booking_desk.desk_of(request, asked, do="", now=now)
    form = booking_desk.form_begun(request, desk)
    if ride is not None and desk.rider is not None:
        form.initial = {**form.initial, **repeat.values_of(ride, form, desk.rider)}
        if "beside" in request.GET:
            form.initial |= repeat.beside(ride, desk.zone, now)
        record_read(
            by=desk.by,
            action="rides.read",
            subject_type="ride",
            subject_id=ride.pk,
            rider_ids=[ride.rider_id],
            facility_id=ride.facility_id,
        )
    return form


def _taken_up(request: HttpRequest, now: datetime) -> BookingForm:
    """Open the form as it was kept; without the rider or the facility that are out of reach by now."""
    draft = kept_drafts.found(request.GET["draft"], principal_of(request))
    if draft is None:
        raise Http404
    said = {**kept_drafts.form_data_of(draft), "key": str(draft.key)}
    try:
        desk = booking_desk.desk_of(request, said, do="", now=now)
    except Http404:
        messages.warning(request, _("The rider or the facility of this draft is no longer in your reach."))
        said = {name: text for name, text in said.items() if name not in ("rider", "facility")}
        desk = booking_desk.desk_of(request, said, do="", now=now)
    return booking_desk.form_continued(request, desk, said, do="")


def ride_address(ride_id: UUID) -> str:
    """Say where a ride is looked at."""
    return reverse("ride_page", args=[ride_id])


def _wanted(request: HttpRequest) -> str:
    """Read which button was pressed; Enter in the search field, before there is a rider, looks for one."""
    do = request.POST.get("do", "")
    searches = not do and request.POST.get("q") and not request.POST.get("rider") and not request.POST.get("is_new")
    return "find" if searches else do


def _page(request: HttpRequest, form: BookingForm, *, do: str = "") -> HttpResponse:
    """Show the form; a page that shows riders says so in the trail."""
    desk = form.desk
    seen = _seen(form) if form.is_bound else None
    wrong = bool(form.errors)
    context: dict[str, Any] = {"form": form, "desk": desk, "presets": PRESETS, "do": do.partition(":")[0]}
    named: list[UUID] = []
    if do == "find":
        context["found"] = rider_combo.find(str(form.initial["q"]), by=desk.by)
    if form.suspect_ids:
        suspects = rider_combo.options(form.suspect_ids, by=desk.by)
        context["suspects"] = suspects
        named += form.suspect_ids
    if desk.rider is not None:
        context |= {"who": rider_combo.card_of(desk.rider, desk.by), **_standing(form)}
        named.append(desk.rider.rider.pk)
    if named:
        _record_look(desk, named)
    is_new = request.method != "POST" and "draft" not in request.GET
    context |= {"wrong": wrong, "seen": seen, "begun": kept_drafts.latest(desk.by) if is_new else None}
    context["looks"] = "draft" in request.GET  # what was typed is told back at once
    return render(request, "rides/book.html", context, status=UNPROCESSABLE if wrong else 200)


def _record_look(desk: Desk, rider_ids: Sequence[UUID]) -> None:
    record_read(by=desk.by, action="riders.read", subject_type="rider", subject_id=rider_ids[0], rider_ids=rider_ids)


def _seen(form: BookingForm) -> Seen:
    """Say what a form that was sent means.  Eight queries where it is a whole ride of a known rider."""
    desk = form.desk
    complete = form.is_valid()  # works the times out, too
    times = {_("Pickup"): form.pickup_at, _("There by"): form.appointment_at, _("Way back"): form.back_at}
    said = [(label, _told_at(at, form)) for label, at in times.items() if at is not None]
    promise, vehicles, questions, refusals = None, "", [], []
    if complete and desk.rider is not None:
        try:
            ahead = booking.preview(draft=form.draft(), rider=desk.rider.rider, by=desk.by, at=desk.now)
        except DomainError as refusal:
            form.refuse(refusal)
            refusals = [str(said) for errors in form.errors.values() for said in errors]
        else:
            promise, vehicles = _promise(ahead, form), _vehicles(ahead)
            questions = [str(IN_WORDS[one]) for one in ahead.questions]
            refusals = [_("The rider has a ride at this time.")] if ahead.beside else []
    return Seen(_echo(form), said, promise, vehicles, questions, refusals)


def _echo(form: BookingForm) -> str | SafeString:
    """Say the time that was typed as it was understood, or why it was not; "" where nothing was."""
    at = form.appointment_at or form.pickup_at
    if not form["clock"].value():
        return ""
    wrong = form.errors.get("clock")
    return str(wrong[0]) if wrong else _told_at(at, form) if at is not None else ""


def _told_at(at: datetime, form: BookingForm) -> SafeString:
    return format_html("{}, {}", local_time(at, form.zone), distance(at, form.now))


def _promise(ahead: booking.BookingPreview, form: BookingForm) -> SafeString:
    if ahead.promised_by is None:
        return format_html("{}", _("Promised when it is released."))
    zone = ZoneInfo(form.zone)
    span = [clock(at.astimezone(zone)) for at in (ahead.window.starts_at, ahead.window.ends_at)]
    return format_html("{} <strong>{} \N{EN DASH} {}</strong>", _("Pickup promised"), *span)


def _vehicles(ahead: booking.BookingPreview) -> str:
    """Say how many vehicles could take the ride; nothing where none is planned to be on the road then."""
    found = availability.availability(ahead.columns)
    if not found.on_shift:
        return ""
    said = ngettext(
        "%(free)s of %(count)s suitable vehicle on shift is free then.",
        "%(free)s of %(count)s suitable vehicles on shift are free then.",
        found.on_shift,
    )
    return said % {"free": found.free, "count": found.on_shift}


def _tell(request: HttpRequest, booked: booking.Booked) -> None:
    """Say what became of the booking, and what a dispatcher will be asked about it."""
    ride = booked.ride
    said = _("The ride is booked.") if booked.return_ride is None else _("The ride and the way back are booked.")
    messages.success(request, _with_link(said, ride.pk))
    legs = [ride, *([booked.return_ride] if booked.return_ride else [])]
    questions = dict.fromkeys(str(IN_WORDS[Question(one)]) for leg in legs for one in leg.review_reasons)
    if questions:
        messages.warning(request, " ".join([_("A dispatcher has to confirm it."), *questions]))


def _with_link(said: str, ride_id: UUID) -> SafeString:
    return format_html('{} <a href="{}">{}</a>', said, ride_address(ride_id), _("Open the ride"))


def _standing(form: BookingForm) -> dict[str, Any]:
    """Say what speaks against the rider on the day: their record, and rides that they have."""
    desk, day = form.desk, form.chosen_day
    if desk.rider is None:
        return {}
    rides = bookings.booked_on(desk.rider.rider.pk, day, by=desk.by)
    return {
        "barred": rider_status.barred(desk.rider.rider, day),
        "booked": [(local_time(ride.pickup_at, ride.timezone), ride.get_status_display()) for ride in rides],
        "day": date_format(day, "D j M"),
    }
