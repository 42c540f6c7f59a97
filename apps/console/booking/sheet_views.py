"""The page that books many rides from a sheet: all of them, or none and the problems of each row."""

from collections.abc import Sequence

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from apps.audit.views import record_read
from apps.console.booking import booking_desk, sheet
from apps.console.booking.form import Desk
from apps.console.booking.sheet import SheetForm, SheetRow
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.rides.services import booking
from lib.errors import DomainError
from lib.scopes import Scope


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.RIDES_WRITE)
def book_sheet(request: HttpRequest) -> HttpResponse:
    """Check a sheet and list the problems of its rows; book all rows if requested (`book`) and free of problems."""
    now = timezone.now()
    form_data = (request.POST if request.method == "POST" else request.GET).dict()
    desk = booking_desk.desk_of(request, form_data, do="", now=now)
    if request.method != "POST":
        initial = {"facility": str(desk.facility.pk) if desk.facility else ""}
        return _page(request, SheetForm(desk=desk, initial=initial), [])
    form = SheetForm(request.POST, request.FILES, desk=desk)
    lines = sheet.lines(form.records(), desk=desk) if form.is_valid() else []
    if lines:
        _record_reads(desk, lines)
    invalid = [line for line in lines if line.problems]
    if invalid:
        count = len(invalid)
        message = ngettext("%(count)s row has errors.", "%(count)s rows have errors.", count)
        form.add_error("rows", message % {"count": count})
    elif lines and "book" in form_data:
        try:
            drafts = [line.draft for line in lines if line.draft is not None]
            booked = booking.book_many(drafts=drafts, by=desk.by, at=now)
        except DomainError as refusal:  # two rows of a rider overlap, or a ride was booked meanwhile
            form.add_error("rows", _("Nothing is booked: %(why)s") % {"why": refusal.message})
        else:
            count = len(booked)
            message = ngettext("%(count)s booking is made.", "%(count)s bookings are made.", count)
            messages.success(request, message % {"count": count})
            return redirect("book_sheet")
    return _page(request, form, lines)


def _record_reads(desk: Desk, lines: Sequence[SheetRow]) -> None:
    """Write an audit entry with the riders found by their ids."""
    rider_ids = {line.rider_id for line in lines if line.rider_id}
    record_read(
        by=desk.by,
        action="riders.search",
        subject_type="rider",
        rider_ids=rider_ids,
        details={"criteria": ["external_id"]},
    )


def _page(request: HttpRequest, form: SheetForm, lines: Sequence[SheetRow]) -> HttpResponse:
    has_errors = bool(form.errors)
    context = {
        "form": form,
        "lines": lines,
        "has_errors": has_errors,
        "text": form.text or form.data.get("rows", ""),  # also of a file: the form posts it as text to book
        "columns": sheet.COLUMNS,
        "required_columns": sheet.REQUIRED,
        "max_rows": sheet.MAX_ROWS,
        "can_book": bool(lines) and not has_errors,
    }
    return render(request, "rides/book_sheet.html", context, status=UNPROCESSABLE if has_errors else 200)
