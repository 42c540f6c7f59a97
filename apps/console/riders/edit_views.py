"""The forms of a rider's data and needs."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride.ride_forms import Versioned
from apps.console.riders.edit_form import NeedsForm, RiderForm
from apps.console.riders.rider_views import visible_rider
from apps.riders import labels as rider_labels
from apps.riders import queries as riders
from apps.riders import services
from apps.riders.models import Rider
from apps.rides.services import accommodation_change
from lib.access import Principal
from lib.errors import DomainError
from lib.scopes import Scope


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.RIDERS_WRITE)
def edit(request: HttpRequest, rider_id: UUID) -> HttpResponse:
    """Edit the person, contacts, drivers and status of a rider."""
    by = principal_of(request)
    record = riders.record(visible_rider(rider_id, by), by=by)
    if request.method != "POST":
        return _page(request, "riders/edit.html", RiderForm(record=record, by=by), record.rider, by)
    form = RiderForm(request.POST, record=record, by=by)
    if form.is_valid():
        version = form.cleaned_data["version"]
        try:
            changed = services.amend(
                rider_id=rider_id, changes=form.changes(), expected_version=version, by=by, at=timezone.now()
            )
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, _("The rider is saved."))
            _warn_of_rides(request, changed, by)
            return redirect("rider_page", rider_id=rider_id)
    return _page(request, "riders/edit.html", form, record.rider, by)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.RIDERS_WRITE)
def needs(request: HttpRequest, rider_id: UUID) -> HttpResponse:
    """Edit the needs of a rider; rides that the rider has not boarded get them, too."""
    by = principal_of(request)
    record = riders.record(visible_rider(rider_id, by), by=by)
    if request.method != "POST":
        return _page(request, "riders/needs.html", NeedsForm(record=record, by=by), record.rider, by)
    form = NeedsForm(request.POST, record=record, by=by)
    if form.is_valid():
        version = form.cleaned_data["version"]
        try:
            changed = accommodation_change.change_accommodation(
                rider_id=rider_id, needs=form.shape(), expected_version=version, by=by, at=timezone.now()
            )
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            _add_messages(request, changed)
            return redirect("rider_page", rider_id=rider_id)
    return _page(request, "riders/needs.html", form, record.rider, by)


def _page(request: HttpRequest, template: str, form: Versioned, rider: Rider, by: Principal) -> HttpResponse:
    record_read(by=by, action="riders.read", subject_type="rider", subject_id=rider.pk, rider_ids=[rider.pk])
    context = {"form": form, "rider": rider, "name": rider_labels.rider_name(rider, by)}
    return render(request, template, context, status=UNPROCESSABLE if form.errors else 200)


def _warn_of_rides(request: HttpRequest, rider: Rider, by: Principal) -> None:
    """Warn of upcoming rides that the rider's status does not allow."""
    if count := len(riders.rides_to_decide(rider, by=by)):
        text = ngettext(
            "%(count)s upcoming ride is not allowed by this status. Cancel it, or change the status.",
            "%(count)s upcoming rides are not allowed by this status. Cancel them, or change the status.",
            count,
        )
        messages.warning(request, text % {"count": count})


def _add_messages(request: HttpRequest, changed: accommodation_change.AccommodationChange) -> None:
    texts = [_("The needs are saved.")]
    if count := len(changed.changed_ride_ids):
        text = ngettext("%(count)s upcoming ride has them.", "%(count)s upcoming rides have them.", count)
        texts.append(text % {"count": count})
    messages.success(request, " ".join(texts))
    if count := len(changed.mismatched_ride_ids):
        text = ngettext(
            "The driver or vehicle of %(count)s ride no longer fits. Assign another.",
            "The drivers or vehicles of %(count)s rides no longer fit. Assign others.",
            count,
        )
        messages.warning(request, text % {"count": count})
