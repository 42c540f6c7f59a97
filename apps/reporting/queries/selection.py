"""Which legs a report is about: what was asked for, inside the reach of whoever asks."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import Any, Final
from uuid import UUID

from apps.reporting.models import Basis
from apps.reporting.rules.rollups import Grain
from lib.access import Principal
from lib.errors import InvalidInput

MOST_DAYS: Final = 800
Ids = frozenset[UUID] | None  # None: all


@dataclass(frozen=True, slots=True)
class Selection:
    """Days (both ends included), facilities, providers and service types; of ids None means all, empty none.

    Made by `select` alone, which keeps it inside the reach of a principal.
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
        """Whether rows by provider and service type have to be read."""
        return self.provider_ids is not None or bool(self.service_types)

    def before(self) -> "Selection":
        """Give the period of the same length right before."""
        return replace(self, first=self.first - timedelta(days=self.days), last=self.first - timedelta(days=1))

    def grain(self, *, by_facility: bool, by_hour: bool = False, split: bool = False) -> Grain:
        """Choose the rows to read: the fewest that can tell.

        Raises:
            InvalidInput: hours are not kept by provider and service type.
        """
        if by_hour:
            if self.is_split or split:
                raise InvalidInput("by", "Hours are not kept by provider and service type.", detail_code="not_kept")
            return Grain.FACILITY_HOUR if by_facility or self.facility_ids is not None else Grain.DAY_HOUR
        if self.is_split or split:
            return Grain.SPLIT
        return Grain.FACILITY if by_facility or self.facility_ids is not None else Grain.DAY

    def where(self) -> tuple[str, dict[str, Any]]:
        """Write the condition on rows of rollups, tallies and facts alike, and its parameters."""
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
        """Write the condition on rows of rollups and tallies, which have a basis."""
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
    most_days: int = MOST_DAYS,
) -> Selection:
    """Select what was asked for and lies in reach; what does not is absent, like what does not exist.

    Empty collections ask for all.

    Raises:
        InvalidInput: the period ends before it starts, or is longer than `most_days`.
    """
    if last < first:
        raise InvalidInput("to", "to must be no earlier than from.")
    if (last - first).days >= most_days:
        raise InvalidInput("to", f"The period must not be longer than {most_days} days.", detail_code="too_long")
    return Selection(
        first=first,
        last=last,
        facility_ids=_within(facility_ids, by.facility_ids),
        provider_ids=_within(provider_ids, by.provider_ids),
        service_types=tuple(sorted(service_types)),
        basis=basis,
    )


def _within(asked: Collection[UUID], reach: Ids) -> Ids:
    if not asked:
        return reach
    return frozenset(asked) if reach is None else frozenset(asked) & reach
