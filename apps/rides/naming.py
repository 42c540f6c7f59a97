"""What pages call drivers, to those who may know them."""

from typing import Final
from uuid import UUID

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from apps.fleet.models import Driver
from lib.access import Phi, Principal
from lib.scopes import Scope

OUT_OF_REACH: Final[Promise] = gettext_lazy("A driver out of your reach")


def unnamed(id: UUID) -> str:
    """Tell a driver or vehicle apart from others without saying which one it is."""
    return f"…{str(id)[-8:]}"


def driver_name(driver: Driver, by: Principal) -> str:
    """Name a driver whole to those who see drivers; to others by first name and number plate, or an end of the id.

    Who sees nobody's identity, as analysts, is told the end of the id alone.  The driver's default vehicle has to be
    loaded for the others.
    """
    if by.has_scope(Scope.DRIVERS_READ):
        return f"{driver.last_name}, {driver.first_name}"
    if by.phi <= Phi.NONE:
        return unnamed(driver.pk)
    plate = driver.default_vehicle.license_plate if driver.default_vehicle else ""
    return f"{driver.first_name}, {plate}" if plate else f"{driver.first_name} …{str(driver.pk)[-4:]}"
