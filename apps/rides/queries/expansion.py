"""Records of rides that a list embeds: one query per kind."""

from collections.abc import Callable, Collection
from typing import Any, Final
from uuid import UUID

from apps.fleet.models import Driver
from apps.organizations.models import Facility
from apps.riders.models import Rider
from apps.riders.rules.disclosure import FIELDS
from lib.access import Phi, Principal

RecordsById = dict[UUID, dict[str, Any]]

_RIDER = {
    "id": "pk",
    "status": "status",
    "firstName": "first_name",
    "lastName": "last_name",
    "preferredName": "preferred_name",
    "dateOfBirth": "date_of_birth",
    "phones": "phones",
    "language": "language",
    "interpreterNeeded": "interpreter_needed",
}


def riders(ids: Collection[UUID], by: Principal) -> RecordsById:
    """Return riders inside the caller's data scope, with the fields of the PHI level."""
    columns = {name: column for name, column in _RIDER.items() if FIELDS.get(name, Phi.FULL) <= by.phi}
    rows = Rider.objects.visible_to(by).filter(pk__in=ids).values_list(*columns.values())
    return {values[0]: dict(zip(columns, values, strict=True)) for values in rows}


def facilities(ids: Collection[UUID], by: Principal) -> RecordsById:
    rows = Facility.objects.visible_to(by).filter(pk__in=ids)
    columns = {"id": "pk", "name": "name", "kind": "kind", "timezone": "timezone", "city": "city", "state": "state"}
    return {values[0]: dict(zip(columns, values, strict=True)) for values in rows.values_list(*columns.values())}


def drivers(ids: Collection[UUID], by: Principal) -> RecordsById:
    rows = Driver.objects.visible_to(by).filter(pk__in=ids)
    columns = {
        "id": "pk",
        "providerId": "provider_id",
        "firstName": "first_name",
        "lastName": "last_name",
        "phone": "phone",
        "activation": "activation",
    }
    return {values[0]: dict(zip(columns, values, strict=True)) for values in rows.values_list(*columns.values())}


READERS: Final[dict[str, Callable[[Collection[UUID], Principal], RecordsById]]] = {
    "rider": riders,
    "facility": facilities,
    "driver": drivers,
}
