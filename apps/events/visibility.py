"""Whose business a change is that has just been told of: the rule of `EventQuerySet.visible_to`, without a query."""

from lib.access import Principal
from lib.live.changes import Change
from lib.live.hub import Sees


def change_filter_for(person: Principal) -> Sees:
    """Say of a change whether the person hears of it.  For people alone: clients do not see tokens of one another."""
    facilities = None if person.facility_ids is None else frozenset(map(str, person.facility_ids))
    providers = None if person.provider_ids is None else frozenset(map(str, person.provider_ids))

    def sees(change: Change) -> bool:
        return (facilities is None or change.facility_id in facilities) and (
            providers is None or change.provider_id in providers
        )

    return sees
