"""Shared steps of all services that change a standing order: lock, save with event and audit entry, reconcile."""

from collections.abc import Container, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.events import services as events
from apps.organizations import services as organizations
from apps.organizations.models import SubjectType
from apps.recurring.models import Hold, OrderStatus, StandingOrder
from apps.recurring.rules.reconciliation import EveryDate
from apps.recurring.services import conflicts, reconcile_rides
from apps.recurring.services.reconcile_rides import ReconcileResult
from lib.access import Principal
from lib.errors import Code, DomainError, NotFound, ScopeMissing, StaleVersion
from lib.scopes import Scope

EVERY_DATE: Final = EveryDate()


class OrderEnded(DomainError):
    """An order that has ended cannot be changed."""

    code = Code.RULE_VIOLATION
    template = _("The standing order has ended.")


def require_right(by: Principal) -> None:
    """Check the scope.

    Raises:
        ScopeMissing: the caller lacks it.
    """
    if not by.has_scope(Scope.SCHEDULES_WRITE):
        raise ScopeMissing(Scope.SCHEDULES_WRITE)


def locked(order_id: UUID, by: Principal, *, expected_version: int | None = None) -> StandingOrder:
    """Lock an order that the caller may change.  Lock order: standing order, rider, rides.

    Raises:
        ScopeMissing: the caller lacks the scope.
        NotFound: there is no such order in the data scope.
        StaleVersion: the caller read an older version.
        OrderEnded: the order has ended.
    """
    require_right(by)
    rows = StandingOrder.objects.visible_to(by).select_for_update(of=("self",), no_key=True)
    order = rows.filter(pk=order_id).first()
    if order is None:
        raise NotFound(_("standing order"))
    if expected_version is not None and expected_version != order.version:
        raise StaleVersion(order.version)
    if order.status == OrderStatus.ENDED:
        raise OrderEnded
    return order


def record(
    order: StandingOrder,
    event_type: str,
    *,
    data: Mapping[str, Any],
    action: str,
    changed: list[str] | None = None,
    by: Principal,
    at: datetime,
) -> None:
    """Save a locked order with a new version, its event and its audit entry."""
    order.status = status_of(order, reconcile_rides.today_of(order, at))
    order.version += 1
    order.updated_at = at
    order.save()
    events.record(
        type=event_type,
        subject_type="standing_order",
        subject_id=order.pk,
        sequence=order.version,
        facility_id=order.facility_id,
        occurred_at=at,
        by=by,
        data={"status": order.status, "facilityId": str(order.facility_id), **data},
    )
    audit.record(
        by=by,
        action=action,
        subject_type="standing_order",
        subject_id=order.pk,
        rider_ids=[order.rider_id],
        facility_id=order.facility_id,
        details={"fields": changed} if changed else None,
    )


def set_external_ids(order: StandingOrder, external_ids: Sequence[Mapping[str, str]], *, by: Principal) -> bool:
    """Replace the external ids of a locked order, and return whether they changed.

    Raises:
        InvalidInput: an id is given twice.
        apps.organizations.services.ExternalIdTaken: another order has one of them.
    """
    return organizations.replace_external_ids(
        subject_type=SubjectType.STANDING_ORDER,
        subject_id=order.pk,
        external_ids=external_ids,
        in_reach=lambda order_id: StandingOrder.objects.visible_to(by).filter(pk=order_id).exists(),
    )


def status_of(order: StandingOrder, today: date) -> OrderStatus:
    """Return the status of an order on a day.  One query."""
    return status_on(order, today, Hold.objects.filter(standing_order=order))


def status_on(order: StandingOrder, today: date, holds: Iterable[Hold]) -> OrderStatus:
    """Return the status of an order with these holds on a day.

    The end of an authorization does not end the order, because it can be renewed.
    """
    if order.status in (OrderStatus.DRAFT, OrderStatus.ENDED):
        return OrderStatus(order.status)
    if order.end_date is not None and order.end_date < today:
        return OrderStatus.ENDED
    is_held = any(hold.from_date <= today and (hold.until is None or hold.until >= today) for hold in holds)
    return OrderStatus.ON_HOLD if is_held else OrderStatus.ACTIVE


def reconcile(
    order: StandingOrder,
    *,
    overwrite: Container[date] = (),
    relevant_dates: Container[date] = EVERY_DATE,
    by: Principal,
    at: datetime,
) -> ReconcileResult:
    """Bring the rides of a locked order in line, and open or settle its exception.

    `unchanged` of the result is limited to `relevant_dates`, the pattern dates that the caller's change concerns.
    """
    results = reconcile_rides.reconcile([order], overwrite=overwrite, by=by, at=at)
    conflicts.report([order], results, by=by.elevated(Scope.EXCEPTIONS_WRITE), at=at)
    result = results[order.pk]
    result.unchanged = {day: ride_ids for day, ride_ids in result.unchanged.items() if day in relevant_dates}
    return result
