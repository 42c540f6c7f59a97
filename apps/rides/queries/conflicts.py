"""Hides rides that conflict with an assignment, or are delayed by it, from callers who cannot see them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from uuid import UUID

from apps.rides.models import Ride
from apps.rides.rules.driver_timeline import Delay
from apps.rides.rules.eligibility import Violation
from lib.access import Principal


def rides_out_of_reach(violations: Iterable[Violation], by: Principal) -> frozenset[UUID]:
    """List rides in violations that the caller cannot see.  One query, none if the caller sees all rides."""
    return unseen_rides({violation.subject_id for violation in violations}, by)


def unseen_rides(subjects: Collection[UUID], by: Principal) -> frozenset[UUID]:
    """List those of `subjects` that are rides which the caller cannot see.  One query, none if all are visible."""
    if not subjects or (by.facility_ids is None and by.provider_ids is None):
        return frozenset()
    unseen = Ride.objects.filter(pk__in=subjects).exclude(pk__in=Ride.objects.visible_to(by).values("pk"))
    return frozenset(unseen.values_list("pk", flat=True))


def hide_rides(violations: Sequence[Violation], hidden_ids: frozenset[UUID], *, driver_id: UUID) -> list[Violation]:
    """Replace rides that the caller cannot see by the driver, who is busy."""
    return [
        replace(violation, subject_id=driver_id) if violation.subject_id in hidden_ids else violation
        for violation in violations
    ]


def hide_delays(delays: Iterable[Delay], hidden_ids: frozenset[UUID]) -> Iterator[Delay]:
    """Leave out the ids of rides that the caller cannot see."""
    for delay in delays:
        yield replace(delay, ride_id=None) if delay.ride_id in hidden_ids else delay
