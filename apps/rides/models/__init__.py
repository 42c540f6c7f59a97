"""The tables of rides, by topic."""

from apps.rides.models.assignment import Assignment
from apps.rides.models.booking_draft import BookingDraft
from apps.rides.models.exception import RideException
from apps.rides.models.milestone import Milestone
from apps.rides.models.reason_code import ReasonCode
from apps.rides.models.ride import Ride, RideQuerySet
from apps.rides.models.ride_change import RideChange
from apps.rides.models.ride_lock import RideLock
from apps.rides.models.trip import Trip
from apps.rides.models.watched_facility import WatchedFacility

__all__ = [
    "Assignment",
    "BookingDraft",
    "Milestone",
    "ReasonCode",
    "Ride",
    "RideChange",
    "RideException",
    "RideLock",
    "RideQuerySet",
    "Trip",
    "WatchedFacility",
]
