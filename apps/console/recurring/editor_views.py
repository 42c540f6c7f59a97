"""The series editor: creates and changes standing orders."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.booking import rider_combo
from apps.console.kit.rights import UNPROCESSABLE
from apps.console.recurring import labels, reconcile_messages
from apps.console.recurring.editor_forms import NewOrder, OrderChange, initial_of
from apps.console.recurring.forms import RiderSearch
from apps.console.recurring.from_ride import template_of
from apps.console.recurring.rights import get_order, opens
from apps.recurring.models import Terms
from apps.recurring.services import create_order, edit_order
from apps.riders.labels import rider_name
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.rules import timing
from lib.access import Principal
from lib.errors import DomainError, NotFound
from lib.ids import uuid7, uuid_or_none
from lib.scopes import Scope

MOST_FOUND: Final = 20


@require_http_methods(["GET", "HEAD", "POST"])
@opens(Scope.SCHEDULES_WRITE)
def add(request: HttpRequest) -> HttpResponse:
    """Create an order: first find the rider, then enter the order, filled in from a booked ride if there is one."""
    by = principal_of(request)
    rider_id = uuid_or_none(request.GET.get("rider"))
    if rider_id is None:
        return _find_rider(request, by)
    rider = get_object_or_404(Rider.objects.visible_to(by), pk=rider_id)
    ride_id = uuid_or_none(request.GET.get("ride"))
    template = template_of(ride_id, rider.pk, by=by, at=timezone.now()) if ride_id else None
    options: dict[str, Any] = {"by": by, "rider": rider}
    if template is not None:
        options |= {"current_terms": template.terms, "payer_id": template.payer_id}
    if request.method != "POST":
        initial = {"key": uuid7(), "facility": request.GET.get("facility", "")}
        initial |= template.initial if template is not None else {}
        return _editor(request, NewOrder(initial=initial, **options), rider, by)
    form = NewOrder(request.POST, **options)
    answer = _create(request, form, rider, by) if form.is_valid() else None
    return answer or _editor(request, form, rider, by)


def _create(request: HttpRequest, form: NewOrder, rider: Rider, by: Principal) -> HttpResponse | None:
    """Create the order, or show first which of its rides are booked already; None if the form has errors."""
    key, now = form.cleaned_data["key"], timezone.now()
    try:
        if not form.cleaned_data["is_confirmed"]:
            preview = create_order.preview(rider_id=rider.pk, draft=form.draft(), by=by, at=now)
            if preview.existing_rides:
                return _editor(request, form, rider, by, existing=_existing(preview.existing_rides))
        created = create_order.create(rider_id=rider.pk, draft=form.draft(), order_id=key, by=by, at=now)
    except create_order.OrderExists:
        messages.info(request, _("This standing order already exists."))
        return redirect("standing_order", order_id=key)
    except NotFound:
        raise
    except DomainError as error:
        form.refuse(error)
        return None
    reconcile_messages.add(request, _("The standing order is created."), created.result)
    return redirect("standing_order", order_id=key)


@require_http_methods(["GET", "HEAD", "POST"])
@opens(Scope.SCHEDULES_WRITE)
def change(request: HttpRequest, order_id: UUID) -> HttpResponse:
    """Change an order, for its whole future or from a date."""
    by, now = principal_of(request), timezone.now()
    order = get_order(order_id, by)
    today = timing.local_day(now, order.timezone)
    rows = list(Terms.objects.filter(standing_order=order).order_by("from_date"))
    begun = [row for row in rows if row.from_date <= today]
    current_terms = edit_order.draft_of(begun[-1] if begun else rows[0])
    if request.method != "POST":
        form = OrderChange(initial=initial_of(order, current_terms), order=order, current_terms=current_terms, by=by)
        return _editor(request, form, order.rider, by, order=order)
    form = OrderChange(request.POST, order=order, current_terms=current_terms, by=by)
    if form.is_valid():
        try:
            changed = edit_order.change(order_id=order_id, **form.changes(), by=by, at=now)
        except NotFound:
            raise
        except DomainError as error:
            form.refuse(error)
        else:
            reconcile_messages.add(request, _("The standing order is changed."), changed.result)
            return redirect("standing_order", order_id=order_id)
    return _editor(request, form, order.rider, by, order=order)


def _existing(rides: Sequence[Ride]) -> dict[str, Any]:
    """Return the text about rides that a new order keeps, and their ids and times."""
    return {
        "text": reconcile_messages.existing_text(len(rides), [ride.service_date for ride in rides]),
        "rides": [(ride.pk, labels.day_and_clock(ride.pickup_at, ride.timezone)) for ride in rides],
    }


def _find_rider(request: HttpRequest, by: Principal) -> HttpResponse:
    """Find the rider of a new order by POST, because search terms are personal data and must not be in a URL."""
    form = RiderSearch(request.POST if request.method == "POST" else None)
    if not form.is_bound:  # otherwise results or errors get the focus
        form.fields["q"].widget.attrs["autofocus"] = True
    riders = rider_combo.find(form.cleaned_data["q"], by=by, limit=MOST_FOUND) if form.is_valid() else None
    facility_id = uuid_or_none(request.GET.get("facility"))
    context = {
        "form": form,
        "riders": riders,
        "facility_id": facility_id,
        "target": f"?facility={facility_id}&rider=" if facility_id else "?rider=",
    }
    return render(request, "recurring/rider.html", context, status=UNPROCESSABLE if form.errors else 200)


def _editor(request: HttpRequest, form: Any, rider: Rider, by: Principal, **context: Any) -> HttpResponse:
    record_read(by=by, action="riders.read", subject_type="rider", subject_id=rider.pk, rider_ids=[rider.pk])
    context |= {"form": form, "name": rider_name(rider, by)}
    return render(request, "recurring/editor.html", context, status=UNPROCESSABLE if form.errors else 200)
