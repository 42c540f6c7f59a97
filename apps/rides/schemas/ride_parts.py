"""The parts of a ride as the API shows them."""

from typing import Any

from rest_framework import serializers

from apps.organizations.schemas.stop_output import StopOut
from apps.riders.rules.disclosure import masked
from apps.riders.schemas.accommodation import AccommodationOut
from apps.rides.models import Ride
from apps.rides.rules.reasons import CancellationTiming, Fault
from lib.access import Phi
from lib.api import fields
from lib.api.serializers import OutShape


class OrNull(fields.Choice):
    """One of a list of words, or null where nothing is stored."""

    def to_representation(self, value: Any) -> Any:
        return value or None


class TextOrNull(fields.Text):
    """Text, or null where nothing is stored."""

    def to_representation(self, value: Any) -> Any:
        return value or None


class WindowOut(OutShape):
    """When the vehicle is promised at the pickup."""

    start = fields.Instant(source="window_starts_at")
    end = fields.Instant(source="window_ends_at")


class SpacesOut(OutShape):
    """Places the ride takes in a vehicle."""

    ambulatory = fields.Integer(source="spaces_ambulatory")
    wheelchair = fields.Integer(source="spaces_wheelchair")
    stretcher = fields.Integer(source="spaces_stretcher")


class PaymentOut(OutShape):
    """Who pays."""

    may_lack_keys = True

    payer_id = fields.Uuid(allow_null=True)
    program_code = fields.Text()
    authorization_number = fields.Text()
    authorization_expires = fields.LocalDate(source="authorization_expires_on", allow_null=True)


class RidePaymentOut(PaymentOut):
    """Who pays, of a single ride; the member id below FULL by its last characters."""

    may_lack_keys = True

    member_id = serializers.SerializerMethodField("show_member_id")

    def show_member_id(self, ride: Ride) -> str:
        phi = self.context["disclosure"].phi
        return masked(ride.payer_member_id, phi) if phi >= Phi.LIMITED else ""


class NotesOut(OutShape):
    """Free text for one reader each."""

    may_lack_keys = True

    driver = fields.Text(source="driver_notes")
    dispatcher = fields.Text(source="dispatcher_notes")
    facility = fields.Text(source="facility_notes")


class OutcomeOut(OutShape):
    """How the ride ended, for every ending but completion; `timing` for cancellations."""

    reason_code = TextOrNull(allow_null=True)
    fault = OrNull(choices=Fault.choices, allow_null=True)
    timing = OrNull(source="cancellation_timing", choices=CancellationTiming.choices, allow_null=True)
    ended_by = TextOrNull(allow_null=True)


class RideExternalIdOut(OutShape):
    """What another system calls the record."""

    system = fields.Text()
    value = fields.Text()
    type = fields.Text()


class RideStopOut(StopOut):
    """A stop of a ride at the caller's PHI level; access codes only for callers who dispatch or drive."""

    may_lack_keys = True


class RideNeedsOut(AccommodationOut):
    """What the rider needs on this ride, as far as the caller's PHI level goes."""

    may_lack_keys = True
