"""What pages call drivers, to those who may know them."""

from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from apps.fleet.models import Driver
from lib.access import Principal
from lib.scopes import Scope

OUT_OF_REACH: Final[Promise] = gettext_lazy("A driver out of your reach")


def driver_name(driver: Driver, by: Principal) -> str:
    """Name a driver whole to those who see drivers; to others by first name and number plate, or an end of the id.

    The driver's default vehicle has to be loaded for those others.
    """
    if by.may(Scope.DRIVERS_READ):
        return f"{driver.last_name}, {driver.first_name}"
    plate = driver.default_vehicle.license_plate if driver.default_vehicle else ""
    return f"{driver.first_name}, {plate}" if plate else f"{driver.first_name} …{str(driver.pk)[-4:]}"
