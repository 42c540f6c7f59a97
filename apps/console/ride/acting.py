"""Submit the forms of several pages to the services of rides.

Each function calls one service with the version of the ride that the page showed; an error of the service becomes an
error of the form.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.console.kit.rights import RightMissing
from apps.console.ride.labels import CHECKLIST
from apps.console.ride.ride_forms import ChecklistOpen, LinkForm, Versioned
from apps.console.ride.ride_views import get_ride
from apps.riders.rules.needs import Mobility
from apps.rides.models import Ride
from apps.rides.rules import discharge
from apps.rides.services import leg_decisions, trips, will_call
from apps.rides.services.leg_decisions import Answer
from lib.access import Principal
from lib.errors import DomainError, NotFound, ScopeMissing, StaleVersion
from lib.scopes import Scope

Act = Callable[..., Ride]


def is_done(form: Versioned, act: Act, *, ride_id: UUID, by: Principal) -> bool:
    """Call the service of a form and return True; on failure add the errors to the form and return False.

    `act` receives the cleaned data, and as keywords `ride_id`, `expected_version`, `by` and `at`.

    Raises:
        NotFound, Http404: the ride does not exist or is not visible to the user.
        RightMissing: the service requires a scope that the user lacks.
    """
    if not form.is_valid():
        current = get_ride(ride_id, by).version
        if form.cleaned_data.get("version") != current:  # a stale version first: valid choices may have changed with it
            form.refuse(StaleVersion(current))
        return False
    version = form.cleaned_data["version"]
    try:
        act(form.cleaned_data, ride_id=ride_id, expected_version=version, by=by, at=timezone.now())
    except NotFound:
        raise
    except ScopeMissing as refusal:
        raise RightMissing(frozenset(detail.also["requiredScope"] for detail in refusal.details)) from None
    except DomainError as refusal:
        form.refuse(refusal)
        return False
    return True


def link_rides(form: LinkForm) -> Act:
    """Return the action that links a ride with the chosen ones."""

    def act(values: dict[str, Any], *, ride_id: UUID, by: Principal, at: datetime, expected_version: int) -> Ride:
        # Linking replaces no value of a ride that the page had shown: the version is not compared.
        legs = trips.link(ride_ids=form.ride_ids(ride_id), by=by, at=at)
        return next(leg for leg in legs if leg.pk == ride_id)

    return act


def is_released(form: Versioned, *, ride_id: UUID, by: Principal) -> bool:
    """Return whether a stale form requests the release of a ride that has been released since."""
    return form.is_stale and get_ride(ride_id, by).ready_at is not None


def release(values: dict[str, Any], *, ride_id: UUID, by: Principal, **arguments: Any) -> Ride:
    """Release a will-call ride.  Source: the phone for users who assign drivers, else the facility's portal.

    Raises:
        ChecklistOpen: items of the discharge checklist are open, and the user has not confirmed that they may be.
    """
    if not (values["confirmed"] or values["override"]):
        _require_checklist(get_ride(ride_id, by), arguments["expected_version"])
    source = "phone" if by.has_scope(Scope.ASSIGNMENTS_WRITE) else "facility_portal"
    override = {"override": values["override"], "override_reason": values["override_reason"]}
    return will_call.mark_ready(ride_id=ride_id, ready_source=source, by=by, **override, **arguments)


def _require_checklist(ride: Ride, seen_version: int) -> None:
    """Refuse a release with open items; not where the service refuses it anyway, for example for a required item."""
    is_waiting = ride.status in will_call.RELEASABLE and ride.ready_at is None
    if ride.discharge is None or not is_waiting or ride.version != seen_version:
        return
    items = discharge.checklist(ride.discharge, oxygen_uses=ride.accommodation["oxygen"]["uses"])
    open_items = [CHECKLIST[item.key] for item in items if item.done is not True]
    if open_items and not any(item.blocks_discharge for item in items):
        raise ChecklistOpen(items=open_items)


def retract(values: dict[str, Any], **arguments: Any) -> Ride:
    return will_call.retract_ready(**arguments)


def answer(values: dict[str, Any], **arguments: Any) -> Ride:
    """Record the planner's decision; `mobility` is used for another mode only."""
    choice = Answer(values["answer"])
    mobility = Mobility(values["mobility"]) if choice is Answer.CHANGE_MODE else None
    return leg_decisions.answer(answer=choice, mobility=mobility, **arguments)
