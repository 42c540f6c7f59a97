"""What forms of several pages do to a ride: one call of a service, at the version that their reader saw."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.utils import timezone

from apps.console.kit.rights import RightMissing
from apps.console.ride.ride_forms import Versioned
from apps.console.ride.ride_views import found_ride
from apps.riders.rules.needs import Mobility
from apps.rides.models import Ride
from apps.rides.services import leg_decisions, will_call
from apps.rides.services.leg_decisions import Answer
from lib.access import Principal
from lib.errors import DomainError, NotFound, ScopeMissing, StaleVersion
from lib.scopes import Scope

Act = Callable[..., Ride]


def is_done(form: Versioned, act: Act, *, ride_id: UUID, by: Principal) -> bool:
    """Do what a form asks for; where it is not done, the form says why.

    Raises:
        NotFound, Http404: the ride is out of reach.
        RightMissing: the service asks for a right that the person has not got.
    """
    if not form.is_valid():
        current = found_ride(ride_id, by).version
        if form.cleaned_data.get("version") != current:  # what is offered may have changed with it: that comes first
            form.refuse(StaleVersion(current))
        return False
    seen = form.cleaned_data["version"]
    try:
        act(form.cleaned_data, ride_id=ride_id, expected_version=seen, by=by, at=timezone.now())
    except NotFound:
        raise
    except ScopeMissing as refusal:
        raise RightMissing(frozenset(detail.also["requiredScope"] for detail in refusal.details)) from None
    except DomainError as refusal:
        form.refuse(refusal)
        return False
    return True


def is_released(form: Versioned, *, ride_id: UUID, by: Principal) -> bool:
    """Say whether a release that was refused, from a page that did not know yet, is one that there is already."""
    return form.is_stale and found_ride(ride_id, by).ready_at is not None


def release(values: dict[str, Any], *, by: Principal, **told: Any) -> Ride:
    """Say that a rider is ready.  Planners press it at the facility; dispatchers hear of it by telephone."""
    source = "phone" if by.has_scope(Scope.ASSIGNMENTS_WRITE) else "facility_portal"
    override = {"override": values["override"], "override_reason": values["override_reason"]}
    return will_call.mark_ready(ready_source=source, by=by, **override, **told)


def retract(values: dict[str, Any], **told: Any) -> Ride:
    return will_call.retract_ready(**told)


def answer(values: dict[str, Any], **told: Any) -> Ride:
    """Say what the planner has decided; another mode comes with its mobility."""
    said = Answer(values["answer"])
    mobility = Mobility(values["mobility"]) if said is Answer.CHANGE_MODE else None
    return leg_decisions.answer(answer=said, mobility=mobility, **told)
