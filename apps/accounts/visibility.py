"""Whose business a change is that has just been told of: of an alert, the rule of `AlertQuerySet.visible_to`."""

from typing import Final

from apps.events import visibility
from lib.access import Principal
from lib.live.changes import Change
from lib.live.hub import Sees

ALERT: Final = "alert"  # as migration accounts/0011 names them; the scope that they are for stands in their type


def change_filter_for(person: Principal) -> Sees:
    """Say of a change whether the person hears of it, without a query."""
    facilities = None if person.facility_ids is None else frozenset(map(str, person.facility_ids))
    providers = None if person.provider_ids is None else frozenset(map(str, person.provider_ids))
    sees_event = visibility.change_filter_for(person)

    def sees(change: Change) -> bool:
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
