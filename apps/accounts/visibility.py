"""Visibility of live changes: for alerts, the rule of `AlertQuerySet.visible_to`."""

from typing import Final

from apps.events import visibility
from lib.access import Principal
from lib.live.changes import RecordChange
from lib.live.hub import Sees

ALERT: Final = "alert"  # as in migration accounts/0011; the type of the change contains the alert's scope


def change_filter_for(person: Principal) -> Sees:
    """Return a predicate: whether the person may see a change.  It does no query."""
    facilities = None if person.facility_ids is None else frozenset(map(str, person.facility_ids))
    providers = None if person.provider_ids is None else frozenset(map(str, person.provider_ids))
    sees_event = visibility.change_filter_for(person)

    def sees(change: RecordChange) -> bool:
        if change.subject != ALERT:
            return sees_event(change)
        if not person.has_scope(change.type.removeprefix(f"{ALERT}.")):
            return False
        if providers is not None:
            return change.facility_id is None and (change.provider_id is None or change.provider_id in providers)
        if facilities is not None:
            return change.provider_id is None and (change.facility_id is None or change.facility_id in facilities)
        return True

    return sees
