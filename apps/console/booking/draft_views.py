"""Views of booking drafts: list, save and discard."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.booking import form_drafts
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.rides.queries import booking_drafts as queries
from apps.rides.services import booking_drafts
from lib.clocks import clock
from lib.ids import uuid_or_none
from lib.scopes import Scope


@require_safe
@require_scope(Scope.RIDES_WRITE)
def book_drafts(request: HttpRequest) -> HttpResponse:
    """List the user's drafts.  Three queries for any number of drafts, and an audit entry if they name riders."""
    by = principal_of(request)
    rows, riders = form_drafts.rows(queries.own(by), by)
    if riders:
        record_read(by=by, action="riders.read", subject_type="rider", rider_ids=[rider.pk for rider in riders])
    return render(request, "rides/book_drafts.html", {"rows": rows, "days": booking_drafts.RETENTION.days})


@require_POST
@require_scope(Scope.RIDES_WRITE)
def keep_draft(request: HttpRequest) -> HttpResponse:
    """Save the posted form as a draft, without validation.

    The button redirects to the list of drafts.  Autosave (parameter `by_itself`) gets the time as plain text, or an
    empty text if the ride is already booked.
    """
    by, now = principal_of(request), timezone.now()
    key = uuid_or_none(request.POST.get("key"))
    is_autosave = "by_itself" in request.POST
    if key is None:
        if is_autosave:
            return HttpResponse(status=UNPROCESSABLE)
        messages.error(request, _("The draft could not be saved: the form has no key. Start again."))
        return redirect("book_ride")
    saved = booking_drafts.save(key=key, form_data=form_drafts.to_save(request.POST.dict()), by=by, at=now)
    if is_autosave:
        message = "" if saved is None else _("Draft saved at %(time)s.") % {"time": clock(timezone.localtime(now))}
        return HttpResponse(message, content_type="text/plain; charset=utf-8")
    if saved is None:
        messages.info(request, _("This ride was booked already."))
    else:
        messages.success(request, _("The draft is saved."))
    return redirect("book_drafts")


@require_POST
@require_scope(Scope.RIDES_WRITE)
def discard_draft(request: HttpRequest, draft_id: UUID) -> HttpResponse:
    """Delete a draft; 404 if the user has no such draft."""
    if not booking_drafts.discard(draft_id=draft_id, by=principal_of(request)):
        raise Http404
    messages.success(request, _("The draft is deleted."))
    return redirect("book_drafts")
