"""Output serializers of riders, limited by the reader's PHI level, and parameters of lists and searches."""

from typing import Any, ClassVar

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.organizations.schemas.external_ids import ExternalIdOut
from apps.organizations.schemas.stop_output import AsKept, StopOut
from apps.riders.models import Consent, ContactPreference
from apps.riders.queries import RiderRecord
from apps.riders.rules import disclosure
from apps.riders.rules.contacts import PHONE_KINDS
from apps.riders.rules.needs import Mobility
from apps.riders.rules.rider_status import RiderStatus
from apps.riders.schemas.accommodation import AccommodationOut
from apps.riders.schemas.rider_input import GENDERS, MAX_CODE
from lib.access import Phi
from lib.api import fields
from lib.api.query import PageQuery, Query
from lib.api.serializers import In, OutShape

_FIELDS_HELP = (
    "Names of the fields to return. A field above the token's PHI level is refused; without `fields` it is omitted."
)


class RiderPhoneOut(AsKept):
    number = fields.Text()
    ext = fields.Text()
    kind = fields.Choice(choices=PHONE_KINDS)


class PersonOut(AsKept):
    name = fields.Text()
    phone = fields.Text()
    relation = fields.Text()


class CaregiverOut(PersonOut):
    notify = fields.List(child=fields.Text())


class PolicyStandingOut(OutShape):
    rider_fault_90d = fields.Integer(source="rider_fault")
    rides_90d = fields.Integer(source="rides")


class RiderOut(OutShape):
    """A rider, from a `RiderRecord`.

    Contains the fields that the `phi` of the context may see and, if its `requested` is not None, only those in it.
    """

    may_lack_keys = True

    id = fields.Uuid(source="rider.id")
    status = fields.Choice(choices=RiderStatus.choices, source="rider.status")
    mobility = serializers.SerializerMethodField("get_mobility")
    facility_ids = fields.List(child=fields.Uuid())
    external_ids = ExternalIdOut(many=True)
    first_name = fields.Text(source="rider.first_name")
    last_name = fields.Text(source="rider.last_name")
    preferred_name = fields.Text(source="rider.preferred_name")
    date_of_birth = fields.LocalDate(source="rider.date_of_birth", allow_null=True)
    medicaid_id = serializers.SerializerMethodField(
        "get_medicaid_id", help_text="Only the last characters below PHI level full."
    )
    member_id = serializers.SerializerMethodField(
        "get_member_id", help_text="Only the last characters below PHI level full."
    )
    verified = fields.Boolean(source="rider.verified")
    phones = RiderPhoneOut(many=True, source="rider.phones")
    sms_consent = fields.Choice(choices=Consent.choices, source="rider.sms_consent")
    sms_consent_at = fields.Instant(source="rider.sms_consent_at", allow_null=True)
    email = fields.Text(source="rider.email")
    language = fields.Text(source="rider.language")
    interpreter_needed = fields.Boolean(source="rider.interpreter_needed")
    contact_preference = fields.Choice(choices=ContactPreference.choices, source="rider.contact_preference")
    home_address = StopOut(source="rider.home_address", allow_null=True)
    saved_places = StopOut(many=True, source="rider.saved_places")
    caregivers = CaregiverOut(many=True, source="rider.caregivers")
    emergency_contact = PersonOut(source="rider.emergency_contact", allow_null=True)
    preferred_driver_ids = fields.List(child=fields.Uuid(), source="rider.preferred_driver_ids")
    excluded_driver_ids = fields.List(child=fields.Uuid(), source="rider.excluded_driver_ids")
    driver_gender_preference = serializers.SerializerMethodField("get_driver_gender_preference")
    status_reason = fields.Text(source="rider.status_reason")
    status_from = fields.LocalDate(source="rider.status_from", allow_null=True)
    status_until = fields.LocalDate(source="rider.status_until", allow_null=True)
    policy_standing = serializers.SerializerMethodField(
        "get_policy_standing",
        help_text="Only if `fields` contains it, because it changes with rides: how many rides in the data scope ended "
        "in the last 90 days, and how many of these failed by the rider's fault.",
    )
    accommodation = serializers.SerializerMethodField("get_accommodation")
    accommodation_version = serializers.SerializerMethodField("get_accommodation_version")
    version = fields.Integer(source="rider.version")
    created_at = fields.Instant(source="rider.created_at")
    updated_at = fields.Instant(source="rider.updated_at")

    def get_fields(self) -> dict[str, Any]:
        visible = disclosure.visible_fields(self.context.get("phi", Phi.FULL))
        requested = self.context.get("requested")
        return {
            name: field
            for name, field in super().get_fields().items()
            if name not in disclosure.FIELDS or (name in visible and (requested is None or name in requested))
        }

    @extend_schema_field(fields.Choice(choices=Mobility.choices))
    def get_mobility(self, record: RiderRecord) -> str:
        return str(record.needs["mobility"])

    @extend_schema_field(fields.Text(allow_null=True))
    def get_medicaid_id(self, record: RiderRecord) -> str | None:
        return disclosure.masked(record.rider.medicaid_id, self.context["phi"]) or None

    @extend_schema_field(fields.Text(allow_null=True))
    def get_member_id(self, record: RiderRecord) -> str | None:
        return disclosure.masked(record.rider.member_id, self.context["phi"]) or None

    @extend_schema_field(fields.Choice(choices=GENDERS, allow_null=True))
    def get_driver_gender_preference(self, record: RiderRecord) -> str | None:
        return record.rider.driver_gender_preference or None

    @extend_schema_field(PolicyStandingOut)
    def get_policy_standing(self, record: RiderRecord) -> dict[str, Any]:
        return dict(PolicyStandingOut(self.context["policy_standings"][record.rider.pk]).data)

    @extend_schema_field(AccommodationOut)
    def get_accommodation(self, record: RiderRecord) -> dict[str, Any]:
        return record.needs

    @extend_schema_field(fields.Integer(help_text="0 if no needs have been entered."))
    def get_accommodation_version(self, record: RiderRecord) -> int:
        return record.profile.number if record.profile else 0


class RiderChangedOut(RiderOut):
    """A changed rider; after a change of status, with the upcoming rides that need a decision."""

    rides_to_decide = serializers.SerializerMethodField("get_rides_to_decide")

    @extend_schema_field(fields.List(child=fields.Uuid()))
    def get_rides_to_decide(self, record: RiderRecord) -> list[str]:
        return [str(ride_id) for ride_id in self.context["rides_to_decide"] or ()]

    def to_representation(self, instance: RiderRecord) -> dict[str, Any]:
        data = super().to_representation(instance)
        if self.context["rides_to_decide"] is None:
            data.pop("ridesToDecide")
        return data


class RegisteredOut(RiderOut):
    """A new rider, and the ids of riders in the data scope who may be the same person."""

    possible_duplicates = serializers.SerializerMethodField("get_possible_duplicates")

    @extend_schema_field(fields.List(child=fields.Uuid()))
    def get_possible_duplicates(self, record: RiderRecord) -> list[str]:
        return [str(rider_id) for rider_id in self.context["possible_duplicates"]]


def _fields() -> fields.List:
    return fields.List(
        child=fields.Choice(choices=list(disclosure.FIELDS)), required=False, min_length=1, help_text=_FIELDS_HELP
    )


class RiderFieldsQuery(Query):
    fields_ = _fields()  # `fields` on the wire


class RiderQuery(PageQuery):
    """No parameter contains personal data, because URLs of requests are logged."""

    status = fields.List(child=fields.Choice(choices=RiderStatus.choices), required=False)
    facility_id = fields.Uuid(required=False)
    fields_ = _fields()


class NameBeginning(fields.Text):
    """Prefix of a name, with at least two letters."""

    default_error_messages = {"letters": "must have two letters or more."}

    def to_internal_value(self, data: Any) -> str:
        text = super().to_internal_value(data)
        if sum(char.isalpha() for char in text) < 2:
            self.fail("letters")
        return text


class ExternalIdCriterion(In):
    """An external id of the rider; an exact match."""

    system = fields.Text(max_length=100)
    value = fields.Text(max_length=100)


class RiderSearchIn(In):
    """Search criteria.  A rider has to match all of them; at least one is required."""

    example: ClassVar[dict[str, Any]] = {"name": "doe, or", "limit": 20}

    name = NameBeginning(
        max_length=60, required=False, help_text='Prefix of a name, or of two names: "can", "orla can", "canary, or".'
    )
    external_id = ExternalIdCriterion(required=False)
    phone = fields.Phone(required=False)
    medicaid_id = fields.Text(max_length=MAX_CODE, required=False)
    member_id = fields.Text(max_length=MAX_CODE, required=False)
    date_of_birth = fields.LocalDate(required=False)
    limit = fields.Integer(default=50, min_value=1)
    cursor = fields.Text(required=False, max_length=1000)
