"""Input serializers of riders: for the API of riders, and for rides that are booked with a rider inline."""

import re
from typing import Any, ClassVar, Final

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

from apps.organizations.schemas.external_ids import ExternalIdIn
from apps.organizations.schemas.stop_input import AsShown, StopIn
from apps.riders.models import Consent, ContactPreference, Rider
from apps.riders.rules.contacts import PHONE_KINDS
from apps.riders.rules.rider_status import RiderStatus
from apps.riders.schemas.accommodation import AccommodationIn
from lib.api import fields
from lib.api.serializers import In

_EVENT_TYPE = re.compile(r"ride\.[a-z_]{1,40}", re.ASCII)
GENDERS: Final = Rider._meta.get_field("driver_gender_preference").choices or ()
MAX_CODE: Final = 50
MAX_PARTS: Final = 20


class Email(fields.Text):
    """An e-mail address."""

    default_error_messages = {"form": "must be an e-mail address."}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        try:
            EmailValidator()(text)
        except ValidationError:
            self.fail("form")
        return text


class EventType(fields.Text):
    """An event of which a caregiver is notified."""

    default_error_messages = {"form": "must be the type of a ride event, such as ride.driver_arrived."}

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if not _EVENT_TYPE.fullmatch(text):
            self.fail("form")
        return text


class RiderPhoneIn(AsShown):
    number = fields.Phone()
    ext = fields.Text(max_length=10, required=False, allow_blank=True)
    kind = fields.Choice(choices=PHONE_KINDS, required=False)


class PersonIn(AsShown):
    """A contact person."""

    name = fields.Text(max_length=100)
    phone = fields.Phone()
    relation = fields.Text(max_length=50, required=False, allow_blank=True)


class CaregiverIn(PersonIn):
    notify = fields.List(child=EventType(max_length=50), required=False, max_length=MAX_PARTS)


class RiderChangeIn(In):
    """The person, contact details, the facilities that may book rides, and the status."""

    example: ClassVar[dict[str, Any]] = {
        "phones": [{"number": "+13125550140", "kind": "mobile"}],
        "smsConsent": "granted",
        "homeAddress": {"unit": "2B", "steps": 3},
    }

    first_name = fields.Text(max_length=100)
    last_name = fields.Text(max_length=100)
    preferred_name = fields.Text(max_length=100, required=False, allow_blank=True)
    date_of_birth = fields.LocalDate(required=False, allow_null=True)
    medicaid_id = fields.Text(max_length=MAX_CODE, required=False, allow_blank=True, allow_null=True)
    member_id = fields.Text(max_length=MAX_CODE, required=False, allow_blank=True, allow_null=True)
    external_ids = fields.List(child=ExternalIdIn(), required=False, max_length=MAX_PARTS)
    phones = fields.List(
        child=RiderPhoneIn(), required=False, max_length=MAX_PARTS, help_text="In order of preference."
    )
    sms_consent = fields.Choice(choices=Consent.choices, required=False)
    sms_consent_at = fields.Instant(required=False, allow_null=True)
    email = Email(max_length=254, required=False, allow_blank=True)
    language = fields.Language(max_length=35, required=False)
    interpreter_needed = fields.Boolean(required=False)
    contact_preference = fields.Choice(choices=ContactPreference.choices, required=False)
    home_address = StopIn(required=False, allow_null=True)
    saved_places = fields.List(child=StopIn(), required=False, max_length=MAX_PARTS)
    caregivers = fields.List(child=CaregiverIn(), required=False, max_length=MAX_PARTS)
    emergency_contact = PersonIn(required=False, allow_null=True)
    facility_ids = fields.List(
        child=fields.Uuid(),
        required=False,
        max_length=200,
        help_text="Facilities that may see and book the rider; those outside the data scope are not shown or changed.",
    )
    preferred_driver_ids = fields.List(child=fields.Uuid(), required=False, max_length=MAX_PARTS)
    excluded_driver_ids = fields.List(child=fields.Uuid(), required=False, max_length=MAX_PARTS)
    driver_gender_preference = fields.Choice(choices=GENDERS, required=False, allow_null=True)
    status = fields.Choice(choices=RiderStatus.choices, required=False)
    status_reason = fields.Text(max_length=200, required=False, allow_blank=True)
    status_from = fields.LocalDate(required=False, allow_null=True)
    status_until = fields.LocalDate(required=False, allow_null=True)
    verified = fields.Boolean(required=False)


class RiderIn(RiderChangeIn):
    """A rider to register, with their needs."""

    example: ClassVar[dict[str, Any]] = {
        "firstName": "Orla",
        "lastName": "Doe",
        "dateOfBirth": "1951-04-02",
        "externalIds": [{"system": "urn:epic:mrn", "value": "E1004471", "type": "mrn"}],
        "phones": [{"number": "+13125550140", "kind": "mobile"}],
        "homeAddress": {
            "addressLine1": "1418 N Wood St",
            "city": "Chicago",
            "state": "IL",
            "postalCode": "60622",
            "lat": 41.9071,
            "lng": -87.6722,
        },
        "accommodation": {"mobility": "wheelchair", "chair": {"widthIn": 26, "weightLb": 45}, "riderWeightLb": 160},
    }

    accommodation = AccommodationIn(required=False, allow_null=True)
