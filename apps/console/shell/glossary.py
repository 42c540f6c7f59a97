"""The glossary: what statuses and terms of the console mean, in one sentence each."""

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from apps.console.ride.labels import RELEASED, STATUSES, WILL_CALL
from apps.rides.rules.lifecycle import RideStatus

Text = str | Promise

_STATUSES: Final[Mapping[str, Text]] = {
    RideStatus.REQUESTED: _("The ride is booked and needs the approval of a dispatcher."),
    RideStatus.SCHEDULED: _("The ride is approved and unassigned."),
    RideStatus.ASSIGNED: _("A driver and a vehicle are planned for the ride."),
    RideStatus.EN_ROUTE: _("The driver is on the way to the pickup."),
    RideStatus.ARRIVED: _("The vehicle is at the pickup, and the driver waits for the rider."),
    RideStatus.IN_PROGRESS: _("The rider is in the vehicle."),
    RideStatus.COMPLETED: _("The rider was dropped off."),
    RideStatus.CANCELLED: _("The rider, the facility or a dispatcher called the ride off before the pickup."),
    RideStatus.NO_SHOW: _("The vehicle was at the pickup in time, and the rider did not come or refused."),
    RideStatus.UNFULFILLED: _("The ride was not canceled, and no vehicle carried the rider: a missed trip."),
}

_TERMS: Final[tuple[tuple[Text, Text], ...]] = (
    (
        _("Ride"),
        _("One rider in one direction; the outbound trip and the return trip are two linked rides."),
    ),
    (
        _("Promise"),
        _("The latest time at which the vehicle should be at the pickup, as agreed with the rider or the facility."),
    ),
    (
        _("Will-call"),
        _("A ride without a fixed time: dispatch sends a vehicle after the facility has marked the rider ready."),
    ),
    (
        _("Missed trip"),
        _("A ride that should have taken place and did not; the record says why, and who was responsible."),
    ),
    (
        _("Fulfillment"),
        _("The share of rides that were completed, out of all rides that were completed or missed."),
    ),
    (
        _("Turnback"),
        _("A driver or provider gives an assigned ride back; it is late less than 48 hours before the pickup."),
    ),
    (
        _("Standing order"),
        _("Rides that repeat by a weekly pattern, such as dialysis on Monday, Wednesday and Friday."),
    ),
    (
        _("Hold"),
        _("A pause of a standing order, for example during a hospital stay; rides in it are not booked."),
    ),
    (
        _("Exception"),
        _("A problem of a ride or standing order that needs action, such as a ride without a driver."),
    ),
    (
        _("Deadhead"),
        _("The drive of a vehicle without a rider, from a drop-off to the next pickup."),
    ),
)


@require_safe
def glossary(request: HttpRequest) -> HttpResponse:
    """Show the glossary to any signed-in user."""
    statuses = [(STATUSES[status], text) for status, text in _STATUSES.items()]
    will_call = [
        (WILL_CALL, _("The time is an estimate; no vehicle comes before the rider is marked ready.")),
        (RELEASED, _("The facility has marked the rider of a will-call ready, and a vehicle is due.")),
    ]
    return render(request, "glossary.html", {"statuses": [*statuses, *will_call], "terms": _TERMS})
