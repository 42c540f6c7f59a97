"""Data scope of live changes: the rule of `EventQuerySet.visible_to`, without a query."""

from lib.access import Principal
from lib.live.changes import RecordChange
from lib.live.hub import Sees


def change_filter_for(person: Principal) -> Sees:
    """Return a function that says whether a user sees a change.  For users only: API clients have more conditions."""
    facilities = None if person.facility_ids is None else frozenset(map(str, person.facility_ids))
    providers = None if person.provider_ids is None else frozenset(map(str, person.provider_ids))

    def sees(change: RecordChange) -> bool:
        return (facilities is None or change.facility_id in facilities) and (
            providers is None or change.provider_id in providers
        )

    return sees
