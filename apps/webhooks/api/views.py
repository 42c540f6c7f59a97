"""Webhooks: endpoints and their health, recoveries, the log of deliveries, event types, and public keys."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.audit.views import AuditedReads
from apps.webhooks.api import examples, serializers
from apps.webhooks.models import Endpoint, Job
from apps.webhooks.models.endpoint import PayloadLevel
from apps.webhooks.queries import deliveries, health
from apps.webhooks.rules.event_types import CATALOGUE, EventType, body_schema
from apps.webhooks.services import endpoint_states, endpoint_validation, endpoints, recovery, secrets
from apps.webhooks.services.recovery import Period
from lib.access import PUBLIC
from lib.api.unpaginated import unpaginated
from lib.api.views import ApiViewSet
from lib.errors import Code, NotFound
from lib.scopes import Scope

_REGISTERING = (Code.ENDPOINT_URL_BLOCKED, Code.PHI_NOT_PERMITTED, Code.FORBIDDEN)


class EndpointViewSet(ApiViewSet):
    """Webhook endpoints of your client."""

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
        "test": serializers.DeliveryOut,
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

        Endpoints with a wider data scope than your token are not listed.
        """
        rows = Endpoint.objects.visible_to(self.principal)
        if "state" in self.query:
            rows = rows.filter(state__in=self.query["state"])
        return self.answer_page(self.page(rows))

    def create(self, request: Request) -> Response:
        """Register an endpoint. It is sent a test at once, and becomes active when it answers 2xx.

        The secret is returned only in this response. Events are collected from the first 2xx on; use a recovery for
        earlier ones.
        """
        body = self.body()
        secret = body.pop("secret", None)
        params = endpoint_validation.EndpointParams(**_params(body))
        registered = endpoints.register(params=params, secret=secret, by=self.principal, at=self.at)
        endpoint, secret = registered.endpoint, registered.secret
        return self._answer(endpoint, secret=secret, headers={"Location": f"/api/webhooks/endpoints/{endpoint.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read an endpoint."""
        return self._answer(self._endpoint(id))

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change an endpoint. Omitted fields stay unchanged; lists and `headers` are replaced as a whole.

        A new `url` is sent a test; until it answers 2xx, deliveries are held. Waiting deliveries that the endpoint does
        not subscribe to anymore are canceled.
        """
        endpoint = endpoints.change(
            endpoint_id=id,
            changes=_params(self.body()),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer(endpoint)

    def destroy(self, request: Request, id: UUID) -> Response:
        """Delete an endpoint and cancel its waiting deliveries."""
        endpoints.remove(endpoint_id=id, expected_version=self.expected_version(), by=self.principal, at=self.at)
        return self.answer(None)

    def pause(self, request: Request, id: UUID) -> Response:
        """Pause an endpoint: its deliveries are held."""
        return self._answer(endpoints.pause(endpoint_id=id, by=self.principal, at=self.at))

    def resume(self, request: Request, id: UUID) -> Response:
        """Resume an endpoint that is paused or disabled.

        Held deliveries are sent with a lower priority than new ones. If `deliverHeld` is false, they stay held, and
        `recover` sends them.
        """
        return self._answer(endpoints.resume(endpoint_id=id, **self.body(), by=self.principal, at=self.at))

    def test(self, request: Request, id: UUID) -> Response:
        """Send `webhook.test`, whatever the state of the endpoint; read the delivery for the result."""
        return self.answer(endpoints.test(endpoint_id=id, by=self.principal, at=self.at))

    def rotate_secret(self, request: Request, id: UUID) -> Response:
        """Rotate the secret of an endpoint. The new secret is returned only in this response.

        Deliveries are also signed with the older secret for `overlapSeconds` (default one day, at most seven). At most
        three secrets are valid at once.
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
        """Read the health of an endpoint: waiting deliveries, failures, and the attempts of the last day by hour."""
        return self.answer(health.get(self._endpoint(id), at=self.at))

    def _endpoint(self, endpoint_id: UUID) -> Endpoint:
        return endpoint_states.get_endpoint(endpoint_id, self.principal)

    def _answer(
        self, endpoint: Endpoint, *, secret: str | None = None, headers: dict[str, str] | None = None
    ) -> Response:
        content = endpoint if secret is None else endpoints.RegisteredEndpoint(endpoint, secret)
        return self.answer(content, version=endpoint.version, headers=headers)


def _params(body: dict[str, Any]) -> dict[str, Any]:
    """Convert the body to fields of `EndpointParams`."""
    for name in ("facility_ids", "provider_ids"):
        if body.get(name) is not None:
            body[name] = frozenset(body[name])
    return body


class RecoveryViewSet(ApiViewSet):
    """Recoveries: send again what an endpoint missed."""

    scopes = {"recover": Scope.WEBHOOKS_MANAGE, "retrieve": Scope.WEBHOOKS_MANAGE}
    bodies = {"recover": serializers.RecoverIn}
    answers = {"recover": serializers.RecoveryOut, "retrieve": serializers.JobOut}
    may_go_on = frozenset({"recover"})
    refusals = {"recover": (Code.RULE_VIOLATION,)}

    def recover(self, request: Request, id: UUID) -> Response:
        """Send again what an endpoint missed; unless `dryRun` is false, only count it.

        Returns 202 with the job if there is something to send. Deliveries have a lower priority than new ones, and the
        same event ids. Only the first 100,000 events of a period are counted (`totalIsCapped`); all that match are
        sent. With the status `never_sent`, a new endpoint receives events from before it was registered.
        """
        body = self.body()
        dry_run, types = body["dry_run"], body.get("types")
        period = Period(
            since=body["since"],
            until=body.get("until", self.at),
            statuses=tuple(body["statuses"]),
            types=None if types is None else tuple(types),
        )
        result = recovery.recover(endpoint_id=id, period=period, dry_run=dry_run, by=self.principal, at=self.at)
        content = {
            "dry_run": dry_run,
            "total": sum(result.counts.values()),
            "total_is_capped": result.is_capped,
            "found": [{"status": status, "count": count} for status, count in result.counts.items()],
            "job": result.job,
        }
        if result.job is None:
            return self.answer(content)
        return self.answer(content, goes_on=True, headers={"Location": f"/api/webhooks/jobs/{result.job.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read the progress of a recovery."""
        job = Job.objects.visible_to(self.principal).filter(pk=id).first()
        if job is None:
            raise NotFound(_("webhook job"))
        return self.answer(job)


class DeliveryViewSet(AuditedReads, ApiViewSet):
    """The log of deliveries, kept for 30 days unless your operator configured another period."""

    scopes = dict.fromkeys(("list", "retrieve", "resend", "cancel"), Scope.WEBHOOKS_MANAGE)
    queries = {"list": serializers.DeliveryQuery}
    bodies = {"resend": serializers.ResendIn}
    answers = {
        "list": serializers.DeliveryOut,
        "retrieve": serializers.DeliveryDetailOut,
        "resend": serializers.DeliveryOut,
        "cancel": serializers.DeliveryOut,
    }
    statuses = {"resend": 202}
    refusals = {"resend": (Code.RULE_VIOLATION,), "cancel": (Code.INVALID_TRANSITION,)}

    def list(self, request: Request) -> Response:
        """List deliveries, newest first."""
        criteria = {name: value for name, value in self.query.items() if name not in ("limit", "cursor")}
        return self.answer_page(
            self.page(deliveries.find(deliveries.DeliveryCriteria(**criteria), by=self.principal), sort="-id")
        )

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read a delivery with its body and all attempts.

        Body and responses of endpoints that receive complete rides require PHI level `full`.
        """
        delivery = deliveries.get(id, by=self.principal)
        if delivery is None:
            raise NotFound(_("webhook delivery"))
        view = deliveries.view_of(delivery, by=self.principal)
        if view.sensitive and not view.redacted:
            self.record_read("webhooks.read_delivery", subject_type="delivery", subject_id=id, rider_ids=view.rider_ids)
        return self.answer(view)

    def resend(self, request: Request, id: UUID) -> Response:
        """Send a delivery again now.

        A waiting delivery becomes due; for one that has ended, a new delivery of the same event is made. A delivery
        that has arrived requires `confirm`.
        """
        confirmed = self.body()["confirm"]
        return self.answer(
            recovery.resend(delivery_id=id, confirmed=confirmed, by=self.principal, at=self.at),
        )

    def cancel(self, request: Request, id: UUID) -> Response:
        """Cancel a delivery."""
        return self.answer(recovery.cancel(delivery_id=id, by=self.principal, at=self.at))


class EventTypeViewSet(ApiViewSet):
    """Event types that endpoints can subscribe to."""

    scopes = {"list": Scope.WEBHOOKS_MANAGE, "schema_of": Scope.WEBHOOKS_MANAGE}
    queries = {"schema_of": serializers.SchemaQuery}
    answers = {"list": serializers.EventTypeListOut, "schema_of": serializers.SchemaOut}
    examples_in_path = {"type": "ride.completed"}

    def list(self, request: Request) -> Response:
        """List all event types, with schema and example of the body at each payload level."""
        version = self.principal.api_version or settings.API_VERSIONS[-1]
        return self.answer(unpaginated([_event_type(event_type, version) for event_type in CATALOGUE.values()]))

    def schema_of(self, request: Request, type: str) -> Response:
        """Read the JSON Schema of the body of an event type at a payload level."""
        event_type = CATALOGUE.get(type)
        if event_type is None:
            raise NotFound(_("event type"))
        return self.answer(body_schema(event_type, self.query["level"]))


def _event_type(event_type: EventType, api_version: str) -> dict[str, Any]:
    return {
        "name": event_type.name,
        "description": str(event_type.description),
        "operational": event_type.operational,
        "payloads": [
            {
                "level": level.value,
                "schema": body_schema(event_type, level),
                "example": examples.example(event_type, level, api_version=api_version),
            }
            for level in PayloadLevel
        ],
    }


class SigningKeyViewSet(ApiViewSet):
    """Public keys of the deployment, for signatures with the prefix v1a."""

    scopes = {"list": PUBLIC}
    answers = {"list": serializers.SigningKeysOut}

    def list(self, request: Request) -> Response:
        """List the public keys of ed25519 signatures (`v1a`), the current one first."""
        return self.answer(secrets.jwks(at=self.at))
