"""The list in plain Django REST Framework: model instances, a ModelSerializer, its own JSON renderer.

The serializer is the one for single rides.  No token, audit trail or middleware.
"""

from typing import Any

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.urls import path
from django.utils import timezone
from rest_framework.generics import GenericAPIView
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from apps.organizations.models import SubjectType
from apps.organizations.queries import external_ids_of
from apps.rides.models import Ride
from apps.rides.rules.disclosure import Disclosure
from apps.rides.schemas.ride_output import RideRow
from lib.access import Phi
from tests.bench import plain_views
from tests.bench.plain_views import RideCreate


class RideList(GenericAPIView[Ride]):
    """Page 1 by pickup time."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    renderer_classes = (JSONRenderer,)

    def get(self, request: Request) -> Response:
        limit = int(request.query_params["limit"])
        found = list(Ride.objects.order_by("pickup_at", "pk")[: limit + 1])
        shown = found[:limit]
        context: dict[str, Any] = {
            "at": timezone.now(),
            "disclosure": Disclosure(Phi.FULL, dispatcher_notes=True),
            "external_ids": external_ids_of(SubjectType.RIDE, [ride.pk for ride in shown]),
        }
        data = RideRow(shown, many=True, context=context).data
        return Response({"data": data, "page": {"limit": limit, "hasMore": len(found) > limit, "nextCursor": None}})


class Rides(RideList, RideCreate):
    """Lists by GET, books by POST."""


urlpatterns = [path("rides", Rides.as_view()), *plain_views.urlpatterns]

settings.ROOT_URLCONF = __name__
settings.MIDDLEWARE = []
application = get_wsgi_application()
