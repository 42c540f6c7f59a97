"""Views of the booking form: search a rider, preview the ride, and book it.

`book` renders the form and handles all its buttons, which post it with a value of `do`; it works without scripts.  With
scripts, `riders` returns search results while the user types, and `check` the preview of the form.
"""

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
from apps.rides.queries import booking_drafts as draft_queries
from apps.rides.rules.booking_rules import QUESTION_TEXTS, Question
from apps.rides.services import booking, booking_drafts, booking_preview
from lib import dates
from lib.clocks import clock
from lib.errors import DomainError
from lib.local_time import local_time
from lib.scopes import Scope


@dataclass(frozen=True, slots=True)
class BookingSummary:
    """Preview of a form: its times, the promised pickup window, free vehicles, review reasons and errors.

    `echo` is the entered time as it was parsed, or its error.
    """

    echo: str | SafeString
    times: list[tuple[str, SafeString]]
    promise: SafeString | None
    vehicles: str
    review_reasons: list[str]
    errors: list[str]


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.RIDES_WRITE)
def book(request: HttpRequest) -> HttpResponse:
    """Show the form, apply a button, or book the ride.

    The value `do` of a button is "" to book and "look" for the preview; others change the form, see `reopened_form`.
    If a ride with the key of the form exists, it is not booked again.
    """
    now = timezone.now()
    if request.method != "POST":
        form = _form_of_draft(request, now) if "draft" in request.GET else _form_of_url(request, now)
        return _page(request, form)
    do = _pressed_button(request)
    desk = booking_desk.desk_of(request, request.POST.dict(), do=do, now=now)
    if do not in ("", "look"):
        return _page(request, booking_desk.reopened_form(request, desk, request.POST.dict(), do=do), do=do)
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
            _add_messages(request, booked)
            return redirect("book_ride")
    return _page(request, form)


@require_POST
@require_scope(Scope.RIDES_WRITE)
def riders(request: HttpRequest) -> HttpResponse:
    """Return matching riders as options of a combobox."""
    matches = rider_combo.find(request.POST.get("q", "")[:100].replace("\0", ""), by=principal_of(request))
    return render(request, "rides/rider_options.html", {"matches": matches})


@require_POST
@require_scope(Scope.RIDES_WRITE)
def check(request: HttpRequest) -> HttpResponse:
    """Return the preview of the form as a fragment.  Writes an audit entry for a known rider."""
    desk = booking_desk.desk_of(request, request.POST.dict(), do="", now=timezone.now())
    form = BookingForm(request.POST, desk=desk)
    context = {"form": form, "desk": desk, "summary": _summary(form), **_conflicts(form)}
    if desk.rider is not None:
        _record_read(desk, [desk.rider.rider.pk])
    return render(request, "rides/booking_seen.html", context)


def _form_of_url(request: HttpRequest, now: datetime) -> BookingForm:
    """Return the form for the URL: for a rider, a facility, a purpose, or a ride to repeat (`repeat`).

    With `beside`, the new ride takes place beside the repeated one.
    """
    ride = repeat.ride_to_repeat(request.GET.get("repeat", ""), principal_of(request))
    params = request.GET.dict() if ride is None else repeat.query_params_of(ride)
    desk = booking_desk.desk_of(request, params, do="", now=now)
    form = booking_desk.new_form(request, desk)
    if ride is not None and desk.rider is not None:
        form.initial = {**form.initial, **repeat.values_of(ride, form, desk.rider)}
        if "beside" in request.GET:
            form.initial |= repeat.second_ride_values(ride, desk.zone, now)
        record_read(
            by=desk.by,
            action="rides.read",
            subject_type="ride",
            subject_id=ride.pk,
            rider_ids=[ride.rider_id],
            facility_id=ride.facility_id,
        )
    return form


def _form_of_draft(request: HttpRequest, now: datetime) -> BookingForm:
    """Return the form of a saved draft.

    If the rider or the facility is no longer visible to the user, both are left out, with a warning.

    Raises:
        Http404: the user has no such draft.
    """
    draft = draft_queries.by_id(request.GET["draft"], principal_of(request))
    if draft is None:
        raise Http404
    form_data = {**draft_queries.form_data_of(draft), "key": str(draft.key)}
    try:
        desk = booking_desk.desk_of(request, form_data, do="", now=now)
    except Http404:
        messages.warning(request, _("You no longer have access to the rider or the facility of this draft."))
        form_data = {name: text for name, text in form_data.items() if name not in ("rider", "facility")}
        desk = booking_desk.desk_of(request, form_data, do="", now=now)
    return booking_desk.reopened_form(request, desk, form_data, do="")


def ride_address(ride_id: UUID) -> str:
    """Return the URL of the ride page, for links in messages."""
    return reverse("ride_page", args=[ride_id])


def _pressed_button(request: HttpRequest) -> str:
    """Return the pressed button; Enter in the search field without a chosen rider is "find"."""
    do = request.POST.get("do", "")
    searches = not do and request.POST.get("q") and not request.POST.get("rider") and not request.POST.get("is_new")
    return "find" if searches else do


def _page(request: HttpRequest, form: BookingForm, *, do: str = "") -> HttpResponse:
    """Render the form.  Writes an audit entry if the page shows riders."""
    desk = form.desk
    summary = _summary(form) if form.is_bound else None
    has_errors = bool(form.errors)
    context: dict[str, Any] = {"form": form, "desk": desk, "presets": PRESETS, "do": do.partition(":")[0]}
    rider_ids: list[UUID] = []
    if do == "find":
        context["matches"] = rider_combo.find(str(form.initial["q"]), by=desk.by)
    if form.suspect_ids:
        duplicates = rider_combo.options(form.suspect_ids, by=desk.by)
        context["duplicates"] = duplicates
        rider_ids += form.suspect_ids
    if desk.rider is not None:
        context |= {"chosen_rider": rider_combo.card_of(desk.rider, desk.by), **_conflicts(form)}
        rider_ids.append(desk.rider.rider.pk)
    if rider_ids:
        _record_read(desk, rider_ids)
    is_new = request.method != "POST" and "draft" not in request.GET
    context |= {
        "has_errors": has_errors,
        "summary": summary,
        "latest_draft": draft_queries.latest(desk.by) if is_new else None,
    }
    context["preview_now"] = "draft" in request.GET  # a draft is previewed at once
    return render(request, "rides/book.html", context, status=UNPROCESSABLE if has_errors else 200)


def _record_read(desk: Desk, rider_ids: Sequence[UUID]) -> None:
    record_read(by=desk.by, action="riders.read", subject_type="rider", subject_id=rider_ids[0], rider_ids=rider_ids)


def _summary(form: BookingForm) -> BookingSummary:
    """Return the preview of a bound form.  Eight queries for a complete ride of a known rider."""
    desk = form.desk
    complete = form.is_valid()  # also computes the times
    times = {_("Pickup"): form.pickup_at, _("There by"): form.appointment_at, _("Return trip"): form.back_at}
    texts = [(label, _time_text(at, form)) for label, at in times.items() if at is not None]
    promise, vehicles, review_reasons, errors = None, "", [], []
    if complete and desk.rider is not None:
        try:
            preview = booking_preview.preview(draft=form.draft(), rider=desk.rider.rider, by=desk.by, at=desk.now)
        except DomainError as refusal:
            form.refuse(refusal)
            errors = [str(error) for field_errors in form.errors.values() for error in field_errors]
        else:
            promise, vehicles = _promise(preview, form), _vehicles(preview)
            review_reasons = [str(QUESTION_TEXTS[reason]) for reason in preview.questions]
            errors = [_("The rider has a ride at this time.")] if preview.overlapping_ids else []
    return BookingSummary(_echo(form), texts, promise, vehicles, review_reasons, errors)


def _echo(form: BookingForm) -> str | SafeString:
    """Return the entered time as it was parsed, or its error; "" if it is empty."""
    at = form.appointment_at or form.pickup_at
    if not form["clock"].value():
        return ""
    errors = form.errors.get("clock")
    return str(errors[0]) if errors else _time_text(at, form) if at is not None else ""


def _time_text(at: datetime, form: BookingForm) -> SafeString:
    return format_html("{}, {}", local_time(at, form.zone), distance(at, form.now))


def _promise(preview: booking_preview.BookingPreview, form: BookingForm) -> SafeString:
    if preview.columns["after_the_fact"]:
        return format_html("{}", _("Recorded after the fact: nothing is promised."))
    if preview.promised_by is None:
        return format_html("{}", _("Promised when the rider is marked ready."))
    zone = ZoneInfo(form.zone)
    if preview.columns["pickup_at"] <= form.now:  # as soon as possible
        usual = "" if preview.is_driver_free else _("No driver is free now: this is the facility's usual time.")
        time = clock(preview.promised_by.astimezone(zone))
        return format_html("{} <strong>{}</strong> {}", _("Pickup by about"), time, usual)
    span = [clock(at.astimezone(zone)) for at in (preview.window.starts_at, preview.window.ends_at)]
    return format_html("{} <strong>{} \N{EN DASH} {}</strong>", _("Pickup window"), *span)


def _vehicles(preview: booking_preview.BookingPreview) -> str:
    """Return the number of free suitable vehicles as text; "" if no suitable vehicle is on shift then."""
    free_vehicles = availability.availability(preview.columns)
    if preview.columns["after_the_fact"] or not free_vehicles.on_shift:
        return ""
    template = ngettext(
        "%(free)s of %(count)s suitable vehicle on shift is free then.",
        "%(free)s of %(count)s suitable vehicles on shift are free then.",
        free_vehicles.on_shift,
    )
    return template % {"free": free_vehicles.free, "count": free_vehicles.on_shift}


def _add_messages(request: HttpRequest, booked: booking.Booked) -> None:
    """Add messages about the booking, and about the reasons for which a dispatcher has to review it."""
    ride = booked.ride
    message = _("The ride is booked.") if booked.return_ride is None else _("The ride and the return trip are booked.")
    if ride.after_the_fact:
        message = _("The ride is recorded. Assign its driver and log its times on its page.")
    messages.success(request, _with_link(message, ride.pk))
    legs = [ride, *([booked.return_ride] if booked.return_ride else [])]
    review_reasons = dict.fromkeys(
        str(QUESTION_TEXTS[Question(reason)]) for leg in legs for reason in leg.review_reasons
    )
    if review_reasons:
        messages.warning(request, " ".join([_("A dispatcher has to confirm it."), *review_reasons]))


def _with_link(message: str, ride_id: UUID) -> SafeString:
    return format_html('{} <a href="{}">{}</a>', message, ride_address(ride_id), _("Open the ride"))


def _conflicts(form: BookingForm) -> dict[str, Any]:
    """Return what conflicts with a ride on the form's day: the rider's status, and existing rides.

    {} without a rider.
    """
    desk, day = form.desk, form.chosen_day
    if desk.rider is None:
        return {}
    rides = bookings.booked_on(desk.rider.rider.pk, day, by=desk.by)
    return {
        "barred": rider_status.barred(desk.rider.rider, day),
        "booked": [(local_time(ride.pickup_at, ride.timezone), ride.get_status_display()) for ride in rides],
        "day": dates.short_day(day),
    }
