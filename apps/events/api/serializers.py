"""Events as integrators read them."""

from typing import Any

from apps.events.models import Event
from apps.events.schemas import envelope
from lib.api import fields
from lib.api.query import PageQuery
from lib.api.serializers import OutShape


class EventQuery(PageQuery):
    types = fields.List(
        child=fields.Text(max_length=40), required=False, max_length=50, help_text="Only these, such as ride.completed."
    )
    after = fields.Uuid(required=False, help_text="Start behind the event of this id; instead of `cursor`.")


class SubjectOut(OutShape):
    """What the event is about."""

    type = fields.Text(help_text="ride, rider, driver, token, ...")
    id = fields.Uuid()
    sequence = fields.Integer(help_text="The subject's version after the change; a lower one arriving later is stale.")


class EventOut(OutShape):
    """Something that happened. Carries ids, statuses and times, and no personal data."""

    id = fields.Uuid(help_text="The same in the feed and in webhooks; deduplicate by it.")
    type = fields.Text()
    api_version = fields.Text()
    timestamp = fields.Instant(help_text="When it happened.")
    subject = SubjectOut()
    data = fields.Anything(help_text="Facts by type.")  # type: ignore[assignment]  # the metaclass takes fields off the class

    def to_representation(self, event: Event) -> dict[str, Any]:
        return envelope(event, api_version=self.context["view"].principal.api_version)
