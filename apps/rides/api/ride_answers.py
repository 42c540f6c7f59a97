"""Answers about rides that are no single ride: timelines and bulk bookings."""

from typing import Any

from apps.rides.queries.rides import Entry
from apps.rides.rules.disclosure import disclosed_milestone
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.schemas.ride_parts import TextOrNull
from lib.api import fields
from lib.api.serializers import OutShape


class EntryOut(OutShape):
    """One line of a ride's timeline: an event, or a milestone with its provenance."""

    may_lack_keys = True

    kind = fields.Choice(choices=[("event", "event"), ("milestone", "milestone")])
    type = fields.Text()
    occurred_at = fields.Instant()
    recorded_at = fields.Instant()
    actor = fields.Text()
    sequence = fields.Integer(allow_null=True)
    data = fields.Anything()  # type: ignore[assignment]  # the word of the contract hides Serializer.data
    source = TextOrNull(allow_null=True)  # type: ignore[assignment]  # a field named like an attribute of serializers
    edited = fields.Boolean()
    voided = fields.Boolean()
    lat = fields.Number(allow_null=True, decimal_places=6)
    lng = fields.Number(allow_null=True, decimal_places=6)
    distance_from_stop_meters = fields.Integer(allow_null=True)

    def to_representation(self, instance: Entry) -> dict[str, Any]:
        return disclosed_milestone(super().to_representation(instance), self.context["disclosure"])


class TimelineOut(OutShape):
    """What happened to a ride, in order."""

    data = EntryOut(many=True)  # type: ignore[assignment]  # the word of the contract hides Serializer.data


class RefusalOut(OutShape):
    """Why one booking of many was refused, as in the error object."""

    code = fields.Text()
    message = fields.Text()
    details = fields.Anything()


class BulkOut(OutShape):
    """What became of one booking of many: a ride, or an `error`."""

    may_lack_keys = True

    id = fields.Uuid()
    status = fields.Choice(choices=RideStatus.choices)
    version = fields.Integer()
    review_reasons = fields.List(child=fields.Text())
    return_ride_id = fields.Uuid(allow_null=True)
    error = RefusalOut()


class BulkAnswerOut(OutShape):
    """What became of each booking, in the order of the request."""

    data = BulkOut(many=True)  # type: ignore[assignment]  # a field named like an attribute of serializers
