"""Webhook endpoints, deliveries of events to them, and attempts at deliveries."""

from apps.webhooks.models.delivery import Attempt, Delivery
from apps.webhooks.models.endpoint import Endpoint, EndpointHealth, EndpointSecret, SigningKey
from apps.webhooks.models.job import Job

__all__ = ["Attempt", "Delivery", "Endpoint", "EndpointHealth", "EndpointSecret", "Job", "SigningKey"]
