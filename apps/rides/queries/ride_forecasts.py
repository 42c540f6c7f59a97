"""What the driver's timeline predicts for single rides: for the exception monitor, and `etaPickup` of the API."""

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, Protocol
from uuid import UUID

from apps.rides.queries.driver_timelines import driver_timelines
from apps.rides.queries.monitored_rides import Watched
from apps.rides.rules.driver_timeline import PredictedRide
from apps.rides.rules.exception_rules import PREDICTED_AHEAD, Forecast, predicted_from
from apps.rides.rules.lifecycle import RideStatus
from apps.rides.rules.timeliness import Timed, promised_at

AWAITED: Final = frozenset({RideStatus.ASSIGNED, RideStatus.EN_ROUTE})


class EtaSource(StrEnum):
    REPORTED = "reported"
    PREDICTED = "predicted"
    LOCATION_UNKNOWN = "location_unknown"


class Eta(NamedTuple):
    """When the vehicle is expected at the pickup, and how it is known.

    Without a time the source is `location_unknown`, or None: nobody comes yet, or the pickup is hours away.
    """

    at: dt.datetime | None
    source: EtaSource | None


NO_ETA: Final = Eta(None, None)


class Awaited(Timed, Protocol):
    """The columns of a ride that are read here."""

    @property
    def pk(self) -> UUID: ...
    @property
    def driver_id(self) -> UUID | None: ...

    pickup_at: dt.datetime
    eta_pickup_at: dt.datetime | None


def forecasts_of(rides: Iterable[Watched], *, at: dt.datetime) -> dict[UUID, Forecast]:
    """Predict the rides whose prediction counts at `at`.  Five queries for any number of rides, none without any."""
    due = {ride.id: ride for ride in rides if (since := predicted_from(ride.facts)) is not None and since <= at}
    until = max((ride.facts.pickup_at for ride in due.values()), default=at)
    predicted = _predicted({ride.driver_id for ride in due.values()}, at=at, until=until)
    return {
        ride_id: Forecast(predicted[ride_id].earliest_pickup_at, predicted[ride_id].earliest_dropoff_at)
        for ride_id in due
        if ride_id in predicted
    }


def etas_of(rides: Collection[Awaited], *, at: dt.datetime) -> dict[UUID, Eta]:
    """Return when vehicles are expected at the pickups, never before `at`.  Five queries, none if all are reported.

    A reported time counts until it has passed.  Rides are predicted from two hours before their promise on.
    """
    reported = {ride.pk: ride.eta_pickup_at for ride in rides if _is_reported(ride, at)}
    due = [ride for ride in rides if ride.pk not in reported and _is_predicted(ride, at)]
    until = max((ride.pickup_at for ride in due), default=at)
    predicted = _predicted({ride.driver_id for ride in due}, at=at, until=until)
    etas = {ride.pk: _eta(predicted[ride.pk]) for ride in due if ride.pk in predicted}
    return etas | {ride_id: Eta(eta_at, EtaSource.REPORTED) for ride_id, eta_at in reported.items()}


def is_expected(ride: Awaited, at: dt.datetime) -> bool:
    """Return whether `etas_of` predicts the ride: its arrival changes with time and with reports about other rides."""
    return not _is_reported(ride, at) and _is_predicted(ride, at)


def _is_reported(ride: Awaited, at: dt.datetime) -> bool:
    return ride.eta_pickup_at is not None and ride.status in AWAITED and ride.eta_pickup_at >= at


def _is_predicted(ride: Awaited, at: dt.datetime) -> bool:
    if ride.after_the_fact or (ride.will_call and ride.ready_at is None):
        return False
    return ride.status in AWAITED and promised_at(ride) - PREDICTED_AHEAD <= at


def _predicted(
    driver_ids: Iterable[UUID | None], *, at: dt.datetime, until: dt.datetime
) -> Mapping[UUID, PredictedRide]:
    ids = {driver_id for driver_id in driver_ids if driver_id is not None}
    timelines = driver_timelines(ids, at=at, until=max(at, until))
    return {ride.ride_id: ride for timeline in timelines.values() for ride in timeline.rides}


def _eta(predicted: PredictedRide) -> Eta:
    if predicted.pickup_at is None:
        return Eta(None, EtaSource.LOCATION_UNKNOWN)
    return Eta(predicted.pickup_at, EtaSource.PREDICTED)
