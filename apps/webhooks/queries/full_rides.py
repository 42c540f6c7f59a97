"""The ride as the API shows it, for endpoints that get the whole of it: the serializer is the API's own."""

from datetime import datetime
from typing import Final

import orjson

from apps.rides.models import Ride
from apps.rides.queries import rides
from apps.rides.schemas.ride_output import RideOut, context_of
from lib.access import Phi, Principal
from lib.api import serializers
from lib.api.json import dumps

# What a receiver of whole rides sees: everything of a rider, but neither the dispatchers' own notes nor door codes.
_RECEIVER: Final = Principal(kind="system", id=None, role="webhook", scopes=frozenset(), phi=Phi.FULL)


def show(ride: Ride, *, at: datetime) -> orjson.Fragment:
    """Write a ride as GET /rides/{id} does.  Two or three queries."""
    context = context_of(rides.belongings(ride), of=ride, by=_RECEIVER, at=at)
    return orjson.Fragment(dumps(serializers.show(RideOut, ride, context=context)))
