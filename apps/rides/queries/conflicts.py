"""Hides conflicting rides of an assignment from callers who cannot see them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from apps.rides.models import Ride
from apps.rides.rules.eligibility import Violation
from lib.access import Principal


def rides_out_of_reach(found: Iterable[Violation], by: Principal) -> frozenset[UUID]:
    """List rides in violations that the caller cannot see.  One query, none if the caller sees all rides."""
    subjects = {violation.subject_id for violation in found}
    if not subjects or (by.facility_ids is None and by.provider_ids is None):
        return frozenset()
    unseen = Ride.objects.filter(pk__in=subjects).exclude(pk__in=Ride.objects.visible_to(by).values("pk"))
    return frozenset(unseen.values_list("pk", flat=True))


def veiled(found: Sequence[Violation], unseen: frozenset[UUID], *, driver_id: UUID) -> list[Violation]:
    """Replace rides that the caller cannot see by the driver, who is busy."""
    return [replace(one, subject_id=driver_id) if one.subject_id in unseen else one for one in found]
