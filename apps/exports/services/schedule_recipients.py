"""Who is behind a schedule, and who may get what it makes.  Both are asked anew at each run."""

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
    """Somebody who may get it, with the rights that they have now."""

    user: User
    principal: Principal


def scopes_for(kind: str, dataset: str) -> frozenset[str]:
    """Name the scopes that all who have to do with it need, owner and recipients."""
    if kind == ReportSchedule.Kind.REPORT:
        return frozenset({Scope.REPORTS_READ.value})
    own = DATASETS[dataset].scope if dataset in DATASETS else None
    return frozenset({Scope.EXPORTS_CREATE.value} | ({own} if own else set()))


def owner(schedule: ReportSchedule, *, at: datetime) -> Principal:
    """Give the owner with the reach and the level that the schedule was kept with.

    A token that was rotated stands for its successor.

    Raises:
        NoLongerPermitted: the owner has left, or lacks a scope, or some of that reach or level by now.
    """
    now = _person(schedule.user_id) if schedule.user_id else _token(schedule.created_by, at)
    if now is None or not all(map(now.has_scope, scopes_for(schedule.kind, schedule.dataset))):
        raise NoLongerPermitted
    reaches = _within(schedule.facility_ids, now.facility_ids) and _within(schedule.provider_ids, now.provider_ids)
    if not reaches or schedule.phi > level(now):
        raise NoLongerPermitted
    return replace(
        now,
        facility_ids=_ids(schedule.facility_ids),
        provider_ids=_ids(schedule.provider_ids),
        phi=Phi(schedule.phi),
    )


def candidates(by: Principal, scopes: Iterable[str]) -> QuerySet[User]:
    """Find the people that the caller may choose from, by name: those with the scopes.

    Whoever is bound to facilities or providers chooses among the people who share one with them.
    """
    wanted = set(scopes)
    roles = [role.value for role, held in SCOPES_OF_USER.items() if wanted <= held]
    people = User.objects.filter(is_active=True, role__in=roles)
    own = Q(pk=by.id) if by.kind == "user" else Q(pk__in=[])
    if by.facility_ids is not None:
        people = people.filter(own | Q(pk__in=_members(User.facilities.through, facility_id__in=by.facility_ids)))
    if by.provider_ids is not None:
        people = people.filter(
            own | Q(pk__in=_members(User.providers.through, transportprovider_id__in=by.provider_ids))
        )
    return people.order_by("name", "pk")


def recipients(schedule: ReportSchedule) -> list[Recipient]:
    """List the people it goes to who may get it now, by name.  One query, and one for each who is bound to places."""
    found = (Recipient(one, principal_of_absent(one)) for one in schedule.recipients.order_by("name", "pk"))
    return [one for one in found if may_get(one.principal, schedule)]


def may_get(person: Principal, schedule: ReportSchedule) -> bool:
    """Say whether somebody may get what a schedule makes.

    An export is one file for all, so that they have to reach all that is in it.  A report has their own figures.
    """
    if not all(map(person.has_scope, scopes_for(schedule.kind, schedule.dataset))):
        return False
    if schedule.kind == ReportSchedule.Kind.REPORT:
        return _reaches(schedule.filters, person)
    within = _within(schedule.facility_ids, person.facility_ids) and _within(schedule.provider_ids, person.provider_ids)
    return within and schedule.phi <= level(person)


def _person(user_id: UUID) -> Principal | None:
    user = User.objects.filter(pk=user_id, is_active=True).first()
    return None if user is None else principal_of_absent(user)


def _token(actor: str, at: datetime) -> Principal | None:
    token = ApiToken.objects.select_related("client").get(pk=actor.partition(":")[2])
    while (newer := ApiToken.objects.select_related("client").filter(replaces=token).first()) is not None:
        token = newer
    live = ApiToken.objects.live(at).filter(pk=token.pk, client__active=True).exists()
    return principal_of(token) if live else None


def _members(table: Any, **condition: Any) -> Any:
    return table.objects.filter(**condition).values("user_id")


def _reaches(filters: Mapping[str, Any], person: Principal) -> bool:
    asked = ((filters.get("facilityId"), person.facility_ids), (filters.get("providerId"), person.provider_ids))
    return all(one is None or ids is None or UUID(one) in ids for one, ids in asked)


def _within(kept: list[UUID] | None, now: frozenset[UUID] | None) -> bool:
    return now is None or (kept is not None and now.issuperset(kept))


def _ids(kept: list[UUID] | None) -> frozenset[UUID] | None:
    return None if kept is None else frozenset(kept)
