"""Ride drafts without conflicts, for tests to vary."""

import datetime as dt
from typing import Any

from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.rules.draft import RideDraft
from tests import factories

HOME = {
    "name": "Home",
    "addressLine1": "1418 N Canary Ave",
    "city": "Chicago",
    "state": "IL",
    "postalCode": "60622",
    "lat": 41.9071,
    "lng": -87.6722,
}


def draft(facility: Facility, rider: Rider, **changes: Any) -> RideDraft:
    """A ride home from the facility, five hours from now."""
    asked: dict[str, Any] = {
        "pickup_at": factories.PICKUP,
        "pickup": {"facilityId": str(facility.pk)},
        "dropoff": HOME,
        "rider_id": rider.pk,
    }
    return RideDraft(**(asked | changes))


def dialysis(facility: Facility, rider: Rider, **changes: Any) -> RideDraft:
    """A ride to a dialysis center."""
    asked: dict[str, Any] = {
        "pickup": HOME,
        "dropoff": {"facilityId": str(facility.pk)},
        "service_type": "dialysis",
        "appointment_at": factories.PICKUP + dt.timedelta(hours=1),
    }
    return draft(facility, rider, **(asked | changes))
