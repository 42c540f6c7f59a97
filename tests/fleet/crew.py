"""Drivers and vehicles against whom nothing stands: with every paper that is required."""

from typing import Any

from apps.fleet.models import Credential, Driver, Vehicle
from apps.fleet.rules.credentials import BLOCKING_BY_DEFAULT, Subject
from apps.organizations.models import TransportProvider
from tests import factories


def papers(*, driver: Driver | None = None, vehicle: Vehicle | None = None, **columns: Any) -> list[Credential]:
    """File every required paper of a driver or vehicle; good until 2028."""
    subject = Subject.DRIVER if driver is not None else Subject.VEHICLE
    return [
        factories.CredentialFactory.create(**({"driver": driver, "vehicle": vehicle, "type": kind} | columns))
        for kind in sorted(BLOCKING_BY_DEFAULT[subject])
    ]


def fit_driver(**columns: Any) -> Driver:
    driver: Driver = factories.DriverFactory.create(**columns)
    papers(driver=driver)
    return driver


def fit_vehicle(**columns: Any) -> Vehicle:
    vehicle: Vehicle = factories.VehicleFactory.create(**columns)
    papers(vehicle=vehicle)
    return vehicle


def fit_pair(provider: TransportProvider | None = None, **columns: Any) -> tuple[Driver, Vehicle]:
    """Make a driver with a default vehicle of the same provider."""
    provider = provider or factories.TransportProviderFactory.create()
    vehicle = fit_vehicle(provider=provider)
    return fit_driver(provider=provider, default_vehicle=vehicle, **columns), vehicle
