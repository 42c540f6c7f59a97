"""The owner and the recipients of a schedule.  Their rights are checked again at each run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.accounts.models import ApiToken, User
from apps.accounts.rules.roles import SCOPES_OF_USER
from apps.accounts.services.authentication import principal_of
from apps.accounts.sessions import principal_of_absent
from apps.exports.models import ReportSchedule
from apps.exports.queries.datasets import DATASETS
from apps.exports.services.export_runs import NoLongerPermitted
from apps.exports.services.export_validation import level
from lib.access import Phi, Principal
from lib.scopes import Scope


@dataclass(frozen=True, slots=True)
class Recipient:
    """A recipient with their current rights."""

    user: User
    principal: Principal


def scopes_for(kind: str, dataset: str) -> frozenset[str]:
    """Return the scopes that the owner and each recipient need."""
    if kind == ReportSchedule.Kind.REPORT:
        return frozenset({Scope.REPORTS_READ.value})
    dataset_scope = DATASETS[dataset].scope if dataset in DATASETS else None
    return frozenset({Scope.EXPORTS_CREATE.value} | ({dataset_scope} if dataset_scope else set()))


def owner(schedule: ReportSchedule, *, at: datetime) -> Principal:
    """Return the owner with the data scope and PHI level that the schedule was saved with.

    The successor of a rotated token replaces it.

    Raises:
        NoLongerPermitted: the owner is inactive, or lacks a scope, or part of that data scope or level.
    """
    now = _user_principal(schedule.user_id) if schedule.user_id else _token_principal(schedule.created_by, at)
    if now is None or not all(map(now.has_scope, scopes_for(schedule.kind, schedule.dataset))):
        raise NoLongerPermitted
    if not _is_within_scope(schedule, now) or schedule.phi > level(now):
        raise NoLongerPermitted
    return replace(
        now,
        facility_ids=_ids(schedule.facility_ids),
        provider_ids=_ids(schedule.provider_ids),
        phi=Phi(schedule.phi),
    )


def candidates(by: Principal, scopes: Iterable[str]) -> QuerySet[User]:
    """Select the users with these scopes that the caller may choose as recipients, by name.

    A caller who is limited to facilities or providers can choose users who share one of them.
    """
    required = set(scopes)
    roles = [role.value for role, role_scopes in SCOPES_OF_USER.items() if required <= role_scopes]
    users = User.objects.filter(is_active=True, role__in=roles)
    caller = Q(pk=by.id) if by.kind == "user" else Q(pk__in=[])
    if by.facility_ids is not None:
        users = users.filter(caller | Q(pk__in=_members(User.facilities.through, facility_id__in=by.facility_ids)))
    if by.provider_ids is not None:
        users = users.filter(
            caller | Q(pk__in=_members(User.providers.through, transportprovider_id__in=by.provider_ids))
        )
    return users.order_by("name", "pk")


def recipients(schedule: ReportSchedule) -> list[Recipient]:
    """List the recipients who still have access, by name.  One query, and one for each with a limited data scope."""
    users = schedule.recipients.order_by("name", "pk")
    all_recipients = (Recipient(user, principal_of_absent(user)) for user in users)
    return [recipient for recipient in all_recipients if may_receive(recipient.principal, schedule)]


def may_receive(user: Principal, schedule: ReportSchedule) -> bool:
    """Return whether a user may receive the output of a schedule.

    An export is one file for all recipients, so they need access to all of it.  A report is limited to the data scope
    of each recipient.
    """
    if not all(map(user.has_scope, scopes_for(schedule.kind, schedule.dataset))):
        return False
    if schedule.kind == ReportSchedule.Kind.REPORT:
        return _includes_filters(user, schedule.filters)
    return _is_within_scope(schedule, user) and schedule.phi <= level(user)


def _user_principal(user_id: UUID) -> Principal | None:
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return None if user is None else principal_of_absent(user)


def _token_principal(actor: str, at: datetime) -> Principal | None:
    token = ApiToken.objects.select_related("client").get(pk=actor.partition(":")[2])
    while (successor := ApiToken.objects.select_related("client").filter(replaces=token).first()) is not None:
        token = successor
    is_live = ApiToken.objects.live(at).filter(pk=token.pk, client__active=True).exists()
    return principal_of(token) if is_live else None


def _members(table: Any, **condition: Any) -> Any:
    return table.objects.filter(**condition).values("user_id")


def _includes_filters(user: Principal, filters: Mapping[str, Any]) -> bool:
    pairs = ((filters.get("facilityId"), user.facility_ids), (filters.get("providerId"), user.provider_ids))
    return all(value is None or ids is None or UUID(value) in ids for value, ids in pairs)


def _is_within_scope(schedule: ReportSchedule, principal: Principal) -> bool:
    pairs = ((schedule.facility_ids, principal.facility_ids), (schedule.provider_ids, principal.provider_ids))
    return all(ids is None or (stored is not None and ids.issuperset(stored)) for stored, ids in pairs)


def _ids(stored: list[UUID] | None) -> frozenset[UUID] | None:
    return None if stored is None else frozenset(stored)
