"""Trips: rides that belong together."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from apps.rides.schemas.ride_input import TripIn
from apps.rides.services import trips
from lib.api import fields
from lib.api.serializers import OutShape
from lib.api.views import ApiViewSet
from lib.errors import Code
from lib.scopes import Scope


class TripOut(OutShape):
    """A trip: its legs in order."""

    id = fields.Uuid()
    rider_id = fields.Uuid()
    service_date = fields.LocalDate()
    ride_ids = fields.List(child=fields.Uuid())


class TripViewSet(ApiViewSet):
    """Trips of a rider."""

    scopes = {"create": Scope.RIDES_WRITE, "remove_ride": Scope.RIDES_WRITE}
    bodies = {"create": TripIn}
    answers = {"create": TripOut}
    refusals = {"create": (Code.RULE_VIOLATION,)}

    def create(self, request: Request) -> Response:
        """Link booked rides of one rider and day as the legs of a trip, in the order of their pickup times."""
        legs = trips.link(ride_ids=self.body()["ride_ids"], by=self.principal, at=self.at)
        first = legs[0]
        trip = {
            "id": first.trip_id,
            "rider_id": first.rider_id,
            "service_date": first.service_date,
            "ride_ids": [leg.pk for leg in legs],
        }
        return self.answer(trip)

    def remove_ride(self, request: Request, id: UUID, ride_id: UUID) -> Response:
        """Unlink a ride from its trip; the last leg that remains leaves it as well."""
        trips.unlink(trip_id=id, ride_id=ride_id, by=self.principal, at=self.at)
        return self.answer(None)
