"""Rides in the details of exceptions, and which of them the reader may see.

A rider has rides of several facilities: what stands in the way of one can be out of reach of those who read of it.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final
from uuid import UUID

from apps.rides.models import Ride, RideException
from lib.access import Principal

_NAMING: Final = frozenset({"rideId", "rideIds", "endedRideId"})


def in_reach(ride_ids: Iterable[UUID | None], by: Principal) -> set[UUID]:
    """Return the rides inside the caller's data scope.  One query, none without ids."""
    ids = [ride_id for ride_id in ride_ids if ride_id is not None]
    return set(Ride.objects.visible_to(by).filter(pk__in=ids).values_list("pk", flat=True)) if ids else set()


def out_of_reach(exceptions: Iterable[RideException], by: Principal) -> set[str]:
    """List rides in details outside the caller's data scope.  One query, none without rides."""
    named_ids = {ride_id for exception in exceptions for ride_id in _named(exception.details)}
    return named_ids - {str(pk) for pk in in_reach([UUID(ride_id) for ride_id in named_ids], by)}


def without(details: Any, hidden: Collection[str]) -> Any:
    """Remove these rides from details at any depth."""
    if isinstance(details, dict):
        return {key: without(value, hidden) for key, value in details.items() if not _is_one_of(value, hidden)}
    if isinstance(details, list):
        return [without(value, hidden) for value in details if not _is_one_of(value, hidden)]
    return details


def _is_one_of(value: Any, hidden: Collection[str]) -> bool:
    return isinstance(value, str) and value in hidden


def _named(details: Any) -> Iterator[str]:
    if isinstance(details, dict):
        for key, value in details.items():
            if key in _NAMING:
                yield from [value] if isinstance(value, str) else value
            else:
                yield from _named(value)
    elif isinstance(details, list):
        for value in details:
            yield from _named(value)
