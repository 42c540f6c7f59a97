"""What every service of standing orders begins and ends with: the order under lock, and its record."""

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
    """Nothing of an order that has ended can be changed."""

    code = Code.RULE_VIOLATION
    template = _("The standing order has ended.")


def require_right(by: Principal) -> None:
    """Refuse whoever may not arrange schedules.

    Raises:
        ScopeMissing: the caller lacks the scope.
    """
    if not by.has_scope(Scope.SCHEDULES_WRITE):
        raise ScopeMissing(Scope.SCHEDULES_WRITE)


def locked(order_id: UUID, by: Principal, *, expected_version: int | None = None) -> StandingOrder:
    """Lock an order that the caller may change, before its rider and its rides.

    Raises:
        ScopeMissing: the caller may not arrange schedules.
        NotFound: there is no such order in reach.
        StaleVersion: the caller read an older version.
        OrderEnded: it has ended.
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
    """Save a locked order with its next version, its event and its row in the trail."""
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


def rename(order: StandingOrder, external_ids: Sequence[Mapping[str, str]], *, by: Principal) -> bool:
    """Make these what other systems call a locked order, and say whether that is new.

    Raises:
        InvalidInput: one is given twice.
        apps.organizations.services.ExternalIdTaken: another order goes by one of them.
    """
    return organizations.replace_external_ids(
        subject_type=SubjectType.STANDING_ORDER,
        subject_id=order.pk,
        wanted=external_ids,
        in_reach=lambda order_id: StandingOrder.objects.visible_to(by).filter(pk=order_id).exists(),
    )


def status_of(order: StandingOrder, today: date) -> OrderStatus:
    """Say what an order is on a day.  One query."""
    return status_on(order, today, Hold.objects.filter(standing_order=order))


def status_on(order: StandingOrder, today: date, holds: Iterable[Hold]) -> OrderStatus:
    """Say what an order with these holds is on a day: drafts stay drafts, one whose last day is over has ended.

    An authorization that has run out ends nothing: with a new one the order goes on.
    """
    if order.status in (OrderStatus.DRAFT, OrderStatus.ENDED):
        return OrderStatus(order.status)
    if order.end_date is not None and order.end_date < today:
        return OrderStatus.ENDED
    held = any(hold.from_date <= today and (hold.until is None or hold.until >= today) for hold in holds)
    return OrderStatus.ON_HOLD if held else OrderStatus.ACTIVE


def reconcile(
    order: StandingOrder,
    *,
    overwrite: Any = (),
    relevant_dates: Container[date] = EVERY_DATE,
    by: Principal,
    at: datetime,
) -> ReconcileResult:
    """Make the rides of a locked order follow it, and tell people of what could not be done.

    Of what people changed, the answer names the pattern dates that the caller's change is about (`concerned`): days
    that stay for reasons of their own are no news.
    """
    results = reconcile_rides.reconcile([order], overwrite=overwrite, by=by, at=at)
    conflicts.report([order], results, by=by.elevated(Scope.EXCEPTIONS_WRITE), at=at)
    result = results[order.pk]
    result.unchanged = {day: ride_ids for day, ride_ids in result.unchanged.items() if day in relevant_dates}
    return result
