"""Shapes of exports."""

from collections.abc import Mapping
from typing import Any

from apps.exports.models import Export
from apps.exports.queries.datasets import DATASETS
from apps.exports.queries.kpi_dataset import STEPS
from apps.exports.services.export_validation import ExportRequest
from apps.reporting.models import Basis
from apps.reporting.rules.kpis import KPI_BY_KEY
from apps.rides.rules.draft import ServiceType
from lib.access import Phi
from lib.api import fields
from lib.api.query import PageQuery, Query
from lib.api.serializers import In, Out, OutShape, camel
from lib.api.unpaginated import WholePageOut

_FILTERS = (
    "service_date_from",
    "service_date_to",
    "facility_id",
    "provider_id",
    "payer_id",
    "status",
    "changed_since",
    "kpi",
    "service_type",
    "group_by",
    "basis",
)


class _Filters(In):
    """What narrows an export; which of them a dataset knows, GET /exports/datasets says."""

    service_date_from = fields.LocalDate(required=False, help_text="First day of service, on the ride's own calendar.")
    service_date_to = fields.LocalDate(required=False, help_text="Last day of service.")
    facility_id = fields.Uuid(required=False)
    provider_id = fields.Uuid(required=False)
    payer_id = fields.Uuid(required=False)
    status = fields.Listed(child=fields.Text(max_length=20), required=False, allow_empty=False, max_length=10)
    changed_since = fields.Instant(
        required=False,
        help_text="Rows that changed since then. A row may come again without a change: keep the highest rowVersion.",
    )
    kpi = fields.Listed(
        child=fields.Choice(choices=[(key, key) for key in KPI_BY_KEY]),
        required=False,
        allow_empty=False,
        help_text="kpis alone: keys of definitions; all where none is named.",
    )
    service_type = fields.Listed(
        child=fields.Choice(choices=ServiceType.choices),
        required=False,
        allow_empty=False,
        help_text="kpis alone: figures of these types of service.",
    )
    group_by = fields.Choice(
        choices=[(step, step) for step in STEPS],
        required=False,
        help_text="kpis alone: rows for each day, week (from Monday) or month of the period.",
    )
    basis = fields.Choice(
        choices=[(one.value, one.value) for one in (Basis.CLOSED, Basis.LIVE)],
        required=False,
        help_text="kpis alone: closed days as they were closed (the default), or as they are now.",
    )


class _Wish(_Filters):
    columns = fields.Listed(
        child=fields.Text(max_length=40),
        required=False,
        allow_empty=False,
        max_length=200,
        help_text="These columns alone, besides those that identify a row; in the dataset's order.",
    )
    sealed_columns = fields.Boolean(
        default=False, help_text="Also numbers of members, Medicaid and licences; they take longer."
    )


class ExportNowQuery(_Wish, Query):
    """What an export that is sent at once takes."""


class ExportListQuery(PageQuery):
    """Exports by state."""

    state = fields.Listed(child=fields.Choice(choices=Export.State.choices), required=False, allow_empty=False)


class ExportIn(_Wish):
    """An export to be made."""

    dataset = fields.Choice(choices=sorted(DATASETS))
    format = fields.Choice(choices=Export.Format.choices)
    lock = fields.Boolean(
        default=False,
        help_text="completions alone: rides in it are not corrected any more. Needs the scope `rides:correct`.",
    )

    example = {
        "dataset": "completions",
        "format": "csv",
        "serviceDateFrom": "2026-11-01",
        "serviceDateTo": "2026-11-15",
        "status": ["completed"],
        "columns": ["serviceDate", "status"],
    }


def export_request(given: Mapping[str, Any], *, dataset: str, format: str) -> ExportRequest:
    """Take a wish out of a query or body."""
    columns = given.get("columns")
    return ExportRequest(
        dataset=dataset,
        format=format,
        filters={name: given[name] for name in _FILTERS if name in given},
        columns=None if columns is None else tuple(columns),
        sealed=given["sealed_columns"],
    )


class _PhiLevel(fields.Text):
    """The name of a PHI level."""

    def to_representation(self, value: Any) -> str:
        return Phi(value).name.lower()


class ExportOut(Out):
    """One export: what was asked for, and how far it is.

    `rows` rises while it is made; `total` was counted when it began.  `dataAsOf` is the moment up to which the file
    knows everything.
    """

    filters = fields.Anything()
    phi = _PhiLevel(help_text="The PHI level of its columns.")

    class Meta:
        model = Export
        fields = [
            "id",
            "dataset",
            "dataset_version",
            "format",
            "columns",
            "filters",
            "phi",
            "state",
            "locked",
            "total",
            "rows",
            "bytes",
            "sha256",
            "error_code",
            "attempts",
            "data_as_of",
            "created_at",
            "ended_at",
            "expires_at",
        ]


class _Word(fields.Text):
    """The name of a kind."""

    def to_representation(self, value: Any) -> str:
        return str(value.name.lower())


class ExportLinkOut(OutShape):
    """Where a file can be fetched, once."""

    url = fields.Text()
    expires_at = fields.Instant()


class ColumnOut(OutShape):
    """One column of a dataset."""

    name = fields.Text()
    kind = _Word(help_text="id, word, text, count, amount, number, flag, instant, local, date, json, words or sealed.")
    phi = _PhiLevel(help_text="The PHI level that it takes; with riders named, also the scope `exports:phi`.")


class _Names(fields.Listed):
    """Filters as the API spells them."""

    def to_representation(self, value: Any) -> list[str]:
        return [camel(name) for name in value]


class DatasetOut(OutShape):
    """What can be exported; columns are in the order in which files have them."""

    name = fields.Text()
    version = fields.Integer(help_text="Rises when a column goes, moves or is renamed; new ones come at the end.")
    description = fields.Text()
    filters = _Names(child=fields.Text(), source="conditions")
    statuses = fields.Listed(child=fields.Text())
    columns = ColumnOut(many=True)


class DatasetsOut(OutShape):
    """All datasets."""

    data = DatasetOut(many=True)  # type: ignore[assignment]  # what a serializer has of that name is hidden
    page = WholePageOut()
