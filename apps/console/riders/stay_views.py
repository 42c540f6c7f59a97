"""Report of a hospital stay: holds the rider's standing orders in one step."""

from collections.abc import Sequence
from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from apps.accounts.sessions import principal_of
from apps.audit.views import record_read
from apps.console.kit.rights import UNPROCESSABLE
from apps.console.recurring import reconcile_messages
from apps.console.recurring.rights import opens
from apps.console.riders import rider_facts
from apps.console.riders.rider_views import current_orders, order_rows, visible_rider
from apps.recurring.models import HoldReason, StandingOrder
from apps.recurring.services import hold_order
from apps.riders.labels import rider_name
from apps.rides.queries import rider_rides
from apps.rides.rules import timing
from lib.console_forms import add_errors, day_field
from lib.errors import DomainError, NotFound, StaleVersion
from lib.scopes import Scope

_NAMES: Final = {"from": "from_date", "until": "until"}


class StayForm(forms.Form):
    """First and last day of a stay, and the orders to hold, each as `id:version` of the page."""

    from_date = day_field(gettext_lazy("First day without rides"))
    until = day_field(
        gettext_lazy("Last day without rides"),
        required=False,
        help_text=gettext_lazy("Leave blank to hold until resumed. You get a weekly reminder to review it."),
    )
    orders = forms.MultipleChoiceField(
        label=gettext_lazy("Standing orders"),
        widget=forms.CheckboxSelectMultiple,
        error_messages={
            "required": gettext_lazy("Choose at least one standing order."),
            "invalid_choice": gettext_lazy("Someone else changed a standing order. Review them, then save again."),
        },
    )

    def __init__(self, *args: Any, orders: Sequence[StandingOrder], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(f"{order.pk}:{order.version}", order.facility.name) for order in orders]
        cast(forms.MultipleChoiceField, self.fields["orders"]).choices = choices
        self.fields["orders"].initial = [value for value, _name in choices]

    def versions(self) -> dict[UUID, int]:
        """Return the ids of the chosen orders with the versions that were shown."""
        pairs = (value.split(":") for value in self.cleaned_data["orders"])
        return {UUID(order_id): int(version) for order_id, version in pairs}


@require_http_methods(["GET", "HEAD", "POST"])
@opens(Scope.SCHEDULES_WRITE)
def stay(request: HttpRequest, rider_id: UUID) -> HttpResponse:
    """Hold the rider's standing orders for a hospital stay; other rides are listed, for a person to decide."""
    by, now = principal_of(request), timezone.now()
    rider = visible_rider(rider_id, by)
    orders = current_orders(rider.pk, by)
    zone = orders[0].timezone if orders else None
    today = timing.local_day(now, zone) if zone else timezone.localdate(now)
    form = StayForm(request.POST or None, orders=orders, initial={"from_date": today})
    if form.is_valid():
        values = form.cleaned_data
        try:
            results = hold_order.hold_all(
                versions=form.versions(),
                from_date=values["from_date"],
                until=values["until"],
                reason=HoldReason.HOSPITAL_STAY,
                by=by,
                at=now,
            )
        except NotFound:
            raise
        except StaleVersion:
            form.add_error("orders", form.fields["orders"].error_messages["invalid_choice"])
        except DomainError as error:
            add_errors(form, error, _NAMES)
        else:
            for result in results:
                reconcile_messages.add(request, _("The hold is set."), result.result)
            return redirect("rider_page", rider_id=rider_id)
    record_read(by=by, action="riders.read", subject_type="rider", subject_id=rider.pk, rider_ids=[rider.pk])
    rides = rider_rides.rides_of(rider.pk, by=by, at=now).upcoming
    context = {
        "form": form,
        "rider": rider,
        "name": rider_name(rider, by),
        "orders": list(zip(form["orders"], order_rows(rider.pk, by, now), strict=True)),
        "others": rider_facts.ride_rows([ride for ride in rides if ride.standing_order_id is None], by),
    }
    return render(request, "riders/stay.html", context, status=UNPROCESSABLE if form.errors else 200)
