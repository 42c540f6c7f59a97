"""Fixtures of export tests."""

import pytest

from apps.exports.models import SuggestedCode
from apps.organizations.models import ExternalId
from apps.rides.models import Assignment, Milestone, Ride
from apps.rides.rules.lifecycle import RideStatus
from tests import factories
from tests.rides.rides_in import ride_in

CODES = [
    ("ambulatory", "A0100"),
    ("wheelchair", "A0130"),
    ("stretcher", "T2005"),
    ("bls", "A0428"),
    ("mileage_ambulatory", "S0215"),
    ("mileage_wheelchair", "S0209"),
    ("mileage_stretcher", "S0215"),
    ("mileage_bls", "A0425"),
    ("attendant", "T2001"),
    ("waiting", "T2007"),
]


@pytest.fixture
def completed(db: None) -> Ride:
    """A ride of a wheelchair rider, with all columns that a completed leg can have."""
    # As the migration creates them; a test that commits leaves the table empty.
    SuggestedCode.objects.bulk_create(
        (SuggestedCode(item=item, code=code) for item, code in CODES), ignore_conflicts=True
    )
    ride = ride_in(RideStatus.COMPLETED, facility=factories.FacilityFactory.create(name="=St. Brigid, North"))
    ride.payer = factories.PayerFactory.create(name="Prairie Health Plan")
    ride.payer_member_id = "PM-77"
    ride.authorization_number, ride.program_code = "A1", "MCD"
    ride.accommodation = {**ride.accommodation, "mobility": "wheelchair", "assistLevel": "door_to_door"}
    ride.companions = {"escorts": 1, "attendantsProvided": 1, "children": 0, "serviceAnimal": False}
    ride.loaded_miles, ride.loaded_miles_source, ride.wait_minutes = 7, "gps", 31
    ride.signatures = [{"signer": "rider", "stop": "dropoff", "name": "O. Canarywell", "at": "2026-11-20T20:40:00Z"}]
    ride.attestation = {"driverName": "Marek", "at": "2026-11-20T20:41:00Z", "text": "I drove."}
    ride.missing_documents = ["odometer_end"]
    ride.save()
    rider = ride.rider
    rider.first_name, rider.last_name, rider.home_address = "Orla", "Canarywell", ride.dropoff
    rider.medicaid_id, rider.member_id = "IL44719925", "M-2"
    rider.save()
    crew = Assignment.objects.get(ride=ride)
    crew.driver_name, crew.vehicle_plate, crew.license_number = "Marek Novak", "CL00001", "D400-7777"
    crew.save()
    Milestone.objects.filter(ride=ride).update(lat=None, lng=None)
    here = Milestone.objects.filter(ride=ride)
    here.filter(type="boarded").update(lat=41.9, lng=-87.6, source="driver_app")
    here.filter(type="dropped_off").update(lat=41.9, lng=-87.6, source="dispatcher_manual")
    ExternalId.objects.create(subject_type="ride", subject_id=ride.pk, system="epic", value="E-1")
    return ride
