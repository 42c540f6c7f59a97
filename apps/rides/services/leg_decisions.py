"""Decisions of the planner while a patient has no driver: wait, another mode, or split; each is recorded.

The fourth decision, to cancel, is an ordinary cancellation.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.riders.rules.needs import Mobility
from apps.rides.models import Ride, RideException
from apps.rides.services import editing, escalation
from apps.rides.services.status import Note, locked, touch
from lib.access import Principal
from lib.choices import TextChoices
from lib.errors import DomainError, ScopeMissing
from lib.scopes import Scope

ANSWER: Final = "answer"  # in the details of the exceptions, with its time


class Answer(TextChoices):
    WAIT = "wait", _("wait")
    CHANGE_MODE = "change_mode", _("another mode")
    SPLIT = "split", _("split the ride")


class NoDecisionPending(DomainError):
    """No rider waits for a driver, or the planner has not been notified yet."""

    template = _("No decision about this ride is pending.")


def awaits_decision(exception: RideException) -> bool:
    """Check whether the planner has to decide: the exception is unsettled and escalated beyond dispatch."""
    return (
        exception.resolved_at is None
        and exception.type in escalation.TYPES
        and escalation.NOTIFIED in exception.details
    )


@transaction.atomic
def answer(
    *,
    ride_id: UUID,
    answer: Answer,
    mobility: Mobility | None = None,
    expected_version: int | None = None,
    by: Principal,
    at: datetime,
) -> Ride:
    """Record the decision of the planner for dispatch; another mode changes the ride as well.

    `mobility` goes with another mode.

    Raises:
        NotFound, StaleVersion: see `locked`.
        ScopeMissing: the caller may not book.
        NothingAsked: no exception waits for a decision.
        Errors of `editing.edit`, for another mode.
    """
    ride = locked(ride_id, by, expected_version=expected_version)
    if not by.has_scope(Scope.RIDES_WRITE):
        raise ScopeMissing(Scope.RIDES_WRITE)
    pending = [
        exception
        for exception in RideException.objects.unsettled().filter(ride=ride).select_for_update()
        if awaits_decision(exception)
    ]
    if not pending:
        raise NoDecisionPending
    if mobility is not None:
        ride = editing.edit(ride_id=ride.pk, changes={"accommodation": {"mobility": mobility.value}}, by=by, at=at)
    _save_decision(pending, answer, at=at)
    touch(ride, "ride.updated", by=by, at=at, note=Note(data={"changed": [ANSWER], ANSWER: answer.value}))
    audit.record(
        by=by,
        action="rides.answer",
        subject_type="ride",
        subject_id=ride.pk,
        rider_ids=[ride.rider_id],
        facility_id=ride.facility_id,
        details={ANSWER: answer.value},
    )
    return ride


def _save_decision(pending: Iterable[RideException], answer: Answer, *, at: datetime) -> None:
    decision = {ANSWER: answer.value, "answeredAt": at.isoformat().replace("+00:00", "Z")}
    for exception in pending:
        exception.details = {**exception.details, **decision}
        exception.version += 1
        exception.updated_at = at
        exception.save(update_fields=["details", "version", "updated_at"])
