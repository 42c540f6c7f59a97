"""What somebody wants exported, checked against what they may see."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrPromise

from apps.exports.formats.columns import Column
from apps.exports.formats.files import CONTENT_TYPES
from apps.exports.queries.datasets import DATASETS
from apps.exports.rules.dataset import Dataset
from apps.organizations.models import Facility, Payer, TransportProvider
from apps.riders.rules.disclosure import PhiNotPermitted
from lib.access import Phi, Principal
from lib.api.fields import instant_text
from lib.api.serializers import camel
from lib.errors import InvalidInput, NotFound, ScopeMissing
from lib.messages import FieldName
from lib.scopes import Scope

MAX_DAYS: Final = 3660  # of service dates


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """A wish as it comes: names of ours, values of the right types, and nothing judged yet.

    Without `columns`, all that the caller sees; with `sealed`, those among them that are kept sealed, too.
    """

    dataset: str
    format: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """A wish that is granted."""

    dataset: Dataset
    format: str
    columns: tuple[Column, ...]
    filters: Mapping[str, Any]
    phi: Phi


def level(by: Principal) -> Phi:
    """Say how much of a person the caller's exports hold: whole tables of names take a scope of their own."""
    return by.phi if by.has_scope(Scope.EXPORTS_PHI) else Phi.NONE


def plan_export(request: ExportRequest, by: Principal) -> Plan:
    """Check a wish.

    Raises:
        NotFound: there is no such dataset, or no such format.
        ScopeMissing: the dataset takes a scope besides.
        InvalidInput: a filter or column is none of the dataset's, or a filter does not make sense; names it.
        PhiNotPermitted: a column that was asked for is above the caller's level.
    """
    dataset = DATASETS.get(request.dataset)
    if dataset is None or request.format not in CONTENT_TYPES:
        raise NotFound(_("export"))
    if dataset.scope is not None and not by.has_scope(dataset.scope):
        raise ScopeMissing(dataset.scope)
    _check(dataset, request.filters)
    check_reach(request.filters, by)
    dataset.check(request.filters, by)
    phi = level(by)
    return Plan(dataset, request.format, _columns(dataset, request, phi), request.filters, phi)


def _check(dataset: Dataset, filters: Mapping[str, Any]) -> None:
    for name in filters:
        if name not in dataset.conditions:
            message = _("%(field)s is not a filter of the dataset %(dataset)s.")
            raise InvalidInput(camel(name), message, detail_code="unknown", dataset=dataset.name)
    for status in filters.get("status", ()):
        if status not in dataset.statuses:
            raise InvalidInput("status", _("%(field)s must be one of: %(choices)s."), choices=dataset.statuses)
    first, last = filters.get("service_date_from"), filters.get("service_date_to")
    if first and last and not dt.timedelta() <= last - first <= dt.timedelta(days=MAX_DAYS):
        message = _("%(field)s must not lie before %(other)s, or more than ten years after it.")
        raise InvalidInput("serviceDateTo", message, other=FieldName("serviceDateFrom"))


def check_reach(filters: Mapping[str, Any], by: Principal) -> None:
    """Refuse places and companies out of reach as those that nobody has."""
    records: dict[str, tuple[QuerySet[Any], StrPromise]] = {
        "facility_id": (Facility.objects.visible_to(by), _("There is no such facility.")),
        "provider_id": (TransportProvider.objects.visible_to(by), _("There is no such transport provider.")),
        "payer_id": (Payer.objects.all(), _("There is no such payer.")),
    }
    for name, (visible, message) in records.items():
        if name in filters and not visible.filter(pk=filters[name]).exists():
            raise InvalidInput(camel(name), message)


def _columns(dataset: Dataset, request: ExportRequest, phi: Phi) -> tuple[Column, ...]:
    if request.sealed and phi < Phi.LIMITED:
        raise PhiNotPermitted(["sealedColumns"], {"sealedColumns": Phi.LIMITED})
    if request.columns is None:
        return dataset.shown(phi, sealed=request.sealed)
    named = {name: dataset.column(name) for name in request.columns}
    if unknown := [name for name, column in named.items() if column is None]:
        message = _("%(field)s must be columns of the dataset %(dataset)s; %(count)s are not.")
        raise InvalidInput("columns", message, dataset=dataset.name, count=len(unknown))
    levels = {name: column.phi for name, column in named.items() if column is not None}
    if above := [name for name in request.columns if levels[name] > phi]:
        raise PhiNotPermitted(above, levels)
    # In the dataset's order, whatever theirs was; what tells rows apart is always there.
    return tuple(one for place, one in enumerate(dataset.columns) if place < dataset.identity or one.name in named)


def stored_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Write filters as the API spells them, to be stored and shown."""
    return {camel(name): _stored_value(value) for name, value in filters.items()}


def parse_stored_filters(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Read filters that `stored_filters` wrote."""
    return {name: _READ[name](kept[camel(name)]) for name in _READ if camel(name) in kept}


def _stored_value(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return instant_text(value)
    return value if isinstance(value, list) else str(value)


_READ: Final[Mapping[str, Any]] = {
    "service_date_from": dt.date.fromisoformat,
    "service_date_to": dt.date.fromisoformat,
    "facility_id": UUID,
    "provider_id": UUID,
    "payer_id": UUID,
    "status": list,
    "changed_since": dt.datetime.fromisoformat,
    "kpi": list,
    "service_type": list,
    "group_by": str,
    "basis": str,
}
