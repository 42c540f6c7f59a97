"""The query parameters of rides and exceptions."""

from typing import Any, Final

from apps.rides.queries.ride_list import EXPANDABLE, ROW, SORTS
from apps.rides.rules.draft import ServiceType
from apps.rides.rules.exception_types import ExceptionSeverity, ExceptionStatus, ExceptionType
from apps.rides.rules.lifecycle import RideStatus
from lib.api import fields
from lib.api.query import CountedPageQuery, Query

# Spelled with one l by integrators; understood in the filter alone.
ALIASES: Final = {"canceled": RideStatus.CANCELLED.value}


class RideQuery(CountedPageQuery):
    """Which rides, in which order, and how much of each."""

    status = fields.List(
        child=fields.Choice(choices=[*RideStatus.choices, *((alias, alias) for alias in ALIASES)]),
        required=False,
        help_text="One status, or several separated by commas.",
    )
    type = fields.List(
        child=fields.Choice(choices=ServiceType.choices),
        source="service_type",
        required=False,
        help_text="One service type, or several separated by commas.",
    )
    facility_id = fields.Uuid(required=False)
    rider_id = fields.Uuid(required=False)
    driver_id = fields.Uuid(required=False)
    client_reference = fields.Text(required=False, max_length=100, help_text="As the caller's client gave it.")
    external_ref = fields.Text(required=False, max_length=201, help_text="system|value, or value in any system.")
    pickup_time_from = fields.Instant(required=False, help_text="At or after.")
    pickup_time_to = fields.Instant(required=False, help_text="Before.")
    updated_since = fields.Instant(required=False, help_text="Do not sync by this alone: see GET /events.")
    sort = fields.Choice(choices=[(name, name) for name in SORTS], default="pickupTime")
    # `fields` on the wire: the name is taken in a serializer.
    only = fields.List(
        child=fields.Choice(choices=[(name, name) for name in ROW]), required=False, help_text="Only these fields."
    )
    expand = fields.List(
        child=fields.Choice(choices=[(name, name) for name in EXPANDABLE]),
        required=False,
        help_text="Adds the records that rides name; each takes the scope to read it.",
    )

    def get_fields(self) -> dict[str, Any]:
        named = super().get_fields()
        only = named.pop("only")
        only.source = "only"
        return {**named, "fields": only}


class ExceptionQuery(CountedPageQuery):
    """Which exceptions."""

    status = fields.List(child=fields.Choice(choices=ExceptionStatus.choices), required=False)
    severity = fields.List(child=fields.Choice(choices=ExceptionSeverity.choices), required=False)
    type = fields.List(child=fields.Choice(choices=ExceptionType.choices), required=False)
    ride_id = fields.Uuid(required=False)
    standing_order_id = fields.Uuid(required=False)
    facility_id = fields.Uuid(required=False)
    opened_from = fields.Instant(required=False, help_text="At or after.")
    opened_to = fields.Instant(required=False, help_text="Before.")


class EditQuery(Query):
    """How a change of a ride is made."""

    preview = fields.Boolean(default=False, help_text="Says what would follow from the change, and stores nothing.")
