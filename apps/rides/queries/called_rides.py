"""Rides by what somebody calls them who has them on a paper or in another system."""

from uuid import UUID

from apps.organizations import queries as organizations
from apps.organizations.models import SubjectType
from apps.rides.models import Ride
from apps.rides.models.ride import RideQuerySet
from apps.rides.rules.disclosure import disclosure_of
from lib.access import Phi, Principal


def rides_called(ref: str, *, by: Principal) -> RideQuerySet:
    """Find rides in reach by our own id, whoever's reference or an id of another system, in whole; unordered.

    References and ids of other systems find nothing for those who do not see them.
    """
    rides = Ride.objects.visible_to(by)
    try:
        return rides.filter(pk=UUID(ref))
    except ValueError:
        pass
    if disclosure_of(by).phi < Phi.LIMITED:
        return rides.none()
    referred = Ride.objects.filter(client_reference=ref).exclude(client_reference="").values("pk")
    return rides.filter(pk__in=referred.union(organizations.subjects_called(SubjectType.RIDE, ref)))
