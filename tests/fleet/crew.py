"""Drivers and vehicles with every required credential."""

from typing import Any

from apps.fleet.models import Credential, Driver, Vehicle
from apps.fleet.rules.credentials import BLOCKING_BY_DEFAULT, Subject
from apps.organizations.models import TransportProvider
from tests import factories


def file_credentials(
    *, driver: Driver | None = None, vehicle: Vehicle | None = None, **columns: Any
) -> list[Credential]:
    """Create every required credential of a driver or vehicle, valid until 2028."""
    subject = Subject.DRIVER if driver is not None else Subject.VEHICLE
    return [
        factories.CredentialFactory.create(**({"driver": driver, "vehicle": vehicle, "type": kind} | columns))
        for kind in sorted(BLOCKING_BY_DEFAULT[subject])
    ]


def fit_driver(**columns: Any) -> Driver:
    driver: Driver = factories.DriverFactory.create(**columns)
    file_credentials(driver=driver)
    return driver


def fit_vehicle(**columns: Any) -> Vehicle:
    vehicle: Vehicle = factories.VehicleFactory.create(**columns)
    file_credentials(vehicle=vehicle)
    return vehicle


def fit_pair(provider: TransportProvider | None = None, **columns: Any) -> tuple[Driver, Vehicle]:
    """Make a driver with a default vehicle of the same provider."""
    provider = provider or factories.TransportProviderFactory.create()
    vehicle = fit_vehicle(provider=provider)
    return fit_driver(provider=provider, default_vehicle=vehicle, **columns), vehicle
