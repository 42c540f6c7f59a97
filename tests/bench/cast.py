"""Callers and rows of the measurements: a token, and the rides that are read and written."""

import datetime as dt
import json
from typing import Final
from uuid import UUID

from django.utils import timezone

from apps.accounts.rules.roles import TokenRole
from apps.accounts.services import authentication, tokens
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.rides.models import Ride
from apps.rides.rules.lifecycle import RideStatus
from lib.access import Principal, system
from tests.bench.load import Request

REFERENCE: Final = "BENCH-"  # prefix of the client references
_BOOKED_DAYS_AHEAD: Final = 40  # after the rides of the dataset, so that no rider has another ride then


def issue_token() -> tuple[str, Principal]:
    """Issue a token with all scopes; return it and its owner."""
    at = timezone.now()
    grant = tokens.Grant(role=TokenRole.FULL_ACCESS, phi_level="full")
    text = tokens.issue(client_name="Benchmark", grant=grant, by=system("bench"), at=at).text
    principal, _ = authentication.authenticate(text, at=at)
    return text, principal


class Bookings:
    """Bodies of POST /rides, each for another rider or another day, starting `first` days ahead.

    The measurements of one run share a database: each measurement that books has its own days.
    """

    def __init__(self, *, first: int = _BOOKED_DAYS_AHEAD) -> None:
        self._riders = list(Rider.objects.order_by("pk").values_list("pk", flat=True))
        self._facilities = list(Facility.objects.order_by("pk").values_list("pk", flat=True))
        self._first_day = timezone.now().replace(hour=15, minute=0, second=0, microsecond=0)
        self._first = first
        self._made = 0

    def take(self, count: int) -> list[Request]:
        return [Request("POST", "/api/rides", json.dumps(self._next())) for _ in range(count)]

    def _next(self) -> dict[str, object]:
        day, rider = divmod(self._made, len(self._riders))
        self._made += 1
        pickup_at = self._first_day + dt.timedelta(days=self._first + day)
        facility = str(self._facilities[rider % len(self._facilities)])
        return {
            "riderId": str(self._riders[rider]),
            "facilityId": facility,
            "serviceType": "appointment",
            "pickupTime": pickup_at.isoformat(),
            "appointmentTime": (pickup_at + dt.timedelta(minutes=50)).isoformat(),
            "pickup": {
                "name": "Home",
                "addressLine1": "1418 N Kedzie Ave",
                "city": "Chicago",
                "state": "IL",
                "postalCode": "60622",
                "lat": 41.9071,
                "lng": -87.6722,
                "entranceText": "Side door on the alley",
                "instructions": "Ring twice and wait: she needs a minute to reach the door.",
                "contact": {"name": "Daughter", "phone": "+13125550111", "role": "family"},
            },
            "dropoff": {"facilityId": facility},
            "companions": {"escorts": 1},
            "notes": {"driver": "Bring the folding chair."},
            "clientReference": f"{REFERENCE}{pickup_at:%y%m%d}-{rider}",
        }


class AssignedRides:
    """Rides that have a driver and wait for the departure; each is used once."""

    def __init__(self) -> None:
        waiting = Ride.objects.filter(status=RideStatus.ASSIGNED).order_by("pickup_at", "pk")
        self._waiting = list(waiting.filter(assignment_id__isnull=False).values_list("pk", flat=True))

    def take(self, count: int) -> list[UUID]:
        taken, self._waiting = self._waiting[:count], self._waiting[count:]
        return taken

    def put_back(self, unused: list[UUID]) -> None:
        self._waiting = unused + self._waiting
