"""Escalation of released riders and discharges without a driver: who is notified, and when.

The exception queue shows the exception to dispatchers from the first step.  Later steps alert planners of the facility,
supervisors, and with the last step planners again.  Contacts of a facility have a phone and no e-mail: the page of the
last step lists them.  Before the first step, preferred drivers get offers (`offers`).
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

NOTIFIED: Final = "told"  # in the details of an exception: who was notified
TYPES: Final = (ExceptionType.UNASSIGNED_AT_RISK, ExceptionType.NO_DRIVER_AVAILABLE)
_KIND: Final = "no_driver"


class _Notice(NamedTuple):
    recipients: tuple[str, ...]  # everybody notified so far, for the details of the exception
    scope: Scope | None  # of the people notified by this step; None: only dispatch
    severity: str
    text: Text


_RISK: Final = ExceptionType.UNASSIGNED_AT_RISK
_BY_STEP: Final = {
    (_RISK, 1): _Notice(("dispatcher",), None, "", ""),
    (_RISK, 2): _Notice(
        ("dispatcher", "planner"),
        Scope.RIDES_WRITE,
        Alert.Severity.WARNING,
        _("No ETA yet. Dispatch is contacting more drivers. The rider can wait, use other transport, or stay."),
    ),
    (_RISK, 3): _Notice(
        ("dispatcher", "planner", "supervisor"),
        Scope.RIDES_CORRECT,
        Alert.Severity.CRITICAL,
        _("Dispatch has not found a driver."),
    ),
    (ExceptionType.NO_DRIVER_AVAILABLE, 1): _Notice(
        ("dispatcher", "planner", "supervisor"),
        Scope.RIDES_WRITE,
        Alert.Severity.CRITICAL,
        _("No driver is available. Decide with dispatch: wait, use other transport, split the ride, or cancel it."),
    ),
}


def notified_by(type_: ExceptionType, level: int) -> list[str]:
    """Return who has been notified by this step."""
    return list(_BY_STEP[type_, level].recipients)


def notify(
    ride_id: UUID, facility_id: UUID | None, type_: ExceptionType, level: int, *, minutes: int, at: datetime
) -> None:
    """Notify the people of this step; `minutes` is how long the ride has waited.  At most one insert.

    Planners are not notified of a ride without a facility: without a facility, the alert would go to all planners.
    """
    notice = _BY_STEP[type_, level]
    if notice.scope is None or (facility_id is None and notice.scope is Scope.RIDES_WRITE):
        return
    alerts.raise_alert(
        kind=_KIND,
        severity=notice.severity,
        scope=notice.scope,
        key=_key(ride_id, type_, level),
        title=Message(_("No driver for a ride that has waited %(minutes)s minutes"), {"minutes": minutes}),
        text=[notice.text],
        path=f"/console/rides/{ride_id}/",
        facility_id=facility_id,
        at=at,
    )


def resolve_alerts(ride_ids: Iterable[UUID], *, at: datetime) -> None:
    """Resolve the alerts of these rides: they have a driver, or nobody waits.  One update."""
    alerts.resolve(*(_key(ride_id, *step) for ride_id in ride_ids for step in _BY_STEP), at=at)


def _key(ride_id: UUID, type_: ExceptionType, level: int) -> str:
    return f"{_KIND}:{ride_id}:{type_.value}:{level}"
