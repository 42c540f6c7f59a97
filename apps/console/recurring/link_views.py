"""Calendar links: pages that create and revoke them, and the address that calendar programs read."""

import hashlib
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotFound
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from apps.accounts import queries as accounts
from apps.accounts.sessions import principal_of
from apps.console.kit.rights import is_proven, to_proof
from apps.console.recurring.rights import get_facility, get_order, opens
from apps.organizations.models import Facility
from apps.recurring.models import CalendarLink, StandingOrder
from apps.recurring.queries import calendar_feed
from apps.recurring.services import calendar_links as services
from apps.recurring.services.calendar_links import IssuedLink
from lib.access import Phi, Principal
from lib.client_address import address_of
from lib.errors import NotFound
from lib.request_context import id_of
from lib.scopes import Scope


class LinkForm(forms.Form):
    with_names = forms.BooleanField(
        label=gettext_lazy("With rider names"),
        help_text=gettext_lazy(
            "Anyone with the address can see the names. Without names, each order is shown by a short code."
        ),
        required=False,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@opens(Scope.SCHEDULES_WRITE)
def links(request: HttpRequest, facility_id: UUID) -> HttpResponse:
    """List the calendar links of a facility, and create a link to all its orders."""
    if request.method == "POST" and not is_proven(request):
        return to_proof("calendar_links", facility_id=facility_id)
    return _page(request, get_facility(facility_id, principal_of(request)), None)


@require_http_methods(["GET", "HEAD", "POST"])
@opens(Scope.SCHEDULES_WRITE)
def order_links(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """List the calendar links of one order, and create one."""
    if request.method == "POST" and not is_proven(request):
        return to_proof("order_calendar_links", order_id=order_id)
    order = get_order(order_id, principal_of(request))
    return _page(request, order.facility, order)


def _page(request: HttpRequest, facility: Facility, order: StandingOrder | None) -> HttpResponse:
    """Show active links, newest first, or a new link.  Five queries."""
    by = principal_of(request)
    form = LinkForm(request.POST if request.method == "POST" else None)
    if by.phi < Phi.LIMITED:
        del form.fields["with_names"]
    if form.is_valid():
        issued = _issue(facility, order, by, with_names=form.cleaned_data.get("with_names", False))
        return _show(request, issued, facility)
    live = CalendarLink.objects.visible_to(by).live().filter(facility=facility).order_by("-created_at", "-pk")
    rows = list(live.filter(standing_order=order) if order else live)
    names = accounts.names_of(row.created_by for row in rows)
    named_rows = [(row, names.get(row.created_by, row.created_by)) for row in rows]
    context = {"facility": facility, "order": order, "form": form, "rows": named_rows}
    return render(request, "recurring/links.html", context)


def _issue(facility: Facility, order: StandingOrder | None, by: Principal, *, with_names: bool) -> IssuedLink:
    now = timezone.now()
    if order is not None:
        return services.issue_for_order(order_id=order.pk, with_names=with_names, by=by, at=now)
    return services.issue_for_facility(facility_id=facility.pk, with_names=with_names, by=by, at=now)


def _show(request: HttpRequest, issued: IssuedLink, facility: Facility) -> HttpResponse:
    path = reverse("calendar_file", kwargs={"secret": issued.secret})
    context = {"link": issued.link, "facility": facility, "text": f"{settings.BASE_URL}{path}"}
    return render(request, "recurring/link_issued.html", context)


@require_POST
@opens(Scope.SCHEDULES_WRITE)
def revoke(request: HttpRequest, link_id: UUID) -> HttpResponse:
    link = services.revoke(link_id=link_id, by=principal_of(request), at=timezone.now())
    messages.success(request, _("The calendar link is revoked. Subscribed calendars get no more updates."))
    return redirect("calendar_links", facility_id=link.facility_id)


@login_not_required
@require_safe
def calendar_file(request: HttpRequest, secret: str) -> HttpResponseBase:
    """Respond to a calendar program, which is authorized by the secret in the URL."""
    now = timezone.now()
    try:
        link, reader = services.open_link(secret, request_id=id_of(request), ip=address_of(request), at=now)
    except NotFound:
        return HttpResponseNotFound(content_type="text/plain")
    feed = calendar_feed.feed_of(link, at=now)
    services.audit_names(link, feed.rider_ids, by=reader)
    etag = f'"{hashlib.sha256(feed.body).hexdigest()[:32]}"'
    response = HttpResponse(feed.body, content_type="text/calendar; charset=utf-8")
    response["Cache-Control"] = "private, no-cache"
    response["Content-Disposition"] = 'inline; filename="carelane.ics"'
    response["ETag"] = etag
    response["X-Robots-Tag"] = "noindex"
    return get_conditional_response(request, etag=etag, response=response) or response
