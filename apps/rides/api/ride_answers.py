"""Answers about rides that are no single ride: timelines and bulk bookings."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.rides.queries.rides import Entry
from apps.rides.rules.change_values import field_changes
from apps.rides.rules.disclosure import disclosed_milestone
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.schemas.ride_parts import TextOrNull, WindowOut
from lib.api import fields
from lib.api.serializers import OutShape


class FieldChangeOut(OutShape):
    """A changed field by its path, such as `pickup.city`, with both values; null for secrets such as door codes."""

    field = fields.Text()
    before = fields.Anything(allow_null=True)
    after = fields.Anything(allow_null=True)


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
    changes = serializers.SerializerMethodField("show_changes")

    @extend_schema_field(FieldChangeOut(many=True))
    def show_changes(self, entry: Entry) -> list[dict[str, Any]]:
        changes = field_changes(entry.values, self.context["disclosure"]) if entry.values else []
        return [{"field": item.field, "before": item.before, "after": item.after} for item in changes]

    def to_representation(self, instance: Entry) -> dict[str, Any]:
        return disclosed_milestone(super().to_representation(instance), self.context["disclosure"])


class TimelineOut(OutShape):
    """What happened to a ride, in order."""

    data = EntryOut(many=True)  # type: ignore[assignment]  # the word of the contract hides Serializer.data


class BrokenRuleOut(OutShape):
    """A broken rule; `field` is the changed field, `subjectId` the ride, driver or vehicle concerned."""

    may_lack_keys = True

    field = fields.Text(allow_null=True)
    code = fields.Text()
    kind = fields.Choice(choices=[("hard", "hard"), ("soft", "soft")])
    message = fields.Text()
    subject_id = fields.Uuid()


class BestDriverOut(OutShape):
    """The best other driver for the changed ride."""

    driver_id = fields.Uuid()
    vehicle_id = fields.Uuid()
    driver_name = fields.Text()


class DriverAfterOut(OutShape):
    """The driver after the change: `fits` if no check fails; `best` for callers who assign, if one does."""

    driver_id = fields.Uuid(allow_null=True)
    fits = fields.Boolean()
    violations = BrokenRuleOut(many=True)
    best = BestDriverOut(allow_null=True)


class LaterLegOut(OutShape):
    """A later leg of the trip: its time, the time if it moves along, and whether it does."""

    ride_id = fields.Uuid()
    pickup_time = fields.Instant()
    new_pickup_time = fields.Instant()
    moves = fields.Boolean()
    loses_driver = fields.Boolean()


class ApprovalOut(OutShape):
    """Whether a dispatcher has to make the change, with an override, and because of which rules of booking."""

    required = fields.Boolean()  # type: ignore[assignment]  # the word of the contract
    reasons = BrokenRuleOut(many=True)


class RideEventOut(OutShape):
    """An event that the change records."""

    ride_id = fields.Uuid()
    type = fields.Text()


class EditPreviewOut(OutShape):
    """What a change of a ride would do; nothing is stored."""

    ride_id = fields.Uuid()
    changed = fields.List(child=fields.Text())
    changes = FieldChangeOut(many=True)
    pickup_time = fields.Instant()
    pickup_window = WindowOut()
    promised_pickup_by = fields.Instant(allow_null=True)
    driver = DriverAfterOut(allow_null=True)
    return_legs = LaterLegOut(many=True)
    overlapping_ride_ids = fields.List(child=fields.Uuid())
    approval = ApprovalOut()
    events = RideEventOut(many=True)


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
