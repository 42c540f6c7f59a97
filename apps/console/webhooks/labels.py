"""Labels and badge colors of states and results of webhooks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from apps.webhooks.models import Delivery, Endpoint, EndpointHealth
from apps.webhooks.models.delivery import ErrorClass
from apps.webhooks.services import endpoint_states

Text = str | Promise


@dataclass(frozen=True, slots=True)
class Badge:
    tone: str
    text: Text
    why: Text = ""


REASONS: Final[Mapping[str, Text]] = {
    endpoint_states.BY_PEOPLE: _("Paused by a user. Events are collected."),
    endpoint_states.GONE: _("It answered 410 Gone. Events are collected."),
    endpoint_states.UNVERIFIED: _("The new address has not answered a test yet. Events are collected."),
    endpoint_states.PAUSED_UNVERIFIED: _(
        "Paused by a user; the new address has not answered a test yet. Events are collected."
    ),
    endpoint_states.DEAD: _("No answer for five days. Events are collected."),
}
STATUSES: Final[Mapping[str, Badge]] = {
    Delivery.Status.PENDING: Badge("info", _("Waiting")),
    Delivery.Status.IN_FLIGHT: Badge("info", _("Being sent")),
    Delivery.Status.DELIVERED: Badge("ok", _("Delivered")),
    Delivery.Status.EXHAUSTED: Badge("bad", _("Given up")),
    Delivery.Status.HELD: Badge("warn", _("Held")),
    Delivery.Status.CANCELLED: Badge("quiet", pgettext_lazy("delivery", "Canceled")),
    Delivery.Status.QUARANTINED: Badge("bad", _("Quarantined")),
}
MEANINGS: Final[Mapping[str, Text]] = {
    Delivery.Status.PENDING: _("It is due, or waits for its next attempt."),
    Delivery.Status.IN_FLIGHT: _("A worker is sending it at this moment."),
    Delivery.Status.DELIVERED: _("The receiver answered 2xx."),
    Delivery.Status.EXHAUSTED: _("All attempts failed, or it is too old. Send it again if needed."),
    Delivery.Status.HELD: _("Collected while the endpoint was paused. It is sent when you resume."),
    Delivery.Status.CANCELLED: _("Stopped by a user."),
    Delivery.Status.QUARANTINED: _("It crashed workers, or its content could not be created. Send it again if needed."),
}
TRIGGERS: Final[Mapping[str, Text]] = {
    Delivery.Trigger.EVENT: _("The event"),
    Delivery.Trigger.RESEND: _("Sent again by a user"),
    Delivery.Trigger.REPLAY: _("Recovery"),
    Delivery.Trigger.TEST: _("Test"),
}
RECOVERY_STATUSES: Final[Mapping[str, Text]] = {
    Delivery.Status.EXHAUSTED: _("Given up"),
    Delivery.Status.HELD: _("Held while nothing was sent"),
    Delivery.Status.CANCELLED: _("Canceled by a person"),
    Delivery.Status.QUARANTINED: _("Quarantined"),
    Delivery.Status.DELIVERED: _("Delivered already: the receiver gets them twice"),
    "never_sent": _("Never sent: older than the endpoint, or not subscribed at the time"),
}


def badge_of(endpoint: Endpoint, health: EndpointHealth) -> Badge:
    """Return the badge of an endpoint's state, with the reason unless it is well."""
    if endpoint.state == Endpoint.State.PENDING:
        return Badge("info", _("Not verified"), _("It becomes active when it answers a test with 2xx."))
    if endpoint.state == Endpoint.State.PAUSED:
        return Badge("warn", _("Paused"), REASONS.get(endpoint.state_reason, ""))
    if endpoint.state == Endpoint.State.DISABLED:
        return Badge("bad", _("Switched off"), REASONS.get(endpoint.state_reason, ""))
    if health.failing_since is not None:
        return Badge("bad", _("Failing"), _("No successful delivery since the first failure."))
    return Badge("ok", _("Active"))


def result_of(code: int | None, error: str) -> Text:
    """Return the HTTP status of an attempt, or the reason why there is none."""
    if code is not None:
        return str(code)
    return ErrorClass(error).label.capitalize() if error in ErrorClass.values else ""
