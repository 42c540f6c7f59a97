"""Webhooks: endpoints and how they do, the log of deliveries, what can be subscribed to, and keys to verify by."""

from typing import Any
from uuid import UUID

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.views import AuditedReads
from apps.webhooks import examples
from apps.webhooks.api import catalogue_shapes, delivery_shapes, serializers
from apps.webhooks.models import Endpoint, Job
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.queries import deliveries, health, keys
from apps.webhooks.rules.event_types import CATALOGUE, EventType, body_schema
from apps.webhooks.services import access, endpoints, recovering, secrets, wishes
from apps.webhooks.services.recovering import Span
from lib.access import PUBLIC
from lib.api.unpaginated import unpaginated
from lib.api.views import ApiViewSet
from lib.errors import Code, NotFound
from lib.scopes import Scope

_REGISTERING = (Code.ENDPOINT_URL_BLOCKED, Code.PHI_NOT_PERMITTED, Code.FORBIDDEN)


class EndpointViewSet(ApiViewSet):
    """Endpoints of your client."""

    scopes = dict.fromkeys(
        (
            "list",
            "create",
            "retrieve",
            "partial_update",
            "destroy",
            "pause",
            "resume",
            "test",
            "rotate_secret",
            "health",
        ),
        Scope.WEBHOOKS_MANAGE,
    )
    queries = {"list": serializers.EndpointQuery}
    bodies = {
        "create": serializers.EndpointIn,
        "partial_update": serializers.EndpointChangesIn,
        "resume": serializers.ResumeIn,
        "rotate_secret": serializers.RotateSecretIn,
    }
    answers = {
        "list": serializers.EndpointOut,
        "create": serializers.EndpointWithSecretOut,
        "retrieve": serializers.EndpointOut,
        "partial_update": serializers.EndpointOut,
        "pause": serializers.EndpointOut,
        "resume": serializers.EndpointOut,
        "test": delivery_shapes.DeliveryOut,
        "rotate_secret": serializers.EndpointWithSecretOut,
        "health": serializers.EndpointHealthOut,
    }
    statuses = {"test": 202}
    refusals = {
        "create": (*_REGISTERING, Code.RULE_VIOLATION),
        "partial_update": (*_REGISTERING, Code.PRECONDITION_FAILED),
        "pause": (Code.INVALID_TRANSITION,),
        "resume": (Code.INVALID_TRANSITION, Code.RULE_VIOLATION),
    }

    def list(self, request: Request) -> Response:
        """List endpoints, newest first.

        Those that hear of more facilities or providers than your token reaches are not among them.
        """
        rows = Endpoint.objects.visible_to(self.principal)
        if "state" in self.query:
            rows = rows.filter(state__in=self.query["state"])
        return self.answer_page(self.page(rows))

    def create(self, request: Request) -> Response:
        """Register an endpoint; it becomes active when it answers the test that it is sent at once.

        Its secret is in this answer and nowhere else. Events are collected for it from the first 2xx on; recover what
        lies before.
        """
        body = self.body()
        secret = body.pop("secret", None)
        wanted = wishes.Wanted(**_wanted(body))
        made = endpoints.register(wanted=wanted, secret=secret, by=self.principal, at=self.at)
        return self._answer(
            made.endpoint, secret=made.secret, headers={"Location": f"/api/webhooks/endpoints/{made.endpoint.pk}"}
        )

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read an endpoint."""
        return self._answer(self._endpoint(id))

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change an endpoint: fields left out stay as they are; lists and `headers` are replaced as a whole.

        A new `url` is sent a test first; until that is answered with 2xx, events are held. What waits and is nothing
        that the endpoint hears of any more is cancelled.
        """
        changed = endpoints.change(
            endpoint_id=id,
            changes=_wanted(self.body()),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer(changed)

    def destroy(self, request: Request, id: UUID) -> Response:
        """Take an endpoint away, with all that waits for it."""
        endpoints.remove(endpoint_id=id, expected_version=self.expected_version(), by=self.principal, at=self.at)
        return self.answer(None)

    def pause(self, request: Request, id: UUID) -> Response:
        """Send nothing more and keep collecting."""
        return self._answer(endpoints.pause(endpoint_id=id, by=self.principal, at=self.at))

    def resume(self, request: Request, id: UUID) -> Response:
        """Send again.

        What was collected follows behind what is new, unless `deliverHeld` is false; then it stays held, and `recover`
        sends it.
        """
        resumed = endpoints.resume(endpoint_id=id, **self.body(), by=self.principal, at=self.at)
        return self._answer(resumed)

    def test(self, request: Request, id: UUID) -> Response:
        """Send `webhook.test`, whatever the state of the endpoint; follow the delivery to see what came of it."""
        return self.answer(endpoints.test(endpoint_id=id, by=self.principal, at=self.at))

    def rotate_secret(self, request: Request, id: UUID) -> Response:
        """Give an endpoint another secret, which is in this answer and nowhere else.

        Deliveries are signed with the older one too for `overlapSeconds` (a day, unless you say otherwise, and seven
        at most). At most three are valid at once.
        """
        body = self.body()
        endpoint, secret = secrets.rotate(
            endpoint_id=id,
            text=body.get("secret"),
            overlap=body["overlap_seconds"],
            by=self.principal,
            at=self.at,
        )
        return self._answer(endpoint, secret=secret)

    def health(self, request: Request, id: UUID) -> Response:
        """Read how an endpoint does: what waits, what fails and since when, and the last day hour by hour."""
        return self.answer(health.of(self._endpoint(id), at=self.at))

    def _endpoint(self, endpoint_id: UUID) -> Endpoint:
        return access.found(endpoint_id, self.principal)

    def _answer(
        self, endpoint: Endpoint, *, secret: str | None = None, headers: dict[str, str] | None = None
    ) -> Response:
        shown = endpoint if secret is None else endpoints.Registered(endpoint, secret)
        return self.answer(shown, version=endpoint.version, headers=headers)


def _wanted(body: dict[str, Any]) -> dict[str, Any]:
    """Name what the body says in the words of the service."""
    for name in ("facility_ids", "provider_ids"):
        if body.get(name) is not None:
            body[name] = frozenset(body[name])
    return body


class RecoveryViewSet(ApiViewSet):
    """What endpoints missed, sent again."""

    scopes = {"recover": Scope.WEBHOOKS_MANAGE, "retrieve": Scope.WEBHOOKS_MANAGE}
    bodies = {"recover": serializers.RecoverIn}
    answers = {"recover": serializers.RecoveryOut, "retrieve": serializers.JobOut}
    may_go_on = frozenset({"recover"})
    refusals = {"recover": (Code.RULE_VIOLATION,)}

    def recover(self, request: Request, id: UUID) -> Response:
        """Send again what an endpoint missed; unless `dryRun` is false, only say what that would be.

        Answers 202 with the job where there is something to send. It is sent behind everything new, under the ids of
        the events. Of a long span only the first 100,000 events are counted (`totalIsCapped`); all that fit are sent.
        With `never_sent` among the statuses, a new endpoint hears of what happened before it was there.
        """
        body = self.body()
        dry_run, types = body["dry_run"], body.get("types")
        span = Span(
            since=body["since"],
            until=body.get("until", self.at),
            statuses=tuple(body["statuses"]),
            types=None if types is None else tuple(types),
        )
        recovery = recovering.recover(endpoint_id=id, span=span, dry_run=dry_run, by=self.principal, at=self.at)
        shown = {
            "dry_run": dry_run,
            "total": sum(recovery.found.values()),
            "total_is_capped": recovery.is_capped,
            "found": [{"status": status, "count": count} for status, count in recovery.found.items()],
            "job": recovery.job,
        }
        if recovery.job is None:
            return self.answer(shown)
        return self.answer(shown, goes_on=True, headers={"Location": f"/api/webhooks/jobs/{recovery.job.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Follow a recovery."""
        job = Job.objects.visible_to(self.principal).filter(pk=id).first()
        if job is None:
            raise NotFound("webhook job")
        return self.answer(job)


class DeliveryViewSet(AuditedReads, ApiViewSet):
    """What was sent, to whom, and what came of it; kept for 30 days, unless your operator says otherwise."""

    scopes = dict.fromkeys(("list", "retrieve", "resend", "cancel"), Scope.WEBHOOKS_MANAGE)
    queries = {"list": delivery_shapes.DeliveryQuery}
    bodies = {"resend": serializers.ResendIn}
    answers = {
        "list": delivery_shapes.DeliveryOut,
        "retrieve": delivery_shapes.DeliveryDetailOut,
        "resend": delivery_shapes.DeliveryOut,
        "cancel": delivery_shapes.DeliveryOut,
    }
    statuses = {"resend": 202}
    refusals = {"resend": (Code.RULE_VIOLATION,), "cancel": (Code.INVALID_TRANSITION,)}

    def list(self, request: Request) -> Response:
        """List deliveries, newest first."""
        asked = {name: value for name, value in self.query.items() if name not in ("limit", "cursor")}
        return self.answer_page(self.page(deliveries.found(deliveries.Wanted(**asked), by=self.principal), sort="-id"))

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read a delivery with its body and every attempt.

        Of endpoints that get whole rides, body and answers are shown at PHI level `full` alone.
        """
        delivery = deliveries.one(id, by=self.principal)
        if delivery is None:
            raise NotFound("webhook delivery")
        shown = deliveries.show(delivery, by=self.principal)
        if shown.sensitive and not shown.redacted:
            self.record_read(
                "webhooks.read_delivery", subject_type="delivery", subject_id=id, rider_ids=shown.rider_ids
            )
        return self.answer(shown)

    def resend(self, request: Request, id: UUID) -> Response:
        """Send a delivery again now.

        What waits is brought forward; what has ended gets a new delivery of the same event. One that has arrived needs
        `confirm`.
        """
        confirmed = self.body()["confirm"]
        return self.answer(
            recovering.resend(delivery_id=id, confirmed=confirmed, by=self.principal, at=self.at),
        )

    def cancel(self, request: Request, id: UUID) -> Response:
        """Stop trying a delivery."""
        return self.answer(recovering.cancel(delivery_id=id, by=self.principal, at=self.at))


class EventTypeViewSet(ApiViewSet):
    """What can be subscribed to."""

    scopes = {"list": Scope.WEBHOOKS_MANAGE, "schema_of": Scope.WEBHOOKS_MANAGE}
    queries = {"schema_of": catalogue_shapes.SchemaQuery}
    answers = {"list": catalogue_shapes.EventTypeListOut, "schema_of": catalogue_shapes.SchemaOut}
    examples_in_path = {"type": "ride.completed"}

    def list(self, request: Request) -> Response:
        """List all types of events, with schema and example of the body at every payload level."""
        version = self.principal.api_version or settings.API_VERSIONS[-1]
        return self.answer(unpaginated([_shown(kind, version) for kind in CATALOGUE.values()]))

    def schema_of(self, request: Request, type: str) -> Response:
        """Read the JSON Schema of a type's body at a payload level."""
        kind = CATALOGUE.get(type)
        if kind is None:
            raise NotFound("event type")
        return self.answer(body_schema(kind, self.query["level"]))


def _shown(kind: EventType, api_version: str) -> dict[str, Any]:
    return {
        "name": kind.name,
        "description": kind.about,
        "operational": kind.operational,
        "payloads": [
            {
                "level": level.value,
                "schema": body_schema(kind, level),
                "example": examples.example(kind, level, api_version=api_version),
            }
            for level in PayloadLevel
        ],
    }


class SigningKeyViewSet(ApiViewSet):
    """Keys of signatures that begin with v1a."""

    scopes = {"list": PUBLIC}
    answers = {"list": catalogue_shapes.SigningKeysOut}

    def list(self, request: Request) -> Response:
        """Read the public keys that ed25519 signatures (`v1a`) are verified by, the present one first."""
        return self.answer(keys.jwks(at=self.at))
