"""Plain rows for tests.  A factory fills the required columns only: no events, no audit, no services."""

import datetime as dt
from typing import Any

import factory
from factory.django import DjangoModelFactory

from apps.accounts.models import ApiClient, User
from apps.accounts.rules.roles import SCOPES_OF_USER, UserRole
from apps.fleet.models import CapacityConfig, Credential, Driver, Shift, Vehicle
from apps.fleet.rules.credentials import BLOCKING_BY_DEFAULT, Subject
from apps.organizations.models import Contact, Entrance, Facility, Payer, TransportProvider
from apps.organizations.rules.stops import normal
from apps.riders.models import AccommodationProfile, Rider
from apps.riders.rules.accommodation import complete
from apps.rides.models import Assignment, Ride, Trip
from lib.access import Phi, Principal

NOW = dt.datetime(2026, 11, 20, 15, 0, tzinfo=dt.UTC)  # Friday 09:00 in Chicago
PICKUP = NOW + dt.timedelta(hours=5)  # 14:00 in Chicago


class FacilityFactory(DjangoModelFactory[Facility]):
    class Meta:
        model = Facility

    name = factory.Sequence(lambda n: f"St. Brigid Hospital {n}")
    kind = "hospital"
    address_line1 = "200 W Monroe St"
    city = "Chicago"
    state = "IL"
    postal_code = "60606"
    lat = "41.880900"
    lng = "-87.633800"
    timezone = "America/Chicago"
    modifier_code = "H"


class EntranceFactory(DjangoModelFactory[Entrance]):
    class Meta:
        model = Entrance

    facility = factory.SubFactory(FacilityFactory)
    name = factory.Sequence(lambda n: f"Door {n}")


class ContactFactory(DjangoModelFactory[Contact]):
    class Meta:
        model = Contact

    facility = factory.SubFactory(FacilityFactory)
    role = "charge_nurse"
    name = "Nurse station 4 West"
    phone = "+13125550140"


class PayerFactory(DjangoModelFactory[Payer]):
    class Meta:
        model = Payer

    name = factory.Sequence(lambda n: f"Prairie Health Plan {n}")


class TransportProviderFactory(DjangoModelFactory[TransportProvider]):
    class Meta:
        model = TransportProvider

    name = factory.Sequence(lambda n: f"Lakeshore Transit {n}")
    timezone = "America/Chicago"


class RiderFactory(DjangoModelFactory[Rider]):
    """A rider; `facility=` also lets that facility see them."""

    class Meta:
        model = Rider
        skip_postgeneration_save = True

    first_name = "Orla"
    last_name = factory.Sequence(lambda n: f"Canarywell{n}")
    date_of_birth = dt.date(1951, 4, 2)
    phones = factory.LazyFunction(lambda: [{"number": "+13125550111", "ext": "", "kind": "mobile"}])

    @factory.post_generation
    def facility(self, create: bool, facility: Facility | None, **_: Any) -> None:
        if create and facility is not None:
            self.facilities.add(facility)


class AccommodationProfileFactory(DjangoModelFactory[AccommodationProfile]):
    class Meta:
        model = AccommodationProfile

    rider = factory.SubFactory(RiderFactory)
    number = 1
    recorded_at = NOW
    recorded_by = "system"
    load_minutes = 3
    unload_minutes = 3


class VehicleFactory(DjangoModelFactory[Vehicle]):
    """A wheelchair van that carries two people and one chair."""

    class Meta:
        model = Vehicle
        skip_postgeneration_save = True

    provider = factory.SubFactory(TransportProviderFactory)
    unit_number = factory.Sequence(lambda n: f"V{n:04}")
    license_plate = factory.Sequence(lambda n: f"CL{n:05}")
    type = "wheelchair_van"
    lift_type = "lift"
    lift_rating_lb = 800
    max_chair_width_in = "34.0"

    @factory.post_generation
    def capacity(self, create: bool, capacity: dict[str, int] | None, **_: Any) -> None:
        if create:
            spaces = capacity or {"ambulatory": 2, "wheelchair": 1, "stretcher": 0}
            CapacityConfig.objects.create(vehicle=self, name="standard", **spaces)


class DriverFactory(DjangoModelFactory[Driver]):
    """An active driver who may secure wheelchairs; credentials come from CredentialFactory."""

    class Meta:
        model = Driver

    provider = factory.SubFactory(TransportProviderFactory)
    first_name = "Marek"
    last_name = factory.Sequence(lambda n: f"Canarydriver{n}")
    phone = "+13125550122"
    activation = "active"
    qualifications = factory.LazyFunction(lambda: ["wheelchair_securement", "passenger_assist"])


class CredentialFactory(DjangoModelFactory[Credential]):
    class Meta:
        model = Credential

    driver = factory.SubFactory(DriverFactory)
    type = "driver_license"
    issued_on = dt.date(2024, 1, 1)
    expires_on = dt.date(2028, 1, 1)
    blocking = True
    verified_at = NOW
    verified_by = "system"


class ShiftFactory(DjangoModelFactory[Shift]):
    class Meta:
        model = Shift

    provider = factory.SelfAttribute("driver.provider")
    driver = factory.SubFactory(DriverFactory)
    vehicle = factory.SubFactory(VehicleFactory, provider=factory.SelfAttribute("..driver.provider"))
    starts_at = NOW - dt.timedelta(hours=2)
    ends_at = NOW + dt.timedelta(hours=8)


class TripFactory(DjangoModelFactory[Trip]):
    class Meta:
        model = Trip

    rider = factory.SubFactory(RiderFactory)
    service_date = dt.date(2026, 11, 20)


def stop(**keys: Any) -> dict[str, Any]:
    """A stop as the API shows it."""
    home = {
        "name": "Home",
        "addressLine1": "1418 N Canary Ave",
        "city": "Chicago",
        "state": "IL",
        "postalCode": "60622",
        "lat": 41.9071,
        "lng": -87.6722,
    }
    return normal(home | keys)


class RideFactory(DjangoModelFactory[Ride]):
    """A scheduled one-way ride of an ambulatory rider from a facility, which may see the rider, to a home."""

    class Meta:
        model = Ride
        skip_postgeneration_save = True

    facility = factory.SubFactory(FacilityFactory)
    rider = factory.SubFactory(RiderFactory)
    pickup_at = PICKUP
    window_starts_at = factory.LazyAttribute(lambda ride: ride.pickup_at - dt.timedelta(minutes=15))
    window_ends_at = factory.LazyAttribute(lambda ride: ride.pickup_at + dt.timedelta(minutes=15))
    timezone = "America/Chicago"
    service_date = dt.date(2026, 11, 20)
    pickup_facility = factory.SelfAttribute("facility")
    pickup = factory.LazyAttribute(lambda ride: stop(name="Hospital", facilityId=str(ride.facility.pk)))
    dropoff = factory.LazyFunction(stop)
    accommodation = factory.LazyFunction(lambda: complete({}))
    accommodation_version = 1
    spaces_ambulatory = 1
    requested_at = NOW - dt.timedelta(days=1)
    scheduled_at = NOW - dt.timedelta(days=1)
    status = "scheduled"
    status_changed_at = NOW - dt.timedelta(days=1)
    created_at = NOW - dt.timedelta(days=1)
    updated_at = NOW - dt.timedelta(days=1)
    next_check_at = NOW - dt.timedelta(days=1)  # due at once
    version = 1

    @factory.post_generation
    def rider_known_to_facility(self, create: bool, wanted: bool | None, **_: Any) -> None:
        if create and wanted is not False and self.facility is not None:
            self.rider.facilities.add(self.facility)


def file_credentials(driver: Driver, vehicle: Vehicle) -> None:
    """Create the required credentials of drivers and vehicles that have none."""
    for subject, owner in ((Subject.DRIVER, {"driver": driver}), (Subject.VEHICLE, {"vehicle": vehicle})):
        filed = set(Credential.objects.filter(**owner, replaced=False).values_list("type", flat=True))
        Credential.objects.bulk_create(
            Credential(
                **owner,
                type=type_,
                expires_on=dt.date(2028, 1, 1),
                blocking=True,
                verified_at=NOW,
                verified_by="system",
            )
            for type_ in sorted(BLOCKING_BY_DEFAULT[subject] - filed)
        )


def put_driver_on(ride: Ride, *, driver: Driver | None = None, vehicle: Vehicle | None = None) -> Assignment:
    """Assign a driver to a scheduled ride, by rows only."""
    driver = driver or DriverFactory.create()
    vehicle = vehicle or VehicleFactory.create(provider=driver.provider)
    file_credentials(driver, vehicle)
    assignment = Assignment.objects.create(
        ride=ride,
        provider=driver.provider,
        driver=driver,
        vehicle=vehicle,
        status=Assignment.Status.ACCEPTED,
        offered_at=NOW,
        responded_at=NOW,
        assigned_by="system",
        driver_name="Marek",
        vehicle_plate=vehicle.license_plate,
    )
    Ride.objects.filter(pk=ride.pk).update(
        status="assigned",
        assignment_id=assignment.pk,
        provider=driver.provider,
        driver=driver,
        vehicle=vehicle,
    )
    ride.refresh_from_db()
    return assignment


class UserFactory(DjangoModelFactory[User]):
    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"person{n}@example.org")
    name = "Pat Example"
    role = UserRole.DISPATCHER


class ApiClientFactory(DjangoModelFactory[ApiClient]):
    class Meta:
        model = ApiClient

    name = factory.Sequence(lambda n: f"Interface engine {n}")


def principal(role: UserRole = UserRole.DISPATCHER, **columns: Any) -> Principal:
    """Return a principal for services, without a request."""
    known: dict[str, Any] = {
        "kind": "user",
        "id": UserFactory.create(role=role).pk,
        "role": role.value,
        "scopes": SCOPES_OF_USER[role],
        "phi": Phi.FULL,
    }
    return Principal(**(known | columns))
