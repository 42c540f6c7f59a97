"""Bodies of requests about riders, and checks of answers and tables."""

import uuid
from typing import Any

from apps.organizations.models import ExternalId
from apps.riders.models import AccommodationProfile, Rider, RiderFacility

URL = "/api/riders"
MRN = {"system": "epic", "value": "MRN-771", "type": "mrn"}
HOME = {"addressLine1": "1418 N Canary Ave", "city": "Chicago", "state": "IL", "postalCode": "60622"}
ANN = {"name": "Ann Canary", "phone": "+13125550112", "relation": "daughter"}
BODY: dict[str, Any] = {"firstName": "Orla", "lastName": "Canary", "dateOfBirth": "1951-04-02"}
PREFERRED_DRIVER = uuid.UUID(int=7)
FULL_BODY: dict[str, Any] = {
    **BODY,
    "medicaidId": "IL44719925",
    "memberId": "MEM-0042-77",
    "externalIds": [MRN],
    "phones": [{"number": "+13125550111", "kind": "mobile"}],
    "smsConsent": "granted",
    "smsConsentAt": "2026-01-05T09:30:00-06:00",
    "email": "orla@example.org",
    "language": "es-MX",
    "interpreterNeeded": True,
    "contactPreference": "sms",
    "homeAddress": {**HOME, "lat": 41.90710049, "lng": -87.6722, "steps": 3, "contact": {"name": "Porter"}},
    "savedPlaces": [{**HOME, "name": "Sister"}],
    "caregivers": [{**ANN, "notify": ["ride.driver_arrived"]}],
    "emergencyContact": ANN,
    "preferredDriverIds": [str(PREFERRED_DRIVER)],
    "driverGenderPreference": "female",
    "status": "on_hold",
    "statusReason": "In hospital",
    "statusFrom": "2026-11-20",
    "statusUntil": "2026-12-01",
    "accommodation": {"mobility": "wheelchair", "chair": {"widthIn": 26.5}, "driverNotes": "Canary notes"},
}
NO_CONTACT = {"name": "", "phone": "", "ext": "", "role": ""}
EMPTY_STOP: dict[str, Any] = {
    "facilityId": None,
    "name": "",
    "addressLine2": "",
    "lat": None,
    "lng": None,
    "entranceId": None,
    "entranceText": "",
    "unit": "",
    "room": "",
    "instructions": "",
    "contact": None,
    "steps": 0,
    "elevator": False,
    "stairEquipment": "none",
    "loadMinutes": None,
}


def state() -> list[Any]:
    models = (Rider, RiderFacility, AccommodationProfile, ExternalId)
    return [list(model._default_manager.order_by("pk").values()) for model in models]


def refusal(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def fields_of(response: Any) -> list[str | None]:
    return [detail.get("field") for detail in response.json()["error"]["details"]]
