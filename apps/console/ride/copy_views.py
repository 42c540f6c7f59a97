"""The page that books a copy of a ride: another day or time, another rider, or the other direction."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.booking import rider_combo
from apps.console.booking.fields import TimesFields
from apps.console.kit.rights import UNPROCESSABLE, require_scope
from apps.console.ride import labels as ride_labels
from apps.console.ride.ride_views import get_ride
from apps.riders.labels import rider_name
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.rules.disclosure import disclosure_of, stop
from apps.rides.services import copying
from apps.rides.services.copying import CopyRequest
from lib.access import Principal
from lib.clocks import clock
from lib.console_forms import add_errors
from lib.errors import Code, DomainError
from lib.ids import uuid_or_none
from lib.scopes import Scope

_FIELDS = {"date": "day", "pickupTime": "clock", "appointmentTime": "clock", "allowDuplicate": "allow_duplicate"}


class CopyForm(TimesFields):
    """Day, time and direction of the copy; the rider is in the address of the page."""

    is_reversed = forms.BooleanField(label=gettext_lazy("In the other direction"), required=False)
    allow_duplicate = forms.BooleanField(label=gettext_lazy("Book anyway"), required=False)

    is_duplicate = False

    def __init__(self, *args: Any, ride: Ride, now: datetime, **options: Any) -> None:
        super().__init__(*args, **options)
        self.zone, self.now = ride.timezone, now
        for name in ("when", "pickup_clock", "way_back", "back_clock"):
            del self.fields[name]
        self.fields["clock"].label, self.fields["clock"].required = _("Pickup"), True
        self.initial = {
            "day": max(ride.service_date, self.today) + timedelta(days=1),
            "clock": clock(ride.pickup_at.astimezone(ZoneInfo(ride.timezone))),
        }

    def clean(self) -> dict[str, Any]:
        self.pickup_at = self.instant("clock")
        return self.cleaned_data

    def refuse(self, refusal: DomainError) -> None:
        self.is_duplicate = refusal.code is Code.DUPLICATE_RIDE
        add_errors(self, refusal, _FIELDS)


@require_http_methods(["GET", "HEAD", "POST"])
@require_scope(Scope.RIDES_WRITE)
def copy(request: HttpRequest, ride_id: UUID) -> HttpResponse:
    """Book a copy, or find the rider of it (`do` is "find") by POST, because search terms are personal data."""
    by, now = principal_of(request), timezone.now()
    ride = get_ride(ride_id, by)
    other_id = uuid_or_none(request.GET.get("rider"))
    rider = ride.rider if other_id is None else get_object_or_404(Rider.objects.visible_to(by), pk=other_id)
    if request.method != "POST":
        return _page(request, CopyForm(ride=ride, now=now), ride, rider, by)
    if request.POST.get("do") == "find":
        found = rider_combo.find(request.POST.get("q", "")[:100], by=by)
        return _page(request, CopyForm(ride=ride, now=now), ride, rider, by, found=found)
    form = CopyForm(request.POST, ride=ride, now=now)
    if form.is_valid():
        values = form.cleaned_data
        wanted = CopyRequest(
            pickup_at=form.pickup_at,
            rider_id=rider.pk,
            is_reversed=values["is_reversed"],
            allow_duplicate=values["allow_duplicate"],
        )
        try:
            copied = copying.copy_ride(ride_id=ride.pk, request=wanted, by=by, at=now)
        except DomainError as refusal:
            form.refuse(refusal)
        else:
            messages.success(request, _("The ride is copied. This is the copy."))
            return redirect("ride_page", ride_id=copied.pk)
    return _page(request, form, ride, rider, by, status=UNPROCESSABLE)


def _page(
    request: HttpRequest, form: CopyForm, ride: Ride, rider: Rider, by: Principal, *, status: int = 200, **more: Any
) -> HttpResponse:
    """Render the form.  Writes an audit entry."""
    to = disclosure_of(by)
    record_read(
        by=by,
        action="rides.read",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=sorted({ride.rider_id, rider.pk}),
        facility_id=ride.facility_id,
    )
    context = {
        "form": form,
        "ride": ride,
        "name": rider_name(rider, by),
        "is_other_rider": rider.pk != ride.rider_id,
        "day": ride_labels.day(ride.pickup_at, ride.timezone),
        "clock": ride_labels.clock(ride.pickup_at, ride.timezone),
        "from_name": ride_labels.place_name(stop(ride.pickup, to)),
        "to_name": ride_labels.place_name(stop(ride.dropoff, to)),
        **more,
    }
    return render(request, "rides/ride_copy.html", context, status=status)
