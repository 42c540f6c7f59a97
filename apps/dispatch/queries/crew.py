"""The vehicle that a driver has at the time of a ride."""

import datetime as dt
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.fleet.models import Driver
from apps.rides.models import Ride
from apps.rides.queries.assignment_facts import gather
from apps.rides.queries.ride_needs import needs_of
from lib.access import Principal
from lib.errors import InvalidInput, NotFound


def vehicle_for(*, ride_id: UUID, driver_id: UUID, by: Principal, at: dt.datetime) -> UUID:
    """Return the vehicle of the driver's shift at the pickup, else the driver's default vehicle.

    Raises:
        NotFound: the ride is not visible to the caller.
        InvalidInput: the driver is not visible to the caller, or has no vehicle at that time.
    """
    ride = Ride.objects.visible_to(by).select_related("rider").filter(pk=ride_id).first()
    if ride is None:
        raise NotFound(_("ride"))
    driver = Driver.objects.visible_to(by).filter(pk=driver_id).first()
    if driver is None:
        raise InvalidInput("driverId", _("There is no such driver."), detail_code="unknown")
    vehicle_id = gather(needs_of(ride, at=at), drivers=[driver], at=at).vehicle_of.get(driver_id)
    if vehicle_id is None:
        raise InvalidInput("vehicleId", _("The driver has no vehicle at that time."), detail_code="required")
    return vehicle_id
