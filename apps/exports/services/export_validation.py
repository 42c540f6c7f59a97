"""Validation of export requests against datasets and the caller's access."""

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

MAX_DAYS: Final = 3660  # between the first and the last service date


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """An export as requested: values have the right types and are not validated yet.

    Without `columns`, all columns that the caller may see, encrypted ones only with `sealed`.
    """

    dataset: str
    format: str
    filters: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class ExportPlan:
    """A validated export request."""

    dataset: Dataset
    format: str
    columns: tuple[Column, ...]
    filters: Mapping[str, Any]
    phi: Phi


def level(by: Principal) -> Phi:
    """Return the PHI level of the caller's exports: tables of rider data need a scope of their own."""
    return by.phi if by.has_scope(Scope.EXPORTS_PHI) else Phi.NONE


def plan_export(request: ExportRequest, by: Principal) -> ExportPlan:
    """Validate a request.

    Raises:
        NotFound: there is no such dataset or format.
        ScopeMissing: the dataset needs another scope.
        InvalidInput: the dataset does not have a filter or column, or a filter is invalid.
        PhiNotPermitted: a requested column is above the caller's level.
    """
    dataset = DATASETS.get(request.dataset)
    if dataset is None or request.format not in CONTENT_TYPES:
        raise NotFound(_("export"))
    if dataset.scope is not None and not by.has_scope(dataset.scope):
        raise ScopeMissing(dataset.scope)
    _check_filters(dataset, request.filters)
    check_records(request.filters, by)
    dataset.check(request.filters, by)
    phi = level(by)
    return ExportPlan(dataset, request.format, _columns(dataset, request, phi), request.filters, phi)


def _check_filters(dataset: Dataset, filters: Mapping[str, Any]) -> None:
    for name in filters:
        if name not in dataset.conditions:
            message = _("%(field)s is not a filter of the dataset %(dataset)s.")
            raise InvalidInput(camel(name), message, detail_code="unknown", dataset=dataset.name)
    for status in filters.get("status", ()):
        if status not in dataset.statuses:
            raise InvalidInput("status", _("%(field)s must be one of: %(choices)s."), choices=dataset.statuses)
    first, last = filters.get("service_date_from"), filters.get("service_date_to")
    if first and last and not dt.timedelta() <= last - first <= dt.timedelta(days=MAX_DAYS):
        message = _("%(field)s must not be before %(other)s, or more than ten years after it.")
        raise InvalidInput("serviceDateTo", message, other=FieldName("serviceDateFrom"))


def check_records(filters: Mapping[str, Any], by: Principal) -> None:
    """Check that facility, provider and payer exist in the caller's data scope.

    Raises:
        InvalidInput: one does not.
    """
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
        return dataset.visible_columns(phi, sealed=request.sealed)
    columns = {name: dataset.column(name) for name in request.columns}
    if unknown := [name for name, column in columns.items() if column is None]:
        message = _("%(field)s must be columns of the dataset %(dataset)s; %(count)s are not.")
        raise InvalidInput("columns", message, dataset=dataset.name, count=len(unknown))
    levels = {name: column.phi for name, column in columns.items() if column is not None}
    if above := [name for name in request.columns if levels[name] > phi]:
        raise PhiNotPermitted(above, levels)
    # In the order of the dataset; the columns that identify a row are always included.
    return tuple(
        column
        for position, column in enumerate(dataset.columns)
        if position < dataset.identity or column.name in columns
    )


def stored_filters(filters: Mapping[str, Any]) -> dict[str, Any]:
    """Convert filters to JSON with the API's names."""
    return {camel(name): _stored_value(value) for name, value in filters.items()}


def parse_stored_filters(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the JSON of `stored_filters` back to filters."""
    return {name: parse(stored[camel(name)]) for name, parse in _PARSERS.items() if camel(name) in stored}


def _stored_value(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return instant_text(value)
    return value if isinstance(value, list) else str(value)


_PARSERS: Final[Mapping[str, Any]] = {
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
