"""The pull feed."""

from uuid import UUID

from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request
from rest_framework.response import Response

from apps.events import queries
from apps.events.api.serializers import EventOut, EventQuery
from apps.events.models import Event
from lib.api.views import ApiViewSet
from lib.errors import Code, InvalidInput, NotFound
from lib.pagination import MAX_LIMIT, digest_of, open_cursor, reach, seal_cursor
from lib.scopes import Scope


class EventViewSet(ApiViewSet):
    """What happened, in the order in which it was committed."""

    scopes = {"list": Scope.EVENTS_READ, "retrieve": Scope.EVENTS_READ}
    queries = {"list": EventQuery}
    answers = {"list": EventOut, "retrieve": EventOut}
    refusals = {"list": (Code.INVALID_CURSOR,)}

    def list(self, request: Request) -> Response:
        """Follow the feed of events.

        Store `page.nextCursor`, which is there even when nothing is new, and come back with it: no event is missed and
        none appears behind you. Events of other facilities than yours are not among them, nor those of other clients'
        tokens and endpoints.
        """
        types, limit = self.query.get("types"), min(self.query["limit"], MAX_LIMIT)
        bound = digest_of(["events", types, reach(self.principal)])
        batch = queries.feed(by=self.principal, types=types, after=self._position(bound), limit=limit)
        page = {"limit": limit, "hasMore": batch.has_more, "nextCursor": seal_cursor([*batch.position], bound=bound)}
        data = EventOut(batch.events, many=True, context=self.get_serializer_context()).data
        return Response({"data": data, "page": page})

    def retrieve(self, request: Request, id: UUID) -> Response:
        """Read one event."""
        event = Event.objects.visible_to(self.principal).filter(pk=id).first()
        if event is None:
            raise NotFound(_("event"))
        return self.answer(event)

    def _position(self, bound: bytes) -> tuple[int, UUID]:
        if "cursor" in self.query:
            if "after" in self.query:
                raise InvalidInput("after", _("%(field)s must not be combined with cursor."))
            transaction, event_id = open_cursor(self.query["cursor"], bound=bound, parts=2)
            return transaction, event_id
        if "after" not in self.query:
            return queries.START
        position = queries.position_of(self.query["after"], by=self.principal)
        if position is None:
            raise InvalidInput("after", _("%(field)s must be the id of an event."), detail_code="unknown_id")
        return position
