"""The rides that a report covers: requested days, facilities, providers and service types, within the data scope."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from apps.reporting.models import Basis
from apps.reporting.rules.rollup_sql import Grain
from lib.access import Principal
from lib.errors import InvalidInput
from lib.messages import FieldName

MAX_DAYS: Final = 800
Ids = frozenset[UUID] | None  # None: all


@dataclass(frozen=True, slots=True)
class Selection:
    """Days (both ends included), facilities, providers and service types; ids None: all, empty: none.

    Create it with `select`, which limits it to the data scope of a principal.
    """

    first: date
    last: date
    facility_ids: Ids = None
    provider_ids: Ids = None
    service_types: tuple[str, ...] = ()
    basis: Basis = Basis.CLOSED

    @property
    def days(self) -> int:
        return (self.last - self.first).days + 1

    @property
    def is_split(self) -> bool:
        """Return whether the selection needs rows by provider and service type."""
        return self.provider_ids is not None or bool(self.service_types)

    def before(self) -> "Selection":
        """Return the period of the same length right before this one."""
        return replace(self, first=self.first - timedelta(days=self.days), last=self.first - timedelta(days=1))

    def grain(self, *, by_facility: bool, by_hour: bool = False, split: bool = False) -> Grain:
        """Return the coarsest grain that has these groupings.

        Raises:
            InvalidInput: hours are not stored by provider and service type.
        """
        if by_hour:
            if self.is_split or split:
                raise InvalidInput(
                    "by", _("Hours are not stored by provider and service type."), detail_code="not_stored"
                )
            return Grain.FACILITY_HOUR if by_facility or self.facility_ids is not None else Grain.DAY_HOUR
        if self.is_split or split:
            return Grain.SPLIT
        return Grain.FACILITY if by_facility or self.facility_ids is not None else Grain.DAY

    def where(self) -> tuple[str, dict[str, Any]]:
        """Return a condition that fits rollup rows, breakdown counts and facts, and its parameters."""
        conditions = ["service_date BETWEEN %(first)s AND %(last)s"]
        parameters: dict[str, Any] = {"first": self.first, "last": self.last}
        for column, ids in (("facility_id", self.facility_ids), ("provider_id", self.provider_ids)):
            if ids is not None:
                conditions.append(f"{column} = ANY(%({column})s::uuid[])")
                parameters[column] = list(ids)
        if self.service_types:
            conditions.append("service_type = ANY(%(service_types)s)")
            parameters["service_types"] = list(self.service_types)
        return " AND ".join(conditions), parameters

    def where_rolled_up(self) -> tuple[str, dict[str, Any]]:
        """Return the condition on rollup rows and breakdown counts, which have a basis, and its parameters."""
        condition, parameters = self.where()
        return f"{condition} AND basis = ANY(%(bases)s)", {**parameters, "bases": [Basis.BOTH.value, self.basis.value]}


def select(
    *,
    by: Principal,
    first: date,
    last: date,
    facility_ids: Collection[UUID] = (),
    provider_ids: Collection[UUID] = (),
    service_types: Collection[str] = (),
    basis: Basis = Basis.CLOSED,
    max_days: int = MAX_DAYS,
) -> Selection:
    """Return the requested selection within the caller's data scope; ids outside of it select nothing.

    An empty collection selects everything in the data scope.

    Raises:
        InvalidInput: the period ends before it starts, or is longer than `max_days`.
    """
    if last < first:
        raise InvalidInput("to", _("%(field)s must be no earlier than %(start)s."), start=FieldName("from"))
    if (last - first).days >= max_days:
        template = _("The period must not be longer than %(days)s days.")
        raise InvalidInput("to", template, detail_code="too_long", days=max_days)
    return Selection(
        first=first,
        last=last,
        facility_ids=_within(facility_ids, by.facility_ids),
        provider_ids=_within(provider_ids, by.provider_ids),
        service_types=tuple(sorted(service_types)),
        basis=basis,
    )


def _within(requested: Collection[UUID], scope: Ids) -> Ids:
    if not requested:
        return scope
    return frozenset(requested) if scope is None else frozenset(requested) & scope
