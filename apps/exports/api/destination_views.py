"""Destinations of exports: buckets and servers that files are put to."""

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
        """List destinations, newest first: the operator's own, the same for every token."""
        rows = ExportDestination.objects.visible_to(self.principal)
        if "active" in self.query:
            rows = rows.filter(active=self.query["active"])
        return self.answer_page(self.page(rows))

    def create(self, request: Request) -> Response:
        """Add a destination; then send it a test.

        Keys of servers are agreed on by people: ask for `host-keys`, compare the fingerprint, and send `hostKey`.
        """
        made = destinations.add(params=DestinationParams(**self.body()), by=self.principal, at=self.at)
        return self._answer(made, headers={"Location": f"/api/exports/destinations/{made.pk}"})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read a destination, and what came of it last."""
        return self._answer(destinations.get(id, self.principal))

    def partial_update(self, request: Request, id: UUID) -> Response:
        """Change a destination: fields left out stay as they are.

        Another host, port, URL or bucket ends the agreement about rider data and the trust in `hostKey` unless you send
        them again, and of a server with a password it takes the `secret` again.
        """
        changed = destinations.change(
            destination_id=id,
            changes=self.body(),
            expected_version=self.expected_version(),
            by=self.principal,
            at=self.at,
        )
        return self._answer(changed)

    def destroy(self, request: Request, id: UUID) -> Response:
        """Take a destination away, and destroy its secret. What was put there stays."""
        destinations.remove(destination_id=id, expected_version=self.expected_version(), by=self.principal, at=self.at)
        return self.answer(None)

    def test(self, request: Request, id: UUID) -> Response:
        """Put `carelane-test.txt` there and take it away again; answers within half a minute what came of it."""
        return self.answer(destinations.test(destination_id=id, by=self.principal, at=self.at))

    def host_keys(self, request: Request, id: UUID) -> Response:
        """Ask a server for its host keys, which nobody has vouched for yet."""
        return self.answer(unpaginated(destinations.host_keys(destination_id=id, by=self.principal)))

    def _answer(self, destination: ExportDestination, *, headers: dict[str, str] | None = None) -> Response:
        return self.answer(destination, version=destination.version, headers=headers)
