"""Secret addresses for calendar subscriptions: issue, open and revoke."""

import hashlib
import secrets
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from apps.audit.services import audit
from apps.organizations.models import Facility
from apps.recurring.models import CalendarLink, StandingOrder
from apps.recurring.services import order_state
from apps.riders.rules import disclosure
from lib.access import Phi, Principal
from lib.errors import NotFound

READ_TIME_INTERVAL: Final = timedelta(minutes=5)  # calendar programs read often; exact times are not needed
_NAME_FIELDS: Final = ("firstName", "lastName")


@dataclass(frozen=True, slots=True)
class IssuedLink:
    """A new link and its secret, of which only a digest is stored."""

    link: CalendarLink
    secret: str = field(repr=False)


@transaction.atomic
def issue_for_order(*, order_id: UUID, with_names: bool = False, by: Principal, at: datetime) -> IssuedLink:
    """Issue a link to the rides of one order.

    Raises:
        ScopeMissing: the caller lacks the scope.
        PhiNotPermitted: the caller may not see names.
        NotFound: there is no such order in the data scope.
    """
    order_state.require_right(by)
    order = StandingOrder.objects.visible_to(by).filter(pk=order_id).first()
    if order is None:
        raise NotFound(_("standing order"))
    rider_ids = [order.rider_id] if with_names else []
    return _issue(order.facility_id, order.pk, rider_ids, with_names=with_names, by=by, at=at)


@transaction.atomic
def issue_for_facility(*, facility_id: UUID, with_names: bool = False, by: Principal, at: datetime) -> IssuedLink:
    """Issue a link to the rides of all orders of a facility.

    Raises:
        ScopeMissing: the caller lacks the scope.
        PhiNotPermitted: the caller may not see names.
        NotFound: there is no such facility in the data scope.
    """
    order_state.require_right(by)
    if by.provider_ids is not None or not Facility.objects.visible_to(by).filter(pk=facility_id).exists():
        raise NotFound(_("facility"))
    return _issue(facility_id, None, [], with_names=with_names, by=by, at=at)


def _issue(
    facility_id: UUID, order_id: UUID | None, rider_ids: list[UUID], *, with_names: bool, by: Principal, at: datetime
) -> IssuedLink:
    if with_names:
        disclosure.require(by.phi, _NAME_FIELDS)
    secret = secrets.token_urlsafe(32)
    link = CalendarLink.objects.create(
        facility_id=facility_id,
        standing_order_id=order_id,
        digest=_digest(secret),
        with_names=with_names,
        created_by=by.actor,
        created_at=at,
    )
    _audit("calendar_links.issue", link, by, rider_ids)
    return IssuedLink(link, secret)


@transaction.atomic
def revoke(*, link_id: UUID, by: Principal, at: datetime) -> CalendarLink:
    """Revoke a link.  Idempotent.

    Raises:
        ScopeMissing: the caller lacks the scope.
        NotFound: there is no such link in the data scope.
    """
    order_state.require_right(by)
    link = CalendarLink.objects.visible_to(by).select_for_update(of=("self",)).filter(pk=link_id).first()
    if link is None:
        raise NotFound(_("calendar link"))
    if link.revoked_at is None:
        link.revoked_at = at
        link.save(update_fields=["revoked_at"])
        _audit("calendar_links.revoke", link, by)
    return link


def open_link(
    secret: str, *, request_id: str = "", ip: str | None = None, at: datetime
) -> tuple[CalendarLink, Principal]:
    """Return the link of a secret, and a principal limited to its facility; records the time of reading.

    Raises:
        NotFound: there is no such link, or it was revoked.
    """
    link = CalendarLink.objects.live().select_related("facility").filter(digest=_digest(secret)).first()
    if link is None:
        raise NotFound(_("calendar"))
    is_outdated = Q(last_read_at__isnull=True) | Q(last_read_at__lt=at - READ_TIME_INTERVAL)
    CalendarLink.objects.filter(is_outdated, pk=link.pk).update(last_read_at=at)
    reader = Principal(
        kind="system",
        id=None,
        role="calendar link",
        scopes=frozenset(),
        facility_ids=frozenset({link.facility_id}),
        phi=Phi.LIMITED if link.with_names else Phi.NONE,
        request_id=request_id,
        ip=ip,
    )
    return link, reader


def audit_names(link: CalendarLink, rider_ids: set[UUID], *, by: Principal) -> None:
    """Write an audit entry of the riders whose names a calendar read."""
    if link.with_names and rider_ids:
        _audit("calendar_links.read", link, by, rider_ids)


def _audit(action: str, link: CalendarLink, by: Principal, rider_ids: Collection[UUID] = ()) -> None:
    audit.record(
        by=by,
        action=action,
        subject_type="calendar_link",
        subject_id=link.pk,
        rider_ids=rider_ids,
        facility_id=link.facility_id,
        phi=by.phi.name.lower(),
    )


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
