"""Names of the entrances of rides."""

from collections.abc import Iterable
from uuid import UUID

from apps.organizations.models import Entrance
from apps.rides.models import Ride
from apps.rides.pickup_points import EntranceNames, entrance_ids
from apps.rides.rules.disclosure import Disclosure
from lib.access import Phi


def entrance_names_of(rides: Iterable[Ride], to: Disclosure) -> EntranceNames:
    """Return the names of entrances of rides, by id.  One query; none below PHI level FULL or without entrances."""
    ids = {entrance_id for ride in rides for side in ("pickup", "dropoff") for entrance_id in entrance_ids(ride, side)}
    if to.phi < Phi.FULL or not ids:
        return {}
    rows = Entrance.objects.filter(pk__in=[UUID(entrance_id) for entrance_id in ids]).values_list("pk", "name")
    return {str(pk): name for pk, name in rows}
