"""Other rides that stand against an assignment, named to those alone who can see them."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from apps.rides.models import Ride
from apps.rides.rules.eligibility import Violation
from lib.access import Principal


def rides_out_of_reach(found: Iterable[Violation], by: Principal) -> frozenset[UUID]:
    """List the rides that violations are about and the caller cannot see.  One query, none for who sees all."""
    subjects = {violation.subject_id for violation in found}
    if not subjects or (by.facility_ids is None and by.provider_ids is None):
        return frozenset()
    unseen = Ride.objects.filter(pk__in=subjects).exclude(pk__in=Ride.objects.visible_to(by).values("pk"))
    return frozenset(unseen.values_list("pk", flat=True))


def veiled(found: Sequence[Violation], unseen: frozenset[UUID], *, driver_id: UUID) -> list[Violation]:
    """Let violations about unseen rides be about the driver, who is taken for reasons of somebody else's."""
    return [replace(one, subject_id=driver_id) if one.subject_id in unseen else one for one in found]
