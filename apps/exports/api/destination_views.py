"""Destinations of exports: buckets and servers that files are uploaded to."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.exports.api import destination_serializers as shapes
from apps.exports.models import ExportDestination
from apps.exports.services import destinations
from apps.exports.services.destination_validation import DestinationParams
from lib.api.unpaginated import unpaginated
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.scopes import Scope

_WRITE_ERRORS = (Code.ENDPOINT_URL_BLOCKED, Code.FORBIDDEN)


class DestinationViewSet(ApiViewSet):
    """Destinations of exports."""

    scopes = {
        "list": Scope.EXPORTS_CREATE,
        "retrieve": Scope.EXPORTS_CREATE,
        "create": Scope.DESTINATIONS_MANAGE,
        "partial_update": Scope.DESTINATIONS_MANAGE,
        "destroy": Scope.DESTINATIONS_MANAGE,
        "test": Scope.DESTINATIONS_MANAGE,
        "host_keys": Scope.DESTINATIONS_MANAGE,
    }
    queries = {"list": shapes.DestinationQuery}
    bodies = {"create": shapes.DestinationIn, "partial_update": shapes.DestinationChangesIn}
    answers = {
        "list": shapes.DestinationOut,
        "create": shapes.DestinationWithKeyOut,
        "retrieve": shapes.DestinationWithKeyOut,
        "partial_update": shapes.DestinationWithKeyOut,
        "test": shapes.ConnectionTestOut,
        "host_keys": shapes.HostKeysOut,
    }
    refusals = {
        "create": (*_WRITE_ERRORS, Code.RULE_VIOLATION),
        "partial_update": (*_WRITE_ERRORS, Code.PRECONDITION_FAILED),
        "destroy": (Code.FORBIDDEN,),
        "test": (Code.FORBIDDEN,),
        "host_keys": (Code.FORBIDDEN, Code.RULE_VIOLATION),
    }

    asks_others = frozenset({"test", "host_keys"})

    def list(self, request: Request) -> Response:
        """List destinations, newest first. They are the same for every token."""
        rows = ExportDestination.objects.visible_to(self.principal)
        if "active" in self.query:
            rows = rows.filter(active=self.query["active"])
        return self.answer_page(self.page(rows))

    def create(self, request: Request) -> Response:
        """Add a destination, then test it.

        A server needs its host key: get `host-keys`, compare the fingerprint, and send `hostKey`.
        """
        destination = destinations.add(params=DestinationParams(**self.body()), by=self.principal, at=self.at)
        return self._answer(destination, headers={"Location": f"/api/exports/destinations/{destination.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Get a destination with the results of its last uploads."""
        return self._answer(destinations.get(id, self.principal))

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a destination. Omitted fields keep their values.

        A new host, port, URL or bucket clears `phiAgreement` and `hostKey` unless you send them again. A server with a
        password then also needs `secret` again.
        """
        destination = destinations.change(
            destination_id=id,
            changes=self.body(),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer(destination)

    def destroy(self, request: Request, id: UUID) -> Response:
        """Delete a destination and its secret. Uploaded files stay."""
        destinations.remove(destination_id=id, expected_version=self.expected_version(), by=self.principal, at=self.at)
        return self.answer(None)

    def test(self, request: Request, id: UUID) -> Response:
        """Upload `carelane-test.txt` and delete it again. Responds with the result within half a minute."""
        return self.answer(destinations.test(destination_id=id, by=self.principal, at=self.at))

    def host_keys(self, request: Request, id: UUID) -> Response:
        """Get the host keys that a server presents. They are not verified."""
        return self.answer(unpaginated(destinations.host_keys(destination_id=id, by=self.principal)))

    def _answer(self, destination: ExportDestination, *, headers: dict[str, str] | None = None) -> Response:
        return self.answer(destination, version=destination.version, headers=headers)
