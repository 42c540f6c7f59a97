"""Endpoints that hear of events, and every delivery to them."""

from apps.webhooks.models.delivery import Attempt, Delivery
from apps.webhooks.models.endpoint import Endpoint, EndpointSecret, LaneRow, SigningKey
from apps.webhooks.models.job import Job

__all__ = ["Attempt", "Delivery", "Endpoint", "EndpointSecret", "Job", "LaneRow", "SigningKey"]
