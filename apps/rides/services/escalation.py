"""Escalation of released riders and discharges without a driver: who is notified, and when.

The desk shows the exception to dispatchers from its first step on.  The later steps tell people who do not sit before
it: planners of the facility, supervisors, and with the last one planners again.  Contacts of a facility have a phone
and no mail: the page of the last step names them, to be called.  The first step of all is `preferred.offer`.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from apps.accounts.models import Alert
from apps.accounts.services import alerts
from apps.rides.rules.exception_types import ExceptionType
from lib.messages import Message, Text
from lib.messages import gettext_lazy as _
from lib.scopes import Scope

TOLD: Final = "told"  # in the details of an exception: who was notified
TYPES: Final = (ExceptionType.UNASSIGNED_AT_RISK, ExceptionType.NO_DRIVER_AVAILABLE)
_KIND: Final = "no_driver"


class _Telling(NamedTuple):
    told: tuple[str, ...]  # everybody notified so far, for the details of the exception
    scope: Scope | None  # of the people notified by this step; None: only dispatch
    severity: str
    text: Text


_RISK: Final = ExceptionType.UNASSIGNED_AT_RISK
_BY_STEP: Final = {
    (_RISK, 1): _Telling(("dispatcher",), None, "", ""),
    (_RISK, 2): _Telling(
        ("dispatcher", "planner"),
        Scope.RIDES_WRITE,
        Alert.Severity.WARNING,
        _(
            "Nobody can say yet when a vehicle comes.  Dispatch is asking more drivers; the rider can wait, ride in "
            "another way, or stay."
        ),
    ),
    (_RISK, 3): _Telling(
        ("dispatcher", "planner", "supervisor"),
        Scope.RIDES_CORRECT,
        Alert.Severity.CRITICAL,
        _("Dispatch has not found a driver."),
    ),
    (ExceptionType.NO_DRIVER_AVAILABLE, 1): _Telling(
        ("dispatcher", "planner", "supervisor"),
        Scope.RIDES_WRITE,
        Alert.Severity.CRITICAL,
        _("No driver is available.  Decide with dispatch: wait, ride in another way, split the ride, or cancel it."),
    ),
}


def told_by(type_: ExceptionType, level: int) -> list[str]:
    """Return who has been notified by this step."""
    return list(_BY_STEP[type_, level].told)


def tell(
    ride_id: UUID, facility_id: UUID | None, type_: ExceptionType, level: int, *, minutes: int, at: datetime
) -> None:
    """Notify the people of this step; `minutes` is how long the ride has waited.  At most one insert.

    A ride of no facility has no planners: whoever is told of it would be those of all others.
    """
    telling = _BY_STEP[type_, level]
    if telling.scope is None or (facility_id is None and telling.scope is Scope.RIDES_WRITE):
        return
    alerts.raise_alert(
        kind=_KIND,
        severity=telling.severity,
        scope=telling.scope,
        key=_key(ride_id, type_, level),
        title=Message(_("No driver for a ride that has waited %(minutes)s minutes"), {"minutes": minutes}),
        text=[telling.text],
        path=f"/console/rides/{ride_id}/",
        facility_id=facility_id,
        at=at,
    )


def over(ride_ids: Iterable[UUID], *, at: datetime) -> None:
    """Resolve the alerts of these rides: they have a driver, or nobody waits.  One update."""
    alerts.resolve(*(_key(ride_id, *step) for ride_id in ride_ids for step in _BY_STEP), at=at)


def _key(ride_id: UUID, type_: ExceptionType, level: int) -> str:
    return f"{_KIND}:{ride_id}:{type_.value}:{level}"
